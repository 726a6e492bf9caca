// 16-bit integer instructions.
#include "device/interp/vector_tables.h"
#include "device/semantics/vop_int.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr VectorOp kShortRows[] = {
    MORGANA_VOP_CLAMP(v_add_u16),
    MORGANA_VOP_CLAMP(v_sub_u16),
    MORGANA_VOP_SLOW_CLAMP(v_subrev_u16),
    MORGANA_VOP_SLOW_CLAMP(v_add_i16),
    MORGANA_VOP_SLOW_CLAMP(v_sub_i16),
    MORGANA_VOP_SLOW_CLAMP(v_mul_lo_u16),
    MORGANA_VOP_SLOW_CLAMP(v_mad_u16),
    MORGANA_VOP_SLOW_CLAMP(v_mad_i16),
    MORGANA_VOP_SLOW_CLAMP(v_mad_legacy_u16),
    MORGANA_VOP_SLOW_CLAMP(v_mad_legacy_i16),
    MORGANA_VOP_SLOW_CLAMP(v_mad_u32_u16),
    MORGANA_VOP_SLOW_CLAMP(v_mad_i32_i16),
    MORGANA_VOP_SLOW(v_lshlrev_b16),
    MORGANA_VOP_SLOW(v_lshrrev_b16),
    MORGANA_VOP_SLOW(v_ashrrev_i16),
    MORGANA_VOP_SLOW(v_min_u16),
    MORGANA_VOP_SLOW(v_max_u16),
    MORGANA_VOP_SLOW(v_min_i16),
    MORGANA_VOP_SLOW(v_max_i16),
    MORGANA_VOP_SLOW(v_min3_u16),
    MORGANA_VOP_SLOW(v_max3_u16),
    MORGANA_VOP_SLOW(v_med3_u16),
    MORGANA_VOP_SLOW(v_min3_i16),
    MORGANA_VOP_SLOW(v_max3_i16),
    MORGANA_VOP_SLOW(v_med3_i16),
    MORGANA_VOP_SLOW(v_bitop3_b16),
    MORGANA_VOP(v_mov_b16),
    MORGANA_VOP_SLOW(v_not_b16),
    MORGANA_VOP_SLOW(v_and_b16),
    MORGANA_VOP_SLOW(v_or_b16),
    MORGANA_VOP_SLOW(v_xor_b16),
    MORGANA_VOP_SLOW(v_cndmask_b16),
    MORGANA_VOP_SLOW(v_cvt_i32_i16),
    MORGANA_VOP_SLOW(v_cvt_u32_u16),
};

}  // namespace

const Family kShortOps = {kShortRows, sizeof kShortRows / sizeof kShortRows[0]};

}  // namespace morgana::device::MORGANA_SIMD
