// Records that lie a known step apart, sixteen lanes at a time: elements of structures, components of
// vectors, every third byte.
#include <bit>

#include "device/jit/paths.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// Every second unit of `Unit` dwords.
template <int Unit, int... I>
MORGANA_INLINE Chunk even_units(Chunk a, Chunk b, RecordIndices<I...>) {
  return __builtin_shufflevector(a, b, (I / Unit * 2 * Unit + I % Unit)...);
}

// Records of N dwords, K dwords apart, of which whole vectors can be read.
template <int N, int K>
MORGANA_INLINE void load_whole(const uint8_t* from, Chunk (&v)[N]) {
  Chunk whole[K];
#pragma clang loop unroll(full)
  for (int k = 0; k < K; k++) whole[k] = peek<Chunk>(from + 64 * k);
  if constexpr (K == 3) {
    v[0] = third<0>(whole, Sixteen{});
    if constexpr (N == 2) v[1] = third<1>(whole, Sixteen{});
  } else {
    constexpr int kUnit = std::bit_ceil(static_cast<unsigned>(N));
#pragma clang loop unroll(full)
    for (int n = K; n > kUnit; n /= 2)
#pragma clang loop unroll(full)
      for (int j = 0; j < n / 2; j++) whole[j] = even_units<kUnit>(whole[2 * j], whole[2 * j + 1], Sixteen{});
    Chunk records[kUnit];
    for (int j = 0; j < kUnit; j++) records[j] = whole[j];
    split_records<kUnit>(records);
    for (int d = 0; d < N; d++) v[d] = records[d];
  }
}
// Likewise of elements of less than a dword.
template <class T, int K, int... I>
MORGANA_INLINE auto every(const uint8_t* from, RecordIndices<I...>) {
  const auto whole = peek<T __attribute__((ext_vector_type(16 * K)))>(from);
  return __builtin_shufflevector(whole, whole, (K * I)...);
}

// Overlapping elements of `Parts` values of T each, from a value to the next one.
template <class T, int Parts>
MORGANA_INLINE Chunk overlapping(const uint8_t* from) {
  Chunk v = Chunk(0);
#pragma clang loop unroll(full)
  for (int part = 0; part < Parts; part++) {
    const auto row = peek<T __attribute__((ext_vector_type(16)))>(from + part * sizeof(T));
    v |= __builtin_convertvector(row, Chunk) << (8 * sizeof(T) * part);
  }
  return v;
}

// What `N` dwords a lane have, or one element of T.
template <class Kind>
struct Strided;

template <int N>
struct Strided<Dwords<N>> {
  // False: such a step has no way of its own, and each lane is loaded by itself.
  template <int K>
  MORGANA_INLINE static bool whole(Lanes* data, int i, const uint8_t* from) {
    if constexpr (K > N) {
      Chunk v[N];
      load_whole<N, K>(from, v);
      for (int d = 0; d < N; d++) data[d].chunk[i] = v[d];
      return true;
    }
    return false;
  }
  MORGANA_INLINE static bool load_whole_of(Lanes* data, int i, const uint8_t* from, uint64_t step) {
    switch (step) {
      case 1:
        for (int d = 0; d < N; d++) data[d].chunk[i] = overlapping<uint8_t, 4>(from + 4 * d);
        return true;
      case 2:
        for (int d = 0; d < N; d++) data[d].chunk[i] = overlapping<uint16_t, 2>(from + 4 * d);
        return true;
      case 8: return whole<2>(data, i, from);
      case 12: return whole<3>(data, i, from);
      case 16: return whole<4>(data, i, from);
      case 32: return whole<8>(data, i, from);
      default: return false;
    }
  }
  template <class At>
  MORGANA_INLINE static void load_each(Lanes* data, int i, const At& at) {
    Chunk v[N];
    LoadDwords<N>::gather(v, at);
    for (int d = 0; d < N; d++) data[d].chunk[i] = v[d];
  }
  template <class Put>
  MORGANA_INLINE static void store_each(const Lanes* data, int i, const Put& put) {
    using Record = uint32_t __attribute__((ext_vector_type(4)));
    constexpr int kUnit = std::bit_ceil(static_cast<unsigned>(N));
    Chunk v[kUnit] = {};
    for (int d = 0; d < N; d++) v[d] = data[d].chunk[i];
    join_records<kUnit>(v);
#pragma clang loop unroll(full)
    for (int l = 0; l < 16; l++) {
      if constexpr (N == 1) {
        put(l, [&](uint8_t* to) __attribute__((always_inline)) { poke<uint32_t>(to, v[0][l]); });
      } else if constexpr (N == 2) {
        using Eight = uint64_t __attribute__((ext_vector_type(8)));
        put(l, [&](uint8_t* to) __attribute__((always_inline)) {
          poke<uint64_t>(to, __builtin_bit_cast(Eight, v[l / 8])[l % 8]);
        });
      } else {
        struct Four {
          Record record[4];
        };
        const Record record = __builtin_bit_cast(Four, v[l / 4]).record[l % 4];
        put(l, [&](uint8_t* to) __attribute__((always_inline)) {
          if constexpr (N == 4) {
            poke(to, record);
          } else {
            poke<uint64_t>(to, record[0] | uint64_t{record[1]} << 32);
            poke<uint32_t>(to + 8, record[2]);
          }
        });
      }
    }
  }
};
template <class T>
struct Strided<Narrow<T>> {
  template <int K>
  MORGANA_INLINE static bool whole(Lanes* data, int i, const uint8_t* from) {
    data[0].chunk[i] = widened<T>(every<T, K>(from, Sixteen{}));
    return true;
  }
  MORGANA_INLINE static bool load_whole_of(Lanes* data, int i, const uint8_t* from, uint64_t step) {
    if constexpr (sizeof(T) == 2)
      if (step == 1) {
        const Chunk v = overlapping<uint8_t, 2>(from);
        data[0].chunk[i] = widened<T>(__builtin_convertvector(v, T __attribute__((ext_vector_type(16)))));
        return true;
      }
    switch (step) {
      case 2 * sizeof(T): return whole<2>(data, i, from);
      case 3 * sizeof(T): return whole<3>(data, i, from);
      case 4 * sizeof(T): return whole<4>(data, i, from);
      default: return false;
    }
  }
  template <class At>
  MORGANA_INLINE static void load_each(Lanes* data, int i, const At& at) {
    T __attribute__((ext_vector_type(16))) v;
#pragma clang loop unroll(full)
    for (int l = 0; l < 16; l++) v[l] = peek<T>(reinterpret_cast<void*>(at(l)));
    data[0].chunk[i] = widened<T>(v);
  }
  template <class Put>
  MORGANA_INLINE static void store_each(const Lanes* data, int i, const Put& put) {
    const auto v = __builtin_convertvector(data[0].chunk[i], T __attribute__((ext_vector_type(16))));
#pragma clang loop unroll(full)
    for (int l = 0; l < 16; l++)
      put(l, [&](uint8_t* to) __attribute__((always_inline)) { poke<T>(to, v[l]); });
  }
};

void note(jit::WaveFrame* frame, const uint64_t* base, uint64_t step) {
  for (int i = 0; i < kChunks; i++) frame->run_address[i] = base[i];
  frame->note_runs(16, static_cast<uint32_t>(step));
}

// Where the lanes of a sixteen lie.
struct Lane {
  uint64_t first, step;
  MORGANA_INLINE uint64_t operator()(int l) const { return first + static_cast<uint64_t>(l) * step; }
};

}  // namespace

template <class Kind>
[[gnu::flatten]] MORGANA_KEEPS_REGISTERS void load_strided(jit::WaveFrame* frame, const uint64_t* base,
                                                           uint64_t exec, uint64_t step, Lanes* data) {
  note(frame, base, step);
#pragma clang loop unroll(disable)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    if (mask == 0) continue;
    const Lane at{base[i], step};
    if (mask != 0xffff) {
      Strided<Kind>::load_each(data, i, [&](int l) __attribute__((always_inline)) {
        return at(mask >> l & 1 ? l : __builtin_ctz(mask));
      });
      continue;
    }
    // Between two lanes' records nothing ends; behind the last one a page may.
    const bool reads_whole = step < Kind::kSize || ((at(15) + Kind::kSize - 1) ^ (at(16) - 1)) < 4096;
    if (!reads_whole ||
        !Strided<Kind>::load_whole_of(data, i, reinterpret_cast<const uint8_t*>(at.first), step))
      Strided<Kind>::load_each(data, i, at);
  }
}
template <class Kind>
[[gnu::flatten]] MORGANA_KEEPS_REGISTERS void store_strided(jit::WaveFrame* frame, const uint64_t* base,
                                                            uint64_t exec, uint64_t step, Lanes* data) {
  note(frame, base, step);
#pragma clang loop unroll(disable)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const Lane at{base[i], step};
    const auto put = [&](int l, const auto& poke_at)
                         __attribute__((always_inline)) { poke_at(reinterpret_cast<uint8_t*>(at(l))); };
    if (mask == 0xffff) {
      Strided<Kind>::store_each(data, i, put);
    } else if (mask != 0) {
      Strided<Kind>::store_each(data, i, [&](int l, const auto& poke_at) __attribute__((always_inline)) {
        if (mask >> l & 1) put(l, poke_at);
      });
    }
  }
}

#define MORGANA_KIND(name, Kind)           \
  template StridedPath load_strided<Kind>; \
  template StridedPath store_strided<Kind>;
MORGANA_MEMORY_KINDS(MORGANA_KIND)
#undef MORGANA_KIND

}  // namespace morgana::device::MORGANA_SIMD
