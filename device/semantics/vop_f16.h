// 16-bit floating-point arithmetic, one value a lane. What the packed instructions share is a template over
// the vector length (vop3p.h).
#pragma once

#include "device/semantics/half.h"
#include "device/semantics/transcendental.h"

namespace morgana::device::MORGANA_SIMD {

namespace half {

template <typename H>
MORGANA_OP H add(const Mode& mode, H a, H b) {
  return half_out(mode, half_in(mode, a) + half_in(mode, b));
}
template <typename H>
MORGANA_OP H subtract(const Mode& mode, H a, H b) {
  return half_out(mode, half_in(mode, a) - half_in(mode, b));
}
template <typename H>
MORGANA_OP H multiply(const Mode& mode, H a, H b) {
  return half_out(mode, half_in(mode, a) * half_in(mode, b));
}
#ifdef __AVX512F__
// a * b + c in f32 with what is lost kept in the last bit (rounding to odd), so that a second rounding, to
// f16, gives what one would. The sums rounded down and up are neighbours, or equal where nothing is lost.
template <typename F>
MORGANA_OP F fma_to_odd(const Mode& mode, F a, F b, F c) {
  constexpr int kCount = sizeof(F) / sizeof(vec<float, 16>);
  struct Parts {
    vec<float, 16> part[kCount];
  };
  const Parts x = __builtin_bit_cast(Parts, a), y = __builtin_bit_cast(Parts, b),
              z = __builtin_bit_cast(Parts, c);
  Parts down, up;
  for (int i = 0; i < kCount; i++) {
    down.part[i] = __builtin_ia32_vfmaddps512_mask(x.part[i], y.part[i], z.part[i], 0xffff, 9);
    up.part[i] = __builtin_ia32_vfmaddps512_mask(x.part[i], y.part[i], z.part[i], 0xffff, 10);
  }
  using U = uint_of<F>;
  const U low = bits_of(__builtin_bit_cast(F, down)), high = bits_of(__builtin_bit_cast(F, up));
  U odd = __builtin_elementwise_min(low, high) | ((low | high) & 1);
  if (mode.round16_64() == 2) [[unlikely]]  // x - x is -0 then
    odd = low == 0x80000000u ? low : odd;
  return as<F>(odd);
}
template <typename H>
MORGANA_OP H fma(const Mode& mode, H a, H b, H c) {
  return half_out(mode, fma_to_odd(mode, half_in(mode, a), half_in(mode, b), half_in(mode, c)));
}
#else
// The product is exact in f64 and the sum loses only bits that rounding to f16 does not need.
template <typename H>
MORGANA_OP H fma(const Mode& mode, H a, H b, H c) {
  const auto product = half_in(mode, a) * half_in(mode, b);  // exact: 22 bits
  return half_of_double(mode, to<double>(product) + to<double>(half_in(mode, c)));
}
#endif
// Two roundings.
template <typename H>
MORGANA_OP H mad(const Mode& mode, H a, H b, H c) {
  return add(mode, multiply(mode, a, b), c);
}

template <bool Max, typename H>
MORGANA_OP H extremum(const Mode& mode, H a, H b) {
  const H x = flush_input(mode, a), y = flush_input(mode, b);
  const auto r = MORGANA_SIMD::extremum<Max>(false, widen(x), widen(y));
  H h = narrow(r);
  if (mode.ieee()) h = is_signaling(x) ? quiet(x) : is_signaling(y) ? quiet(y) : h;
  return h;
}
template <bool Max, typename H>
MORGANA_OP H extremum3(const Mode& mode, H a, H b, H c) {
  return extremum<Max>(mode, extremum<Max>(mode, a, b), c);
}
template <bool Max, typename H>
MORGANA_OP H propagating_extremum(const Mode& mode, H a, H b) {
  return narrow(MORGANA_SIMD::propagating_extremum<Max>(half_in(mode, a), half_in(mode, b)));
}
template <bool Max, typename H>
MORGANA_OP H propagating_extremum3(const Mode& mode, H a, H b, H c) {
  using MORGANA_SIMD::propagating_extremum;
  return narrow(propagating_extremum<Max>(propagating_extremum<Max>(half_in(mode, a), half_in(mode, b)),
                                          half_in(mode, c)));
}

}  // namespace half

MORGANA_OP f16v v_add_f16(const Mode& mode, f16v a, f16v b) { return half::add(mode, a, b); }
MORGANA_OP f16v v_sub_f16(const Mode& mode, f16v a, f16v b) { return half::subtract(mode, a, b); }
MORGANA_OP f16v v_subrev_f16(const Mode& mode, f16v a, f16v b) { return half::subtract(mode, b, a); }
MORGANA_OP f16v v_mul_f16(const Mode& mode, f16v a, f16v b) { return half::multiply(mode, a, b); }
MORGANA_OP f16v v_fma_f16(const Mode& mode, f16v a, f16v b, f16v c) { return half::fma(mode, a, b, c); }
MORGANA_OP f16v v_fma_legacy_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return half::fma(mode, a, b, c);
}
MORGANA_OP f16v v_fmac_f16(const Mode& mode, f16v a, f16v b, f16v d) { return half::fma(mode, a, b, d); }
MORGANA_OP f16v v_fmamk_f16(const Mode& mode, f16v a, f16v k, f16v b) { return half::fma(mode, a, k, b); }
MORGANA_OP f16v v_fmaak_f16(const Mode& mode, f16v a, f16v b, f16v k) { return half::fma(mode, a, b, k); }
MORGANA_OP f16v v_mad_f16(const Mode& mode, f16v a, f16v b, f16v c) { return half::mad(mode, a, b, c); }
MORGANA_OP f16v v_mad_legacy_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return half::mad(mode, a, b, c);
}
MORGANA_OP f16v v_mac_f16(const Mode& mode, f16v a, f16v b, f16v d) { return half::mad(mode, a, b, d); }
MORGANA_OP f16v v_madmk_f16(const Mode& mode, f16v a, f16v k, f16v b) { return half::mad(mode, a, k, b); }
MORGANA_OP f16v v_madak_f16(const Mode& mode, f16v a, f16v b, f16v k) { return half::mad(mode, a, b, k); }

MORGANA_OP f16v v_min_f16(const Mode& mode, f16v a, f16v b) { return half::extremum<false>(mode, a, b); }
MORGANA_OP f16v v_max_f16(const Mode& mode, f16v a, f16v b) { return half::extremum<true>(mode, a, b); }
// gfx8: denormals stay, as in v_min_f32_gfx6.
MORGANA_OP f16v v_min_f16_gfx8(const Mode& mode, f16v a, f16v b) {
  return keeping_extremum<false>(mode.ieee(), a, b);
}
MORGANA_OP f16v v_max_f16_gfx8(const Mode& mode, f16v a, f16v b) {
  return keeping_extremum<true>(mode.ieee(), a, b);
}
MORGANA_OP f16v v_min3_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return half::extremum3<false>(mode, a, b, c);
}
MORGANA_OP f16v v_max3_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return half::extremum3<true>(mode, a, b, c);
}
MORGANA_OP f16v v_med3_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  const f32v x = half_in(mode, a), y = half_in(mode, b), z = half_in(mode, c);
  const f16v r = narrow(median(false, x, y, z));
  const i32v unordered = is_nan(x) | is_nan(y) | is_nan(z);
  if (any(unordered)) [[unlikely]]
    return select(mask_of(unordered), half::extremum3<false>(mode, a, b, c), r);
  return r;
}

MORGANA_OP f16v v_minmax_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return v_max_f16(mode, v_min_f16(mode, a, b), c);
}
MORGANA_OP f16v v_maxmin_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return v_min_f16(mode, v_max_f16(mode, a, b), c);
}
MORGANA_OP f16v v_minimum_f16(const Mode& mode, f16v a, f16v b) {
  return half::propagating_extremum<false>(mode, a, b);
}
MORGANA_OP f16v v_maximum_f16(const Mode& mode, f16v a, f16v b) {
  return half::propagating_extremum<true>(mode, a, b);
}
MORGANA_OP f16v v_minimum3_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return half::propagating_extremum3<false>(mode, a, b, c);
}
MORGANA_OP f16v v_maximum3_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return half::propagating_extremum3<true>(mode, a, b, c);
}
MORGANA_OP f16v v_minimummaximum_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return v_maximum_f16(mode, v_minimum_f16(mode, a, b), c);
}
MORGANA_OP f16v v_maximumminimum_f16(const Mode& mode, f16v a, f16v b, f16v c) {
  return v_minimum_f16(mode, v_maximum_f16(mode, a, b), c);
}

MORGANA_OP f16v v_trunc_f16(const Mode& mode, f16v a) {
  return half_out(mode, __builtin_elementwise_trunc(half_in(mode, a)));
}
MORGANA_OP f16v v_ceil_f16(const Mode& mode, f16v a) {
  return half_out(mode, __builtin_elementwise_ceil(half_in(mode, a)));
}
MORGANA_OP f16v v_rndne_f16(const Mode& mode, f16v a) {
  return half_out(mode, __builtin_elementwise_roundeven(half_in(mode, a)));
}
MORGANA_OP f16v v_floor_f16(const Mode& mode, f16v a) {
  return half_out(mode, __builtin_elementwise_floor(half_in(mode, a)));
}
MORGANA_OP f16v v_fract_f16(const Mode& mode, f16v a) {
  const f32v x = half_in(mode, a);
  const f16v r = half_out(mode, x - __builtin_elementwise_floor(x));
  // Rounding to f16 may reach 1; the result stays below it.
  return bits_of(r) == u16v(0x3c00) ? as<f16v>(u16v(0x3bff)) : r;
}

MORGANA_OP f16v v_ldexp_f16(const Mode& mode, f16v a, i16v n) {
  const i16v bounded = __builtin_elementwise_min(__builtin_elementwise_max(n, i16v(-60)), i16v(60));
  const f16v r = half_out(mode, half_in(mode, a) * power_of_two<f32v>(to<int32_t>(bounded)));
  // Compilers leave the product by one out.
  return is_nan(a) ? quiet(a) : r;
}
MORGANA_OP f16v v_frexp_mant_f16(const Mode& mode, f16v a) { return narrow(significand(half_in(mode, a))); }
MORGANA_OP i16v v_frexp_exp_i16_f16(const Mode& mode, f16v a) {
  return to<int16_t>(significand_exponent(half_in(mode, a)));
}

MORGANA_OP f16v v_rcp_f16(const Mode& mode, f16v a) { return half_out(mode, v_rcp_f32(half_in(mode, a))); }
MORGANA_OP f16v v_sqrt_f16(const Mode& mode, f16v a) { return half_out(mode, v_sqrt_f32(half_in(mode, a))); }
MORGANA_OP f16v v_rsq_f16(const Mode& mode, f16v a) { return half_out(mode, v_rsq_f32(half_in(mode, a))); }
MORGANA_OP f16v v_log_f16(const Mode& mode, f16v a) { return half_out(mode, v_log_f32(half_in(mode, a))); }
MORGANA_OP f16v v_exp_f16(const Mode& mode, f16v a) { return half_out(mode, v_exp_f32(half_in(mode, a))); }
MORGANA_OP f16v v_sin_f16(const Mode& mode, f16v a) { return half_out(mode, v_sin_f32(half_in(mode, a))); }
MORGANA_OP f16v v_cos_f16(const Mode& mode, f16v a) { return half_out(mode, v_cos_f32(half_in(mode, a))); }
MORGANA_OP f16v v_sin_f16_gfx8(const Mode& mode, f16v a) {
  return half_out(mode, v_sin_f32_gfx6(half_in(mode, a)));
}
MORGANA_OP f16v v_cos_f16_gfx8(const Mode& mode, f16v a) {
  return half_out(mode, v_cos_f32_gfx6(half_in(mode, a)));
}

}  // namespace morgana::device::MORGANA_SIMD
