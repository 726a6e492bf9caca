// How large arrays are that are to lie in memory rather than in caches.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace bench {

// Elements of an array of floats as large as the last-level cache that the processor reports, 96 MiB at
// least, in whole MiB: two of them go through it in turn and leave nothing of each other.
inline size_t beyond_caches() {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const size_t bytes = std::max(cache > 0 ? static_cast<size_t>(cache) : 0, size_t{96} << 20);
  return ((bytes + (size_t{1} << 20) - 1) >> 20 << 20) / sizeof(float);
}

}  // namespace bench
