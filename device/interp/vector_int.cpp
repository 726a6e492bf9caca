// 32-bit and 64-bit integer instructions.
#include "device/interp/vector_tables.h"
#include "device/semantics/sad.h"
#include "device/semantics/vop_int.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr VectorOp kRows[] = {
    MORGANA_VOP(v_and_b32), MORGANA_VOP(v_or_b32), MORGANA_VOP(v_xor_b32), MORGANA_VOP(v_xnor_b32),
    MORGANA_VOP(v_not_b32), MORGANA_VOP(v_or3_b32), MORGANA_VOP(v_and_or_b32), MORGANA_VOP(v_bfi_b32),
    MORGANA_VOP(v_bfm_b32), MORGANA_VOP(v_bfe_u32), MORGANA_VOP(v_bfe_i32), MORGANA_VOP(v_bfrev_b32),
    MORGANA_VOP(v_bcnt_u32_b32), MORGANA_VOP(v_ffbh_u32), MORGANA_VOP(v_ffbl_b32), MORGANA_VOP_SLOW(v_ffbh_i32),
    MORGANA_VOP(v_perm_b32), MORGANA_VOP(v_alignbit_b32), MORGANA_VOP(v_alignbyte_b32), MORGANA_VOP_SLOW(v_prng_b32),
    MORGANA_VOP(v_lshlrev_b32), MORGANA_VOP(v_lshrrev_b32), MORGANA_VOP(v_ashrrev_i32), MORGANA_VOP(v_lshl_b32),
    MORGANA_VOP(v_lshr_b32), MORGANA_VOP(v_ashr_i32), MORGANA_VOP(v_lshlrev_b64), MORGANA_VOP(v_lshrrev_b64),
    MORGANA_VOP(v_ashrrev_i64), MORGANA_VOP_SLOW(v_lshl_b64), MORGANA_VOP_SLOW(v_lshr_b64),
    MORGANA_VOP_SLOW(v_ashr_i64), MORGANA_VOP(v_lshl_or_b32), MORGANA_VOP(v_lshl_add_u32),
    MORGANA_VOP(v_add_lshl_u32), MORGANA_VOP(v_lshl_add_u64),
    MORGANA_VOP_CLAMP(v_add_u32), MORGANA_VOP_CLAMP(v_sub_u32), MORGANA_VOP_CLAMP(v_subrev_u32),
    MORGANA_VOP(v_add3_u32), MORGANA_VOP(v_xad_u32), MORGANA_VOP_SLOW_CLAMP(v_add_i32),
    MORGANA_VOP_SLOW_CLAMP(v_sub_i32), MORGANA_VOP_CLAMP(v_add_co_u32), MORGANA_VOP_CLAMP(v_sub_co_u32),
    MORGANA_VOP_CLAMP(v_subrev_co_u32), MORGANA_VOP_CLAMP(v_addc_co_u32), MORGANA_VOP_CLAMP(v_subb_co_u32),
    MORGANA_VOP_CLAMP(v_subbrev_co_u32),
    MORGANA_VOP_CLAMP(v_mul_i32_i24), MORGANA_VOP_CLAMP(v_mul_u32_u24), MORGANA_VOP_CLAMP(v_mad_i32_i24),
    MORGANA_VOP_CLAMP(v_mad_u32_u24), MORGANA_VOP(v_mul_lo_u32), MORGANA_VOP(v_mul_lo_i32), MORGANA_VOP(v_mul_hi_u32),
    MORGANA_VOP(v_mul_hi_i32), MORGANA_VOP_SLOW(v_mul_hi_u32_u24), MORGANA_VOP_SLOW(v_mul_hi_i32_i24),
    MORGANA_VOP_CLAMP(v_mad_u64_u32), MORGANA_VOP_SLOW_CLAMP(v_mad_i64_i32),
    MORGANA_VOP(v_min_i32), MORGANA_VOP(v_max_i32), MORGANA_VOP(v_min_u32), MORGANA_VOP(v_max_u32),
    MORGANA_VOP(v_min3_i32), MORGANA_VOP(v_max3_i32), MORGANA_VOP(v_med3_i32), MORGANA_VOP(v_min3_u32),
    MORGANA_VOP(v_max3_u32), MORGANA_VOP(v_med3_u32), MORGANA_VOP_SLOW(v_bitop3_b32),
    MORGANA_VOP(v_mbcnt_lo_u32_b32), MORGANA_VOP(v_mbcnt_hi_u32_b32),
    MORGANA_VOP_SLOW_CLAMP(v_sad_u8), MORGANA_VOP_SLOW_CLAMP(v_sad_hi_u8), MORGANA_VOP_SLOW_CLAMP(v_msad_u8),
    MORGANA_VOP_SLOW_CLAMP(v_sad_u16), MORGANA_VOP_SLOW_CLAMP(v_sad_u32), MORGANA_VOP_SLOW_CLAMP(v_qsad_pk_u16_u8),
    MORGANA_VOP_SLOW_CLAMP(v_mqsad_pk_u16_u8), MORGANA_VOP_SLOW_CLAMP(v_mqsad_u32_u8), MORGANA_VOP_SLOW(v_lerp_u8),
};

}  // namespace

const Family kIntegerOps = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace morgana::device::MORGANA_SIMD
