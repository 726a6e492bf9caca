// What is mapped into the process. Linux: /proc/self/maps.
#pragma once

#include <cstdint>
#include <functional>

namespace morgana::runtime {

struct Mapping {
  uint64_t begin = 0, end = 0;
  bool is_writable = false, is_shared = false;  // writable: and readable, and not executable
};

// The process's mappings by rising address, until `visit` returns false. Any thread; handlers of signals,
// too, where the thread was not within the C library.
void visit_mappings(const std::function<bool(const Mapping&)>& visit);

}  // namespace morgana::runtime
