// Sums of absolute differences, and byte averages.
#pragma once

#include "device/semantics/types.h"

namespace morgana::device::MORGANA_SIMD {

template <typename V>
MORGANA_OP V distance(V a, V b) {
  return __builtin_elementwise_max(a, b) - __builtin_elementwise_min(a, b);
}
MORGANA_OP u32v byte_of(u32v a, int i) { return (a >> (8 * i)) & 0xff; }

// The four byte distances added up; `masked`: bytes where the reference b is 0 do not count.
template <bool masked>
MORGANA_OP u32v byte_distances(u32v a, u32v b) {
  u32v sum = u32v(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; i++) {
    const u32v reference = byte_of(b, i), d = distance(byte_of(a, i), reference);
    sum += masked ? (reference == 0 ? u32v(0) : d) : d;
  }
  return sum;
}
MORGANA_OP u32v v_sad_u8(u32v a, u32v b, u32v c) { return byte_distances<false>(a, b) + c; }
MORGANA_OP u32v v_sad_hi_u8(u32v a, u32v b, u32v c) { return (byte_distances<false>(a, b) << 16) + c; }
MORGANA_OP u32v v_msad_u8(u32v a, u32v b, u32v c) { return byte_distances<true>(a, b) + c; }
MORGANA_OP u32v v_sad_u16(u32v a, u32v b, u32v c) {
  return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16) + c;
}
MORGANA_OP u32v v_sad_u32(u32v a, u32v b, u32v c) { return distance(a, b) + c; }

// Bytes [i, i + 4) of the eight in a.
MORGANA_OP u32v window(u64v a, int i) { return to<uint32_t>(a >> (8 * i)); }
template <bool masked>
MORGANA_OP u64v packed_distances(u64v a, u32v b, u64v c, bool saturate) {
  u64v r = u64v(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; i++) {
    u32v sum = byte_distances<masked>(window(a, i), b) + (to<uint32_t>(c >> (16 * i)) & 0xffff);
    if (saturate) sum = __builtin_elementwise_min(sum, u32v(0xffff));
    r |= to<uint64_t>(sum & 0xffff) << (16 * i);
  }
  return r;
}
MORGANA_OP u64v v_qsad_pk_u16_u8(u64v a, u32v b, u64v c) { return packed_distances<false>(a, b, c, false); }
MORGANA_OP u64v v_mqsad_pk_u16_u8(u64v a, u32v b, u64v c) { return packed_distances<true>(a, b, c, false); }
MORGANA_OP u32x4 v_mqsad_u32_u8(u64v a, u32v b, u32x4 c) {
  u32x4 r;
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; i++) r.word[i] = byte_distances<true>(window(a, i), b) + c.word[i];
  return r;
}

MORGANA_OP u32v v_lerp_u8(u32v a, u32v b, u32v round) {
  u32v r = u32v(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; i++)
    r |= ((byte_of(a, i) + byte_of(b, i) + ((round >> (8 * i)) & 1)) >> 1) << (8 * i);
  return r;
}

namespace clamp {

MORGANA_OP u32v v_sad_u8(u32v a, u32v b, u32v c) {
  return __builtin_elementwise_add_sat(byte_distances<false>(a, b), c);
}
MORGANA_OP u32v v_sad_hi_u8(u32v a, u32v b, u32v c) {
  return __builtin_elementwise_add_sat(byte_distances<false>(a, b) << 16, c);
}
MORGANA_OP u32v v_msad_u8(u32v a, u32v b, u32v c) {
  return __builtin_elementwise_add_sat(byte_distances<true>(a, b), c);
}
MORGANA_OP u32v v_sad_u16(u32v a, u32v b, u32v c) {
  return __builtin_elementwise_add_sat(distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16), c);
}
MORGANA_OP u32v v_sad_u32(u32v a, u32v b, u32v c) { return __builtin_elementwise_add_sat(distance(a, b), c); }
MORGANA_OP u64v v_qsad_pk_u16_u8(u64v a, u32v b, u64v c) { return packed_distances<false>(a, b, c, true); }
MORGANA_OP u64v v_mqsad_pk_u16_u8(u64v a, u32v b, u64v c) { return packed_distances<true>(a, b, c, true); }
MORGANA_OP u32x4 v_mqsad_u32_u8(u64v a, u32v b, u32x4 c) {
  u32x4 r;
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; i++)
    r.word[i] = __builtin_elementwise_add_sat(byte_distances<true>(window(a, i), b), c.word[i]);
  return r;
}

}  // namespace clamp
}  // namespace morgana::device::MORGANA_SIMD
