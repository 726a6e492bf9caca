#include "runtime/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace morgana::runtime {
namespace {

constexpr uint64_t kMapThreshold = 64 * 1024;  // from here on pages come from the kernel, zeroed when touched

// Large allocations lie in huge pages where the system has them: fewer faults at the first touch, and kernels
// that stream through them miss fewer translations.
constexpr uint64_t kHugePage = 2 * 1024 * 1024;

struct Block {
  Allocation allocation;
  void* mapping = nullptr;  // null: from the heap
  uint64_t mapping_size = 0;
};

// Blocks by address. Registered host ranges may overlap each other and stand in a table of their own.
struct Table {
  std::mutex mutex;
  std::map<uint64_t, Block> owned;
  std::multimap<uint64_t, Allocation> registered;
  uint64_t bytes = 0;
};

Table& table() {
  static auto* instance = new Table;  // outlives every static destructor: queues may still run at exit
  return *instance;
}

uint64_t page_size() {
  static const uint64_t size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

bool holds(const Allocation& allocation, uint64_t address) {
  return address >= allocation.address && address - allocation.address < allocation.size;
}

uint64_t distance(const Allocation& allocation, uint64_t address) {
  if (address < allocation.address) return allocation.address - address;
  return holds(allocation, address) ? 0 : address - (allocation.address + allocation.size) + 1;
}

}  // namespace

Result<void*> allocate(uint64_t size, uint64_t alignment, std::string label) {
  if (!std::has_single_bit(alignment))
    return make_error(ErrorCode::invalid_argument, "alignment {} is not a power of two", alignment);
  alignment = std::max<uint64_t>(alignment, 64);
  if (size > uint64_t{1} << 47)
    return make_error(ErrorCode::out_of_memory, "{} bytes exceed the address space", size);

  Block block;
  block.allocation.size = size;
  block.allocation.label = std::move(label);
  void* pointer = nullptr;
  if (size < kMapThreshold && alignment <= page_size()) {
    uint64_t rounded = round_up(std::max<uint64_t>(size, 1), alignment);
    pointer = std::aligned_alloc(alignment, rounded);
    if (pointer == nullptr) return make_error(ErrorCode::out_of_memory, "no memory for {} bytes", size);
    std::memset(pointer, 0, rounded);
  } else {
    // One inaccessible page on either side turns an overrun into a fault instead of damage to a neighbour.
    if (size >= kHugePage) alignment = std::max(alignment, kHugePage);
    uint64_t guard = page_size();
    uint64_t slack = alignment > page_size() ? alignment : 0;
    block.mapping_size = guard + slack + round_up(size, page_size()) + guard;
    block.mapping =
        mmap(nullptr, block.mapping_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block.mapping == MAP_FAILED)
      return make_error(ErrorCode::out_of_memory, "no memory for {} bytes: {}", size, std::strerror(errno));
    uint64_t start =
        round_up(reinterpret_cast<uint64_t>(block.mapping) + guard, std::max(alignment, page_size()));
    pointer = reinterpret_cast<void*>(start);
    if (mprotect(pointer, round_up(size, page_size()), PROT_READ | PROT_WRITE) != 0) {
      int error = errno;
      munmap(block.mapping, block.mapping_size);
      return make_error(ErrorCode::out_of_memory, "no memory for {} bytes: {}", size, std::strerror(error));
    }
    if (size >= kHugePage) madvise(pointer, round_up(size, page_size()), MADV_HUGEPAGE);
  }
  block.allocation.address = reinterpret_cast<uint64_t>(pointer);

  Table& all = table();
  std::lock_guard lock(all.mutex);
  all.bytes += size;
  all.owned.emplace(block.allocation.address, std::move(block));
  return pointer;
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  Block block;
  {
    Table& all = table();
    std::lock_guard lock(all.mutex);
    auto found = all.owned.find(reinterpret_cast<uint64_t>(pointer));
    if (found == all.owned.end()) return;
    block = std::move(found->second);
    all.bytes -= block.allocation.size;
    all.owned.erase(found);
  }
  if (block.mapping != nullptr)
    munmap(block.mapping, block.mapping_size);
  else
    std::free(pointer);
}

void register_host(const void* pointer, uint64_t size, std::string label) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  auto address = reinterpret_cast<uint64_t>(pointer);
  all.registered.emplace(address, Allocation{address, size, std::move(label), true});
}

void unregister_host(const void* pointer) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  auto found = all.registered.find(reinterpret_cast<uint64_t>(pointer));
  if (found != all.registered.end()) all.registered.erase(found);
}

std::optional<Allocation> nearest_allocation(uint64_t address) {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  const Allocation* best = nullptr;
  auto consider = [&](const Allocation& candidate) {
    if (best == nullptr || distance(candidate, address) < distance(*best, address)) best = &candidate;
  };
  auto above = all.owned.upper_bound(address);
  if (above != all.owned.end()) consider(above->second.allocation);
  if (above != all.owned.begin()) consider(std::prev(above)->second.allocation);
  for (const auto& [start, allocation] : all.registered) consider(allocation);
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::optional<Allocation> find_allocation(uint64_t address) {
  auto nearest = nearest_allocation(address);
  if (nearest && !holds(*nearest, address)) return std::nullopt;
  return nearest;
}

uint64_t allocated_bytes() {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  return all.bytes;
}

}  // namespace morgana::runtime
