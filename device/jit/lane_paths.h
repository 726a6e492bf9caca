// What a loop does to the masks' bits of one lane, and which ways that lane takes when it is alone.
//
// A wave takes a branch on EXEC for all its lanes: one without EXEC's bit is led through code that does
// nothing to it. Alone it goes round that code. Both must come to the same: with the same bits to where the
// lane is active again, or out of the loop. That is tried for every combination of bits that can occur.
//
// No LLVM here. Owned by one compilation.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "device/isa/expression.h"
#include "device/jit/loops.h"

namespace morgana::device::jit {

// A lane's bits: EXEC's, then those of the masks in the order of their codes.
using LaneBits = uint32_t;
inline constexpr LaneBits kActive = 1;

struct LanePaths {
  std::vector<uint16_t> codes;  // where masks begin that hold one bit a lane, without EXEC
  // What a lane alone comes to: blocks, and whether it is active there. With each the bits that it always has
  // there (first), and never (second).
  using Place = std::pair<uint32_t, bool>;
  std::map<Place, std::pair<LaneBits, LaneBits>> places;
};

// The code of EXEC or of a pair that holds one bit a lane; 0 and -1 are masks too.
bool is_mask_code(const Flow& flow, uint16_t code);
// Whether each bit of the number follows from its operands' bits and EXEC's.
bool is_bitwise(const isa::Expression& value);

// Nothing: a wave may come to something else. The loop reads `masks` and writes `set_masks`, which are 0 for
// the lanes that come in where the head reads them; all its ways out lead to block `behind`.
std::optional<LanePaths> lane_paths(const Flow& flow, const Loop& loop, uint32_t behind,
                                    const ScalarSet& masks, const ScalarSet& set_masks);

}  // namespace morgana::device::jit
