// Guest memory. A device address is a host address: an allocation is host memory, and host memory that
// the application owns can be registered so that fault reports can name it.
//
// Large blocks are reserved lazily: pages come into being when touched. Callable from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace morgana::runtime {

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string label;        // "buffer", "SVM", "kernarg", "code of program"
  bool registered = false;  // the application's own memory
};

// `size` zero-filled bytes at a multiple of `alignment` (a power of two; at least 64 is used). Never returns
// a null pointer.
Result<void*> allocate(uint64_t size, uint64_t alignment, std::string label);

// Frees what allocate returned; nullptr is allowed.
void release(void* pointer);

// Makes host memory known by name until unregistered.
void register_host(const void* pointer, uint64_t size, std::string label);
void unregister_host(const void* pointer);

// The allocation that holds `address`.
std::optional<Allocation> find_allocation(uint64_t address);
// The allocation nearest to `address`, for fault reports.
std::optional<Allocation> nearest_allocation(uint64_t address);

// Bytes that `allocate` has given out and not taken back.
uint64_t allocated_bytes();

}  // namespace morgana::runtime
