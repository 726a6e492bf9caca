// Products of matrices of decoded elements (matrix_items.h): rows of D are accumulated, as many at once as
// keep the host's multiply-adders busy. Each sum is one chain of multiply-adds by rising k, whatever the
// host.
#pragma once

#include <immintrin.h>

#include "device/interp/operands.h"

namespace morgana::device::MORGANA_SIMD {

constexpr int kMaxK = 128;

// A or B: dwords, of which those of the first row (of A) or column (of B) lie at `at`, by k; others behind
// it.
struct Factor {
  const uint32_t* items;
  const uint16_t* at;
};

// What is multiplied. Integers wrap.
struct I32 {};
struct PairsOfI16 {};  // an item is two, whose products are both added

#if defined(__AVX512F__)
constexpr int kHostLanes = 16, kHostRows = 16;  // of so many lanes that registers have room for
#elif defined(__AVX2__)
constexpr int kHostLanes = 8, kHostRows = 8;
#else
constexpr int kHostLanes = 4, kHostRows = 8;
#endif

// Of a lane.
template <typename T>
struct LaneOf {
  using Value = uint32_t;
};
template <>
struct LaneOf<float> {
  using Value = float;
};

template <typename V>
MORGANA_INLINE V multiply_add(float, V x, V y, V sum) {
  return __builtin_elementwise_fma(x, y, sum);
}
template <typename V>
MORGANA_INLINE V multiply_add(I32, V x, V y, V sum) {
  return x * y + sum;
}
template <typename V>
MORGANA_INLINE V multiply_add(PairsOfI16, V x, V y, V sum) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return sum + as<V>(_mm512_madd_epi16(as<__m512i>(x), as<__m512i>(y)));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) return sum + as<V>(_mm256_madd_epi16(as<__m256i>(x), as<__m256i>(y)));
#endif
  if constexpr (sizeof(V) == 16) return sum + as<V>(_mm_madd_epi16(as<__m128i>(x), as<__m128i>(y)));
}

// Rows of N of a matrix in parts of the host's vectors.
template <typename T, int N>
struct Rows {
  static constexpr int kWidth = N < kHostLanes ? N : kHostLanes;
  using Value = typename LaneOf<T>::Value;
  using V = vec<Value, kWidth>;
  using Unaligned = Value __attribute__((ext_vector_type(kWidth), aligned(4)));
  MORGANA_INLINE static V load(const uint32_t* at) { return *reinterpret_cast<const Unaligned*>(at); }
  MORGANA_INLINE static void store(uint32_t* at, V v) { *reinterpret_cast<Unaligned*>(at) = v; }
  MORGANA_INLINE static V all(uint32_t item) { return V(__builtin_bit_cast(Value, item)); }
};

// D, N x N, += A * B. row(i) is where row `i` of D lies, N dwords.
template <typename T, int N, typename RowOfD>
MORGANA_INLINE void add_product(int k, const Factor& a, const Factor& b, const RowOfD& row) {
  using R = Rows<T, N>;
  constexpr int kParts = N > R::kWidth ? 2 : 1;
  constexpr int kRows = N < kHostRows / kParts ? N : kHostRows / kParts;
  for (int i = 0; i < N; i += kRows)
    for (int j = 0; j < N; j += kParts * R::kWidth) {
      typename R::V sum[kRows][kParts], columns[kParts];
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; r++)
#pragma clang loop unroll(full)
        for (int part = 0; part < kParts; part++) sum[r][part] = R::load(row(i + r) + j + part * R::kWidth);
      for (int n = 0; n < k; n++) {
        const uint32_t* const x = a.items + a.at[n] + i;
        const uint32_t* const y = b.items + b.at[n] + j;
#pragma clang loop unroll(full)
        for (int part = 0; part < kParts; part++) columns[part] = R::load(y + part * R::kWidth);
#pragma clang loop unroll(full)
        for (int r = 0; r < kRows; r++)
#pragma clang loop unroll(full)
          for (int part = 0; part < kParts; part++)
            sum[r][part] = multiply_add(T(), R::all(x[r]), columns[part], sum[r][part]);
      }
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; r++)
#pragma clang loop unroll(full)
        for (int part = 0; part < kParts; part++) R::store(row(i + r) + j + part * R::kWidth, sum[r][part]);
    }
}

// 2^(byte - 127); 255 is NaN.
template <int N>
MORGANA_INLINE vec<double, N> scales_of(const uint8_t* bytes) {
  using Unaligned = uint8_t __attribute__((ext_vector_type(N), aligned(1)));
  const auto wide = to<uint64_t>(*reinterpret_cast<const Unaligned*>(bytes));
  return as<vec<double, N>>(wide == 255 ? vec<uint64_t, N>(0x7ff8000000000000u)
                                        : (wide + (1023 - 127)) << 52);
}

// The same with a scale for each row of A and column of B, and for each 32 values of k (N bytes behind those
// of the 32 before): their products are added up, scaled, and only then added to D.
template <int N, typename RowOfD>
MORGANA_INLINE void add_scaled_product(int k, const Factor& a, const Factor& b, const uint8_t* scales_a,
                                       const uint8_t* scales_b, const RowOfD& row) {
  using R = Rows<float, N>;
  using Doubles = vec<double, R::kWidth>;
  constexpr int kGroup = 32, kRows = kHostRows;
  for (int first = 0; first < k; first += kGroup, scales_a += N, scales_b += N)
    for (int i = 0; i < N; i += kRows)
      for (int j = 0; j < N; j += R::kWidth) {
        typename R::V part[kRows];
#pragma clang loop unroll(full)
        for (int r = 0; r < kRows; r++) part[r] = typename R::V(0.0f);
        for (int n = first; n < first + kGroup; n++) {
          const uint32_t* const x = a.items + a.at[n] + i;
          const auto columns = R::load(b.items + b.at[n] + j);
#pragma clang loop unroll(full)
          for (int r = 0; r < kRows; r++) part[r] = multiply_add(0.0f, R::all(x[r]), columns, part[r]);
        }
        const Doubles of_columns = scales_of<R::kWidth>(scales_b + j);
#pragma clang loop unroll(full)
        for (int r = 0; r < kRows; r++) {
          uint32_t* const at = row(i + r) + j;
          const Doubles factor = of_columns * Doubles(scales_of<1>(scales_a + i + r)[0]);
          const Doubles scaled = factor == factor ? to<double>(part[r]) * factor : Doubles(__builtin_nan(""));
          R::store(at, to<float>(scaled + to<double>(R::load(at))));
        }
      }
}

// The same where only `k` values of A are there, two of each four: `index` has two bits a value, for each
// lane.
template <typename T, int N, typename RowOfD>
MORGANA_INLINE void add_sparse_product(int k, const Factor& a, const Factor& b, const uint32_t* index,
                                       const RowOfD& row) {
  using R = Rows<T, N>;
  constexpr int kRows = kHostRows / 2;
  for (int i = 0; i < N; i += kRows)
    for (int j = 0; j < N; j += R::kWidth) {
      typename R::V sum[kRows];
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; r++) sum[r] = R::load(row(i + r) + j);
      for (int n = 0; n < k; n++) {
        const uint32_t* const x = a.items + a.at[n] + i;
        const int item = a.at[n] / kLanes, lane = a.at[n] % kLanes + i;
        const uint16_t* const four = b.at + 4 * (n / 2);
#pragma clang loop unroll(full)
        for (int r = 0; r < kRows; r++) {
          const uint32_t* const y = b.items + four[index[lane + r] >> (2 * item) & 3] + j;
          sum[r] = multiply_add(T(), R::all(x[r]), R::load(y), sum[r]);
        }
      }
#pragma clang loop unroll(full)
      for (int r = 0; r < kRows; r++) R::store(row(i + r) + j, sum[r]);
    }
}

}  // namespace morgana::device::MORGANA_SIMD
