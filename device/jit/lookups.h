// Loads from LDS whose addresses follow from what other loads gave: tables. Their lanes rarely have a shape,
// so that looking for one is not worth code.
//
// No LLVM here. Pure.
#pragma once

#include <vector>

#include "device/jit/analysis.h"

namespace morgana::device::jit {

// By the instruction's number.
std::vector<bool> find_lookups(const Flow& flow);

}  // namespace morgana::device::jit
