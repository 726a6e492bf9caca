// Vector instructions that give one scalar (gfx12): their arithmetic is that of the instructions on lanes;
// the frame reads a value from scalar registers and writes lane 0.
#pragma once

#include "device/semantics/vop_f16.h"

namespace morgana::device::MORGANA_SIMD {

#define MORGANA_SCALAR_RESULT(name)                                      \
  MORGANA_OP f32v v_s_##name##_f32(f32v a) { return v_##name##_f32(a); } \
  MORGANA_OP f16v v_s_##name##_f16(const Mode& mode, f16v a) { return v_##name##_f16(mode, a); }
MORGANA_SCALAR_RESULT(exp)
MORGANA_SCALAR_RESULT(log)
MORGANA_SCALAR_RESULT(rcp)
MORGANA_SCALAR_RESULT(rsq)
MORGANA_SCALAR_RESULT(sqrt)
#undef MORGANA_SCALAR_RESULT

}  // namespace morgana::device::MORGANA_SIMD
