// The order of blocks in a function. Private to runtime/compiler/spirv.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace morgana::runtime::spirv {

// The module with every block behind those that dominate it, as SPIR-V wants it: in reverse post-order from
// the function's first block, blocks that nothing reaches at the end. Nothing where that is the order
// already, or where the words are no instructions. The words may be anything.
std::optional<std::vector<uint32_t>> with_ordered_blocks(std::span<const uint32_t> words);

}  // namespace morgana::runtime::spirv
