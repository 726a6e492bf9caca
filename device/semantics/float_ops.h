// Bodies that the f16, f32 and f64 forms of an instruction share, as templates over the vector type.
//
// f16 instructions use them on f32 values where that is exact (vop_f16.h).
#pragma once

#include "device/semantics/types.h"

namespace morgana::device::MORGANA_SIMD {

// Maximum or minimum with IEEE rules (CDNA4 guide 12.7, V_MIN_F32, V_MAX_F32): -0 is less than +0, a NaN
// loses against a number, and with MODE.IEEE a signalling NaN comes back quieted.
template <typename V>
MORGANA_OP V with_nan_rules(bool ieee, V a, V b, V r) {
  r = is_nan(a) ? b : is_nan(b) ? a : r;
  if (ieee) r = is_signaling(a) ? quiet(a) : is_signaling(b) ? quiet(b) : r;
  return r;
}
template <bool Max, typename V>
MORGANA_OP V extremum(bool ieee, V a, V b) {
  V r = Max ? (a > b ? a : b) : (a < b ? a : b);
  r = a == b ? as<V>(Max ? bits_of(a) & bits_of(b) : bits_of(a) | bits_of(b)) : r;
  if (any((a != a) | (b != b))) [[unlikely]]
    r = with_nan_rules(ieee, a, b, r);
  return r;
}
template <bool Max, typename V>
MORGANA_OP V extremum3(bool ieee, V a, V b, V c) {
  return extremum<Max>(ieee, extremum<Max>(ieee, a, b), c);
}

template <typename V>
MORGANA_OP V median(bool ieee, V a, V b, V c) {
  const V top = extremum3<true>(ieee, a, b, c);
  V r = top == a   ? extremum<true>(ieee, b, c)
        : top == b ? extremum<true>(ieee, a, c)
                   : extremum<true>(ieee, a, b);
  const auto unordered = is_nan(a) | is_nan(b) | is_nan(c);
  if (any(unordered)) [[unlikely]]
    r = unordered ? extremum3<false>(ieee, a, b, c) : r;
  return r;
}

// The same on gfx6 to gfx8, which keep denormals whatever MODE says: integers in the order of the values
// (-0 below +0) are compared, for the host may take denormals for zeros.
template <typename V>
MORGANA_OP sint_of<V> order_of(V v) {
  constexpr int kSignBit = 8 * sizeof(element_of<V>) - 1;
  const sint_of<V> bits = as<sint_of<V>>(v);
  return bits ^ as<sint_of<V>>(as<uint_of<V>>(bits >> kSignBit) >> 1);
}
template <bool Max, typename V>
MORGANA_OP V keeping_extremum(bool ieee, V a, V b) {
  const sint_of<V> x = order_of(a), y = order_of(b);
  const V r = Max ? (x > y ? a : b) : (x < y ? a : b);
  if (any(is_nan(a) | is_nan(b))) [[unlikely]]
    return with_nan_rules(ieee, a, b, r);
  return r;
}
template <bool Max, typename V>
MORGANA_OP V keeping_extremum3(bool ieee, V a, V b, V c) {
  return keeping_extremum<Max>(ieee, keeping_extremum<Max>(ieee, a, b), c);
}
// As numbers: both zeros are one.
template <typename V>
MORGANA_OP sint_of<V> are_equal(V a, V b) {
  return (bits_of(a) == bits_of(b)) | ((magnitude_bits(a) | magnitude_bits(b)) == 0);
}
template <typename V>
MORGANA_OP V keeping_median(bool ieee, V a, V b, V c) {
  const V top = keeping_extremum3<true>(ieee, a, b, c);
  const V r = are_equal(top, a)   ? keeping_extremum<true>(ieee, b, c)
              : are_equal(top, b) ? keeping_extremum<true>(ieee, a, c)
                                  : keeping_extremum<true>(ieee, a, b);
  const auto unordered = is_nan(a) | is_nan(b) | is_nan(c);
  if (any(unordered)) [[unlikely]]
    return unordered ? keeping_extremum3<false>(ieee, a, b, c) : r;
  return r;
}

// IEEE 754-2019 maximum and minimum: a NaN wins, -0 is less than +0.
template <bool Max, typename V>
MORGANA_OP V propagating_extremum(V a, V b) {
  V r = Max ? (a > b ? a : b) : (a < b ? a : b);
  r = a == b ? as<V>(Max ? bits_of(a) & bits_of(b) : bits_of(a) | bits_of(b)) : r;
  return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : r;
}

// x - floor(x), below 1.
template <typename V>
MORGANA_OP V fraction(V x) {
  using U = uint_of<V>;
  const V largest_below_one = as<V>(bits_of(V(1)) - U(1));
  const V r = x - __builtin_elementwise_floor(x);
  return r > largest_below_one ? largest_below_one : r;
}

// 2 to the power of `n`, which lies in the normal range of V.
template <typename V>
MORGANA_OP V power_of_two(sint_of<V> n) {
  return as<V>((n + format_of<V>::bias) << format_of<V>::mantissa);
}

#ifdef __AVX512F__
// x * 2^n with one rounding, as the host has it: 64 bytes of a row at a time.
template <typename V>
  requires(std::is_same_v<V, f32v> || std::is_same_v<V, f64v>)
MORGANA_OP V scale(V x, sint_of<V> n) {
  using E = element_of<V>;
  using Part = vec<E, 64 / sizeof(E)>;
  struct Parts {
    Part part[sizeof(V) / sizeof(Part)];
  };
  Parts value = __builtin_bit_cast(Parts, x);
  const Parts power = __builtin_bit_cast(Parts, to<E>(n));
  for (size_t i = 0; i < std::size(value.part); i++) {
    if constexpr (sizeof(E) == 4)
      value.part[i] = __builtin_ia32_scalefps512_mask(value.part[i], power.part[i], Part(0), 0xffff, 4);
    else
      value.part[i] = __builtin_ia32_scalefpd512_mask(value.part[i], power.part[i], Part(0), 0xff, 4);
  }
  return __builtin_bit_cast(V, value);
}
#endif

// x * 2^n with one rounding: the significand times two powers, of which the first product is exact and
// normal, so that no denormal stands in between for the host to flush.
template <typename V>
MORGANA_OP V scale(V x, sint_of<V> n) {
  using I = sint_of<V>;
  using U = uint_of<V>;
  using E = element_of<I>;
  constexpr E kBias = format_of<V>::bias, kHalf = (kBias + 1) / 2;
  constexpr E kLeast = -(kBias + format_of<V>::mantissa + 10), kMost = kBias + 2;
  const I denormal = is_denormal(x);
  const V lifted = denormal ? x * power_of_two<V>(I(kHalf)) : x;
  const V fraction =
      as<V>((bits_of(lifted) & U(static_cast<element_of<U>>(~format_of<V>::exponent))) | bits_of(V(1)));
  const I bounded = __builtin_elementwise_min(__builtin_elementwise_max(n, I(-4 * kBias)), I(4 * kBias));
  const I total = bounded + exponent_of(lifted) - kBias - (denormal ? I(kHalf) : I(0));
  const I power = __builtin_elementwise_min(__builtin_elementwise_max(total, I(kLeast)), I(kMost));
  const I first = power < -kHalf ? I(-kHalf) : power > kHalf ? I(kHalf) : I(0);
  const V r = fraction * power_of_two<V>(first) * power_of_two<V>(power - first);
  return lifted == V(0) ? lifted : (is_nan(x) | is_inf(x)) ? x + x : r;
}

// Significand in [0.5, 1) with the sign of x; zeros, infinities and NaNs as they are.
template <typename V>
MORGANA_OP V significand(V x) {
  using U = uint_of<V>;
  const V scaled = is_denormal(x) ? x * power_of_two<V>(sint_of<V>(format_of<V>::mantissa + 1)) : x;
  const U mantissa_and_sign = bits_of(scaled) & U(static_cast<element_of<U>>(~format_of<V>::exponent));
  const V r = as<V>(mantissa_and_sign | bits_of(V(0.5)));
  const auto special = is_nan(x) | is_inf(x);
  return special ? x + x : scaled == V(0) ? scaled : r;
}

// The exponent that belongs to significand(x); 0 for zeros, infinities and NaNs.
template <typename V>
MORGANA_OP sint_of<V> significand_exponent(V x) {
  using I = sint_of<V>;
  constexpr int kShift = format_of<V>::mantissa + 1;
  const I denormal = is_denormal(x);
  const V scaled = denormal ? x * power_of_two<V>(I(kShift)) : x;
  const I e = exponent_of(scaled) - (format_of<V>::bias - 1) - (denormal ? I(kShift) : I(0));
  return (is_nan(x) | is_inf(x) | (scaled == V(0))) ? I(0) : e;
}

// V_CMP_CLASS: which of ten classes x has, tested against the low bits of `classes` (CDNA4 guide 12.9).
template <typename V>
MORGANA_OP sint_of<V> in_class(V x, uint_of<V> classes) {
  using U = uint_of<V>;
  using I = sint_of<V>;
  const U m = magnitude_bits(x);
  const I negative = as<I>(bits_of(x)) < 0;
  constexpr auto kHidden = static_cast<element_of<U>>(format_of<V>::quiet * 2);
  const U infinity_bits = U(format_of<V>::exponent);
  const U positive_class = m == 0 ? U(6) : m < U(kHidden) ? U(7) : m < infinity_bits ? U(8) : U(9);
  const U negative_class = m == 0 ? U(5) : m < U(kHidden) ? U(4) : m < infinity_bits ? U(3) : U(2);
  const U number_class = negative ? negative_class : positive_class;
  const U nan_class = (bits_of(x) & U(format_of<V>::quiet)) == 0 ? U(0) : U(1);
  const U c = m > infinity_bits ? nan_class : number_class;
  return ((classes >> c) & U(1)) != 0;
}

}  // namespace morgana::device::MORGANA_SIMD
