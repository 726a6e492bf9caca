// What the scalar instructions compute, one function each, named by AMD's mnemonic.
//
// Pure: values in, value (and SCC) out; control, messages and hardware registers are in device/interp. The
// types of a function tell its frame how to feed it: uint32_t and uint64_t are operands in assembly order (a
// tied destination last), SccIn is SCC, Simm the sign-extended and Uimm the zero-extended 16-bit immediate. A
// result without SCC leaves SCC alone. Spec: CDNA4 ISA guide 12.1 to 12.4; the older generations agree.
#pragma once

#include <cstdint>

namespace morgana::device::scalar {

template <typename T>
struct WithScc {
  T value;
  bool scc;
};
struct SccOnly {
  bool scc;
};
// The destination is written only when `write` is set.
template <typename T>
struct Conditional {
  T value;
  bool write;
};
struct SccIn {
  bool set;
};
struct Simm {
  int32_t value;
};
struct Uimm {
  uint32_t value;
};

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

#define MORGANA_SCALAR [[gnu::always_inline]] constexpr

template <typename T>
MORGANA_SCALAR WithScc<T> nonzero(T value) {
  return {value, value != 0};
}

// --- SOP2: arithmetic ---

MORGANA_SCALAR WithScc<u32> s_add_u32(u32 a, u32 b) { return {a + b, a + b < a}; }
MORGANA_SCALAR WithScc<u32> s_sub_u32(u32 a, u32 b) { return {a - b, b > a}; }
MORGANA_SCALAR WithScc<u32> s_add_i32(u32 a, u32 b) {
  return {a + b, ((~(a ^ b) & (a ^ (a + b))) >> 31) != 0};
}
MORGANA_SCALAR WithScc<u32> s_sub_i32(u32 a, u32 b) {
  return {a - b, (((a ^ b) & (a ^ (a - b))) >> 31) != 0};
}
MORGANA_SCALAR WithScc<u32> s_addc_u32(u32 a, u32 b, SccIn carry) {
  const u64 sum = u64{a} + b + carry.set;
  return {u32(sum), sum >> 32 != 0};
}
MORGANA_SCALAR WithScc<u32> s_subb_u32(u32 a, u32 b, SccIn borrow) {
  return {a - b - borrow.set, u64{b} + borrow.set > a};
}
MORGANA_SCALAR WithScc<u32> s_min_i32(u32 a, u32 b) { return {i32(a) < i32(b) ? a : b, i32(a) < i32(b)}; }
MORGANA_SCALAR WithScc<u32> s_min_u32(u32 a, u32 b) { return {a < b ? a : b, a < b}; }
MORGANA_SCALAR WithScc<u32> s_max_i32(u32 a, u32 b) { return {i32(a) >= i32(b) ? a : b, i32(a) >= i32(b)}; }
MORGANA_SCALAR WithScc<u32> s_max_u32(u32 a, u32 b) { return {a >= b ? a : b, a >= b}; }
MORGANA_SCALAR u32 s_mul_i32(u32 a, u32 b) { return a * b; }
MORGANA_SCALAR u32 s_mul_hi_u32(u32 a, u32 b) { return u32(u64{a} * b >> 32); }
MORGANA_SCALAR u32 s_mul_hi_i32(u32 a, u32 b) { return u32(u64(i64{i32(a)} * i32(b)) >> 32); }
MORGANA_SCALAR WithScc<u32> s_absdiff_i32(u32 a, u32 b) {
  const u32 difference = a - b;
  return nonzero(i32(difference) < 0 ? 0 - difference : difference);
}
MORGANA_SCALAR WithScc<u32> shift_add(u32 a, u32 b, int shift) {
  const u64 sum = (u64{a} << shift) + b;
  return {u32(sum), sum >> 32 != 0};
}
MORGANA_SCALAR WithScc<u32> s_lshl1_add_u32(u32 a, u32 b) { return shift_add(a, b, 1); }
MORGANA_SCALAR WithScc<u32> s_lshl2_add_u32(u32 a, u32 b) { return shift_add(a, b, 2); }
MORGANA_SCALAR WithScc<u32> s_lshl3_add_u32(u32 a, u32 b) { return shift_add(a, b, 3); }
MORGANA_SCALAR WithScc<u32> s_lshl4_add_u32(u32 a, u32 b) { return shift_add(a, b, 4); }

// --- SOP2: selection and bits ---

MORGANA_SCALAR u32 s_cselect_b32(u32 a, u32 b, SccIn scc) { return scc.set ? a : b; }
MORGANA_SCALAR u64 s_cselect_b64(u64 a, u64 b, SccIn scc) { return scc.set ? a : b; }
MORGANA_SCALAR WithScc<u32> s_and_b32(u32 a, u32 b) { return nonzero(a & b); }
MORGANA_SCALAR WithScc<u64> s_and_b64(u64 a, u64 b) { return nonzero(a & b); }
MORGANA_SCALAR WithScc<u32> s_or_b32(u32 a, u32 b) { return nonzero(a | b); }
MORGANA_SCALAR WithScc<u64> s_or_b64(u64 a, u64 b) { return nonzero(a | b); }
MORGANA_SCALAR WithScc<u32> s_xor_b32(u32 a, u32 b) { return nonzero(a ^ b); }
MORGANA_SCALAR WithScc<u64> s_xor_b64(u64 a, u64 b) { return nonzero(a ^ b); }
MORGANA_SCALAR WithScc<u32> s_andn2_b32(u32 a, u32 b) { return nonzero(a & ~b); }
MORGANA_SCALAR WithScc<u64> s_andn2_b64(u64 a, u64 b) { return nonzero(a & ~b); }
MORGANA_SCALAR WithScc<u32> s_orn2_b32(u32 a, u32 b) { return nonzero(a | ~b); }
MORGANA_SCALAR WithScc<u64> s_orn2_b64(u64 a, u64 b) { return nonzero(a | ~b); }
MORGANA_SCALAR WithScc<u32> s_nand_b32(u32 a, u32 b) { return nonzero(~(a & b)); }
MORGANA_SCALAR WithScc<u64> s_nand_b64(u64 a, u64 b) { return nonzero(~(a & b)); }
MORGANA_SCALAR WithScc<u32> s_nor_b32(u32 a, u32 b) { return nonzero(~(a | b)); }
MORGANA_SCALAR WithScc<u64> s_nor_b64(u64 a, u64 b) { return nonzero(~(a | b)); }
MORGANA_SCALAR WithScc<u32> s_xnor_b32(u32 a, u32 b) { return nonzero(~(a ^ b)); }
MORGANA_SCALAR WithScc<u64> s_xnor_b64(u64 a, u64 b) { return nonzero(~(a ^ b)); }
MORGANA_SCALAR WithScc<u32> s_lshl_b32(u32 a, u32 b) { return nonzero(a << (b & 31)); }
MORGANA_SCALAR WithScc<u64> s_lshl_b64(u64 a, u32 b) { return nonzero(a << (b & 63)); }
MORGANA_SCALAR WithScc<u32> s_lshr_b32(u32 a, u32 b) { return nonzero(a >> (b & 31)); }
MORGANA_SCALAR WithScc<u64> s_lshr_b64(u64 a, u32 b) { return nonzero(a >> (b & 63)); }
MORGANA_SCALAR WithScc<u32> s_ashr_i32(u32 a, u32 b) { return nonzero(u32(i32(a) >> (b & 31))); }
MORGANA_SCALAR WithScc<u64> s_ashr_i64(u64 a, u32 b) { return nonzero(u64(i64(a) >> (b & 63))); }
MORGANA_SCALAR u32 s_bfm_b32(u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }
MORGANA_SCALAR u64 s_bfm_b64(u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); }

// Bit field extraction: b[5:0] offset (b[4:0] for 32 bits), b[22:16] width; a width beyond the register takes
// all.
MORGANA_SCALAR WithScc<u32> s_bfe_u32(u32 a, u32 b) {
  const u32 width = b >> 16 & 0x7f, field = a >> (b & 31);
  return nonzero(width >= 32 ? field : field & ((1u << width) - 1));
}
MORGANA_SCALAR WithScc<u64> s_bfe_u64(u64 a, u32 b) {
  const u32 width = b >> 16 & 0x7f;
  const u64 field = a >> (b & 63);
  return nonzero(width >= 64 ? field : field & ((u64{1} << width) - 1));
}
MORGANA_SCALAR WithScc<u32> s_bfe_i32(u32 a, u32 b) {
  const u32 width = b >> 16 & 0x7f;
  const i32 field = i32(a) >> (b & 31);
  if (width == 0) return nonzero(0u);
  return nonzero(width >= 32 ? u32(field) : u32(i32(u32(field) << (32 - width)) >> (32 - width)));
}
MORGANA_SCALAR WithScc<u64> s_bfe_i64(u64 a, u32 b) {
  const u32 width = b >> 16 & 0x7f;
  const i64 field = i64(a) >> (b & 63);
  if (width == 0) return nonzero(u64{0});
  return nonzero(width >= 64 ? u64(field) : u64(i64(u64(field) << (64 - width)) >> (64 - width)));
}
MORGANA_SCALAR u32 s_pack_ll_b32_b16(u32 a, u32 b) { return b << 16 | (a & 0xffff); }
MORGANA_SCALAR u32 s_pack_lh_b32_b16(u32 a, u32 b) { return (b & 0xffff0000) | (a & 0xffff); }
MORGANA_SCALAR u32 s_pack_hh_b32_b16(u32 a, u32 b) { return (b & 0xffff0000) | a >> 16; }
MORGANA_SCALAR u32 s_pack_hl_b32_b16(u32 a, u32 b) { return b << 16 | a >> 16; }
MORGANA_SCALAR u64 s_add_nc_u64(u64 a, u64 b) { return a + b; }
MORGANA_SCALAR u64 s_sub_nc_u64(u64 a, u64 b) { return a - b; }
MORGANA_SCALAR u64 s_mul_u64(u64 a, u64 b) { return a * b; }

// --- SOPK ---

MORGANA_SCALAR u32 s_movk_i32(Simm k) { return u32(k.value); }
MORGANA_SCALAR Conditional<u32> s_cmovk_i32(Simm k, SccIn scc) { return {u32(k.value), scc.set}; }
MORGANA_SCALAR SccOnly s_cmpk_eq_i32(u32 a, Simm k) { return {i32(a) == k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_lg_i32(u32 a, Simm k) { return {i32(a) != k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_gt_i32(u32 a, Simm k) { return {i32(a) > k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_ge_i32(u32 a, Simm k) { return {i32(a) >= k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_lt_i32(u32 a, Simm k) { return {i32(a) < k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_le_i32(u32 a, Simm k) { return {i32(a) <= k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_eq_u32(u32 a, Uimm k) { return {a == k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_lg_u32(u32 a, Uimm k) { return {a != k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_gt_u32(u32 a, Uimm k) { return {a > k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_ge_u32(u32 a, Uimm k) { return {a >= k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_lt_u32(u32 a, Uimm k) { return {a < k.value}; }
MORGANA_SCALAR SccOnly s_cmpk_le_u32(u32 a, Uimm k) { return {a <= k.value}; }
MORGANA_SCALAR WithScc<u32> s_addk_i32(u32 d, Simm k) { return s_add_i32(d, u32(k.value)); }
MORGANA_SCALAR u32 s_mulk_i32(u32 d, Simm k) { return d * u32(k.value); }

// --- SOP1 ---

MORGANA_SCALAR u32 s_mov_b32(u32 a) { return a; }
MORGANA_SCALAR u64 s_mov_b64(u64 a) { return a; }
MORGANA_SCALAR Conditional<u32> s_cmov_b32(u32 a, SccIn scc) { return {a, scc.set}; }
MORGANA_SCALAR Conditional<u64> s_cmov_b64(u64 a, SccIn scc) { return {a, scc.set}; }
MORGANA_SCALAR WithScc<u32> s_not_b32(u32 a) { return nonzero(~a); }
MORGANA_SCALAR WithScc<u64> s_not_b64(u64 a) { return nonzero(~a); }

// Bit 0 of every group of four: whether any of the group is set.
MORGANA_SCALAR u64 quads(u64 a) {
  a |= a >> 1;
  a |= a >> 2;
  return a & 0x1111111111111111;
}
MORGANA_SCALAR WithScc<u64> s_wqm_b64(u64 a) { return nonzero(quads(a) * 0xf); }
MORGANA_SCALAR WithScc<u32> s_wqm_b32(u32 a) { return nonzero(u32(quads(a) * 0xf)); }
MORGANA_SCALAR WithScc<u64> s_quadmask_b64(u64 a) {
  u64 mask = 0;
  for (int i = 0; i < 16; i++) mask |= (quads(a) >> (4 * i) & 1) << i;
  return nonzero(mask);
}
MORGANA_SCALAR WithScc<u32> s_quadmask_b32(u32 a) { return nonzero(u32(s_quadmask_b64(a).value)); }
MORGANA_SCALAR u32 s_brev_b32(u32 a) { return __builtin_bitreverse32(a); }
MORGANA_SCALAR u64 s_brev_b64(u64 a) { return __builtin_bitreverse64(a); }
MORGANA_SCALAR WithScc<u32> s_bcnt1_i32_b32(u32 a) { return nonzero(u32(__builtin_popcount(a))); }
MORGANA_SCALAR WithScc<u32> s_bcnt1_i32_b64(u64 a) { return nonzero(u32(__builtin_popcountll(a))); }
MORGANA_SCALAR WithScc<u32> s_bcnt0_i32_b32(u32 a) { return s_bcnt1_i32_b32(~a); }
MORGANA_SCALAR WithScc<u32> s_bcnt0_i32_b64(u64 a) { return s_bcnt1_i32_b64(~a); }
MORGANA_SCALAR u32 s_ff1_i32_b32(u32 a) { return a ? u32(__builtin_ctz(a)) : ~0u; }
MORGANA_SCALAR u32 s_ff1_i32_b64(u64 a) { return a ? u32(__builtin_ctzll(a)) : ~0u; }
MORGANA_SCALAR u32 s_ff0_i32_b32(u32 a) { return s_ff1_i32_b32(~a); }
MORGANA_SCALAR u32 s_ff0_i32_b64(u64 a) { return s_ff1_i32_b64(~a); }
MORGANA_SCALAR u32 s_flbit_i32_b32(u32 a) { return a ? u32(__builtin_clz(a)) : ~0u; }
MORGANA_SCALAR u32 s_flbit_i32_b64(u64 a) { return a ? u32(__builtin_clzll(a)) : ~0u; }
// The length of the run of sign bits; all ones for 0 and -1.
MORGANA_SCALAR u32 s_flbit_i32(u32 a) { return s_flbit_i32_b32(i32(a) < 0 ? ~a : a); }
MORGANA_SCALAR u32 s_flbit_i32_i64(u64 a) { return s_flbit_i32_b64(i64(a) < 0 ? ~a : a); }
MORGANA_SCALAR u32 s_sext_i32_i8(u32 a) { return u32(i32(int8_t(a))); }
MORGANA_SCALAR u32 s_sext_i32_i16(u32 a) { return u32(i32(int16_t(a))); }
MORGANA_SCALAR u32 s_bitset0_b32(u32 a, u32 d) { return d & ~(1u << (a & 31)); }
MORGANA_SCALAR u64 s_bitset0_b64(u32 a, u64 d) { return d & ~(u64{1} << (a & 63)); }
MORGANA_SCALAR u32 s_bitset1_b32(u32 a, u32 d) { return d | 1u << (a & 31); }
MORGANA_SCALAR u64 s_bitset1_b64(u32 a, u64 d) { return d | u64{1} << (a & 63); }
MORGANA_SCALAR WithScc<u32> s_abs_i32(u32 a) { return nonzero(i32(a) < 0 ? 0 - a : a); }
MORGANA_SCALAR u64 s_bitreplicate_b64_b32(u32 a) {
  u64 bits = 0;
  for (int i = 0; i < 32; i++) bits |= u64{a >> i & 1} * 3 << (2 * i);
  return bits;
}

// The EXEC operations of the saveexec and wrexec families: (S0, EXEC) to the new EXEC.
MORGANA_SCALAR u64 s_and_saveexec_b64(u64 a, u64 exec) { return a & exec; }
MORGANA_SCALAR u64 s_or_saveexec_b64(u64 a, u64 exec) { return a | exec; }
MORGANA_SCALAR u64 s_xor_saveexec_b64(u64 a, u64 exec) { return a ^ exec; }
MORGANA_SCALAR u64 s_andn2_saveexec_b64(u64 a, u64 exec) { return a & ~exec; }
MORGANA_SCALAR u64 s_orn2_saveexec_b64(u64 a, u64 exec) { return a | ~exec; }
MORGANA_SCALAR u64 s_nand_saveexec_b64(u64 a, u64 exec) { return ~(a & exec); }
MORGANA_SCALAR u64 s_nor_saveexec_b64(u64 a, u64 exec) { return ~(a | exec); }
MORGANA_SCALAR u64 s_xnor_saveexec_b64(u64 a, u64 exec) { return ~(a ^ exec); }
MORGANA_SCALAR u64 s_andn1_saveexec_b64(u64 a, u64 exec) { return ~a & exec; }
MORGANA_SCALAR u64 s_orn1_saveexec_b64(u64 a, u64 exec) { return ~a | exec; }
MORGANA_SCALAR u64 s_andn1_wrexec_b64(u64 a, u64 exec) { return ~a & exec; }
MORGANA_SCALAR u64 s_andn2_wrexec_b64(u64 a, u64 exec) { return a & ~exec; }

// --- SOPC ---

MORGANA_SCALAR SccOnly s_cmp_eq_i32(u32 a, u32 b) { return {a == b}; }
MORGANA_SCALAR SccOnly s_cmp_lg_i32(u32 a, u32 b) { return {a != b}; }
MORGANA_SCALAR SccOnly s_cmp_gt_i32(u32 a, u32 b) { return {i32(a) > i32(b)}; }
MORGANA_SCALAR SccOnly s_cmp_ge_i32(u32 a, u32 b) { return {i32(a) >= i32(b)}; }
MORGANA_SCALAR SccOnly s_cmp_lt_i32(u32 a, u32 b) { return {i32(a) < i32(b)}; }
MORGANA_SCALAR SccOnly s_cmp_le_i32(u32 a, u32 b) { return {i32(a) <= i32(b)}; }
MORGANA_SCALAR SccOnly s_cmp_eq_u32(u32 a, u32 b) { return {a == b}; }
MORGANA_SCALAR SccOnly s_cmp_lg_u32(u32 a, u32 b) { return {a != b}; }
MORGANA_SCALAR SccOnly s_cmp_gt_u32(u32 a, u32 b) { return {a > b}; }
MORGANA_SCALAR SccOnly s_cmp_ge_u32(u32 a, u32 b) { return {a >= b}; }
MORGANA_SCALAR SccOnly s_cmp_lt_u32(u32 a, u32 b) { return {a < b}; }
MORGANA_SCALAR SccOnly s_cmp_le_u32(u32 a, u32 b) { return {a <= b}; }
MORGANA_SCALAR SccOnly s_cmp_eq_u64(u64 a, u64 b) { return {a == b}; }
MORGANA_SCALAR SccOnly s_cmp_lg_u64(u64 a, u64 b) { return {a != b}; }
MORGANA_SCALAR SccOnly s_bitcmp0_b32(u32 a, u32 b) { return {(a >> (b & 31) & 1) == 0}; }
MORGANA_SCALAR SccOnly s_bitcmp1_b32(u32 a, u32 b) { return {(a >> (b & 31) & 1) == 1}; }
MORGANA_SCALAR SccOnly s_bitcmp0_b64(u64 a, u32 b) { return {(a >> (b & 63) & 1) == 0}; }
MORGANA_SCALAR SccOnly s_bitcmp1_b64(u64 a, u32 b) { return {(a >> (b & 63) & 1) == 1}; }

#undef MORGANA_SCALAR

}  // namespace morgana::device::scalar
