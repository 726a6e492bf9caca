// Floats of 8, 6 and 4 bits: decoding to f32, encoding with rounding to even or stochastically (CDNA4
// guide 7.3).
//
// gfx950 has the OCP formats; gfx942's 8-bit formats have one more in their bias, no infinity, no negative
// zero, and 0x80 as the only NaN (LLVM calls them FNUZ).
#pragma once

#include "device/semantics/half.h"
#include "device/semantics/vop_f32.h"

namespace morgana::device::MORGANA_SIMD {

struct SmallFormat {
  int bits, mantissa, bias;
  uint32_t largest;   // code of the largest finite magnitude
  uint32_t overflow;  // code that replaces a larger magnitude, unless it saturates
  uint32_t nan;       // code of a NaN; the largest number in formats without one
  bool has_infinity, unsigned_zero;
};
inline constexpr SmallFormat kFp8{8, 3, 7, 0x7e, 0x7f, 0x7f, false, false};
inline constexpr SmallFormat kBf8{8, 2, 15, 0x7b, 0x7c, 0x7f, true, false};
inline constexpr SmallFormat kFp8Fnuz{8, 3, 8, 0x7f, 0x80, 0x80, false, true};
inline constexpr SmallFormat kBf8Fnuz{8, 2, 16, 0x7f, 0x80, 0x80, false, true};
inline constexpr SmallFormat kFp6{6, 3, 1, 0x1f, 0x1f, 0x1f, false, false};
inline constexpr SmallFormat kBf6{6, 2, 3, 0x1f, 0x1f, 0x1f, false, false};
inline constexpr SmallFormat kFp4{4, 1, 1, 0x07, 0x07, 0x07, false, false};

// The value of a code, exactly.
MORGANA_OP f32v decode_small(const SmallFormat& format, u32v code) {
  const uint32_t sign_bit = 1u << (format.bits - 1);
  const u32v m = code & (sign_bit - 1), sign = (code & sign_bit) << (32 - format.bits);
  const u32v normal =
      (m << static_cast<uint32_t>(23 - format.mantissa)) + (static_cast<uint32_t>(127 - format.bias) << 23);
  const float unit =
      __builtin_bit_cast(float, static_cast<uint32_t>(127 + 1 - format.bias - format.mantissa) << 23);
  const u32v denormal = bits_of(to<float>(as<i32v>(m)) * f32v(unit));
  u32v r = (m < (1u << format.mantissa) ? denormal : normal) | sign;
  if (format.unsigned_zero) {
    r = (code & (2 * sign_bit - 1)) == sign_bit ? u32v(0x7fc00000u) : r;
  } else if (format.has_infinity) {
    r = m == format.overflow ? sign | 0x7f800000u : m > format.overflow ? u32v(0x7fc00000u) : r;
  } else if (format.nan != format.largest) {
    r = m == format.nan ? u32v(0x7fc00000u) : r;
  }
  return as<f32v>(r);
}

// The code of `x`: to nearest even, or towards zero after `random` was added below the bits that remain.
// `saturate`: magnitudes past the largest become the largest, as MODE.FP16_OVFL asks.
MORGANA_OP u32v encode_small(const SmallFormat& format, f32v x, bool stochastic, u32v random, bool saturate) {
  const uint32_t dropped = static_cast<uint32_t>(23 - format.mantissa);
  const u32v magnitude = magnitude_bits(x);
  const u32v noise = random >> (32 - dropped);
  const u32v nudge = stochastic ? noise : ((magnitude >> dropped) & 1) + ((1u << (dropped - 1)) - 1);
  const u32v rounded = magnitude + nudge;
  const u32v normal = (rounded >> dropped) - (static_cast<uint32_t>(127 - format.bias) << format.mantissa);
  // Below the normal range the code counts units of the smallest denormal.
  const uint32_t lowest_normal = static_cast<uint32_t>(127 + 1 - format.bias) << 23;
  const float units =
      __builtin_bit_cast(float, static_cast<uint32_t>(127 - 1 + format.bias + format.mantissa) << 23);
  const f32v noisy = as<f32v>(stochastic ? rounded : magnitude);
  const f32v small = noisy < __builtin_bit_cast(float, lowest_normal) ? noisy * f32v(units) : f32v(0.0f);
  const f32v whole = stochastic ? __builtin_elementwise_trunc(small) : __builtin_elementwise_roundeven(small);
  u32v r = magnitude < lowest_normal ? as<u32v>(to<int32_t>(whole)) : normal;
  if (stochastic) r = ((magnitude < lowest_normal) & (bits_of(noisy) >= lowest_normal)) ? normal : r;
  r = ((r > format.largest) | (magnitude >= 0x7f800000u)) ? u32v(saturate ? format.largest : format.overflow)
                                                          : r;
  r = magnitude > 0x7f800000u ? u32v(format.nan) : r;
  const u32v sign = bits_of(x) >> 31 << static_cast<uint32_t>(format.bits - 1);
  if (format.unsigned_zero) return ((r == 0) | (r == 0x80)) ? r : r | sign;
  return r | sign;
}

// Plain decodings of one or two codes (the frame has moved them to the low bits).
MORGANA_OP f32v v_cvt_f32_fp8(u32v a) { return decode_small(kFp8, a & 0xff); }
MORGANA_OP f32v v_cvt_f32_bf8(u32v a) { return decode_small(kBf8, a & 0xff); }
MORGANA_OP pk_f32v v_cvt_pk_f32_fp8(u32v a) {
  return as<pk_f32v>(PairOfF32{decode_small(kFp8, a & 0xff), decode_small(kFp8, a >> 8 & 0xff)});
}
MORGANA_OP pk_f32v v_cvt_pk_f32_bf8(u32v a) {
  return as<pk_f32v>(PairOfF32{decode_small(kBf8, a & 0xff), decode_small(kBf8, a >> 8 & 0xff)});
}
namespace fnuz {
MORGANA_OP f32v v_cvt_f32_fp8(u32v a) { return decode_small(kFp8Fnuz, a & 0xff); }
MORGANA_OP f32v v_cvt_f32_bf8(u32v a) { return decode_small(kBf8Fnuz, a & 0xff); }
MORGANA_OP pk_f32v v_cvt_pk_f32_fp8(u32v a) {
  return as<pk_f32v>(PairOfF32{decode_small(kFp8Fnuz, a & 0xff), decode_small(kFp8Fnuz, a >> 8 & 0xff)});
}
MORGANA_OP pk_f32v v_cvt_pk_f32_bf8(u32v a) {
  return as<pk_f32v>(PairOfF32{decode_small(kBf8Fnuz, a & 0xff), decode_small(kBf8Fnuz, a >> 8 & 0xff)});
}
}  // namespace fnuz

}  // namespace morgana::device::MORGANA_SIMD
