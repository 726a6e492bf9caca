// What checks, recordings and replays ask of memory besides what `memory.h` has. Any thread.
#pragma once

#include <vector>

#include "device/checks.h"
#include "device/touched_pages.h"
#include "runtime/capsule.h"
#include "runtime/memory.h"

namespace morgana::runtime {

// Whether an address lies in an allocation.
device::KnownMemory known_memory(uint64_t address);

// What kernels do with memory by what the program has said, OpenCL's CL_MEM_READ_ONLY and CL_MEM_WRITE_ONLY:
// of what `allocate` has returned, until it is released. known_memory() says so.
enum class KernelAccess : uint8_t { reads, writes };
void limit_kernels(const void* allocation, KernelAccess access);

// All allocations that have bytes in [begin, end), freed ones included, by rising address.
std::vector<Allocation> allocations_in(uint64_t begin, uint64_t end);
// Memory of the program that it has registered and may be using: not that of `pages()` below.
std::vector<Allocation> registered_memory();

// While one lives no pages of device memory are given back: `release` does so when it goes. One at a time;
// none in a forked child.
class HeldMemory {
 public:
  HeldMemory();
  ~HeldMemory();
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  // Of allocations, their canaries, and what can be read behind them.
  const std::vector<device::TouchedPages::Region>& pages() const { return pages_; }
  // What was allocated beside others since then, with what is behind it. By rising address.
  static std::vector<Capsule::Region> made();

  // Returns when none lives: for whoever has pages of device memory that `release` does not know.
  static void wait_for_none();

 private:
  std::vector<device::TouchedPages::Region> pages_;
};

// For replays: zero pages at addresses of another process, of which [begin, end) is multiples of pages. io:
// the addresses are not free here.
Status place_pages(uint64_t begin, uint64_t end);
// Makes an allocation known that lies in such pages, or nowhere.
void adopt(const Allocation& allocation);

}  // namespace morgana::runtime
