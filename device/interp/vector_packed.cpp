// Packed arithmetic, dot products, mixed-precision multiply-adds.
#include "device/interp/vector_tables.h"
#include "device/semantics/vop3p.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr VectorOp kPackedRows[] = {
    MORGANA_VOP_SLOW_CLAMP(v_pk_add_u16),
    MORGANA_VOP_SLOW_CLAMP(v_pk_sub_u16),
    MORGANA_VOP_SLOW_CLAMP(v_pk_mul_lo_u16),
    MORGANA_VOP_SLOW_CLAMP(v_pk_mad_u16),
    MORGANA_VOP_SLOW_CLAMP(v_pk_add_i16),
    MORGANA_VOP_SLOW_CLAMP(v_pk_sub_i16),
    MORGANA_VOP_SLOW_CLAMP(v_pk_mad_i16),
    MORGANA_VOP_SLOW(v_pk_lshlrev_b16),
    MORGANA_VOP_SLOW(v_pk_lshrrev_b16),
    MORGANA_VOP_SLOW(v_pk_ashrrev_i16),
    MORGANA_VOP_SLOW(v_pk_min_u16),
    MORGANA_VOP_SLOW(v_pk_max_u16),
    MORGANA_VOP_SLOW(v_pk_min_i16),
    MORGANA_VOP_SLOW(v_pk_max_i16),
    MORGANA_VOP(v_pk_add_f16),
    MORGANA_VOP(v_pk_mul_f16),
    MORGANA_VOP(v_pk_fma_f16),
    MORGANA_VOP(v_pk_fmac_f16),
    MORGANA_VOP_SLOW(v_pk_min_f16),
    MORGANA_VOP_SLOW(v_pk_max_f16),
    MORGANA_VOP_SLOW(v_pk_minimum_f16),
    MORGANA_VOP_SLOW(v_pk_maximum_f16),
    MORGANA_VOP_SLOW(v_pk_minimum3_f16),
    MORGANA_VOP_SLOW(v_pk_maximum3_f16),
    MORGANA_VOP_SLOW(v_fma_mix_f32),
    MORGANA_VOP_SLOW(v_fma_mixlo_f16),
    MORGANA_VOP_SLOW(v_fma_mixhi_f16),
    MORGANA_VOP_SLOW(v_mad_mix_f32),
    MORGANA_VOP_SLOW(v_mad_mixlo_f16),
    MORGANA_VOP_SLOW(v_mad_mixhi_f16),
    MORGANA_VOP_NEAREST(v_dot2_f32_f16),
    MORGANA_VOP_NEAREST(v_dot2c_f32_f16),
    MORGANA_VOP_NEAREST(v_dot2_f32_bf16),
    MORGANA_VOP_NEAREST(v_dot2c_f32_bf16),
    MORGANA_VOP_SLOW_CLAMP(v_dot2_i32_i16),
    MORGANA_VOP_SLOW_CLAMP(v_dot2_u32_u16),
    MORGANA_VOP_SLOW_CLAMP(v_dot4_i32_i8),
    MORGANA_VOP_SLOW_CLAMP(v_dot4_u32_u8),
    MORGANA_VOP_SLOW_CLAMP(v_dot8_i32_i4),
    MORGANA_VOP_SLOW_CLAMP(v_dot8_u32_u4),
    MORGANA_VOP_NEAREST(v_dot2_f16_f16),
    MORGANA_VOP_NEAREST(v_dot2_bf16_bf16),
    MORGANA_VOP_NEAREST(v_dot4_f32_fp8_fp8),
    MORGANA_VOP_NEAREST(v_dot4_f32_fp8_bf8),
    MORGANA_VOP_NEAREST(v_dot4_f32_bf8_fp8),
    MORGANA_VOP_NEAREST(v_dot4_f32_bf8_bf8),
    MORGANA_VOP_SLOW_CLAMP(v_dot4_i32_iu8),
    MORGANA_VOP_SLOW_CLAMP(v_dot8_i32_iu4),
    MORGANA_VOP_SLOW_CLAMP(v_dot2c_i32_i16),
    MORGANA_VOP_SLOW_CLAMP(v_dot4c_i32_i8),
    MORGANA_VOP_SLOW_CLAMP(v_dot8c_i32_i4),
};

}  // namespace

const Family kPackedOps = {kPackedRows, sizeof kPackedRows / sizeof kPackedRows[0]};

}  // namespace morgana::device::MORGANA_SIMD
