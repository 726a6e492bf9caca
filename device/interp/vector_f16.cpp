// 16-bit floating-point instructions.
#include "device/interp/vector_tables.h"
#include "device/semantics/division.h"
#include "device/semantics/vop_f16.h"
#include "device/semantics/vop_scalar.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr VectorOp kFloat16Rows[] = {
    MORGANA_VOP(v_add_f16),
    MORGANA_VOP(v_sub_f16),
    MORGANA_VOP(v_subrev_f16),
    MORGANA_VOP(v_mul_f16),
    MORGANA_VOP(v_fma_f16),
    MORGANA_VOP_SLOW(v_fma_legacy_f16),
    MORGANA_VOP(v_fmac_f16),
    MORGANA_VOP_SLOW(v_fmamk_f16),
    MORGANA_VOP_SLOW(v_fmaak_f16),
    MORGANA_VOP(v_mad_f16),
    MORGANA_VOP_SLOW(v_mad_legacy_f16),
    MORGANA_VOP(v_mac_f16),
    MORGANA_VOP_SLOW(v_madmk_f16),
    MORGANA_VOP_SLOW(v_madak_f16),
    MORGANA_VOP_SLOW(v_min_f16),
    MORGANA_VOP_SLOW(v_max_f16),
    MORGANA_VOP_SLOW(v_min_f16_gfx8),
    MORGANA_VOP_SLOW(v_max_f16_gfx8),
    MORGANA_VOP_SLOW(v_min3_f16),
    MORGANA_VOP_SLOW(v_max3_f16),
    MORGANA_VOP_SLOW(v_med3_f16),
    MORGANA_VOP_SLOW(v_minmax_f16),
    MORGANA_VOP_SLOW(v_maxmin_f16),
    MORGANA_VOP_SLOW(v_minimum_f16),
    MORGANA_VOP_SLOW(v_maximum_f16),
    MORGANA_VOP_SLOW(v_minimum3_f16),
    MORGANA_VOP_SLOW(v_maximum3_f16),
    MORGANA_VOP_SLOW(v_minimummaximum_f16),
    MORGANA_VOP_SLOW(v_maximumminimum_f16),
    MORGANA_VOP_SLOW(v_trunc_f16),
    MORGANA_VOP_SLOW(v_ceil_f16),
    MORGANA_VOP_SLOW(v_rndne_f16),
    MORGANA_VOP_SLOW(v_floor_f16),
    MORGANA_VOP_SLOW(v_fract_f16),
    MORGANA_VOP_SLOW(v_ldexp_f16),
    MORGANA_VOP_SLOW(v_frexp_mant_f16),
    MORGANA_VOP_SLOW(v_frexp_exp_i16_f16),
    MORGANA_VOP_SLOW(v_rcp_f16),
    MORGANA_VOP_SLOW(v_sqrt_f16),
    MORGANA_VOP_SLOW(v_rsq_f16),
    MORGANA_VOP_SLOW(v_log_f16),
    MORGANA_VOP_SLOW(v_exp_f16),
    MORGANA_VOP_SLOW(v_sin_f16),
    MORGANA_VOP_SLOW(v_cos_f16),
    MORGANA_VOP_SLOW(v_sin_f16_gfx8),
    MORGANA_VOP_SLOW(v_cos_f16_gfx8),
    MORGANA_VOP_SLOW(v_s_exp_f16),
    MORGANA_VOP_SLOW(v_s_log_f16),
    MORGANA_VOP_SLOW(v_s_rcp_f16),
    MORGANA_VOP_SLOW(v_s_rsq_f16),
    MORGANA_VOP_SLOW(v_s_sqrt_f16),
    MORGANA_VOP_SLOW(v_div_fixup_f16),
    MORGANA_VOP_SLOW(v_div_fixup_legacy_f16),
};

}  // namespace

const Family kFloat16Ops = {kFloat16Rows, sizeof kFloat16Rows / sizeof kFloat16Rows[0]};

}  // namespace morgana::device::MORGANA_SIMD
