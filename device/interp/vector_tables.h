// The families of vector instructions and the way back from a Step to its row.
#pragma once

#include "device/interp/vector_frame.h"

namespace morgana::device::MORGANA_SIMD {

// One file each.
struct Family {
  const VectorOp* rows;
  uint32_t count;
};
extern const Family kFloat32Ops, kFloat64Ops, kFloat16Ops, kIntegerOps, kShortOps, kConvertOps, kPackedOps,
    kCompareFloatOps, kCompareIntegerOps, kSmallFloatOps;
extern const Family kFnuzFloatOps;  // what gfx942 has instead of kSmallFloatOps, in the same order

// The row that select_vector noted in Step::extra.
const VectorOp& vector_row(uint32_t extra);
// The place of an op's row; false: it has none.
bool vector_place(isa::Op op, uint32_t& place);

// Handlers of instructions that are no lane-by-lane function (vector_lane.cpp); nullptr for others.
Handler select_lane(Target target, const isa::Inst& inst, Step& step);
// Handlers of V_PERMLANE of gfx10 and later (vector_permute.cpp); nullptr for others.
Handler select_permute(isa::Op op);
// Handlers of conversions to small floats, and of those from them that take a scale (vector_small.cpp).
Handler select_small(const isa::Inst& inst, Step& step);
// The handler of matrix instructions (vector_matrix.cpp).
Handler select_matrix(const isa::Inst& inst, Step& step);
// The handler of gfx11's and gfx12's matrix instructions (vector_wmma.cpp).
Handler select_wmma(Target target, const isa::Inst& inst, Step& step);
// The handler of two instructions at once (vector_dual.cpp).
Handler select_dual(const isa::Inst& inst, Step& step);

// The handler that shows the operands of an instruction to service::observe (vector.cpp); nullptr: none does.
Handler observed_handler(Target target, const isa::Inst& inst, Step& step);

}  // namespace morgana::device::MORGANA_SIMD
