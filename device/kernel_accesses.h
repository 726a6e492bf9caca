// KernelAccesses: what a kernel's code says of its accesses to memory. A Program keeps it for its kernels,
// and the checks of their launches read it.
//
// Used by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace morgana::device {

struct KernelAccesses {
  bool knows_stores = false;
  // What the addresses of stores and atomics follow, several of them alike: dwords of the arguments, rising.
  std::vector<std::vector<uint32_t>> stored_by;
  static constexpr uint32_t kAnyArgument = ~0u;
  // Accesses to LDS that can race with no other (lift/quiet.h): dwords of the Program, rising.
  std::vector<uint32_t> quiet_lds;
  // A launch has stored, or accessed LDS, where that is not what the code says.
  std::atomic<bool> has_failed = false;
};

}  // namespace morgana::device
