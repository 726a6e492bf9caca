// From a kernel's machine code to wave IR.
//
// Pure; usable from any thread. Bytes are hostile: what cannot be decoded is a way out of the function.
#pragma once

#include "base/result.h"
#include "device/lift/code.h"
#include "device/lift/ir.h"

namespace morgana::device::lift {

struct LiftOptions {
  uint32_t acc_base = 256;          // place of AccVGPR 0
  bool observe_everything = false;  // registers are read after the end (tests)
};

Result<Function> lift(const Code& code, const LiftOptions& options = {});

}  // namespace morgana::device::lift
