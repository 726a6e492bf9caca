// Slabs: device memory below 64 KiB, in slots of equal size side by side, each with a canary behind what is
// used of it. A slab holds either memory for kernels' data or the runtime's own (code, packets), so that an
// overrun damages data only. A freed slot is handed out again after others of 1 MiB have been freed, too.
//
// Slabs stay where they are once made; what of them nobody uses goes back to the system beyond a bound. What
// describes them lies in the host's heap, out of kernels' reach. Callable from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fork_safe.h"
#include "device/touched_pages.h"
#include "runtime/address_space.h"
#include "runtime/memory.h"

namespace morgana::runtime {

class Slabs {
 public:
  static constexpr uint64_t kMostBytes = 64 * 1024 - 1;
  static constexpr uint64_t kAlignment = 256;

  // `space` and its lock outlive the Slabs.
  Slabs(AddressSpace& space, std::mutex& space_mutex);
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  // At most kMostBytes zero bytes at a multiple of kAlignment; 0: no memory.
  uint64_t allocate(uint64_t size, Use use, std::string label);
  // False: no slot in use begins there. `overrun` is set when its canary was damaged.
  bool release(uint64_t address, Allocation& allocation, std::optional<Overrun>& overrun);

  // Whether a slab lies there.
  bool knows(uint64_t address) const { return slab_at(address) != nullptr; }
  // Of the slot in use that holds `address`, if any.
  bool is_whole(uint64_t address) const;
  std::optional<Overrun> take_overrun(uint64_t address) const;
  // Adds the allocations that have bytes in [begin, end), and the pages of all slabs.
  void collect(uint64_t begin, uint64_t end, std::vector<Allocation>& list) const;
  void collect_pages(std::vector<device::TouchedPages::Region>& pages) const;
  // The allocation nearest to an address.
  std::optional<Allocation> nearest(uint64_t address) const;

 private:
  struct Slab;
  struct Slot {
    Slab* slab = nullptr;
    uint32_t index = 0;
  };
  struct Class {
    std::vector<Slab*> with_room;
  };
  static constexpr size_t kClasses = 8 + 6 * 8;

  Slab* slab_at(uint64_t address) const;
  Slot slot_at(uint64_t address) const;
  Slab* add_slab(uint32_t stride);
  uint64_t take_addresses(uint64_t size);
  void free_slot(const Slot& slot);
  void give_back();
  static size_t class_of(uint64_t bytes, uint32_t& stride);

  AddressSpace& space_;
  std::mutex& space_mutex_;
  uint64_t range_begin_ = 0, range_next_ = 0;  // addresses for slabs in the reserved range
  std::atomic<Slab*>* index_ = nullptr;        // by granule of that range; read without the lock
  mutable ForkSafe<std::mutex> mutex_;         // of all below
  std::map<uint64_t, std::unique_ptr<Slab>> slabs_;
  std::array<std::array<Class, kClasses>, 2> classes_;  // by Use
  std::deque<Slot> quarantine_;
  uint64_t quarantined_ = 0;  // bytes
  std::vector<Slab*> idle_;   // slabs without a slot in use, whose pages the process still has
  uint64_t idle_bytes_ = 0;
};

}  // namespace morgana::runtime
