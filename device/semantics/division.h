// The division macro's steps: div_scale, div_fmas, div_fixup (CDNA4 guide 12.11; corrections of its formulas
// are noted where they are made).
#pragma once

#include "device/semantics/float_ops.h"

namespace morgana::device::MORGANA_SIMD {

// Scales `value`, which is the denominator or the numerator, so that the Newton steps meet no denormals; the
// mask says which quotients div_fmas scales back. The guide tests `1 / denominator` in f64 also for f32: the
// hardware's reciprocal is an f32, so the test is on the f32 range here. Where reciprocal and quotient are
// both denormal the guide scales the denominator up, which overflows; it goes down.
template <typename V>
MORGANA_OP with_mask<V> div_scale(V value, V denominator, V numerator) {
  using U = uint_of<V>;
  using I = sint_of<V>;
  constexpr bool kSingle = sizeof(element_of<V>) == 4;
  constexpr int kStep = kSingle ? 64 : 128, kFar = kSingle ? 96 : 768, kTiny = kSingle ? 23 : 53;
  constexpr int kBias = format_of<V>::bias;
  const U d = magnitude_bits(denominator), n = magnitude_bits(numerator);
  const I is_denominator = bits_of(value) == bits_of(denominator),
          is_numerator = bits_of(value) == bits_of(numerator);
  const V up = value * power_of_two<V>(I(kStep)), down = value * power_of_two<V>(I(-kStep));

  const I far_apart = exponent_of(numerator) - exponent_of(denominator) >= kFar;
  const I denormal = is_denormal(denominator);
  const I tiny_reciprocal = d > bits_of(power_of_two<V>(I(kBias - 1)));
  const I tiny_quotient = abs_of(numerator) * power_of_two<V>(I(kBias - 1)) < abs_of(denominator);
  const I tiny_numerator = exponent_of(numerator) <= kTiny;

  V r = tiny_numerator ? up : value;
  I post = I(0);
  r = tiny_quotient ? (is_numerator ? up : value) : r;
  post = tiny_quotient;
  r = tiny_reciprocal ? (tiny_quotient ? (is_denominator ? down : value) : down) : r;
  r = denormal ? up : r;
  post = denormal ? I(0) : post;
  r = far_apart ? (is_denominator ? up : value) : r;
  post |= far_apart;
  const I zero = (d == 0) | (n == 0);
  r = zero ? quiet_nan<V>() : r;
  post |= zero;
  return {r, mask_of(post)};
}
MORGANA_OP with_mask<f32v> v_div_scale_f32(const Mode& mode, f32v value, f32v denominator, f32v numerator) {
  return div_scale(flush_input(mode, value), flush_input(mode, denominator), flush_input(mode, numerator));
}
MORGANA_OP with_mask<f64v> v_div_scale_f64(const Mode& mode, f64v value, f64v denominator, f64v numerator) {
  return div_scale(flush_input(mode, value), flush_input(mode, denominator), flush_input(mode, numerator));
}

// `r`, the rounded a * b + c, times 2^-step, as if rounded only once: where scaling hits a tie between two
// denormals, what the first rounding left out decides.
template <typename V>
MORGANA_OP V scale_down(V r, V a, V b, V c, int step) {
  using I = sint_of<V>;
  const V q = r * power_of_two<V>(I(-step));
  const V left = r - q * power_of_two<V>(I(step));
  // Half of the smallest denormal, scaled up.
  const V half = power_of_two<V>(I(1 - format_of<V>::bias - format_of<V>::mantissa - 1 + step));
  const V product = a * b, product_error = __builtin_elementwise_fma(a, b, -product);
  const V sum = product + c, addend = sum - product;
  const V sum_error = (product - (sum - addend)) + (c - addend);
  const V left_out = (sum - r) + (sum_error + product_error);
  const V nearer = (left_out > V(0) ? r + half : r - half) * power_of_two<V>(I(-step));
  return ((abs_of(left) == half) & (left_out != V(0))) ? nearer : q;
}

// The guide's 2^32 and 2^64 are misprints: the result is scaled by the square of that, away from the scale
// that the third operand's exponent shows.
template <typename V>
MORGANA_OP V div_fmas(V a, V b, V c, mask post) {
  using I = sint_of<V>;
  constexpr int kStep = sizeof(element_of<V>) == 4 ? 64 : 128;
  const V r = __builtin_elementwise_fma(a, b, c);
  if (post == 0) [[likely]]
    return r;
  const V up = r * power_of_two<V>(I(kStep)), down = scale_down(r, a, b, c, kStep);
  return select(post, exponent_of(c) > format_of<V>::bias ? up : down, r);
}
MORGANA_OP f32v v_div_fmas_f32(f32v a, f32v b, f32v c, mask post) { return div_fmas(a, b, c, post); }
MORGANA_OP f64v v_div_fmas_f64(f64v a, f64v b, f64v c, mask post) { return div_fmas(a, b, c, post); }

// The corner cases of quotient = numerator / denominator. A quotient whose exponents differ by less than
// `underflow` vanishes; 0 turns that test off. Inputs are flushed
// as those of div_scale are: the two must agree on what is zero.
template <typename V>
MORGANA_OP V div_fixup(const Mode& mode, V quotient, V denominator, V numerator, int underflow) {
  using U = uint_of<V>;
  denominator = flush_input(mode, denominator);
  numerator = flush_input(mode, numerator);
  const U sign = sign_bits(denominator) ^ sign_bits(numerator);
  const U d = magnitude_bits(denominator), n = magnitude_bits(numerator);
  const U inf = U(format_of<V>::exponent);
  U r = magnitude_bits(quotient) | sign;
  r = is_nan(quotient) ? inf | sign : r;  // two finite operands: the quotient overflowed
  if (underflow != 0)
    r = exponent_of(numerator) - exponent_of(denominator) < static_cast<element_of<sint_of<V>>>(underflow)
            ? sign
            : r;
  r = ((d == inf) | (n == 0)) ? sign : r;
  r = ((d == 0) | (n == inf)) ? sign | inf : r;
  const U invalid = U(format_of<V>::nan) | U(format_of<V>::sign);
  r = (((d == 0) & (n == 0)) | ((d == inf) & (n == inf))) ? invalid : r;
  r = d > inf ? bits_of(quiet(denominator)) : r;
  r = n > inf ? bits_of(quiet(numerator)) : r;
  return as<V>(r);
}
MORGANA_OP f32v v_div_fixup_f32(const Mode& mode, f32v quotient, f32v denominator, f32v numerator) {
  return flush_output(mode, div_fixup(mode, quotient, denominator, numerator, -150));
}
MORGANA_OP f64v v_div_fixup_f64(const Mode& mode, f64v quotient, f64v denominator, f64v numerator) {
  return flush_output(mode, div_fixup(mode, quotient, denominator, numerator, -1075));
}
MORGANA_OP f16v v_div_fixup_f16(const Mode& mode, f16v quotient, f16v denominator, f16v numerator) {
  return flush_output(mode, div_fixup(mode, quotient, denominator, numerator, 0));
}
MORGANA_OP f16v v_div_fixup_legacy_f16(const Mode& mode, f16v quotient, f16v denominator, f16v numerator) {
  return v_div_fixup_f16(mode, quotient, denominator, numerator);
}

}  // namespace morgana::device::MORGANA_SIMD
