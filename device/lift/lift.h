// From a kernel's machine code to wave IR.
//
// Pure; usable from any thread.
#pragma once

#include <optional>

#include "device/lift/code.h"
#include "device/lift/ir.h"

namespace morgana::device::lift {

struct LiftOptions {
  uint32_t acc_base = 256;          // place of AccVGPR 0
  std::optional<uint64_t> address;  // of the code's beginning, if it stays there
  bool observe_everything = false;  // registers are read after the end (tests)
};

Function lift(const Code& code, const LiftOptions& options = {});

}  // namespace morgana::device::lift
