// Conversions between integers, f16, f32 and f64. Floating point to integer saturates; a NaN becomes 0.
#pragma once

#include "device/semantics/half.h"
#include "device/semantics/vop_int.h"

namespace morgana::device::MORGANA_SIMD {

// Truncation to the integer type To.
template <typename To, typename F>
MORGANA_OP like<To, F> truncate(F x) {
  constexpr bool kSigned = To(-1) < To(0);
  constexpr int kBits = sizeof(To) * 8 - kSigned;
  using E = element_of<F>;
  // 2^kBits and, for signed types, -2^kBits are exact; x - x is 0 or NaN.
  const E limit = static_cast<E>(uint64_t{1} << (kBits - 1)) * E(2), low = kSigned ? -limit : E(0);
  const auto too_large = x >= F(limit);
  const F bounded = x > F(low) ? x : F(low);
  const F safe = (too_large | (x != x)) ? F(0) : bounded;
  using I = like<To, F>;
  const I r = to<To>(safe);
  constexpr To kMost =
      static_cast<To>(kSigned ? ~(uint64_t{1} << kBits) & ((uint64_t{1} << kBits) - 1) : ~uint64_t{0});
  if constexpr (sizeof(E) == sizeof(To))
    return too_large ? I(kMost) : r;
  else
    return select(mask_of(too_large), I(kMost), r);
}

MORGANA_OP i32v v_cvt_i32_f32(f32v a) { return truncate<int32_t>(a); }
MORGANA_OP u32v v_cvt_u32_f32(f32v a) { return truncate<uint32_t>(a); }
MORGANA_OP i32v v_cvt_i32_f64(f64v a) { return truncate<int32_t>(a); }
MORGANA_OP u32v v_cvt_u32_f64(f64v a) { return truncate<uint32_t>(a); }
MORGANA_OP i32v v_cvt_flr_i32_f32(f32v a) { return truncate<int32_t>(__builtin_elementwise_floor(a)); }
MORGANA_OP i32v v_cvt_rpi_i32_f32(f32v a) {
  // floor(a + 1/2) without the sum's rounding.
  const f32v whole = __builtin_elementwise_floor(a);
  return truncate<int32_t>(a - whole >= 0.5f ? whole + 1.0f : whole);
}
MORGANA_OP f32v v_cvt_f32_i32(i32v a) { return to<float>(a); }
// `x` >= 0. Hosts without an unsigned conversion subtract, which makes a zero negative when rounding goes
// down; the compiler takes the sign for known and must not see where `x` comes from.
template <typename F>
MORGANA_OP F without_sign(F x) {
#ifndef __AVX512F__
  typedef char Part __attribute__((vector_size(16)));
  struct Parts {
    Part part[sizeof(F) / sizeof(Part)];
  };
  Parts parts = __builtin_bit_cast(Parts, x);
#pragma clang loop unroll(full)
  for (Part& part : parts.part) asm("" : "+x"(part));
  x = __builtin_elementwise_abs(__builtin_bit_cast(F, parts));
#endif
  return x;
}
MORGANA_OP f32v v_cvt_f32_u32(u32v a) { return without_sign(to<float>(a)); }
MORGANA_OP f64v v_cvt_f64_i32(i32v a) { return to<double>(a); }
MORGANA_OP f64v v_cvt_f64_u32(u32v a) { return without_sign(to<double>(a)); }
// These round by the f64 field; each side flushes by the field of its own format.
MORGANA_OP f32v v_cvt_f32_f64(const Mode& mode, f64v a) {
  return flush_output(mode, to<float>(flush_input(mode, a)));
}
MORGANA_OP f64v v_cvt_f64_f32(const Mode& mode, f32v a) { return to<double>(flush_input(mode, a)); }
MORGANA_OP f32v v_cvt_f32_ubyte0(u32v a) { return without_sign(to<float>(as<i32v>(a & 0xff))); }
MORGANA_OP f32v v_cvt_f32_ubyte1(u32v a) { return without_sign(to<float>(as<i32v>(a >> 8 & 0xff))); }
MORGANA_OP f32v v_cvt_f32_ubyte2(u32v a) { return without_sign(to<float>(as<i32v>(a >> 16 & 0xff))); }
MORGANA_OP f32v v_cvt_f32_ubyte3(u32v a) { return without_sign(to<float>(as<i32v>(a >> 24))); }
MORGANA_OP f32v v_cvt_off_f32_i4(u32v a) { return to<float>(as<i32v>(a << 28) >> 28) * 0.0625f; }

MORGANA_OP f16v v_cvt_f16_f32(const Mode& mode, f32v a) { return half_out(mode, flush_input(mode, a)); }
MORGANA_OP f32v v_cvt_f32_f16(const Mode& mode, f16v a) { return half_in(mode, a); }
MORGANA_OP f32v v_cvt_f32_bf16(bf16v a) { return widen_bf16(a.bits); }
MORGANA_OP f16v v_cvt_f16_u16(const Mode& mode, u16v a) {
  return half_out(mode, without_sign(to<float>(to<int32_t>(a))));
}
MORGANA_OP f16v v_cvt_f16_i16(const Mode& mode, i16v a) { return half_out(mode, to<float>(to<int32_t>(a))); }
MORGANA_OP u16v v_cvt_u16_f16(f16v a) { return clamp::saturate<uint16_t>(truncate<int32_t>(widen(a))); }
MORGANA_OP i16v v_cvt_i16_f16(f16v a) { return clamp::saturate<int16_t>(truncate<int32_t>(widen(a))); }

// Normalised integers: 1.0 is the largest value; to nearest even.
template <typename To>
MORGANA_OP like<To, f32v> normalized(f32v a) {
  constexpr float kMost = To(-1) < To(0) ? 32767.0f : 65535.0f, kLeast = To(-1) < To(0) ? -1.0f : 0.0f;
  const f32v x = a != a ? f32v(0.0f) : a > 1.0f ? f32v(1.0f) : a < kLeast ? f32v(kLeast) : a;
  return to<To>(to<int32_t>(__builtin_elementwise_roundeven(x * kMost)));
}
template <typename V>
MORGANA_OP u32v pack(V low, V high) {
  return to<uint32_t>(as<u16v>(low)) | to<uint32_t>(as<u16v>(high)) << 16;
}
MORGANA_OP i16v v_cvt_norm_i16_f16(const Mode& mode, f16v a) { return normalized<int16_t>(half_in(mode, a)); }
MORGANA_OP u16v v_cvt_norm_u16_f16(const Mode& mode, f16v a) {
  return normalized<uint16_t>(half_in(mode, a));
}
MORGANA_OP u32v v_cvt_pknorm_i16_f32(f32v a, f32v b) {
  return pack(normalized<int16_t>(a), normalized<int16_t>(b));
}
MORGANA_OP u32v v_cvt_pknorm_u16_f32(f32v a, f32v b) {
  return pack(normalized<uint16_t>(a), normalized<uint16_t>(b));
}
MORGANA_OP u32v v_cvt_pknorm_i16_f16(const Mode& mode, f16v a, f16v b) {
  return pack(v_cvt_norm_i16_f16(mode, a), v_cvt_norm_i16_f16(mode, b));
}
MORGANA_OP u32v v_cvt_pknorm_u16_f16(const Mode& mode, f16v a, f16v b) {
  return pack(v_cvt_norm_u16_f16(mode, a), v_cvt_norm_u16_f16(mode, b));
}

MORGANA_OP u32v v_cvt_pkrtz_f16_f32(const Mode& mode, f32v a, f32v b) {
  return pack(flush_output(mode, narrow_to_zero(a)), flush_output(mode, narrow_to_zero(b)));
}
MORGANA_OP u32v v_cvt_pk_u16_u32(u32v a, u32v b) {
  return pack(clamp::saturate<uint16_t>(a), clamp::saturate<uint16_t>(b));
}
MORGANA_OP u32v v_cvt_pk_i16_i32(i32v a, i32v b) {
  return pack(clamp::saturate<int16_t>(a), clamp::saturate<int16_t>(b));
}
MORGANA_OP u32v v_cvt_pk_u16_f32(f32v a, f32v b) {
  return pack(clamp::saturate<uint16_t>(truncate<int32_t>(a)),
              clamp::saturate<uint16_t>(truncate<int32_t>(b)));
}
MORGANA_OP u32v v_cvt_pk_i16_f32(f32v a, f32v b) {
  return pack(clamp::saturate<int16_t>(truncate<int32_t>(a)), clamp::saturate<int16_t>(truncate<int32_t>(b)));
}
MORGANA_OP u32v v_pack_b32_f16(f16v a, f16v b) { return pack(a, b); }

// f32 to an unsigned byte, towards zero, placed in byte `position` of `old`.
MORGANA_OP u32v insert_byte(f32v a, u32v position, u32v old) {
  const u32v byte = __builtin_elementwise_min(truncate<uint32_t>(a), u32v(255));
  const u32v shift = (position & 3) * 8;
  return (old & ~(u32v(255) << shift)) | byte << shift;
}
MORGANA_OP u32v v_cvt_pk_u8_f32(f32v a, u32v position, u32v c) { return insert_byte(a, position, c); }
MORGANA_OP u32v v_cvt_pkaccum_u8_f32(f32v a, u32v position, u32v old) {
  return insert_byte(a, position, old);
}

MORGANA_OP u16v v_sat_pk_u8_i16(u32v a) {
  const i32v low = as<i32v>(a << 16) >> 16, high = as<i32v>(a) >> 16;
  return to<uint16_t>(clamp::saturate<uint8_t>(low)) | to<uint16_t>(clamp::saturate<uint8_t>(high)) << 8;
}
// The result is the low half of the register; the old upper half (the frame's operand) stays.
MORGANA_OP u32v v_ashr_pk_u8_i32(i32v a, i32v b, u32v n, u32v old) {
  const i32v shift = as<i32v>(n & 31);
  const u32v low = to<uint32_t>(clamp::saturate<uint8_t>(a >> shift));
  return (old & 0xffff0000u) | low | to<uint32_t>(clamp::saturate<uint8_t>(b >> shift)) << 8;
}
MORGANA_OP u32v v_ashr_pk_i8_i32(i32v a, i32v b, u32v n, u32v old) {
  const i32v shift = as<i32v>(n & 31);
  const u32v low = to<uint32_t>(as<u8v>(clamp::saturate<int8_t>(a >> shift)));
  return (old & 0xffff0000u) | low | to<uint32_t>(as<u8v>(clamp::saturate<int8_t>(b >> shift))) << 8;
}

// gfx950: to nearest even whatever MODE says (the frame's part).
MORGANA_OP u32v v_cvt_pk_f16_f32(const Mode& mode, f32v a, f32v b) {
  return pack(half_out(mode, flush_input(mode, a)), half_out(mode, flush_input(mode, b)));
}
MORGANA_OP u32v v_cvt_pk_bf16_f32(f32v a, f32v b) { return pack(narrow_bf16(a), narrow_bf16(b)); }

}  // namespace morgana::device::MORGANA_SIMD
