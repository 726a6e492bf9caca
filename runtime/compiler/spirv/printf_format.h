// What SPIRV-Tools and producers of SPIR-V disagree about: the type of printf's format. Private to
// runtime/compiler/spirv.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

struct spv_context_t;

namespace morgana::runtime::spirv {

// LLVM gives printf a pointer to the array that its format is; the validator of SPIRV-Tools 2023.1 wants
// one to the array's bytes and refuses the module. This is the module with each such format cast (OpBitcast)
// to what the validator wants; nothing where there is none, or the words cannot be parsed.
std::optional<std::vector<uint32_t>> with_formats_of_bytes(const spv_context_t* context,
                                                           std::span<const uint32_t> words);

}  // namespace morgana::runtime::spirv
