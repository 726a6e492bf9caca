// Programs that a file holds: code objects as they are, SPIR-V built for a target. Single-threaded.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace morgana::tools {

// The bytes of a file; of a SPIR-V module (docs/opencl.md), the code object that Morgana's OpenCL library
// makes of it for `target` ("gfx950"). An error with the build's log when it makes none.
Result<std::vector<uint8_t>> read_program(const std::string& path, const std::string& target);

}  // namespace morgana::tools
