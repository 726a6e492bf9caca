// AMDGPU assembly to machine code, by LLVM's assembler in process.
//
// Callable from any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/target.h"

namespace morgana::runtime {

// The dwords of `text` (one instruction a line). malformed with the assembler's message when it is no code of
// `target`.
Result<std::vector<uint32_t>> assemble(Target target, std::string_view text);

}  // namespace morgana::runtime
