// The values that instruction semantics work on, and the few operations all of them share.
//
// device/semantics holds one function per vector instruction, named exactly by AMD's mnemonic: pure,
// whole-wave values in, values out. The C++ parameter types say how operands are fetched and what a modifier
// means; the frames (device/interp/vector_frame.h) read them off the signatures. Nothing here touches memory
// or calls a library, so that the same files can be compiled to LLVM bitcode. Functions that depend on MODE
// take `const Mode&` first.
//
// Rounding and denormals of f32 arithmetic are those of the host's MXCSR, which the interpreter keeps equal
// to MODE's f32 fields (and, around f64 and f16 instructions, to MODE's f64/f16 fields where these differ).
// What the host does not flush by itself is flushed here.
#pragma once

#include <cstdint>

#include "device/state/wave.h"

#ifndef MORGANA_SIMD
#error "device/semantics is compiled with MORGANA_SIMD=base|avx2|avx512"
#endif
#ifndef MORGANA_LANES
#define MORGANA_LANES 64
#endif

#pragma STDC FP_CONTRACT OFF  // v_mad and v_mac are not fused
#pragma clang diagnostic ignored "-Wpsabi"

// A function of device/semantics.
#define MORGANA_OP [[gnu::always_inline, maybe_unused]] static inline
// Sixteen lanes whose rare cases have a branch: compiled code inlines such functions after it has put one
// part of the wave behind the other, which a branch over the whole wave would prevent.
#ifndef MORGANA_CHUNK_OP
#define MORGANA_CHUNK_OP MORGANA_OP
#endif

namespace morgana::device::MORGANA_SIMD {

template <typename T, int N>
using vec = T __attribute__((ext_vector_type(N)));

inline constexpr int kN = MORGANA_LANES;

// One value a lane.
using f32v = vec<float, kN>;
using u32v = vec<uint32_t, kN>;
using i32v = vec<int32_t, kN>;
using f64v = vec<double, kN>;
using u64v = vec<uint64_t, kN>;
using i64v = vec<int64_t, kN>;
using u16v = vec<uint16_t, kN>;
using i16v = vec<int16_t, kN>;
using f16v = vec<_Float16, kN>;
using u8v = vec<uint8_t, kN>;

// Two 16-bit values a lane: elements 2l (low half) and 2l + 1 (high half) belong to lane l.
using pk_u16v = vec<uint16_t, 2 * kN>;
using pk_i16v = vec<int16_t, 2 * kN>;
using pk_f16v = vec<_Float16, 2 * kN>;

// Two 32-bit values a lane, as a register pair lies in memory: elements l and kN + l belong to lane l.
using pk_f32v = vec<float, 2 * kN>;
using pk_u32v = vec<uint32_t, 2 * kN>;

// bf16 values, as bits: one a lane, or two.
struct bf16v {
  u16v bits;
};
struct pk_bf16v {
  u32v bits;
};

// One bit a lane.
using mask = uint64_t;

// A constant of the instruction that is no operand (v_bitop3's truth table).
struct immediate {
  uint32_t value;
};

// A vector result and a carry or condition mask.
template <typename V>
struct with_mask {
  V value;
  mask bits;
};

// Four 32-bit values a lane.
struct u32x4 {
  u32v word[4];
};

template <typename V>
struct vec_traits;
template <typename T, int N>
struct vec_traits<vec<T, N>> {
  using element = T;
  static constexpr int size = N;
};
template <typename V>
using element_of = typename vec_traits<V>::element;
template <typename V>
inline constexpr int size_of = vec_traits<V>::size;

// The vector with V's length and elements of T.
template <typename T, typename V>
using like = vec<T, size_of<V>>;

template <int Bytes>
struct int_of;
template <>
struct int_of<2> {
  using u = uint16_t;
  using i = int16_t;
};
template <>
struct int_of<4> {
  using u = uint32_t;
  using i = int32_t;
};
template <>
struct int_of<8> {
  using u = uint64_t;
  using i = int64_t;
};
// Integers as wide as V's elements.
template <typename V>
using uint_of = like<typename int_of<sizeof(element_of<V>)>::u, V>;
template <typename V>
using sint_of = like<typename int_of<sizeof(element_of<V>)>::i, V>;

// The bits of `v` as a To of the same size.
template <typename To, typename V>
MORGANA_OP To as(V v) {
  return __builtin_bit_cast(To, v);
}
template <typename V>
MORGANA_OP uint_of<V> bits_of(V v) {
  return __builtin_bit_cast(uint_of<V>, v);
}
// Numeric conversion lane by lane.
template <typename T, typename V>
MORGANA_OP like<T, V> to(V v) {
  return __builtin_convertvector(v, like<T, V>);
}

using boolv = vec<bool, kN>;
// A vector comparison's result (0 or -1 a lane) as a mask, and back.
template <typename V>
MORGANA_OP mask mask_of(V condition) {
  static_assert(kN == 64);
  return __builtin_bit_cast(mask, __builtin_convertvector(condition, boolv));
}
MORGANA_OP u32v bit_of(mask m) { return __builtin_convertvector(__builtin_bit_cast(boolv, m), u32v); }
// Lanes of `a` where the mask is set, of `b` elsewhere.
template <typename V>
MORGANA_OP V select(mask m, V a, V b) {
  return __builtin_bit_cast(boolv, m) ? a : b;
}
// Whether any lane of a comparison's result is set.
template <typename V>
MORGANA_OP bool any(V condition) {
  return __builtin_reduce_or(condition) != 0;
}

// a * b + c for own polynomials. Hosts without fused multiply-add compute it in f64: the product is exact,
// and what the sum's first rounding loses is too little to matter.
MORGANA_OP f32v polynomial_fma(f32v a, f32v b, f32v c) {
#ifdef __FMA__
  return __builtin_elementwise_fma(a, b, c);
#else
  return to<float>(to<double>(a) * to<double>(b) + to<double>(c));
#endif
}

// --- Floating-point formats, by element type ---

template <typename T>
struct format;
template <>
struct format<float> {
  static constexpr int mantissa = 23, bias = 127;
  static constexpr uint32_t sign = 0x80000000u, exponent = 0x7f800000u, quiet = 0x00400000u,
                            nan = 0x7fc00000u;
};
template <>
struct format<double> {
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr uint64_t sign = 0x8000000000000000u, exponent = 0x7ff0000000000000u,
                            quiet = 0x0008000000000000u, nan = 0x7ff8000000000000u;
};
template <>
struct format<_Float16> {
  static constexpr int mantissa = 10, bias = 15;
  static constexpr uint16_t sign = 0x8000, exponent = 0x7c00, quiet = 0x0200, nan = 0x7e00;
};
template <typename V>
using format_of = format<element_of<V>>;

template <typename V>
MORGANA_OP uint_of<V> magnitude_bits(V v) {
  return bits_of(v) & uint_of<V>(static_cast<element_of<uint_of<V>>>(~format_of<V>::sign));
}
template <typename V>
MORGANA_OP uint_of<V> sign_bits(V v) {
  return bits_of(v) & uint_of<V>(format_of<V>::sign);
}
template <typename V>
MORGANA_OP V abs_of(V v) {
  return as<V>(magnitude_bits(v));
}
// The biased exponent field.
template <typename V>
MORGANA_OP sint_of<V> exponent_of(V v) {
  return as<sint_of<V>>(magnitude_bits(v) >> format_of<V>::mantissa);
}
template <typename V>
MORGANA_OP sint_of<V> is_nan(V v) {
  return magnitude_bits(v) > uint_of<V>(format_of<V>::exponent);
}
template <typename V>
MORGANA_OP sint_of<V> is_inf(V v) {
  return magnitude_bits(v) == uint_of<V>(format_of<V>::exponent);
}
template <typename V>
MORGANA_OP sint_of<V> is_signaling(V v) {
  return (magnitude_bits(v) > uint_of<V>(format_of<V>::exponent)) &
         ((bits_of(v) & uint_of<V>(format_of<V>::quiet)) == 0);
}
template <typename V>
MORGANA_OP sint_of<V> is_denormal(V v) {
  const uint_of<V> m = magnitude_bits(v);
  return (m != 0) & (m < uint_of<V>(static_cast<element_of<uint_of<V>>>(format_of<V>::quiet * 2)));
}
template <typename V>
MORGANA_OP V quiet(V v) {
  return as<V>(bits_of(v) | uint_of<V>(format_of<V>::quiet));
}
template <typename V>
MORGANA_OP V quiet_nan() {
  return as<V>(uint_of<V>(format_of<V>::nan));
}
template <typename V>
MORGANA_OP V infinity(uint_of<V> sign) {
  return as<V>(sign | uint_of<V>(format_of<V>::exponent));
}
// Denormals become zeros of their sign.
template <typename V>
MORGANA_OP V flush(V v) {
  const uint_of<V> b = bits_of(v);
  return as<V>((b & uint_of<V>(format_of<V>::exponent)) == 0 ? b & uint_of<V>(format_of<V>::sign) : b);
}

// MODE's denormal fields for operands of V.
template <typename V>
MORGANA_OP bool flushes_input(const Mode& mode) {
  return ((sizeof(element_of<V>) == 4 ? mode.denorm32() : mode.denorm16_64()) & 1) == 0;
}
template <typename V>
MORGANA_OP bool flushes_output(const Mode& mode) {
  return ((sizeof(element_of<V>) == 4 ? mode.denorm32() : mode.denorm16_64()) & 2) == 0;
}
template <typename V>
MORGANA_OP V flush_input(const Mode& mode, V v) {
  if (flushes_input<V>(mode)) return flush(v);
  return v;
}
template <typename V>
MORGANA_OP V flush_output(const Mode& mode, V v) {
  if (flushes_output<V>(mode)) return flush(v);
  return v;
}

}  // namespace morgana::device::MORGANA_SIMD
