// Guest memory. A device address is a host address: an allocation is host memory, and host memory that
// the application owns can be registered so that fault reports can name it.
//
// Allocations lie in a range of addresses of their own (address_space.h), small ones side by side (slabs.h),
// others between guards (guard.h). Large ones are reserved lazily: pages come into being when touched. Freed
// memory is not handed out at once: what comes to large blocks that were freed is a fault. Callable from any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/guard.h"

namespace morgana::runtime {

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string label;        // "buffer", "SVM", "code object"
  bool registered = false;  // the application's own memory
  bool freed = false;       // not handed out again since
  bool paged = false;       // registered: whole pages, in which nothing else lies
};

// How far `address` lies outside; 0: inside.
uint64_t distance(const Allocation& allocation, uint64_t address);

// Who an allocation is for: kernels, as their data, or the runtime itself.
enum class Use : uint8_t { data, runtime };

// `size` zero-filled bytes at a multiple of `alignment` (a power of two; at least 256 is used). Never returns
// a null pointer.
Result<void*> allocate(uint64_t size, uint64_t alignment, std::string label, Use use = Use::runtime);

// Frees what allocate returned; nullptr is allowed. Overruns that nobody has noticed yet are reported.
void release(void* pointer);

// Makes host memory known by name until unregistered. `paged`: it consists of whole pages that the caller has
// mapped for reading and writing, and that hold nothing else; see HeldMemory (known_memory.h) before they are
// unmapped.
void register_host(const void* pointer, uint64_t size, std::string label, bool paged = false);
void unregister_host(const void* pointer);

// The allocation that holds `address`, freed ones included.
std::optional<Allocation> find_allocation(uint64_t address);
// The allocation nearest to `address`, for fault reports; a freed one only where it holds the address.
std::optional<Allocation> nearest_allocation(uint64_t address);

// What was written behind an allocation's end.
struct Overrun {
  Allocation allocation;
  Damage damage;
};
// Whether nothing was written close behind the allocation that holds `address`. Fast for small allocations.
bool is_whole(uint64_t address);
// What was written there; the next call does not find it again.
std::optional<Overrun> take_overrun(uint64_t address);

// Bytes that `allocate` has given out and not taken back.
uint64_t allocated_bytes();

}  // namespace morgana::runtime
