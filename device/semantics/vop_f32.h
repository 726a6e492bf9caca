// 32-bit floating-point arithmetic.
#pragma once

#include "device/semantics/float_ops.h"

namespace morgana::device::MORGANA_SIMD {

MORGANA_OP f32v v_mov_b32(f32v a) { return a; }
MORGANA_OP f32v v_cndmask_b32(f32v a, f32v b, mask condition) { return select(condition, b, a); }

MORGANA_OP f32v v_add_f32(f32v a, f32v b) { return a + b; }
MORGANA_OP f32v v_sub_f32(f32v a, f32v b) { return a - b; }
MORGANA_OP f32v v_subrev_f32(f32v a, f32v b) { return b - a; }
MORGANA_OP f32v v_mul_f32(f32v a, f32v b) { return a * b; }
// DX9 rules: 0 times anything is +0.
MORGANA_OP f32v v_mul_legacy_f32(f32v a, f32v b) { return ((a == 0.0f) | (b == 0.0f)) ? f32v(0.0f) : a * b; }

MORGANA_OP f32v v_fma_f32(f32v a, f32v b, f32v c) { return __builtin_elementwise_fma(a, b, c); }
MORGANA_OP f32v v_fmac_f32(f32v a, f32v b, f32v d) { return v_fma_f32(a, b, d); }
MORGANA_OP f32v v_fmamk_f32(f32v a, f32v k, f32v b) { return v_fma_f32(a, k, b); }
MORGANA_OP f32v v_fmaak_f32(f32v a, f32v b, f32v k) { return v_fma_f32(a, b, k); }

// DX9 rules: what 0 is multiplied with does not matter.
MORGANA_OP f32v v_fma_legacy_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return ((a == 0.0f) | (b == 0.0f)) ? flush_input(mode, c) : v_fma_f32(a, b, c);
}
MORGANA_OP f32v v_fmac_legacy_f32(const Mode& mode, f32v a, f32v b, f32v d) {
  return v_fma_legacy_f32(mode, a, b, d);
}

// The multiply-adds round twice and flush denormals whatever MODE says.
MORGANA_OP f32v v_mad_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  if (mode.denorm32() == 0) [[likely]]
    return a * b + c;
  return flush(flush(flush(a) * flush(b)) + flush(c));
}
MORGANA_OP f32v v_mac_f32(const Mode& mode, f32v a, f32v b, f32v d) { return v_mad_f32(mode, a, b, d); }
MORGANA_OP f32v v_madmk_f32(const Mode& mode, f32v a, f32v k, f32v b) { return v_mad_f32(mode, a, k, b); }
MORGANA_OP f32v v_madak_f32(const Mode& mode, f32v a, f32v b, f32v k) { return v_mad_f32(mode, a, b, k); }
MORGANA_OP f32v v_mad_legacy_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  const f32v r = v_mad_f32(mode, a, b, c);
  return ((flush(a) == 0.0f) | (flush(b) == 0.0f)) ? flush(c) : r;
}
MORGANA_OP f32v v_mac_legacy_f32(const Mode& mode, f32v a, f32v b, f32v d) {
  return v_mad_legacy_f32(mode, a, b, d);
}
// Lighting term of gfx6 and gfx7.
MORGANA_OP f32v v_mullit_f32(f32v a, f32v b, f32v c) {
  const f32v most_negative = f32v(-3.402823466e38f);
  const i32v dark =
      (b == most_negative) | (b == infinity<f32v>(u32v(0x80000000u))) | (b != b) | (c != c) | (c <= 0.0f);
  return dark ? most_negative : v_mul_legacy_f32(a, b);
}

MORGANA_OP f32v v_min_f32(const Mode& mode, f32v a, f32v b) {
  return extremum<false>(mode.ieee(), flush_input(mode, a), flush_input(mode, b));
}
MORGANA_OP f32v v_max_f32(const Mode& mode, f32v a, f32v b) {
  return extremum<true>(mode.ieee(), flush_input(mode, a), flush_input(mode, b));
}
// gfx6 and gfx7, without IEEE's rules: what is not less (not at least as large) is the second operand.
// Denormals are numbers whatever MODE says.
MORGANA_OP f32v v_min_legacy_f32(f32v a, f32v b) {
  const i32v unordered = is_nan(a) | is_nan(b);
  return ((order_of(a) < order_of(b)) & ~are_equal(a, b) & ~unordered) ? a : b;
}
MORGANA_OP f32v v_max_legacy_f32(f32v a, f32v b) {
  const i32v unordered = is_nan(a) | is_nan(b);
  return (((order_of(a) >= order_of(b)) | are_equal(a, b)) & ~unordered) ? a : b;
}
// gfx6 to gfx8: denormals stay (docs/isa-decisions.md, "Rounding and denormals").
MORGANA_OP f32v v_min_f32_gfx6(const Mode& mode, f32v a, f32v b) {
  return keeping_extremum<false>(mode.ieee(), a, b);
}
MORGANA_OP f32v v_max_f32_gfx6(const Mode& mode, f32v a, f32v b) {
  return keeping_extremum<true>(mode.ieee(), a, b);
}
MORGANA_OP f32v v_min3_f32_gfx6(const Mode& mode, f32v a, f32v b, f32v c) {
  return keeping_extremum3<false>(mode.ieee(), a, b, c);
}
MORGANA_OP f32v v_max3_f32_gfx6(const Mode& mode, f32v a, f32v b, f32v c) {
  return keeping_extremum3<true>(mode.ieee(), a, b, c);
}
MORGANA_OP f32v v_med3_f32_gfx6(const Mode& mode, f32v a, f32v b, f32v c) {
  return keeping_median(mode.ieee(), a, b, c);
}
MORGANA_OP f32v v_min3_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return extremum3<false>(mode.ieee(), flush_input(mode, a), flush_input(mode, b), flush_input(mode, c));
}
MORGANA_OP f32v v_max3_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return extremum3<true>(mode.ieee(), flush_input(mode, a), flush_input(mode, b), flush_input(mode, c));
}
MORGANA_OP f32v v_med3_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return median(mode.ieee(), flush_input(mode, a), flush_input(mode, b), flush_input(mode, c));
}
MORGANA_OP f32v v_minmax_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return v_max_f32(mode, v_min_f32(mode, a, b), c);
}
MORGANA_OP f32v v_maxmin_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return v_min_f32(mode, v_max_f32(mode, a, b), c);
}
MORGANA_OP f32v v_minimum_f32(const Mode& mode, f32v a, f32v b) {
  return propagating_extremum<false>(flush_input(mode, a), flush_input(mode, b));
}
MORGANA_OP f32v v_maximum_f32(const Mode& mode, f32v a, f32v b) {
  return propagating_extremum<true>(flush_input(mode, a), flush_input(mode, b));
}
MORGANA_OP f32v v_minimummaximum_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return v_maximum_f32(mode, v_minimum_f32(mode, a, b), c);
}
MORGANA_OP f32v v_maximumminimum_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return v_minimum_f32(mode, v_maximum_f32(mode, a, b), c);
}
// IEEE and NaN propagation are forced on; a NaN becomes 0 only by the clamp.
MORGANA_OP f32v v_minimum3_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return propagating_extremum<false>(propagating_extremum<false>(flush_input(mode, a), flush_input(mode, b)),
                                     flush_input(mode, c));
}
MORGANA_OP f32v v_maximum3_f32(const Mode& mode, f32v a, f32v b, f32v c) {
  return propagating_extremum<true>(propagating_extremum<true>(flush_input(mode, a), flush_input(mode, b)),
                                    flush_input(mode, c));
}

MORGANA_OP f32v v_fract_f32(f32v a) { return fraction(a); }
MORGANA_OP f32v v_trunc_f32(f32v a) { return __builtin_elementwise_trunc(a); }
MORGANA_OP f32v v_ceil_f32(f32v a) { return __builtin_elementwise_ceil(a); }
MORGANA_OP f32v v_rndne_f32(f32v a) { return __builtin_elementwise_roundeven(a); }
MORGANA_OP f32v v_floor_f32(f32v a) { return __builtin_elementwise_floor(a); }

MORGANA_OP f32v v_ldexp_f32(f32v a, i32v n) { return scale(a, n); }
MORGANA_OP f32v v_frexp_mant_f32(const Mode& mode, f32v a) { return significand(flush_input(mode, a)); }
MORGANA_OP i32v v_frexp_exp_i32_f32(const Mode& mode, f32v a) {
  return significand_exponent(flush_input(mode, a));
}

// Cube map addressing: face, s, t and major axis of a direction.
MORGANA_OP f32v v_cubeid_f32(f32v x, f32v y, f32v z) {
  const i32v z_major = (abs_of(z) >= abs_of(x)) & (abs_of(z) >= abs_of(y)), y_major = abs_of(y) >= abs_of(x);
  const f32v zero = f32v(0.0f);
  return z_major   ? (z < zero ? f32v(5.0f) : f32v(4.0f))
         : y_major ? (y < zero ? f32v(3.0f) : f32v(2.0f))
                   : (x < zero ? f32v(1.0f) : f32v(0.0f));
}
MORGANA_OP f32v v_cubesc_f32(f32v x, f32v y, f32v z) {
  const i32v z_major = (abs_of(z) >= abs_of(x)) & (abs_of(z) >= abs_of(y)), y_major = abs_of(y) >= abs_of(x);
  const f32v zero = f32v(0.0f);
  return z_major ? (z < zero ? -x : x) : y_major ? x : (x < zero ? z : -z);
}
MORGANA_OP f32v v_cubetc_f32(f32v x, f32v y, f32v z) {
  const i32v z_major = (abs_of(z) >= abs_of(x)) & (abs_of(z) >= abs_of(y)), y_major = abs_of(y) >= abs_of(x);
  return !z_major & y_major ? (y < f32v(0.0f) ? -z : z) : -y;
}
MORGANA_OP f32v v_cubema_f32(f32v x, f32v y, f32v z) {
  const i32v z_major = (abs_of(z) >= abs_of(x)) & (abs_of(z) >= abs_of(y)), y_major = abs_of(y) >= abs_of(x);
  return (z_major ? z : y_major ? y : x) * 2.0f;
}

// Two values in a register pair: register by register, so that compiled code can take some lanes of both.
struct PairOfF32 {
  f32v low, high;
};
MORGANA_OP pk_f32v v_pk_add_f32(pk_f32v a, pk_f32v b) {
  const auto x = as<PairOfF32>(a), y = as<PairOfF32>(b);
  return as<pk_f32v>(PairOfF32{x.low + y.low, x.high + y.high});
}
MORGANA_OP pk_f32v v_pk_mul_f32(pk_f32v a, pk_f32v b) {
  const auto x = as<PairOfF32>(a), y = as<PairOfF32>(b);
  return as<pk_f32v>(PairOfF32{x.low * y.low, x.high * y.high});
}
MORGANA_OP pk_f32v v_pk_fma_f32(pk_f32v a, pk_f32v b, pk_f32v c) {
  const auto x = as<PairOfF32>(a), y = as<PairOfF32>(b), z = as<PairOfF32>(c);
  return as<pk_f32v>(PairOfF32{__builtin_elementwise_fma(x.low, y.low, z.low),
                               __builtin_elementwise_fma(x.high, y.high, z.high)});
}

}  // namespace morgana::device::MORGANA_SIMD
