// Conversions.
#include "device/interp/vector_tables.h"
#include "device/semantics/convert.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr VectorOp kConvertRows[] = {
    MORGANA_VOP(v_cvt_i32_f32),
    MORGANA_VOP(v_cvt_u32_f32),
    MORGANA_VOP_SLOW(v_cvt_i32_f64),
    MORGANA_VOP_SLOW(v_cvt_u32_f64),
    MORGANA_VOP_SLOW(v_cvt_flr_i32_f32),
    MORGANA_VOP_SLOW(v_cvt_rpi_i32_f32),
    MORGANA_VOP(v_cvt_f32_i32),
    MORGANA_VOP(v_cvt_f32_u32),
    MORGANA_VOP_SLOW(v_cvt_f64_i32),
    MORGANA_VOP_SLOW(v_cvt_f64_u32),
    MORGANA_VOP_CONVERSION(v_cvt_f32_f64),
    MORGANA_VOP_CONVERSION(v_cvt_f64_f32),
    MORGANA_VOP(v_cvt_f32_ubyte0),
    MORGANA_VOP(v_cvt_f32_ubyte1),
    MORGANA_VOP(v_cvt_f32_ubyte2),
    MORGANA_VOP(v_cvt_f32_ubyte3),
    MORGANA_VOP_SLOW(v_cvt_off_f32_i4),
    MORGANA_VOP_CONVERSION_FAST(v_cvt_f16_f32),
    MORGANA_VOP(v_cvt_f32_f16),
    MORGANA_VOP_SLOW(v_cvt_f32_bf16),
    MORGANA_VOP_SLOW(v_cvt_f16_u16),
    MORGANA_VOP_SLOW(v_cvt_f16_i16),
    MORGANA_VOP_SLOW(v_cvt_u16_f16),
    MORGANA_VOP_SLOW(v_cvt_i16_f16),
    MORGANA_VOP_SLOW(v_cvt_norm_i16_f16),
    MORGANA_VOP_SLOW(v_cvt_norm_u16_f16),
    MORGANA_VOP_SLOW(v_cvt_pknorm_i16_f32),
    MORGANA_VOP_SLOW(v_cvt_pknorm_u16_f32),
    MORGANA_VOP_SLOW(v_cvt_pknorm_i16_f16),
    MORGANA_VOP_SLOW(v_cvt_pknorm_u16_f16),
    MORGANA_VOP_SLOW(v_cvt_pkrtz_f16_f32),
    MORGANA_VOP_SLOW(v_cvt_pk_u16_u32),
    MORGANA_VOP_SLOW(v_cvt_pk_i16_i32),
    MORGANA_VOP_SLOW(v_cvt_pk_u16_f32),
    MORGANA_VOP_SLOW(v_cvt_pk_i16_f32),
    MORGANA_VOP_SLOW(v_pack_b32_f16),
    MORGANA_VOP_SLOW(v_cvt_pk_u8_f32),
    MORGANA_VOP_SLOW(v_cvt_pkaccum_u8_f32),
    MORGANA_VOP_SLOW(v_sat_pk_u8_i16),
    MORGANA_VOP_SLOW(v_ashr_pk_u8_i32),
    MORGANA_VOP_SLOW(v_ashr_pk_i8_i32),
    MORGANA_VOP_NEAREST(v_cvt_pk_f16_f32),
    MORGANA_VOP_SLOW(v_cvt_pk_bf16_f32),
};

}  // namespace

const Family kConvertOps = {kConvertRows, sizeof kConvertRows / sizeof kConvertRows[0]};

}  // namespace morgana::device::MORGANA_SIMD
