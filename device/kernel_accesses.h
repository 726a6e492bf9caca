// KernelAccesses: what a kernel's code says of its accesses to memory. A Program keeps it for its kernels, and
// the checks of their launches read it.
//
// Used by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "codeobj/kernel_descriptor.h"
#include "device/lift/stores.h"

namespace morgana::device {

struct KernelAccesses {
  lift::Stores stores;
  std::vector<uint32_t> quiet_lds;  // lift/quiet.h, as dwords of the Program; rising
  // A launch has stored, or accessed LDS, where that is not what the code says.
  std::atomic<bool> has_failed = false;
};

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

}  // namespace morgana::device
