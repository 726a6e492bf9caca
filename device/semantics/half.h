// f16 and bf16 values as f32, in which their arithmetic is done, and back with one rounding.
//
// f32 holds sums, differences, products and square roots of f16 values with enough bits (24 >= 2 * 11 + 2)
// that rounding twice cannot be seen; fused multiply-adds go through f64, with AVX-512 through odd f32
// (vop_f16.h).
#pragma once

#include "device/semantics/float_ops.h"

namespace morgana::device::MORGANA_SIMD {

// Exact.
template <typename H>
MORGANA_OP like<float, H> widen(H h) {
#ifdef __F16C__
  return to<float>(h);
#else
  using U = like<uint32_t, H>;
  const U b = to<uint32_t>(bits_of(h)), m = b & 0x7fff;
  const U sign = (b & 0x8000) << 16;
  const U normal = (m << 13) + (112u << 23), special = (m << 13) | 0x7f800000u;
  const U denormal = bits_of(to<float>(as<like<int32_t, H>>(m)) * 0x1p-24f);
  return as<like<float, H>>(sign | (m < 0x400 ? denormal : m < 0x7c00 ? normal : special));
#endif
}

// Rounds as MXCSR says.
template <typename F>
MORGANA_OP like<_Float16, F> narrow(F x) {
#ifdef __F16C__
  return to<_Float16>(x);
#else
  using U = uint_of<F>;
  const U sign = sign_bits(x);
  const F a = abs_of(x);
  // Adding a value 2^13 above the last bit wanted makes the host round there, in its own mode.
  const U exponent = __builtin_elementwise_max(bits_of(a) & 0x7f800000u, U(113u << 23));
  const F magic = as<F>(((exponent + (13u << 23)) & 0x7f800000u) | sign);
  const F rounded = abs_of((x + magic) - magic);
  const F past_largest =
      as<F>(sign | 0x7f7fffffu) + as<F>(sign | 0x7f7fffffu);  // infinite unless rounded inwards
  const U overflow = is_inf(past_largest) ? U(0x7c00) : U(0x7bff);
  const U normal = (bits_of(rounded) - (112u << 23)) >> 13;
  const U denormal = as<U>(to<int32_t>(rounded < 0x1p-14f ? rounded * 0x1p24f : F(0.0f)));
  U r = rounded < 0x1p-14f ? denormal : rounded < 65536.0f ? normal : overflow;
  r = is_inf(x) ? U(0x7c00) : is_nan(x) ? (bits_of(a) >> 13 & 0x3ff) | 0x7e00 : r;
  return as<like<_Float16, F>>(to<uint16_t>(r | sign >> 16));
#endif
}

// An f16 operand under MODE's f16 denormal field, and a result; MODE.FP16_OVFL turns overflows into the
// largest number.
template <typename H>
MORGANA_OP like<float, H> half_in(const Mode& mode, H h) {
  return widen(flush_input(mode, h));
}
template <typename F>
MORGANA_OP like<_Float16, F> half_out(const Mode& mode, F x) {
  using H = like<_Float16, F>;
  H h = narrow(x);
  if (flushes_output<H>(mode)) [[unlikely]]
    h = flush(h);
  if (mode.fp16_ovfl()) [[unlikely]]
    h = (is_inf(h) & !to<int16_t>(is_inf(x))) ? as<H>(bits_of(h) - 1) : h;
  return h;
}

// f32 to f16 towards zero, whatever the host's mode.
template <typename F>
MORGANA_OP like<_Float16, F> narrow_to_zero(F x) {
  const F a = abs_of(x);
  const F normal = as<F>(bits_of(a) & 0xffffe000u);
  const F denormal = __builtin_elementwise_trunc(a * 0x1p24f) * 0x1p-24f;
  const F largest = F(65504.0f);
  F r = a < 0x1p-14f ? denormal : normal;
  r = ((a > largest) & !is_inf(x)) ? largest : r;
  r = is_nan(x) ? x : as<F>(bits_of(r) | sign_bits(x));
  return narrow(r);
}

// f64 to f16 with one rounding: f32 in between keeps a sticky bit.
template <typename D>
MORGANA_OP like<_Float16, D> half_of_double(const Mode& mode, D x) {
  using U = uint_of<D>;
  constexpr uint64_t kLow = (uint64_t{1} << 29) - 1;
  const U b = bits_of(x);
  const U sticky = (b & ~kLow) | ((b & kLow) != 0 ? U(kLow + 1) : U(0));
  return half_out(mode, to<float>(as<D>(sticky)));
}

// bf16: the upper half of an f32.
template <typename U16>
MORGANA_OP like<float, U16> widen_bf16(U16 h) {
  return as<like<float, U16>>(to<uint32_t>(h) << 16);
}
// To nearest, ties to even.
template <typename F>
MORGANA_OP like<uint16_t, F> narrow_bf16(F x) {
  using U = uint_of<F>;
  const U b = bits_of(x);
  const U rounded = b + 0x7fff + (b >> 16 & 1);
  return to<uint16_t>((is_nan(x) ? b | 0x00400000u : rounded) >> 16);
}

}  // namespace morgana::device::MORGANA_SIMD
