// AddressSpace: the addresses that device memory is given from, a reserved range far from the host program's
// own memory, so that what kernels do to addresses near theirs meets no malloc heap. Its preferred place is
// fixed: a program that allocates alike gets addresses alike.
//
// Where no range can be reserved (`ulimit -v` counts reserved addresses) or it is used up, ranges are mapped
// one by one. Not thread-safe: its owner locks.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace morgana::runtime {

// Of guards, and of what GPUs map at once.
inline constexpr uint64_t kGranule = 64 * 1024;

inline uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

class AddressSpace {
 public:
  // `most`: bytes to reserve, fewer where the system refuses; 0: none.
  explicit AddressSpace(uint64_t most);

  uint64_t begin() const { return begin_; }
  uint64_t size() const { return size_; }
  // Callable from any thread.
  bool holds(uint64_t address) const { return address - begin_ < size_; }

  // `size` inaccessible bytes of which the one at `lead` lies at a multiple of `alignment`; 0: none are left.
  // All three are multiples of pages.
  uint64_t take(uint64_t size, uint64_t lead, uint64_t alignment);
  // What lies there is gone and its memory the system's, but nobody gets the addresses. Of ranges that are
  // mapped one by one nothing remains to be given; false.
  bool vacate(uint64_t address, uint64_t size);
  // Vacated addresses may be taken again.
  void give(uint64_t address, uint64_t size);

  // What to reserve where nothing limits it. ThreadSanitizer leaves programs few addresses.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MORGANA_FEW_ADDRESSES 1
#endif
#endif
#ifdef MORGANA_FEW_ADDRESSES
  static constexpr uint64_t kMost = uint64_t{256} << 30;
#else
  static constexpr uint64_t kMost = uint64_t{4} << 40;
#endif

 private:
  void insert(uint64_t begin, uint64_t end);
  void erase(std::map<uint64_t, uint64_t>::iterator range);

  uint64_t begin_ = 0, size_ = 0;
  std::map<uint64_t, uint64_t> free_;                // begin to end
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // size, begin
};

}  // namespace morgana::runtime
