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
  // Whether the access to LDS at a dword of the Program can race with no other (lift/quiet.h); what lies
  // behind cannot be said to.
  std::vector<bool> quiet_lds;
  // A launch has stored, or accessed LDS, where that is not what the code says.
  std::atomic<bool> has_failed = false;
};

}  // namespace morgana::device
