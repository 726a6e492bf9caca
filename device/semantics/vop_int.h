// 32-bit, 64-bit and 16-bit integer arithmetic. Namespace clamp holds what the same instruction computes with
// its CLAMP bit: the exact result, saturated to the type.
#pragma once

#include "device/semantics/types.h"

namespace morgana::device::MORGANA_SIMD {

// --- Bits ---

MORGANA_OP u32v v_and_b32(u32v a, u32v b) { return a & b; }
MORGANA_OP u32v v_or_b32(u32v a, u32v b) { return a | b; }
MORGANA_OP u32v v_xor_b32(u32v a, u32v b) { return a ^ b; }
MORGANA_OP u32v v_xnor_b32(u32v a, u32v b) { return ~(a ^ b); }
MORGANA_OP u32v v_not_b32(u32v a) { return ~a; }
MORGANA_OP u32v v_or3_b32(u32v a, u32v b, u32v c) { return a | b | c; }
MORGANA_OP u32v v_xor3_b32(u32v a, u32v b, u32v c) { return a ^ b ^ c; }
MORGANA_OP u32v v_and_or_b32(u32v a, u32v b, u32v c) { return (a & b) | c; }
MORGANA_OP u32v v_bfi_b32(u32v m, u32v a, u32v b) { return (m & a) | (~m & b); }
MORGANA_OP u32v v_bfm_b32(u32v width, u32v offset) {
  return ((u32v(1) << (width & 31)) - 1) << (offset & 31);
}
MORGANA_OP u32v v_bfe_u32(u32v a, u32v offset, u32v width) {
  return (a >> (offset & 31)) & ((u32v(1) << (width & 31)) - 1);
}
MORGANA_OP i32v v_bfe_i32(i32v a, u32v offset, u32v width) {
  const i32v w = as<i32v>(width & 31);
  const i32v field = a >> as<i32v>(offset & 31);
  const i32v left = (32 - w) & 31;
  return w == 0 ? i32v(0) : (field << left) >> left;
}
MORGANA_OP u32v v_bfrev_b32(u32v a) { return __builtin_elementwise_bitreverse(a); }
MORGANA_OP u32v v_bcnt_u32_b32(u32v a, u32v b) { return __builtin_elementwise_popcount(a) + b; }
MORGANA_OP u32v v_ffbh_u32(u32v a) { return a == 0 ? u32v(~0u) : __builtin_elementwise_clzg(a, u32v(32)); }
MORGANA_OP u32v v_ffbl_b32(u32v a) { return a == 0 ? u32v(~0u) : __builtin_elementwise_ctzg(a, u32v(32)); }
// The first bit that differs from the sign.
MORGANA_OP i32v v_ffbh_i32(i32v a) { return as<i32v>(v_ffbh_u32(as<u32v>(a ^ (a >> 31)))); }

// Which of four shader engines a rectangle of 32-pixel tiles touches (Vega guide 12.8). The operand holds
// bits [6:5] of x_min, y_min, x_max and y_max, from bit 7 down; tile (x, y) belongs to engine {x[0] ^ y[1],
// y[0] ^ x[1]}.
MORGANA_OP u32v v_screen_partition_4se_b32(u32v a) {
  const u32v x = a >> 6 & 3, y = a >> 4 & 3, columns = ((a >> 2) - x) & 3, rows = (a - y) & 3;
  u32v engines = u32v(0);
  for (uint32_t i = 0; i < 4; i++)
    for (uint32_t j = 0; j < 4; j++) {
      const uint32_t engine = ((i & 1) ^ (j >> 1)) << 1 | ((j & 1) ^ (i >> 1));
      const i32v inside = (((i - x) & 3) <= columns) & (((j - y) & 3) <= rows);
      engines |= as<u32v>(inside) & (1u << engine);
    }
  return engines;
}

// Bytes of `data` chosen by those of `control` within 16 bytes, that is, within groups of four lanes.
MORGANA_OP u32v shuffle_bytes(u32v data, u32v control) {
#if defined(__AVX512BW__)
  constexpr int kBytes = 64;
#elif defined(__AVX2__)
  constexpr int kBytes = 32;
#else
  constexpr int kBytes = 16;
#endif
  typedef char Part __attribute__((vector_size(kBytes)));
  struct Parts {
    Part part[sizeof(u32v) / kBytes];
  };
  const Parts d = __builtin_bit_cast(Parts, data), c = __builtin_bit_cast(Parts, control);
  Parts r;
#pragma clang loop unroll(full)
  for (int i = 0; i < static_cast<int>(sizeof(u32v) / kBytes); i++) {
#if defined(__AVX512BW__)
    r.part[i] = __builtin_ia32_pshufb512(d.part[i], c.part[i]);
#elif defined(__AVX2__)
    r.part[i] = __builtin_ia32_pshufb256(d.part[i], c.part[i]);
#else
    r.part[i] = __builtin_ia32_pshufb128(d.part[i], c.part[i]);
#endif
  }
  return __builtin_bit_cast(u32v, r);
}
MORGANA_OP u32v lane_numbers() {
  u32v r;
#pragma clang loop unroll(full)
  for (int i = 0; i < kN; i++) r[i] = static_cast<uint32_t>(i);
  return r;
}

// Selects 0-7: a byte of {a, b}; 8-11: the sign of a half of b, b, a, a; 12: 0; above: 0xff.
MORGANA_OP u32v v_perm_b32(u32v a, u32v b, u32v selectors) {
  using Bytes = vec<uint8_t, 4 * kN>;
  const u32v group = (lane_numbers() & 3) * 0x04040404u;
  const u32v at = (selectors & 0x03030303) + group;
  const Bytes from_a = as<Bytes>(shuffle_bytes(a, at)), from_b = as<Bytes>(shuffle_bytes(b, at));
  const Bytes s = as<Bytes>(selectors);
  Bytes r = (s & 4) != 0 ? from_a : from_b;
  if (any((selectors & 0xf8f8f8f8) != 0)) [[unlikely]] {
    // Byte 1 or 3 of the source holds the sign: selects 8, 9, 10, 11 are bytes 1, 3 of b and 1, 3 of a.
    const u32v sign_at = ((selectors & 0x01010101) * 2 + 0x01010101u) + group;
    const Bytes sign_a = as<Bytes>(shuffle_bytes(a, sign_at)), sign_b = as<Bytes>(shuffle_bytes(b, sign_at));
    const Bytes sign = (s & 2) != 0 ? sign_a : sign_b;
    r = s < 8 ? r : s < 12 ? (sign > 127 ? Bytes(0xff) : Bytes(0)) : s == 12 ? Bytes(0) : Bytes(0xff);
  }
  return as<u32v>(r);
}
MORGANA_OP u32v v_alignbit_b32(u32v a, u32v b, u32v shift) {
  return __builtin_elementwise_fshr(a, b, shift & 31);
}
MORGANA_OP u32v v_alignbyte_b32(u32v a, u32v b, u32v shift) {
  return __builtin_elementwise_fshr(a, b, (shift & 3) * 8);
}
MORGANA_OP u32v v_prng_b32(u32v a) { return (a << 1) ^ (as<i32v>(a) < 0 ? u32v(197) : u32v(0)); }

// --- Shifts ---

MORGANA_OP u32v v_lshlrev_b32(u32v n, u32v a) { return a << (n & 31); }
MORGANA_OP u32v v_lshrrev_b32(u32v n, u32v a) { return a >> (n & 31); }
MORGANA_OP i32v v_ashrrev_i32(u32v n, i32v a) { return a >> as<i32v>(n & 31); }
MORGANA_OP u32v v_lshl_b32(u32v a, u32v n) { return a << (n & 31); }
MORGANA_OP u32v v_lshr_b32(u32v a, u32v n) { return a >> (n & 31); }
MORGANA_OP i32v v_ashr_i32(i32v a, u32v n) { return a >> as<i32v>(n & 31); }
MORGANA_OP u64v v_lshlrev_b64(u32v n, u64v a) { return a << to<uint64_t>(n & 63); }
MORGANA_OP u64v v_lshrrev_b64(u32v n, u64v a) { return a >> to<uint64_t>(n & 63); }
MORGANA_OP i64v v_ashrrev_i64(u32v n, i64v a) { return a >> to<int64_t>(n & 63); }
MORGANA_OP u64v v_lshl_b64(u64v a, u32v n) { return a << to<uint64_t>(n & 63); }
MORGANA_OP u64v v_lshr_b64(u64v a, u32v n) { return a >> to<uint64_t>(n & 63); }
MORGANA_OP i64v v_ashr_i64(i64v a, u32v n) { return a >> to<int64_t>(n & 63); }
MORGANA_OP u32v v_lshl_or_b32(u32v a, u32v n, u32v b) { return (a << (n & 31)) | b; }
MORGANA_OP u32v v_lshl_add_u32(u32v a, u32v n, u32v b) { return (a << (n & 31)) + b; }
MORGANA_OP u32v v_add_lshl_u32(u32v a, u32v b, u32v n) { return (a + b) << (n & 31); }
MORGANA_OP u64v v_lshl_add_u64(u64v a, u32v n, u64v b) { return (a << to<uint64_t>(n & 7)) + b; }

// --- Additions ---

MORGANA_OP u32v v_add_u32(u32v a, u32v b) { return a + b; }
MORGANA_OP u32v v_sub_u32(u32v a, u32v b) { return a - b; }
MORGANA_OP u32v v_subrev_u32(u32v a, u32v b) { return b - a; }
MORGANA_OP u32v v_add3_u32(u32v a, u32v b, u32v c) { return a + b + c; }
MORGANA_OP u32v v_xad_u32(u32v a, u32v b, u32v c) { return (a ^ b) + c; }
MORGANA_OP i32v v_add_i32(i32v a, i32v b) { return as<i32v>(as<u32v>(a) + as<u32v>(b)); }
MORGANA_OP i32v v_sub_i32(i32v a, i32v b) { return as<i32v>(as<u32v>(a) - as<u32v>(b)); }
MORGANA_OP with_mask<u32v> v_add_co_u32(u32v a, u32v b) { return {a + b, mask_of(a + b < a)}; }
MORGANA_OP with_mask<u32v> v_sub_co_u32(u32v a, u32v b) { return {a - b, mask_of(a < b)}; }
MORGANA_OP with_mask<u32v> v_subrev_co_u32(u32v a, u32v b) { return v_sub_co_u32(b, a); }
MORGANA_OP with_mask<u32v> v_addc_co_u32(u32v a, u32v b, mask carry) {
  const u32v sum = a + b, r = sum + bit_of(carry);
  return {r, mask_of((sum < a) | (r < sum))};
}
MORGANA_OP with_mask<u32v> v_subb_co_u32(u32v a, u32v b, mask borrow) {
  const u32v difference = a - b, r = difference - bit_of(borrow);
  return {r, mask_of((a < b) | (difference < r))};
}
MORGANA_OP with_mask<u32v> v_subbrev_co_u32(u32v a, u32v b, mask borrow) {
  return v_subb_co_u32(b, a, borrow);
}

// --- Multiplications ---

MORGANA_OP u32v low24(u32v a) { return a & 0xffffff; }
MORGANA_OP i32v low24(i32v a) { return as<i32v>(as<u32v>(a) << 8) >> 8; }
MORGANA_OP i32v v_mul_i32_i24(i32v a, i32v b) { return as<i32v>(as<u32v>(low24(a)) * as<u32v>(low24(b))); }
MORGANA_OP u32v v_mul_u32_u24(u32v a, u32v b) { return low24(a) * low24(b); }
MORGANA_OP i32v v_mad_i32_i24(i32v a, i32v b, i32v c) { return v_add_i32(v_mul_i32_i24(a, b), c); }
MORGANA_OP u32v v_mad_u32_u24(u32v a, u32v b, u32v c) { return v_mul_u32_u24(a, b) + c; }
MORGANA_OP u32v v_mul_lo_u32(u32v a, u32v b) { return a * b; }
MORGANA_OP i32v v_mul_lo_i32(i32v a, i32v b) { return as<i32v>(as<u32v>(a) * as<u32v>(b)); }
MORGANA_OP u32v v_mul_hi_u32(u32v a, u32v b) {
  return to<uint32_t>((to<uint64_t>(a) * to<uint64_t>(b)) >> 32);
}
MORGANA_OP i32v v_mul_hi_i32(i32v a, i32v b) { return to<int32_t>((to<int64_t>(a) * to<int64_t>(b)) >> 32); }
MORGANA_OP u32v v_mul_hi_u32_u24(u32v a, u32v b) { return v_mul_hi_u32(low24(a), low24(b)); }
MORGANA_OP i32v v_mul_hi_i32_i24(i32v a, i32v b) { return v_mul_hi_i32(low24(a), low24(b)); }
MORGANA_OP u32v v_mad_u32_u16(u16v a, u16v b, u32v c) { return to<uint32_t>(a) * to<uint32_t>(b) + c; }
MORGANA_OP i32v v_mad_i32_i16(i16v a, i16v b, i32v c) {
  return v_add_i32(to<int32_t>(a) * to<int32_t>(b), c);
}
MORGANA_OP with_mask<u64v> v_mad_u64_u32(u32v a, u32v b, u64v c) {
  const u64v r = to<uint64_t>(a) * to<uint64_t>(b) + c;
  return {r, mask_of(r < c)};
}
// The 65th bit of the exact sum.
MORGANA_OP with_mask<i64v> v_mad_i64_i32(i32v a, i32v b, i64v c) {
  const i64v product = to<int64_t>(a) * to<int64_t>(b);
  const i64v r = as<i64v>(as<u64v>(product) + as<u64v>(c));
  const i64v overflow = (product ^ r) & (c ^ r);
  return {r, mask_of((r ^ overflow) < 0)};
}

// --- Minimum, maximum, median ---

template <typename V>
MORGANA_OP V minimum(V a, V b) {
  return __builtin_elementwise_min(a, b);
}
template <typename V>
MORGANA_OP V maximum(V a, V b) {
  return __builtin_elementwise_max(a, b);
}
template <typename V>
MORGANA_OP V middle(V a, V b, V c) {
  return maximum(minimum(a, b), minimum(maximum(a, b), c));
}

MORGANA_OP i32v v_min_i32(i32v a, i32v b) { return minimum(a, b); }
MORGANA_OP i32v v_max_i32(i32v a, i32v b) { return maximum(a, b); }
MORGANA_OP u32v v_min_u32(u32v a, u32v b) { return minimum(a, b); }
MORGANA_OP u32v v_max_u32(u32v a, u32v b) { return maximum(a, b); }
MORGANA_OP i32v v_min3_i32(i32v a, i32v b, i32v c) { return minimum(minimum(a, b), c); }
MORGANA_OP i32v v_max3_i32(i32v a, i32v b, i32v c) { return maximum(maximum(a, b), c); }
MORGANA_OP i32v v_med3_i32(i32v a, i32v b, i32v c) { return middle(a, b, c); }
MORGANA_OP u32v v_min3_u32(u32v a, u32v b, u32v c) { return minimum(minimum(a, b), c); }
MORGANA_OP u32v v_max3_u32(u32v a, u32v b, u32v c) { return maximum(maximum(a, b), c); }
MORGANA_OP u32v v_med3_u32(u32v a, u32v b, u32v c) { return middle(a, b, c); }
MORGANA_OP i32v v_minmax_i32(i32v a, i32v b, i32v c) { return maximum(minimum(a, b), c); }
MORGANA_OP i32v v_maxmin_i32(i32v a, i32v b, i32v c) { return minimum(maximum(a, b), c); }
MORGANA_OP u32v v_minmax_u32(u32v a, u32v b, u32v c) { return maximum(minimum(a, b), c); }
MORGANA_OP u32v v_maxmin_u32(u32v a, u32v b, u32v c) { return minimum(maximum(a, b), c); }

// --- 16 bits ---

MORGANA_OP u16v v_mov_b16(u16v a) { return a; }
MORGANA_OP u16v v_not_b16(u16v a) { return ~a; }
MORGANA_OP u16v v_and_b16(u16v a, u16v b) { return a & b; }
MORGANA_OP u16v v_or_b16(u16v a, u16v b) { return a | b; }
MORGANA_OP u16v v_xor_b16(u16v a, u16v b) { return a ^ b; }
MORGANA_OP u16v v_cndmask_b16(u16v a, u16v b, mask condition) { return select(condition, b, a); }
MORGANA_OP i32v v_cvt_i32_i16(i16v a) { return to<int32_t>(a); }
MORGANA_OP u32v v_cvt_u32_u16(u16v a) { return to<uint32_t>(a); }
MORGANA_OP u16v v_add_u16(u16v a, u16v b) { return a + b; }
MORGANA_OP u16v v_sub_u16(u16v a, u16v b) { return a - b; }
MORGANA_OP u16v v_subrev_u16(u16v a, u16v b) { return b - a; }
MORGANA_OP i16v v_add_i16(i16v a, i16v b) { return as<i16v>(as<u16v>(a) + as<u16v>(b)); }
MORGANA_OP i16v v_sub_i16(i16v a, i16v b) { return as<i16v>(as<u16v>(a) - as<u16v>(b)); }
MORGANA_OP u16v v_mul_lo_u16(u16v a, u16v b) { return a * b; }
MORGANA_OP u16v v_mad_u16(u16v a, u16v b, u16v c) { return a * b + c; }
MORGANA_OP i16v v_mad_i16(i16v a, i16v b, i16v c) {
  return as<i16v>(as<u16v>(a) * as<u16v>(b) + as<u16v>(c));
}
MORGANA_OP u16v v_mad_legacy_u16(u16v a, u16v b, u16v c) { return v_mad_u16(a, b, c); }
MORGANA_OP i16v v_mad_legacy_i16(i16v a, i16v b, i16v c) { return v_mad_i16(a, b, c); }
MORGANA_OP u16v v_lshlrev_b16(u16v n, u16v a) { return a << (n & 15); }
MORGANA_OP u16v v_lshrrev_b16(u16v n, u16v a) { return a >> (n & 15); }
MORGANA_OP i16v v_ashrrev_i16(u16v n, i16v a) { return a >> as<i16v>(n & 15); }
MORGANA_OP u16v v_min_u16(u16v a, u16v b) { return minimum(a, b); }
MORGANA_OP u16v v_max_u16(u16v a, u16v b) { return maximum(a, b); }
MORGANA_OP i16v v_min_i16(i16v a, i16v b) { return minimum(a, b); }
MORGANA_OP i16v v_max_i16(i16v a, i16v b) { return maximum(a, b); }
MORGANA_OP u16v v_min3_u16(u16v a, u16v b, u16v c) { return minimum(minimum(a, b), c); }
MORGANA_OP u16v v_max3_u16(u16v a, u16v b, u16v c) { return maximum(maximum(a, b), c); }
MORGANA_OP u16v v_med3_u16(u16v a, u16v b, u16v c) { return middle(a, b, c); }
MORGANA_OP i16v v_min3_i16(i16v a, i16v b, i16v c) { return minimum(minimum(a, b), c); }
MORGANA_OP i16v v_max3_i16(i16v a, i16v b, i16v c) { return maximum(maximum(a, b), c); }
MORGANA_OP i16v v_med3_i16(i16v a, i16v b, i16v c) { return middle(a, b, c); }

// The truth table of three inputs, most significant input first (gfx950). Without branches, which would cut
// compiled code into blocks until the table is known.
template <typename V>
MORGANA_OP V bitop3(uint32_t table, V a, V b, V c) {
  V r = V(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; i++) {
    const V all = V(static_cast<decltype(V{}[0])>(0u - (table >> i & 1)));
    r |= all & (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return r;
}
MORGANA_OP u32v v_bitop3_b32(u32v a, u32v b, u32v c, immediate table) { return bitop3(table.value, a, b, c); }
MORGANA_OP u16v v_bitop3_b16(u16v a, u16v b, u16v c, immediate table) { return bitop3(table.value, a, b, c); }

// --- Lower lanes ---

// Bits of `a` that belong to lower lanes, counted onto `b`.
MORGANA_OP u32v v_mbcnt_lo_u32_b32(u32v a, u32v b) {
  const u32v lane = lane_numbers();
  const u32v below = lane >= 32 ? u32v(~0u) : (u32v(1) << (lane & 31)) - 1;
  return __builtin_elementwise_popcount(a & below) + b;
}
MORGANA_OP u32v v_mbcnt_hi_u32_b32(u32v a, u32v b) {
  const u32v lane = lane_numbers();
  const u32v below = lane < 32 ? u32v(0) : (u32v(1) << (lane & 31)) - 1;
  return __builtin_elementwise_popcount(a & below) + b;
}

// --- Saturating forms ---

namespace clamp {

template <typename To, typename V>
MORGANA_OP like<To, V> saturate(V v) {
  constexpr bool kSigned = To(-1) < To(0);
  constexpr int kBits = sizeof(To) * 8;
  using E = element_of<V>;
  const E low = kSigned ? -(E(1) << (kBits - 1)) : E(0);
  const E high = kSigned ? (E(1) << (kBits - 1)) - 1 : (E(1) << kBits) - 1;
  return to<To>(minimum(maximum(v, V(low)), V(high)));
}

MORGANA_OP u32v v_add_u32(u32v a, u32v b) { return __builtin_elementwise_add_sat(a, b); }
MORGANA_OP u32v v_sub_u32(u32v a, u32v b) { return __builtin_elementwise_sub_sat(a, b); }
MORGANA_OP u32v v_subrev_u32(u32v a, u32v b) { return __builtin_elementwise_sub_sat(b, a); }
MORGANA_OP i32v v_add_i32(i32v a, i32v b) { return __builtin_elementwise_add_sat(a, b); }
MORGANA_OP i32v v_sub_i32(i32v a, i32v b) { return __builtin_elementwise_sub_sat(a, b); }
MORGANA_OP with_mask<u32v> or_ones(with_mask<u32v> r) { return {select(r.bits, u32v(~0u), r.value), r.bits}; }
MORGANA_OP with_mask<u32v> or_zero(with_mask<u32v> r) { return {select(r.bits, u32v(0), r.value), r.bits}; }
MORGANA_OP with_mask<u32v> v_add_co_u32(u32v a, u32v b) { return or_ones(MORGANA_SIMD::v_add_co_u32(a, b)); }
MORGANA_OP with_mask<u32v> v_sub_co_u32(u32v a, u32v b) { return or_zero(MORGANA_SIMD::v_sub_co_u32(a, b)); }
MORGANA_OP with_mask<u32v> v_subrev_co_u32(u32v a, u32v b) { return v_sub_co_u32(b, a); }
MORGANA_OP with_mask<u32v> v_addc_co_u32(u32v a, u32v b, mask c) {
  return or_ones(MORGANA_SIMD::v_addc_co_u32(a, b, c));
}
MORGANA_OP with_mask<u32v> v_subb_co_u32(u32v a, u32v b, mask c) {
  return or_zero(MORGANA_SIMD::v_subb_co_u32(a, b, c));
}
MORGANA_OP with_mask<u32v> v_subbrev_co_u32(u32v a, u32v b, mask c) { return v_subb_co_u32(b, a, c); }
MORGANA_OP i32v v_mul_i32_i24(i32v a, i32v b) {
  return saturate<int32_t>(to<int64_t>(low24(a)) * to<int64_t>(low24(b)));
}
MORGANA_OP u32v v_mul_u32_u24(u32v a, u32v b) {
  return saturate<uint32_t>(to<uint64_t>(low24(a)) * to<uint64_t>(low24(b)));
}
MORGANA_OP i32v v_mad_i32_i24(i32v a, i32v b, i32v c) {
  return saturate<int32_t>(to<int64_t>(low24(a)) * to<int64_t>(low24(b)) + to<int64_t>(c));
}
MORGANA_OP u32v v_mad_u32_u24(u32v a, u32v b, u32v c) {
  return saturate<uint32_t>(to<uint64_t>(low24(a)) * to<uint64_t>(low24(b)) + to<uint64_t>(c));
}
MORGANA_OP u32v v_mad_u32_u16(u16v a, u16v b, u32v c) {
  return __builtin_elementwise_add_sat(to<uint32_t>(a) * to<uint32_t>(b), c);
}
MORGANA_OP i32v v_mad_i32_i16(i16v a, i16v b, i32v c) {
  return __builtin_elementwise_add_sat(to<int32_t>(a) * to<int32_t>(b), c);
}
MORGANA_OP with_mask<u64v> v_mad_u64_u32(u32v a, u32v b, u64v c) {
  const with_mask<u64v> r = MORGANA_SIMD::v_mad_u64_u32(a, b, c);
  return {select(r.bits, u64v(~uint64_t{0}), r.value), r.bits};
}
MORGANA_OP with_mask<i64v> v_mad_i64_i32(i32v a, i32v b, i64v c) {
  const i64v product = to<int64_t>(a) * to<int64_t>(b);
  return {__builtin_elementwise_add_sat(product, c), MORGANA_SIMD::v_mad_i64_i32(a, b, c).bits};
}
MORGANA_OP u16v v_add_u16(u16v a, u16v b) { return __builtin_elementwise_add_sat(a, b); }
MORGANA_OP u16v v_sub_u16(u16v a, u16v b) { return __builtin_elementwise_sub_sat(a, b); }
MORGANA_OP u16v v_subrev_u16(u16v a, u16v b) { return __builtin_elementwise_sub_sat(b, a); }
MORGANA_OP i16v v_add_i16(i16v a, i16v b) { return __builtin_elementwise_add_sat(a, b); }
MORGANA_OP i16v v_sub_i16(i16v a, i16v b) { return __builtin_elementwise_sub_sat(a, b); }
MORGANA_OP u16v v_mul_lo_u16(u16v a, u16v b) { return saturate<uint16_t>(to<uint32_t>(a) * to<uint32_t>(b)); }
MORGANA_OP u16v v_mad_u16(u16v a, u16v b, u16v c) {
  return saturate<uint16_t>(
      __builtin_elementwise_add_sat(to<uint32_t>(a) * to<uint32_t>(b), to<uint32_t>(c)));
}
MORGANA_OP i16v v_mad_i16(i16v a, i16v b, i16v c) {
  return saturate<int16_t>(to<int32_t>(a) * to<int32_t>(b) + to<int32_t>(c));
}
MORGANA_OP u16v v_mad_legacy_u16(u16v a, u16v b, u16v c) { return v_mad_u16(a, b, c); }
MORGANA_OP i16v v_mad_legacy_i16(i16v a, i16v b, i16v c) { return v_mad_i16(a, b, c); }

}  // namespace clamp
}  // namespace morgana::device::MORGANA_SIMD
