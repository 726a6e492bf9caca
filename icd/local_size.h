// The work-group size that Morgana picks when the application gives none. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace morgana::icd {

struct LocalSizeRequest {
  uint32_t dimensions = 1;
  std::array<uint64_t, 3> global{1, 1, 1};
  size_t limit = 256;       // work-items that a group may have
  size_t wave = 1;          // lanes of a wave of the device
  bool must_divide = true;  // uniform work-groups only
};

// Whole waves along x where possible, so that neighbouring lanes touch neighbouring memory, and up to 256
// work-items in all. With must_divide every size divides its global size.
std::array<uint32_t, 3> choose_local_size(const LocalSizeRequest& request);

}  // namespace morgana::icd
