// The loops of a Flow that hold no other: natural loops, found by dominators.
//
// No LLVM here. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "device/jit/analysis.h"

namespace morgana::device::jit {

struct Loop {
  // The head first; every other block stands behind those of the loop that lead to it.
  std::vector<uint32_t> blocks;
  std::vector<uint32_t> exits;  // blocks outside that it leads to

  uint32_t head() const { return blocks.front(); }
};

std::vector<Loop> innermost_loops(const Flow& flow);

}  // namespace morgana::device::jit
