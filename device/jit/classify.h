// How each instruction is executed (`How`), and which registers it reads and writes.
#pragma once

#include "device/jit/analysis.h"

namespace morgana::device::jit {

// Of the instruction of `step`, which lies `at` dwords in the region and has been decoded, as those around
// it.
Instruction classify(const Step* step, uint32_t at, const Library& library, const FlowOptions& options,
                     Target target);

// Whether what it computes may depend on MODE's fields of f32: on rounding, or on flushed denormals.
bool computes_in_single(const Instruction& i);

}  // namespace morgana::device::jit
