// 64-bit floating-point arithmetic. Reciprocal and square roots are correctly rounded here (1 / sqrt rounds
// twice); the hardware promises (2^29) ulp, which the compilers' Newton sequences assume.
#pragma once

#include "device/semantics/float_ops.h"

namespace morgana::device::MORGANA_SIMD {

MORGANA_OP f64v v_mov_b64(f64v a) { return a; }
MORGANA_OP f64v v_add_f64(f64v a, f64v b) { return a + b; }
MORGANA_OP f64v v_mul_f64(f64v a, f64v b) { return a * b; }
MORGANA_OP f64v v_fma_f64(f64v a, f64v b, f64v c) { return __builtin_elementwise_fma(a, b, c); }
MORGANA_OP f64v v_fmac_f64(f64v a, f64v b, f64v d) { return v_fma_f64(a, b, d); }
MORGANA_OP f64v v_min_f64(const Mode& mode, f64v a, f64v b) {
  return extremum<false>(mode.ieee(), flush_input(mode, a), flush_input(mode, b));
}
MORGANA_OP f64v v_max_f64(const Mode& mode, f64v a, f64v b) {
  return extremum<true>(mode.ieee(), flush_input(mode, a), flush_input(mode, b));
}
MORGANA_OP f64v v_minimum_f64(const Mode& mode, f64v a, f64v b) {
  return propagating_extremum<false>(flush_input(mode, a), flush_input(mode, b));
}
MORGANA_OP f64v v_maximum_f64(const Mode& mode, f64v a, f64v b) {
  return propagating_extremum<true>(flush_input(mode, a), flush_input(mode, b));
}
// gfx6 to gfx8: denormals stay, as in v_min_f32_gfx6.
MORGANA_OP f64v v_min_f64_gfx6(const Mode& mode, f64v a, f64v b) {
  return keeping_extremum<false>(mode.ieee(), a, b);
}
MORGANA_OP f64v v_max_f64_gfx6(const Mode& mode, f64v a, f64v b) {
  return keeping_extremum<true>(mode.ieee(), a, b);
}

MORGANA_OP f64v v_trunc_f64(f64v a) { return __builtin_elementwise_trunc(a); }
MORGANA_OP f64v v_ceil_f64(f64v a) { return __builtin_elementwise_ceil(a); }
MORGANA_OP f64v v_rndne_f64(f64v a) { return __builtin_elementwise_roundeven(a); }
MORGANA_OP f64v v_floor_f64(f64v a) { return __builtin_elementwise_floor(a); }
MORGANA_OP f64v v_fract_f64(f64v a) { return fraction(a); }

MORGANA_OP f64v v_ldexp_f64(f64v a, i32v n) { return scale(a, to<int64_t>(n)); }
MORGANA_OP f64v v_frexp_mant_f64(const Mode& mode, f64v a) { return significand(flush_input(mode, a)); }
MORGANA_OP i32v v_frexp_exp_i32_f64(const Mode& mode, f64v a) {
  return to<int32_t>(significand_exponent(flush_input(mode, a)));
}

MORGANA_OP f64v v_rcp_f64(f64v a) { return 1.0 / a; }
MORGANA_OP f64v v_rsq_f64(f64v a) { return 1.0 / __builtin_elementwise_sqrt(a); }
MORGANA_OP f64v v_sqrt_f64(f64v a) { return __builtin_elementwise_sqrt(a); }
// gfx6 and gfx7: an infinite result becomes the largest number.
MORGANA_OP f64v v_rcp_clamp_f64(f64v a) {
  const f64v r = v_rcp_f64(a);
  return is_inf(r) ? as<f64v>(sign_bits(r) | u64v(0x7fefffffffffffffu)) : r;
}
MORGANA_OP f64v v_rsq_clamp_f64(f64v a) {
  const f64v r = v_rsq_f64(a);
  return is_inf(r) ? as<f64v>(sign_bits(r) | u64v(0x7fefffffffffffffu)) : r;
}

// 2 / pi to 1201 bits, the most significant word first: the first bit has weight 1/2.
inline constexpr uint64_t kTwoOverPi[19] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};

// Bits [shift, shift + 53) of it, counted from the most significant one.
MORGANA_OP uint64_t two_over_pi_from(uint64_t shift) {
  if (shift >= 19 * 64) return 0;
  const uint64_t word = shift / 64, offset = shift % 64;
  uint64_t bits = kTwoOverPi[word] << offset;
  if (offset != 0 && word + 1 < 19) bits |= kTwoOverPi[word + 1] >> (64 - offset);
  return bits >> 11;
}

// The 53 bits of 2 / pi that multiplied by `a` reach below the integer part; `segment` chooses the first,
// second or third such piece (CDNA4 guide 12.11). It is made for large arguments, but LLVM takes it out of
// their branch where a sine and a cosine share it, so that all lanes execute it.
MORGANA_OP f64v v_trig_preop_f64(f64v a, u32v segment) {
  const i64v exponent = as<i64v>(bits_of(a) >> 52 & 0x7ff);
  const u64v shift = to<uint64_t>(segment & 31) * 53 + as<u64v>(exponent > 1077 ? exponent - 1077 : i64v(0));
  u64v piece;
  // Of numbers below 2^55 all want the same.
  if (!any(shift != u64v(shift[0]))) {
    piece = u64v(two_over_pi_from(shift[0]));
  } else {
    uint64_t of_lane[kN];
    __builtin_memcpy(of_lane, &shift, sizeof of_lane);
#pragma clang loop unroll(disable) vectorize(disable)
    for (uint64_t& one : of_lane) one = two_over_pi_from(one);
    __builtin_memcpy(&piece, of_lane, sizeof of_lane);
  }
  // Times 2^scale, which is at least 2^-1022 for every useful segment.
  const i64v scale = (exponent >= 1968 ? i64v(128 - 53) : i64v(-53)) - as<i64v>(shift);
  const i64v lifted = scale < -1022 ? scale + 300 : scale;
  const f64v factor = as<f64v>(lifted + 1023 << 52) * (scale < -1022 ? f64v(0x1p-300) : f64v(1));
  return piece == 0 ? f64v(0) : to<double>(as<i64v>(piece)) * factor;
}

}  // namespace morgana::device::MORGANA_SIMD
