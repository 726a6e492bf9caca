// The elements of matrix operands: their formats, and what every lane's registers hold of them, decoded item
// by item over the whole wave.
#pragma once

#include <immintrin.h>

#include "device/interp/operands.h"
#include "device/semantics/small_float.h"

namespace morgana::device::MORGANA_SIMD {

enum class Element : uint8_t { f32, f16, bf16, xf32, i8, f64, fp8, bf8, fp6, bf6, fp4, f8f6f4, u8, i4, u4 };

constexpr int bits_of_element(Element e) {
  switch (e) {
    case Element::f64: return 64;
    case Element::f32:
    case Element::xf32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    case Element::fp6:
    case Element::bf6: return 6;
    case Element::fp4:
    case Element::i4:
    case Element::u4: return 4;
    default: return 8;
  }
}

constexpr int kMaxItems = 32;

// A decoded operand: items[item][lane]. f64 takes two of them.
struct alignas(256) Matrix {
  uint32_t items[kMaxItems][kLanes];
};

// What a magnitude of `format` stands for that is neither NaN nor infinite.
constexpr float value_of(const SmallFormat& format, int magnitude) {
  const int mantissa = magnitude & ((1 << format.mantissa) - 1), exponent = magnitude >> format.mantissa;
  auto value = static_cast<float>(exponent == 0 ? mantissa : mantissa + (1 << format.mantissa));
  for (int i = exponent == 0 ? 1 : exponent; i < format.bias + format.mantissa; i++) value /= 2;
  for (int i = format.bias + format.mantissa; i < exponent; i++) value *= 2;
  return value;
}

#ifdef __AVX512F__
// What codes of four bits stand for, or those of six; `v` has nothing else in its low bits.
template <const SmallFormat& format>
MORGANA_INLINE u32v look_up(u32v v) {
  struct Table {
    float values[32];
  };
  alignas(64) static constexpr Table kTable = [] {
    Table table{};
    for (int code = 0; code < 32; code++) {
      const int magnitude = code & ((1 << (format.bits - 1)) - 1);
      table.values[code] = magnitude == code ? value_of(format, code) : -value_of(format, magnitude);
    }
    return table;
  }();
  struct Parts {
    __m512i of[kLanes / 16];
  };
  const __m512 low = _mm512_load_ps(kTable.values), high = _mm512_load_ps(kTable.values + 16);
  auto parts = __builtin_bit_cast(Parts, v);
  for (__m512i& part : parts.of)
    part = _mm512_castps_si512(format.bits == 4 ? _mm512_permutexvar_ps(part, low)
                                                : _mm512_permutex2var_ps(low, part, high));
  const u32v found = __builtin_bit_cast(u32v, parts);
  return format.bits == 4 ? found : found | (v & (1u << (format.bits - 1))) << (32 - format.bits);
}
#else
template <const SmallFormat& format>
MORGANA_INLINE u32v look_up(u32v v) {
  return as<u32v>(decode_small(format, v));
}
#endif

// An item's bits as f32 or, for integers, as one in f32's place.
template <Element E>
MORGANA_INLINE u32v decode(const Wave& wave, bool fnuz, u32v v) {
  switch (E) {
    case Element::f32: return as<u32v>(flush_input(wave.mode, as<f32v>(v)));
    case Element::xf32: return (v + 0xfff + (v >> 13 & 1)) & 0xffffe000u;  // ten bits of mantissa
    case Element::f16: return as<u32v>(widen(as<f16v>(to<uint16_t>(v))));
    case Element::bf16: return v << 16;
    case Element::i8: return as<u32v>(as<i32v>(v << 24) >> 24);
    case Element::i4: return as<u32v>(as<i32v>(v << 28) >> 28);
    case Element::u8:
    case Element::u4: return v;
    case Element::fp8: return as<u32v>(fnuz ? decode_small(kFp8Fnuz, v) : decode_small(kFp8, v));
    case Element::bf8: return as<u32v>(fnuz ? decode_small(kBf8Fnuz, v) : decode_small(kBf8, v));
    case Element::fp6: return look_up<kFp6>(v);
    case Element::bf6: return look_up<kBf6>(v);
    default: return look_up<kFp4>(v);
  }
}

#ifdef __AVX512BW__
// The upper halves of the f32 that codes of eight bits stand for; `x` has one in each 16 bits.
template <const SmallFormat& format>
MORGANA_INLINE __m512i decode_bytes(__m512i x) {
  struct Table {
    uint8_t bytes[64];
  };
  // Of denormals: lower bytes, upper bytes.
  alignas(64) static constexpr Table kDenormals = [] {
    Table table{};
    for (int i = 0; i < 64; i++) {
      const float value = value_of(format, i & ((1 << format.mantissa) - 1));
      const uint32_t half = __builtin_bit_cast(uint32_t, value) >> 16;
      table.bytes[i] = static_cast<uint8_t>(i % 16 < 8 ? half : half >> 8);
    }
    return table;
  }();
  const auto all = [](int value) __attribute__((always_inline)) {
    return _mm512_set1_epi16(static_cast<short>(value));
  };
  const __m512i magnitude = _mm512_and_si512(x, all(0x7f)), quiet = all(0x7fc0);
  const __m512i normal =
      _mm512_add_epi16(_mm512_slli_epi16(magnitude, 7 - format.mantissa), all((127 - format.bias) << 7));
  const __m512i places =
      _mm512_or_si512(_mm512_or_si512(magnitude, _mm512_slli_epi16(magnitude, 8)), all(0x800));
  const __m512i denormal = _mm512_shuffle_epi8(_mm512_load_si512(kDenormals.bytes), places);
  __m512i r = _mm512_mask_blend_epi16(_mm512_cmplt_epu16_mask(magnitude, all(1 << format.mantissa)), normal,
                                      denormal);
  if (format.has_infinity)
    r = _mm512_mask_mov_epi16(r, _mm512_cmpeq_epu16_mask(magnitude, all(format.overflow)), all(0x7f80));
  r = _mm512_or_si512(r, _mm512_and_si512(_mm512_slli_epi16(x, 8), all(0x8000)));
  if (format.unsigned_zero) return _mm512_mask_mov_epi16(r, _mm512_cmpeq_epu16_mask(x, all(0x80)), quiet);
  const uint32_t last = format.has_infinity ? format.overflow : format.nan - 1;  // that is no NaN
  return _mm512_mask_mov_epi16(r, _mm512_cmpgt_epu16_mask(magnitude, all(static_cast<int>(last))), quiet);
}

template <const SmallFormat& format>
MORGANA_INLINE void decode_words_of_bytes(const uint32_t* lanes, int items, Matrix& out) {
  const __m512i low = _mm512_set1_epi32(0x00ff00ff), upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  for (int item = 0; item < items; item += 4, lanes += kLanes)
    for (int i = 0; i < kLanes; i += 16) {
      const __m512i word = _mm512_load_si512(lanes + i);
      const __m512i even = decode_bytes<format>(_mm512_and_si512(word, low));
      const __m512i odd = decode_bytes<format>(_mm512_srli_epi16(word, 8));
      _mm512_store_si512(out.items[item] + i, _mm512_slli_epi32(even, 16));
      _mm512_store_si512(out.items[item + 1] + i, _mm512_slli_epi32(odd, 16));
      _mm512_store_si512(out.items[item + 2] + i, _mm512_and_si512(even, upper));
      _mm512_store_si512(out.items[item + 3] + i, _mm512_and_si512(odd, upper));
    }
}
#endif

// The items of all lanes.
template <Element E>
[[gnu::noinline]] void decode_items(const Wave& wave, const uint32_t* lanes, int items, Matrix& out) {
  constexpr int kBits = bits_of_element(E);
  constexpr uint32_t kMask = kBits == 32 ? ~0u : (1u << kBits % 32) - 1;
  const bool fnuz = wave.target->target == Target::gfx942;
#ifdef __AVX512BW__
  if constexpr (E == Element::fp8 || E == Element::bf8) {
    if (fnuz)
      decode_words_of_bytes<E == Element::fp8 ? kFp8Fnuz : kBf8Fnuz>(lanes, items, out);
    else
      decode_words_of_bytes<E == Element::fp8 ? kFp8 : kBf8>(lanes, items, out);
    return;
  }
#endif
  const auto* words = reinterpret_cast<const u32v*>(lanes);
  const auto put = [&](int item, u32v v) __attribute__((always_inline)) {
    *reinterpret_cast<u32v*>(out.items[item]) = decode<E>(wave, fnuz, v & kMask);
  };
  if constexpr (32 % kBits == 0) {
    constexpr int kPerWord = 32 / kBits;  // divides the number of items
    for (int item = 0; item < items; item += kPerWord) {
      const u32v word = words[item / kPerWord];
#pragma clang loop unroll(full)
      for (int part = 0; part < kPerWord; part++)
        put(item + part, word >> static_cast<uint32_t>(part * kBits));
    }
  } else {
    for (int item = 0; item < items; item++) {
      const int at = item * kBits;
      u32v v = words[at / 32] >> static_cast<uint32_t>(at % 32);
      if (at % 32 + kBits > 32) v |= words[at / 32 + 1] << static_cast<uint32_t>(32 - at % 32);
      put(item, v);
    }
  }
}

// Bytes as 16-bit integers: two items of each dword, of its even and its odd bytes.
[[gnu::noinline]] inline void decode_pairs_of_bytes(const uint32_t* lanes, int items, Matrix& out) {
  const auto* words = reinterpret_cast<const u32v*>(lanes);
  for (int item = 0; item < items; item += 2) {
    const u32v word = words[item / 2];
    *reinterpret_cast<u32v*>(out.items[item]) = as<u32v>(as<pk_i16v>(word << 8) >> 8);
    *reinterpret_cast<u32v*>(out.items[item + 1]) = as<u32v>(as<pk_i16v>(word) >> 8);
  }
}

inline void decode_operand(const Wave& wave, const Step* step, int i, Element e, int items, Matrix& out) {
  const uint32_t* lanes = registers(wave, step, i);
  switch (e) {
    case Element::f32: return decode_items<Element::f32>(wave, lanes, items, out);
    case Element::xf32: return decode_items<Element::xf32>(wave, lanes, items, out);
    case Element::f16: return decode_items<Element::f16>(wave, lanes, items, out);
    case Element::bf16: return decode_items<Element::bf16>(wave, lanes, items, out);
    case Element::i8: return decode_items<Element::i8>(wave, lanes, items, out);
    case Element::u8: return decode_items<Element::u8>(wave, lanes, items, out);
    case Element::i4: return decode_items<Element::i4>(wave, lanes, items, out);
    case Element::u4: return decode_items<Element::u4>(wave, lanes, items, out);
    case Element::fp8: return decode_items<Element::fp8>(wave, lanes, items, out);
    case Element::bf8: return decode_items<Element::bf8>(wave, lanes, items, out);
    case Element::fp6: return decode_items<Element::fp6>(wave, lanes, items, out);
    case Element::bf6: return decode_items<Element::bf6>(wave, lanes, items, out);
    default: return decode_items<Element::fp4>(wave, lanes, items, out);
  }
}

}  // namespace morgana::device::MORGANA_SIMD
