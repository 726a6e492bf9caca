// 32-bit floating-point instructions.
#include "device/interp/vector_tables.h"
#include "device/semantics/division.h"
#include "device/semantics/transcendental.h"
#include "device/semantics/vop_f32.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr VectorOp kRows[] = {
    MORGANA_VOP(v_mov_b32),
    MORGANA_VOP(v_cndmask_b32),
    MORGANA_VOP(v_add_f32),
    MORGANA_VOP(v_sub_f32),
    MORGANA_VOP(v_subrev_f32),
    MORGANA_VOP(v_mul_f32),
    MORGANA_VOP(v_mul_legacy_f32),
    MORGANA_VOP(v_fma_f32),
    MORGANA_VOP(v_fmac_f32),
    MORGANA_VOP(v_fmamk_f32),
    MORGANA_VOP(v_fmaak_f32),
    MORGANA_VOP(v_mad_f32),
    MORGANA_VOP(v_mac_f32),
    MORGANA_VOP(v_madmk_f32),
    MORGANA_VOP(v_madak_f32),
    MORGANA_VOP_SLOW(v_mad_legacy_f32),
    MORGANA_VOP_SLOW(v_mac_legacy_f32),
    MORGANA_VOP_SLOW(v_mullit_f32),
    MORGANA_VOP(v_min_f32),
    MORGANA_VOP(v_max_f32),
    MORGANA_VOP(v_min_f32_gfx6),
    MORGANA_VOP(v_max_f32_gfx6),
    MORGANA_VOP_SLOW(v_min3_f32_gfx6),
    MORGANA_VOP_SLOW(v_max3_f32_gfx6),
    MORGANA_VOP_SLOW(v_med3_f32_gfx6),
    MORGANA_VOP_SLOW(v_min_legacy_f32),
    MORGANA_VOP_SLOW(v_max_legacy_f32),
    MORGANA_VOP_SLOW(v_min3_f32),
    MORGANA_VOP_SLOW(v_max3_f32),
    MORGANA_VOP_SLOW(v_med3_f32),
    MORGANA_VOP_SLOW(v_minimum3_f32),
    MORGANA_VOP_SLOW(v_maximum3_f32),
    MORGANA_VOP(v_fract_f32),
    MORGANA_VOP(v_trunc_f32),
    MORGANA_VOP(v_ceil_f32),
    MORGANA_VOP(v_rndne_f32),
    MORGANA_VOP(v_floor_f32),
    MORGANA_VOP(v_ldexp_f32),
    MORGANA_VOP_SLOW(v_frexp_mant_f32),
    MORGANA_VOP_SLOW(v_frexp_exp_i32_f32),
    MORGANA_VOP_SLOW(v_cubeid_f32),
    MORGANA_VOP_SLOW(v_cubesc_f32),
    MORGANA_VOP_SLOW(v_cubetc_f32),
    MORGANA_VOP_SLOW(v_cubema_f32),
    MORGANA_VOP_SLOW(v_div_scale_f32),
    MORGANA_VOP_SLOW(v_div_fmas_f32),
    MORGANA_VOP_SLOW(v_div_fixup_f32),
    MORGANA_VOP(v_rcp_f32),
    MORGANA_VOP(v_rcp_iflag_f32),
    MORGANA_VOP(v_sqrt_f32),
    MORGANA_VOP(v_rsq_f32),
    MORGANA_VOP_SLOW(v_rcp_clamp_f32),
    MORGANA_VOP_SLOW(v_rsq_clamp_f32),
    MORGANA_VOP_SLOW(v_rcp_legacy_f32),
    MORGANA_VOP_SLOW(v_rsq_legacy_f32),
    MORGANA_VOP(v_exp_f32),
    MORGANA_VOP_SLOW(v_exp_legacy_f32),
    MORGANA_VOP(v_log_f32),
    MORGANA_VOP_SLOW(v_log_legacy_f32),
    MORGANA_VOP_SLOW(v_log_clamp_f32),
    MORGANA_VOP(v_sin_f32),
    MORGANA_VOP(v_cos_f32),
    MORGANA_VOP_SLOW(v_sin_f32_gfx6),
    MORGANA_VOP_SLOW(v_cos_f32_gfx6),
    MORGANA_VOP(v_pk_add_f32),
    MORGANA_VOP(v_pk_mul_f32),
    MORGANA_VOP(v_pk_fma_f32),
};

}  // namespace

const Family kFloat32Ops = {kRows, sizeof kRows / sizeof kRows[0]};

}  // namespace morgana::device::MORGANA_SIMD
