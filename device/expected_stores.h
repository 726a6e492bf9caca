// ExpectedStores: what the code of a kernel says of where it stores (device/lift/stores.h). A Program keeps
// it for its kernels, and the checks of their launches read it.
//
// Used by any thread.
#pragma once

#include <atomic>

#include "codeobj/kernel_descriptor.h"
#include "device/lift/stores.h"

namespace morgana::device {

inline lift::ArgumentRegisters argument_registers(const codeobj::KernelDescriptor& descriptor) {
  lift::ArgumentRegisters registers;
  for (const codeobj::UserSgprRange& range : descriptor.user_sgprs()) {
    if (range.what == codeobj::UserSgpr::kernarg_segment_ptr)
      registers.pointer = static_cast<int>(range.first);
    else if (range.what == codeobj::UserSgpr::kernarg_preload)
      registers.preloaded = range.first, registers.count = range.count,
      registers.at = descriptor.kernarg_preload_offset;
  }
  return registers;
}

struct ExpectedStores {
  lift::Stores stores;
  std::atomic<bool> has_failed = false;  // a launch has stored elsewhere
};

}  // namespace morgana::device
