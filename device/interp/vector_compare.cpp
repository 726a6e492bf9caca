// Comparisons: V_CMP, V_CMPX (which also writes EXEC), and gfx6's V_CMPS and V_CMPSX, which signal on every
// NaN; nothing listens to signals here.
#include "device/interp/vector_tables.h"
#include "device/semantics/vopc.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

#define MORGANA_CMP(condition)                              \
  vector_op<v_cmp_##condition>(isa::Op::v_cmp_##condition), \
      vector_op<v_cmp_##condition, false, true>(isa::Op::v_cmpx_##condition)
#define MORGANA_CMPS(condition)                                                             \
  MORGANA_CMP(condition), vector_op<v_cmp_##condition, false>(isa::Op::v_cmps_##condition), \
      vector_op<v_cmp_##condition, false, true>(isa::Op::v_cmpsx_##condition)

#define MORGANA_FLOAT_CONDITIONS(row, type)                                                            \
  row(f_##type), row(lt_##type), row(eq_##type), row(le_##type), row(gt_##type), row(lg_##type),       \
      row(ge_##type), row(o_##type), row(u_##type), row(nge_##type), row(nlg_##type), row(ngt_##type), \
      row(nle_##type), row(neq_##type), row(nlt_##type), row(tru_##type)
#define MORGANA_INTEGER_CONDITIONS(type)                                                         \
  MORGANA_CMP(f_##type), MORGANA_CMP(lt_##type), MORGANA_CMP(eq_##type), MORGANA_CMP(le_##type), \
      MORGANA_CMP(gt_##type), MORGANA_CMP(ne_##type), MORGANA_CMP(ge_##type), MORGANA_CMP(t_##type)

constexpr VectorOp kCompareFloatRows[] = {
    MORGANA_FLOAT_CONDITIONS(MORGANA_CMPS, f32),
    MORGANA_FLOAT_CONDITIONS(MORGANA_CMPS, f64),
    MORGANA_FLOAT_CONDITIONS(MORGANA_CMP, f16),
    MORGANA_CMP(class_f32),
    MORGANA_CMP(class_f64),
    MORGANA_CMP(class_f16),
};

constexpr VectorOp kCompareIntegerRows[] = {
    MORGANA_INTEGER_CONDITIONS(i32), MORGANA_INTEGER_CONDITIONS(u32), MORGANA_INTEGER_CONDITIONS(i64),
    MORGANA_INTEGER_CONDITIONS(u64), MORGANA_INTEGER_CONDITIONS(i16), MORGANA_INTEGER_CONDITIONS(u16),
};

}  // namespace

const Family kCompareFloatOps = {kCompareFloatRows, sizeof kCompareFloatRows / sizeof kCompareFloatRows[0]};
const Family kCompareIntegerOps = {kCompareIntegerRows,
                                   sizeof kCompareIntegerRows / sizeof kCompareIntegerRows[0]};

}  // namespace morgana::device::MORGANA_SIMD
