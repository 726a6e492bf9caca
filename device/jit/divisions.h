// Finds the instructions with which compilers divide: div_scale, rcp, fma, div_fmas, div_fixup. Together they
// compute what the host divides in one instruction.
#pragma once

#include "device/jit/analysis.h"

namespace morgana::device::jit {

// Marks every div_fixup that ends such a sequence within its block (Instruction::divides).
void find_divisions(Flow& flow, const Mode& mode);

}  // namespace morgana::device::jit
