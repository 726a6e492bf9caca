// 32-bit reciprocals, roots, exponential, logarithm, sine and cosine.
//
// All flush denormal operands whatever MODE says. Greatest errors over all 2^32 operands on AVX-512
// (docs/precision.md): rcp and sqrt 0.5 ulp, exp, rsq, sin and cos below 0.9, log 0.99. Polynomials are
// own minimax fits.
#pragma once

#include "device/semantics/float_ops.h"

namespace morgana::device::MORGANA_SIMD {

// A denormal result is the host's to flush or keep: the hardware's reciprocal flushes its operand only.
MORGANA_OP f32v v_rcp_f32(f32v a) { return 1.0f / flush(a); }
MORGANA_OP f32v v_rcp_iflag_f32(f32v a) { return v_rcp_f32(a); }
MORGANA_OP f32v v_sqrt_f32(f32v a) { return __builtin_elementwise_sqrt(flush(a)); }
#ifdef __AVX512F__
// The host's estimate of 14 bits and one Newton step. The estimate has few bits, and its square loses less
// than its product with the operand would.
using Chunk16 = vec<float, 16>;
MORGANA_OP Chunk16 estimate_rsq(Chunk16 x) {
  return __builtin_ia32_rsqrt14ps512_mask(x, Chunk16(0.0f), 0xffff);
}
MORGANA_OP Chunk16 refine_rsq(Chunk16 x, Chunk16 y) {
  const Chunk16 error = __builtin_elementwise_fma(-x, y * y, Chunk16(1.0f));
  const auto half = as<Chunk16>(bits_of(y) - 0x00800000u);  // y is normal; the multipliers have enough to do
  return __builtin_elementwise_fma(half, error, y);
}
MORGANA_CHUNK_OP Chunk16 chunk_rsq(Chunk16 a) {
  Chunk16 r = refine_rsq(a, estimate_rsq(a));
  // Everything but positive normal numbers, and those whose root's square is denormal.
  const auto bits = as<vec<uint32_t, 16>>(a);
  const auto special = bits - 0x00800000u >= 0x7e000000u - 0x00800000u;
  if (any(special)) [[unlikely]] {
    const Chunk16 quarter = a * 0.25f;
    const Chunk16 large = refine_rsq(quarter, estimate_rsq(quarter)) * 0.5f;
    const auto is_large = bits - 0x7e000000u < 0x7f800000u - 0x7e000000u;
    r = special ? (is_large ? large : estimate_rsq(flush(a))) : r;
  }
  return r;
}
MORGANA_OP f32v v_rsq_f32(f32v a) {
  struct Chunks {
    Chunk16 chunk[kN / 16];
  };
  Chunks chunks = __builtin_bit_cast(Chunks, a);
  for (Chunk16& chunk : chunks.chunk) chunk = chunk_rsq(chunk);
  return __builtin_bit_cast(f32v, chunks);
}
#else
MORGANA_OP f32v v_rsq_f32(f32v a) {
  const f32v x = flush(a);
  const f32v y = 1.0f / __builtin_elementwise_sqrt(x);
  // One Newton step takes back the second rounding.
  const f32v corrected = polynomial_fma(y * 0.5f, polynomial_fma(-(x * y), y, f32v(1.0f)), y);
  return (is_inf(y) | is_inf(x) | (y != y)) ? y : corrected;
}
#endif

template <typename V>
MORGANA_OP V finite(V v) {
  return is_inf(v) ? as<V>(sign_bits(v) | (uint_of<V>(format_of<V>::exponent) - 1)) : v;
}
// gfx6 and gfx7: an infinite result becomes the largest number (clamp) or zero (legacy).
MORGANA_OP f32v v_rcp_clamp_f32(f32v a) { return finite(v_rcp_f32(a)); }
MORGANA_OP f32v v_rsq_clamp_f32(f32v a) { return finite(v_rsq_f32(a)); }
MORGANA_OP f32v v_rcp_legacy_f32(f32v a) {
  const f32v r = v_rcp_f32(a);
  return is_inf(r) ? as<f32v>(sign_bits(r)) : r;
}
MORGANA_OP f32v v_rsq_legacy_f32(f32v a) {
  const f32v r = v_rsq_f32(a);
  return is_inf(r) ? as<f32v>(sign_bits(r)) : r;
}

// 2^f * 2^n for f in [-1/2, 1/2]; the result is normal for every x in [-126, 128).
MORGANA_OP f32v v_exp_f32(f32v a) {
  const f32v x = flush(a);
  const f32v n = __builtin_elementwise_roundeven(x);
  const f32v f = x - n;
  f32v p = f32v(0x1.417abap-13f);
  p = polynomial_fma(p, f, f32v(0x1.5f094ap-10f));
  p = polynomial_fma(p, f, f32v(0x1.3b2dd2p-7f));
  p = polynomial_fma(p, f, f32v(0x1.c6af7ap-5f));
  p = polynomial_fma(p, f, f32v(0x1.ebfbdcp-3f));
  p = polynomial_fma(p, f, f32v(0x1.62e430p-1f));
  p = polynomial_fma(p, f, f32v(1.0f));
  const i32v in_range = (x >= -126.0f) & (x < 128.0f);
  const i32v exponent = to<int32_t>(in_range ? n : f32v(0.0f));
  const f32v scaled = as<f32v>(as<i32v>(p) + (exponent << 23));
  const f32v outside = x != x ? quiet(x) : x < 0.0f ? f32v(0.0f) : infinity<f32v>(u32v(0));
  return in_range ? scaled : outside;
}
MORGANA_OP f32v v_exp_legacy_f32(f32v a) { return v_exp_f32(a); }

// e + log2(m) for x = m * 2^e, m in [sqrt(1/2), sqrt(2)).
MORGANA_OP f32v v_log_f32(f32v a) {
  const f32v x = flush(a);
  const i32v e = (as<i32v>(x) - 0x3f3504f3) >> 23;
  const f32v t = as<f32v>(as<i32v>(x) - (e << 23)) - 1.0f;
  f32v q = f32v(-0x1.c382dep-4f);
  q = polynomial_fma(q, t, f32v(0x1.7f2c3ap-3f));
  q = polynomial_fma(q, t, f32v(-0x1.87fe02p-3f));
  q = polynomial_fma(q, t, f32v(0x1.a2c996p-3f));
  q = polynomial_fma(q, t, f32v(-0x1.eaa1b0p-3f));
  q = polynomial_fma(q, t, f32v(0x1.277f44p-2f));
  q = polynomial_fma(q, t, f32v(-0x1.715b00p-2f));
  q = polynomial_fma(q, t, f32v(0x1.ec7094p-2f));
  q = polynomial_fma(q, t, f32v(-0x1.715470p-1f));
  const f32v log2e = f32v(0x1.715476p+0f), log2e_low = f32v(0x1.4ae0cp-26f);
  // The leading term is added to the exponent first, and what both roundings lose comes back with the small
  // terms.
  const f32v lead = t * log2e, lead_error = polynomial_fma(t, log2e, -lead);
  const f32v low = polynomial_fma(t * t, q, polynomial_fma(t, log2e_low, lead_error));
  const f32v ef = to<float>(e);
  const f32v high = ef + lead;
  const f32v r = high + ((lead - (high - ef)) + low);
  const f32v special = x == 0.0f  ? infinity<f32v>(u32v(0x80000000u))
                       : (x != x) ? quiet(x)
                       : x < 0.0f ? quiet_nan<f32v>()
                                  : x;
  return ((x > 0.0f) & !is_inf(x)) ? r : special;
}
MORGANA_OP f32v v_log_legacy_f32(f32v a) { return v_log_f32(a); }
MORGANA_OP f32v v_log_clamp_f32(f32v a) { return finite(v_log_f32(a)); }

// sin(2 pi (k / 4 + d)) for a whole k and d in [-1/8, 1/8]: plus or minus the sine or the cosine of d.
MORGANA_OP f32v sine_of_turns(i32v k, f32v d) {
  const i32v cosine = (k & 1) != 0;
  const f32v s = d * d;
  f32v q = cosine ? f32v(0x1.d461bep+5f) : f32v(0x1.443816p+5f);
  q = polynomial_fma(q, s, cosine ? f32v(-0x1.55b11cp+6f) : f32v(-0x1.32ada6p+6f));
  q = polynomial_fma(q, s, cosine ? f32v(0x1.03c1aep+6f) : f32v(0x1.466b78p+6f));
  q = polynomial_fma(q, s, cosine ? f32v(-0x1.3bd3ccp+4f) : f32v(-0x1.4abbcep+5f));
  const f32v rest = polynomial_fma(d * s, q, d * -0x1.777a5cp-23f);
  const f32v r = cosine ? polynomial_fma(s, q, f32v(1.0f)) : polynomial_fma(d, f32v(0x1.921fb6p+2f), rest);
  return as<f32v>(as<i32v>(r) ^ ((k & 2) << 30));
}
// The operand counts turns; whole turns and quarters are taken off exactly.
MORGANA_OP f32v v_sin_f32(f32v a) {
  const f32v x = flush(a);
  const f32v r = x - __builtin_elementwise_roundeven(x);
  const f32v k = __builtin_elementwise_roundeven(r * 4.0f);
  const f32v y = flush(sine_of_turns(to<int32_t>(r == r ? k : f32v(0.0f)), r - k * 0.25f));
  return x == 0.0f ? x : y == 0.0f ? f32v(0.0f) : y;
}
MORGANA_OP f32v v_cos_f32(f32v a) {
  const f32v x = flush(a);
  const f32v r = x - __builtin_elementwise_roundeven(x);
  const f32v k = __builtin_elementwise_roundeven(r * 4.0f);
  const f32v y = flush(sine_of_turns(to<int32_t>(r == r ? k : f32v(0.0f)) + 1, r - k * 0.25f));
  return y == 0.0f ? f32v(0.0f) : y;
}
// gfx6 to gfx8 know 256 turns each way; beyond, the sine is 0 and the cosine 1.
MORGANA_OP i32v beyond_256_turns(f32v a) { return (abs_of(a) > 256.0f) & !is_inf(a); }
MORGANA_OP f32v v_sin_f32_gfx6(f32v a) { return beyond_256_turns(a) ? f32v(0.0f) : v_sin_f32(a); }
MORGANA_OP f32v v_cos_f32_gfx6(f32v a) { return beyond_256_turns(a) ? f32v(1.0f) : v_cos_f32(a); }

}  // namespace morgana::device::MORGANA_SIMD
