// Loops that are better run lane by lane: they mostly load from one address a lane (gathers), so that
// whole-wave code would do 64 loads an instruction anyway, and wait for the lane that takes longest.
//
// Such a loop is one straight run of instructions that a branch on EXEC ends. The lanes know nothing of each
// other: lane masks are only combined bit by bit, and nothing is stored. Owned by one compilation.
#pragma once

#include <optional>

#include "device/jit/analysis.h"
#include "device/jit/shapes.h"

namespace morgana::device::jit {

struct SerialLoop {
  VectorSet reads;                        // what a lane needs at its beginning
  VectorSet writes;                       // what it leaves behind
  ScalarSet masks;                        // even codes of the pairs that hold one bit a lane, without EXEC
  ScalarSet set_masks;                    // those of them that the loop writes
  uint32_t instructions = 0, others = 0;  // others: vector instructions that load nothing
  std::vector<uint32_t> loads;            // numbers of the loads from memory
  uint32_t gathers = 0;                   // that an iteration must have made for the next to go lane by lane
  bool is_indirect = false;               // a load has its address from another load of the same iteration
};

// The loop whose body is block `index` and, behind it, the block of the branch alone, if as many of its loads
// may gather.
std::optional<SerialLoop> serial_loop(const Flow& flow, const Shapes& shapes, uint32_t index);

}  // namespace morgana::device::jit
