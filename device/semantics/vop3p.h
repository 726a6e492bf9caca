// Packed 16-bit arithmetic, dot products, and multiply-adds of mixed precision.
#pragma once

#include "device/semantics/convert.h"
#include "device/semantics/small_float.h"
#include "device/semantics/vop_f16.h"

namespace morgana::device::MORGANA_SIMD {

// --- Packed integers ---

MORGANA_OP pk_u16v v_pk_add_u16(pk_u16v a, pk_u16v b) { return a + b; }
MORGANA_OP pk_u16v v_pk_sub_u16(pk_u16v a, pk_u16v b) { return a - b; }
MORGANA_OP pk_u16v v_pk_mul_lo_u16(pk_u16v a, pk_u16v b) { return a * b; }
MORGANA_OP pk_u16v v_pk_mad_u16(pk_u16v a, pk_u16v b, pk_u16v c) { return a * b + c; }
MORGANA_OP pk_i16v v_pk_add_i16(pk_i16v a, pk_i16v b) { return as<pk_i16v>(as<pk_u16v>(a) + as<pk_u16v>(b)); }
MORGANA_OP pk_i16v v_pk_sub_i16(pk_i16v a, pk_i16v b) { return as<pk_i16v>(as<pk_u16v>(a) - as<pk_u16v>(b)); }
MORGANA_OP pk_i16v v_pk_mad_i16(pk_i16v a, pk_i16v b, pk_i16v c) {
  return as<pk_i16v>(as<pk_u16v>(a) * as<pk_u16v>(b) + as<pk_u16v>(c));
}
MORGANA_OP pk_u16v v_pk_lshlrev_b16(pk_u16v n, pk_u16v a) { return a << (n & 15); }
MORGANA_OP pk_u16v v_pk_lshrrev_b16(pk_u16v n, pk_u16v a) { return a >> (n & 15); }
MORGANA_OP pk_i16v v_pk_ashrrev_i16(pk_u16v n, pk_i16v a) { return a >> as<pk_i16v>(n & 15); }
MORGANA_OP pk_u16v v_pk_min_u16(pk_u16v a, pk_u16v b) { return minimum(a, b); }
MORGANA_OP pk_u16v v_pk_max_u16(pk_u16v a, pk_u16v b) { return maximum(a, b); }
MORGANA_OP pk_i16v v_pk_min_i16(pk_i16v a, pk_i16v b) { return minimum(a, b); }
MORGANA_OP pk_i16v v_pk_max_i16(pk_i16v a, pk_i16v b) { return maximum(a, b); }

namespace clamp {

MORGANA_OP pk_u16v v_pk_add_u16(pk_u16v a, pk_u16v b) { return __builtin_elementwise_add_sat(a, b); }
MORGANA_OP pk_u16v v_pk_sub_u16(pk_u16v a, pk_u16v b) { return __builtin_elementwise_sub_sat(a, b); }
MORGANA_OP pk_i16v v_pk_add_i16(pk_i16v a, pk_i16v b) { return __builtin_elementwise_add_sat(a, b); }
MORGANA_OP pk_i16v v_pk_sub_i16(pk_i16v a, pk_i16v b) { return __builtin_elementwise_sub_sat(a, b); }
MORGANA_OP pk_u16v v_pk_mul_lo_u16(pk_u16v a, pk_u16v b) {
  return saturate<uint16_t>(to<uint32_t>(a) * to<uint32_t>(b));
}
MORGANA_OP pk_u16v v_pk_mad_u16(pk_u16v a, pk_u16v b, pk_u16v c) {
  return saturate<uint16_t>(
      __builtin_elementwise_add_sat(to<uint32_t>(a) * to<uint32_t>(b), to<uint32_t>(c)));
}
MORGANA_OP pk_i16v v_pk_mad_i16(pk_i16v a, pk_i16v b, pk_i16v c) {
  return saturate<int16_t>(to<int32_t>(a) * to<int32_t>(b) + to<int32_t>(c));
}

}  // namespace clamp

// --- Packed f16 ---

MORGANA_OP pk_f16v v_pk_add_f16(const Mode& mode, pk_f16v a, pk_f16v b) { return half::add(mode, a, b); }
MORGANA_OP pk_f16v v_pk_mul_f16(const Mode& mode, pk_f16v a, pk_f16v b) { return half::multiply(mode, a, b); }
MORGANA_OP pk_f16v v_pk_fma_f16(const Mode& mode, pk_f16v a, pk_f16v b, pk_f16v c) {
  return half::fma(mode, a, b, c);
}
MORGANA_OP pk_f16v v_pk_fmac_f16(const Mode& mode, pk_f16v a, pk_f16v b, pk_f16v d) {
  return half::fma(mode, a, b, d);
}
MORGANA_OP pk_f16v v_pk_min_f16(const Mode& mode, pk_f16v a, pk_f16v b) {
  return half::extremum<false>(mode, a, b);
}
MORGANA_OP pk_f16v v_pk_max_f16(const Mode& mode, pk_f16v a, pk_f16v b) {
  return half::extremum<true>(mode, a, b);
}
MORGANA_OP pk_f16v v_pk_minimum_f16(const Mode& mode, pk_f16v a, pk_f16v b) {
  return half::propagating_extremum<false>(mode, a, b);
}
MORGANA_OP pk_f16v v_pk_maximum_f16(const Mode& mode, pk_f16v a, pk_f16v b) {
  return half::propagating_extremum<true>(mode, a, b);
}
MORGANA_OP pk_f16v v_pk_minimum3_f16(const Mode& mode, pk_f16v a, pk_f16v b, pk_f16v c) {
  return half::propagating_extremum3<false>(mode, a, b, c);
}
MORGANA_OP pk_f16v v_pk_maximum3_f16(const Mode& mode, pk_f16v a, pk_f16v b, pk_f16v c) {
  return half::propagating_extremum3<true>(mode, a, b, c);
}

// --- Mixed precision ---

// An operand of the mix instructions: f32, or one half of a register widened (the frame reads op_sel and
// op_sel_hi).
struct mixed {
  f32v value;
};
MORGANA_OP f32v v_fma_mix_f32(mixed a, mixed b, mixed c) {
  return __builtin_elementwise_fma(a.value, b.value, c.value);
}
// Half a register is written, the other half kept: the frame's part.
MORGANA_OP f16v v_fma_mixlo_f16(const Mode& mode, mixed a, mixed b, mixed c) {
  return half_out(mode, v_fma_mix_f32(a, b, c));
}
MORGANA_OP f16v v_fma_mixhi_f16(const Mode& mode, mixed a, mixed b, mixed c) {
  return v_fma_mixlo_f16(mode, a, b, c);
}
// gfx900's are not fused.
MORGANA_OP f32v v_mad_mix_f32(mixed a, mixed b, mixed c) { return a.value * b.value + c.value; }
MORGANA_OP f16v v_mad_mixlo_f16(const Mode& mode, mixed a, mixed b, mixed c) {
  return half_out(mode, v_mad_mix_f32(a, b, c));
}
MORGANA_OP f16v v_mad_mixhi_f16(const Mode& mode, mixed a, mixed b, mixed c) {
  return v_mad_mixlo_f16(mode, a, b, c);
}

// --- Dot products ---

template <typename T>
MORGANA_OP like<T, u32v> low_half(vec<T, 2 * kN> v) {
  return as<like<T, u32v>>(to<uint16_t>(as<u32v>(v) & 0xffff));
}
template <typename T>
MORGANA_OP like<T, u32v> high_half(vec<T, 2 * kN> v) {
  return as<like<T, u32v>>(to<uint16_t>(as<u32v>(v) >> 16));
}

// Inputs, products and sums flush denormals; each addition rounds to nearest even (CDNA4 guide 6.4; the frame
// sets that mode).
MORGANA_OP f32v dot2(f32v a0, f32v a1, f32v b0, f32v b1, f32v c) {
  f32v sum = flush(c);
  sum = flush(__builtin_elementwise_fma(a0, b0, sum));
  return flush(__builtin_elementwise_fma(a1, b1, sum));
}
MORGANA_OP f32v v_dot2_f32_f16(pk_f16v a, pk_f16v b, f32v c) {
  const pk_f16v x = flush(a), y = flush(b);
  return dot2(widen(low_half(x)), widen(high_half(x)), widen(low_half(y)), widen(high_half(y)), c);
}
MORGANA_OP f32v v_dot2c_f32_f16(pk_f16v a, pk_f16v b, f32v d) { return v_dot2_f32_f16(a, b, d); }
MORGANA_OP f32v v_dot2_f32_bf16(pk_bf16v a, pk_bf16v b, f32v c) {
  const f32v a0 = flush(as<f32v>(a.bits << 16)), a1 = flush(as<f32v>(a.bits & 0xffff0000u));
  const f32v b0 = flush(as<f32v>(b.bits << 16)), b1 = flush(as<f32v>(b.bits & 0xffff0000u));
  return dot2(a0, a1, b0, b1, c);
}
MORGANA_OP f32v v_dot2c_f32_bf16(pk_bf16v a, pk_bf16v b, f32v d) { return v_dot2_f32_bf16(a, b, d); }
// One rounding to the 16-bit format at the end.
MORGANA_OP f16v v_dot2_f16_f16(const Mode& mode, pk_f16v a, pk_f16v b, f16v c) {
  return half_out(mode, v_dot2_f32_f16(a, b, widen(c)));
}
MORGANA_OP bf16v v_dot2_bf16_bf16(pk_bf16v a, pk_bf16v b, bf16v c) {
  return bf16v{narrow_bf16(v_dot2_f32_bf16(a, b, widen_bf16(c.bits)))};
}
// Four products of 8-bit floats.
MORGANA_OP f32v dot4(const SmallFormat& of_a, const SmallFormat& of_b, u32v a, u32v b, f32v c) {
  f32v sum = flush(c);
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < 32; i += 8)
    sum = flush(
        __builtin_elementwise_fma(decode_small(of_a, a >> i & 0xff), decode_small(of_b, b >> i & 0xff), sum));
  return sum;
}
MORGANA_OP f32v v_dot4_f32_fp8_fp8(u32v a, u32v b, f32v c) { return dot4(kFp8, kFp8, a, b, c); }
MORGANA_OP f32v v_dot4_f32_fp8_bf8(u32v a, u32v b, f32v c) { return dot4(kFp8, kBf8, a, b, c); }
MORGANA_OP f32v v_dot4_f32_bf8_fp8(u32v a, u32v b, f32v c) { return dot4(kBf8, kFp8, a, b, c); }
MORGANA_OP f32v v_dot4_f32_bf8_bf8(u32v a, u32v b, f32v c) { return dot4(kBf8, kBf8, a, b, c); }

// The exact sum of products of the elements, `bits` wide each, in 64 bits when `Wide` (for saturation).
template <typename Acc, bool Signed>
MORGANA_OP Acc integer_dot(u32v a, u32v b, int bits) {
  Acc sum = Acc(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < 32; i += bits) {
    const u32v x = a << (32 - bits - i), y = b << (32 - bits - i);
    if constexpr (Signed) {
      sum += to<element_of<Acc>>((as<i32v>(x) >> (32 - bits)) * (as<i32v>(y) >> (32 - bits)));
    } else {
      sum += to<element_of<Acc>>((x >> (32 - bits)) * (y >> (32 - bits)));
    }
  }
  return sum;
}
#define MORGANA_DOT(op, bits, S, V, T, W)                                                                \
  MORGANA_OP V op(u32v a, u32v b, V c) { return as<V>(integer_dot<u32v, S>(a, b, bits) + as<u32v>(c)); } \
  namespace clamp {                                                                                      \
  MORGANA_OP V op(u32v a, u32v b, V c) {                                                                 \
    return saturate<T>(integer_dot<W, S>(a, b, bits) + to<element_of<W>>(c));                            \
  }                                                                                                      \
  }
MORGANA_DOT(v_dot2_i32_i16, 16, true, i32v, int32_t, i64v)
MORGANA_DOT(v_dot2_u32_u16, 16, false, u32v, uint32_t, u64v)
MORGANA_DOT(v_dot4_i32_i8, 8, true, i32v, int32_t, i64v)
MORGANA_DOT(v_dot4_u32_u8, 8, false, u32v, uint32_t, u64v)
MORGANA_DOT(v_dot8_i32_i4, 4, true, i32v, int32_t, i64v)
MORGANA_DOT(v_dot8_u32_u4, 4, false, u32v, uint32_t, u64v)
#undef MORGANA_DOT
// Bits 0 and 1 of `is_signed` belong to `a` and `b` (the frame takes them from NEG).
MORGANA_OP i32v mixed_sign_dot(u32v a, u32v b, int bits, uint32_t is_signed) {
  i32v sum = i32v(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < 32; i += bits) {
    const u32v x = a << (32 - bits - i), y = b << (32 - bits - i);
    sum += (is_signed & 1 ? as<i32v>(x) >> (32 - bits) : as<i32v>(x >> (32 - bits))) *
           (is_signed & 2 ? as<i32v>(y) >> (32 - bits) : as<i32v>(y >> (32 - bits)));
  }
  return sum;
}
MORGANA_OP i32v v_dot4_i32_iu8(u32v a, u32v b, i32v c, immediate is_signed) {
  return as<i32v>(as<u32v>(mixed_sign_dot(a, b, 8, is_signed.value)) + as<u32v>(c));
}
MORGANA_OP i32v v_dot8_i32_iu4(u32v a, u32v b, i32v c, immediate is_signed) {
  return as<i32v>(as<u32v>(mixed_sign_dot(a, b, 4, is_signed.value)) + as<u32v>(c));
}
namespace clamp {
MORGANA_OP i32v v_dot4_i32_iu8(u32v a, u32v b, i32v c, immediate is_signed) {
  return __builtin_elementwise_add_sat(mixed_sign_dot(a, b, 8, is_signed.value), c);
}
MORGANA_OP i32v v_dot8_i32_iu4(u32v a, u32v b, i32v c, immediate is_signed) {
  return __builtin_elementwise_add_sat(mixed_sign_dot(a, b, 4, is_signed.value), c);
}
}  // namespace clamp
MORGANA_OP i32v v_dot2c_i32_i16(u32v a, u32v b, i32v d) { return v_dot2_i32_i16(a, b, d); }
MORGANA_OP i32v v_dot4c_i32_i8(u32v a, u32v b, i32v d) { return v_dot4_i32_i8(a, b, d); }
MORGANA_OP i32v v_dot8c_i32_i4(u32v a, u32v b, i32v d) { return v_dot8_i32_i4(a, b, d); }
namespace clamp {
MORGANA_OP i32v v_dot2c_i32_i16(u32v a, u32v b, i32v d) { return v_dot2_i32_i16(a, b, d); }
MORGANA_OP i32v v_dot4c_i32_i8(u32v a, u32v b, i32v d) { return v_dot4_i32_i8(a, b, d); }
MORGANA_OP i32v v_dot8c_i32_i4(u32v a, u32v b, i32v d) { return v_dot8_i32_i4(a, b, d); }
}  // namespace clamp

}  // namespace morgana::device::MORGANA_SIMD
