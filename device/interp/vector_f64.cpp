// 64-bit floating-point instructions.
#include "device/interp/vector_tables.h"
#include "device/semantics/division.h"
#include "device/semantics/vop_f64.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr VectorOp kFloat64Rows[] = {
    MORGANA_VOP(v_mov_b64),
    MORGANA_VOP(v_add_f64),
    MORGANA_VOP(v_mul_f64),
    MORGANA_VOP(v_fma_f64),
    MORGANA_VOP(v_fmac_f64),
    MORGANA_VOP_SLOW(v_min_f64),
    MORGANA_VOP_SLOW(v_max_f64),
    MORGANA_VOP_SLOW(v_minimum_f64),
    MORGANA_VOP_SLOW(v_maximum_f64),
    MORGANA_VOP_SLOW(v_min_f64_gfx6),
    MORGANA_VOP_SLOW(v_max_f64_gfx6),
    MORGANA_VOP_SLOW(v_trunc_f64),
    MORGANA_VOP_SLOW(v_ceil_f64),
    MORGANA_VOP_SLOW(v_rndne_f64),
    MORGANA_VOP_SLOW(v_floor_f64),
    MORGANA_VOP_SLOW(v_fract_f64),
    MORGANA_VOP_SLOW(v_ldexp_f64),
    MORGANA_VOP_SLOW(v_frexp_mant_f64),
    MORGANA_VOP_SLOW(v_frexp_exp_i32_f64),
    MORGANA_VOP_SLOW(v_rcp_f64),
    MORGANA_VOP_SLOW(v_rsq_f64),
    MORGANA_VOP_SLOW(v_sqrt_f64),
    MORGANA_VOP_SLOW(v_rcp_clamp_f64),
    MORGANA_VOP_SLOW(v_rsq_clamp_f64),
    MORGANA_VOP_SLOW(v_trig_preop_f64),
    MORGANA_VOP_SLOW(v_div_scale_f64),
    MORGANA_VOP_SLOW(v_div_fmas_f64),
    MORGANA_VOP_SLOW(v_div_fixup_f64),
};

}  // namespace

const Family kFloat64Ops = {kFloat64Rows, sizeof kFloat64Rows / sizeof kFloat64Rows[0]};

}  // namespace morgana::device::MORGANA_SIMD
