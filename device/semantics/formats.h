// Buffer data formats: memory bits to register values and back (CDNA4 guide 9.1.4, 9.1.11).
//
// Pure functions of one work-item. A format is DFMT (the components' widths) and NFMT (what their bits mean);
// the numbers are those of the MTBUF encoding and the buffer resource, the same from gfx6 to gfx9. Floats are
// computed under the host's default environment.
#pragma once

#include <cstdint>

#ifndef MORGANA_SIMD
#error "device/semantics is compiled with MORGANA_SIMD=base|avx2|avx512"
#endif

namespace morgana::device::MORGANA_SIMD::formats {

enum Numeric : uint8_t { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kSnormOgl, kFloat };

struct Layout {
  uint8_t components;
  uint8_t bits[4];  // x first, from the least significant bit
  int bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8; }
};

// DFMT 0 and 15 are invalid: no components. The names in the documents list the last component first.
inline constexpr Layout kLayouts[16] = {
    {0, {}},
    {1, {8}},
    {1, {16}},
    {2, {8, 8}},
    {1, {32}},
    {2, {16, 16}},
    {3, {11, 11, 10}},     // 10_11_11
    {3, {10, 11, 11}},     // 11_11_10
    {4, {2, 10, 10, 10}},  // 10_10_10_2
    {4, {10, 10, 10, 2}},  // 2_10_10_10
    {4, {8, 8, 8, 8}},
    {2, {32, 32}},
    {4, {16, 16, 16, 16}},
    {3, {32, 32, 32}},
    {4, {32, 32, 32, 32}},
    {0, {}},
};

inline bool is_integer(unsigned numeric) { return numeric == kUint || numeric == kSint; }

// Unsigned floats of 10 and 11 bits: five bits of exponent, biased by 15.
inline float from_small_float(uint32_t raw, int bits) {
  const int fraction = bits - 5;
  const uint32_t mantissa = raw & ((1u << fraction) - 1), exponent = raw >> fraction & 31;
  if (exponent == 0) return static_cast<float>(mantissa) * (fraction == 5 ? 0x1p-19f : 0x1p-20f);
  const uint32_t out = exponent == 31 ? 255 : exponent + 112;
  return __builtin_bit_cast(float, out << 23 | mantissa << (23 - fraction));
}
inline uint32_t to_small_float(float value, int bits) {
  const int fraction = bits - 5;
  const uint32_t in = __builtin_bit_cast(uint32_t, value);
  const uint32_t infinity = 31u << fraction;
  if ((in & 0x7fffffff) > 0x7f800000) return infinity | 1u << (fraction - 1);
  if (in >> 31) return 0;
  if (in == 0x7f800000) return infinity;
  const int exponent = static_cast<int>(in >> 23) - 112;
  const uint32_t mantissa = (in & 0x7fffff) | (in >> 23 ? 0x800000 : 0);
  const int drop = 23 - fraction + (exponent < 1 ? 1 - exponent : 0);
  if (drop > 24) return 0;
  uint32_t kept = mantissa >> drop;
  const uint32_t rest = mantissa & ((1u << drop) - 1), half = 1u << (drop - 1);
  kept += rest > half || (rest == half && (kept & 1));
  const uint32_t out = exponent < 1 ? kept : kept + (static_cast<uint32_t>(exponent - 1) << fraction);
  return out < infinity ? out : infinity - 1;
}

// One component of `bits` bits as a 32-bit register value.
inline uint32_t decode_component(uint32_t raw, int bits, unsigned numeric) {
  const uint32_t ones = bits == 32 ? ~0u : (1u << bits) - 1;
  const auto as_signed = static_cast<int32_t>(raw << (32 - bits)) >> (32 - bits);
  double value = 0;
  switch (numeric) {
    case kUnorm: value = raw / static_cast<double>(ones); break;
    case kSnorm:
      value = as_signed / static_cast<double>(ones >> 1);
      if (value < -1) value = -1;
      break;
    case kUscaled: value = raw; break;
    case kSscaled: value = as_signed; break;
    case kUint: return raw;
    case kSint: return static_cast<uint32_t>(as_signed);
    case kSnormOgl: value = (2.0 * as_signed + 1) / static_cast<double>(ones); break;
    default:
      if (bits == 32) return raw;
      if (bits == 16)
        return __builtin_bit_cast(
            uint32_t, static_cast<float>(__builtin_bit_cast(_Float16, static_cast<uint16_t>(raw))));
      if (bits == 10 || bits == 11) return __builtin_bit_cast(uint32_t, from_small_float(raw, bits));
      return raw;
  }
  return __builtin_bit_cast(uint32_t, static_cast<float>(value));
}

inline double clamped(double value, double low, double high) {
  if (!(value > low)) return value != value ? 0 : low;
  return value < high ? value : high;
}
// To the nearest integer, ties to even. `value` is well inside 64 bits.
inline int64_t rounded(double value) {
  const double down = __builtin_floor(value), rest = value - down;
  const auto whole = static_cast<int64_t>(down);
  return whole + (rest > 0.5 || (rest == 0.5 && (whole & 1)) ? 1 : 0);
}

// A normalised number times the greatest integer of up to 16 bits, in float, to the nearest: the conversion
// that OpenCL prefers for image stores (convert_uchar_sat_rte(f * 255.0f)), on every way into an image.
inline int64_t scaled(float number, double low, uint32_t greatest) {
  return rounded(static_cast<float>(clamped(number, low, 1)) * static_cast<float>(greatest));
}
// A 32-bit register value as the low `bits` bits of a component.
inline uint32_t encode_component(uint32_t value, int bits, unsigned numeric) {
  const uint32_t ones = bits == 32 ? ~0u : (1u << bits) - 1;
  const double top = ones >> 1;
  const float number = __builtin_bit_cast(float, value);
  const auto integer = static_cast<int32_t>(value);
  const auto limit = static_cast<int32_t>(ones >> 1);
  switch (numeric) {
    case kUnorm:
      if (bits > 16) return static_cast<uint32_t>(rounded(clamped(number, 0, 1) * ones));
      return static_cast<uint32_t>(scaled(number, 0, ones));
    case kSnorm:
    case kSnormOgl:
      if (bits > 16) return static_cast<uint32_t>(rounded(clamped(number, -1, 1) * top)) & ones;
      return static_cast<uint32_t>(scaled(number, -1, ones >> 1)) & ones;
    case kUscaled: return static_cast<uint32_t>(static_cast<int64_t>(clamped(number, 0, ones)));
    case kSscaled: return static_cast<uint32_t>(static_cast<int64_t>(clamped(number, -top - 1, top))) & ones;
    case kUint: return value < ones ? value : ones;
    case kSint:
      return static_cast<uint32_t>(integer < -limit - 1 ? -limit - 1
                                   : integer > limit    ? limit
                                                        : integer) &
             ones;
    default:
      if (bits == 16)
        return __builtin_bit_cast(uint16_t, static_cast<_Float16>(__builtin_bit_cast(float, value)));
      if (bits == 10 || bits == 11) return to_small_float(__builtin_bit_cast(float, value), bits);
      return value & ones;
  }
}

// All components of a record of up to 16 bytes; the ones that the format lacks are 0.
inline void decode(const uint8_t* record, const Layout& layout, unsigned numeric, uint32_t (&out)[4]) {
  int at = 0;
  for (int c = 0; c < 4; c++) {
    out[c] = 0;
    if (c >= layout.components) continue;
    const int bits = layout.bits[c];
    uint64_t raw = 0;
    for (int i = at / 8; i * 8 < at + bits; i++) raw |= uint64_t{record[i]} << (8 * (i - at / 8));
    out[c] =
        decode_component(static_cast<uint32_t>(raw >> (at % 8) & ((uint64_t{1} << bits) - 1)), bits, numeric);
    at += bits;
  }
}
inline void encode(const uint32_t (&in)[4], const Layout& layout, unsigned numeric, uint8_t* record) {
  for (int i = 0; i < layout.bytes(); i++) record[i] = 0;
  int at = 0;
  for (int c = 0; c < layout.components; c++) {
    const int bits = layout.bits[c];
    const uint64_t raw = uint64_t{encode_component(in[c], bits, numeric)} << (at % 8);
    for (int i = at / 8; i * 8 < at + bits; i++) record[i] |= static_cast<uint8_t>(raw >> (8 * (i - at / 8)));
    at += bits;
  }
}

// The 16-bit value of D16 instructions, and back: floats convert, integers saturate.
inline uint32_t to_d16(uint32_t value, unsigned numeric) {
  const auto integer = static_cast<int32_t>(value);
  if (numeric == kUint) return value < 0xffff ? value : 0xffff;
  if (numeric == kSint)
    return static_cast<uint16_t>(integer < -32768 ? -32768 : integer > 32767 ? 32767 : integer);
  return __builtin_bit_cast(uint16_t, static_cast<_Float16>(__builtin_bit_cast(float, value)));
}
inline uint32_t from_d16(uint16_t value, unsigned numeric) {
  if (numeric == kUint) return value;
  if (numeric == kSint) return static_cast<uint32_t>(static_cast<int16_t>(value));
  return __builtin_bit_cast(uint32_t, static_cast<float>(__builtin_bit_cast(_Float16, value)));
}

}  // namespace morgana::device::MORGANA_SIMD::formats
