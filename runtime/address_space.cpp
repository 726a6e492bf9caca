#include "runtime/address_space.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace morgana::runtime {
namespace {

// Free in processes of Linux, with address sanitizers, too; others let the system choose.
constexpr uint64_t kPreferred = uint64_t{0x2000} << 32;
constexpr uint64_t kLeast = uint64_t{16} << 30;

bool is_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

uint64_t map_inaccessible(uint64_t address, uint64_t size, int flags) {
  void* const mapping = mmap(reinterpret_cast<void*>(address), size, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return mapping == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(mapping);
}

}  // namespace

AddressSpace::AddressSpace(uint64_t most) {
  if (is_limited()) return;
  for (uint64_t size = most; size >= kLeast; size /= 4) {
    begin_ = map_inaccessible(kPreferred, size, 0);
    if (begin_ == 0) continue;
    size_ = size;
    insert(begin_, begin_ + size_);
    return;
  }
}

void AddressSpace::insert(uint64_t begin, uint64_t end) {
  auto above = free_.lower_bound(begin);
  if (above != free_.end() && above->first == end) {
    end = above->second;
    erase(above++);
  }
  if (above != free_.begin() && std::prev(above)->second == begin) {
    begin = std::prev(above)->first;
    erase(std::prev(above));
  }
  free_.emplace(begin, end);
  by_size_.emplace(end - begin, begin);
}

void AddressSpace::erase(std::map<uint64_t, uint64_t>::iterator range) {
  by_size_.erase({range->second - range->first, range->first});
  free_.erase(range);
}

uint64_t AddressSpace::take(uint64_t size, uint64_t lead, uint64_t alignment) {
  for (auto it = by_size_.lower_bound({size, 0}); it != by_size_.end(); ++it) {
    const uint64_t begin = it->second, end = begin + it->first;
    const uint64_t start = round_up(begin + lead, alignment) - lead;
    if (start > end || end - start < size) continue;
    erase(free_.find(begin));
    if (start != begin) insert(begin, start);
    if (start + size != end) insert(start + size, end);
    return start;
  }
  const uint64_t mapping = map_inaccessible(0, size + alignment, 0);
  if (mapping == 0) return 0;
  const uint64_t start = round_up(mapping + lead, alignment) - lead;
  if (start != mapping) munmap(reinterpret_cast<void*>(mapping), start - mapping);
  const uint64_t rest = mapping + alignment - start;
  if (rest != 0) munmap(reinterpret_cast<void*>(start + size), rest);
  return start;
}

bool AddressSpace::vacate(uint64_t address, uint64_t size) {
  if (holds(address)) return map_inaccessible(address, size, MAP_FIXED) != 0;
  munmap(reinterpret_cast<void*>(address), size);
  return false;
}

void AddressSpace::give(uint64_t address, uint64_t size) {
  if (holds(address)) insert(address, address + size);
}

}  // namespace morgana::runtime
