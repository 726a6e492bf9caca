#include "runtime/unwritten.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>

#include "base/fork_safe.h"
#include "device/checks.h"
#include "device/guest_access.h"
#include "runtime/findings.h"
#include "runtime/memory.h"

namespace morgana::runtime {
namespace {

using device::kUnwritten;

constexpr uint64_t kDword = sizeof kUnwritten;
constexpr uint8_t kWhole = 15;
// Further ones count as written.
constexpr size_t kMostParts = size_t{1} << 20;

bool is_wanted() { return (checks_wanted() & static_cast<device::CheckBits>(device::Check::init)) != 0; }

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
uint64_t begin_of_dword(uint64_t address) { return address & ~(kDword - 1); }

uint32_t value_at(uint64_t dword) {
  uint32_t value;
  std::memcpy(&value, reinterpret_cast<const void*>(dword), sizeof value);
  return value;
}

// Whether dwords at both ends can be read whole.
bool is_allocated(const void* memory) {
  const auto found = find_allocation(address_of(memory));
  return found && !found->registered && !found->freed;
}

// The dwords that were written in part. Never destroyed: queues may still run at exit.
class Parts {
 public:
  static Parts& get() {
    static auto* all = new Parts;
    return *all;
  }

  // What was written may be what is there of kUnwritten anyhow.
  uint8_t bytes(uint64_t dword, uint32_t value) {
    const uint8_t otherwise = value == kUnwritten ? kWhole : 0;
    if (!has_some_) return otherwise;
    std::lock_guard lock(mutex_);
    const auto found = known_.find(dword);
    return found != known_.end() && found->second.value == value ? found->second.bytes : otherwise;
  }
  void forget(uint64_t begin, uint64_t end) {
    if (!has_some_) return;
    std::lock_guard lock(mutex_);
    known_.erase(known_.lower_bound(begin), known_.lower_bound(end));
    has_some_ = !known_.empty();
  }
  void note(uint64_t dword, uint8_t bytes) {
    std::lock_guard lock(mutex_);
    if (known_.size() == kMostParts && !known_.contains(dword)) return;
    known_[dword] = {value_at(dword), bytes};
    has_some_ = true;
  }
  bool has_some() const { return has_some_; }
  // Those that still hold what was noted; others are forgotten.
  std::vector<uint64_t> all() {
    std::lock_guard lock(mutex_);
    std::erase_if(known_, [](const auto& one) { return value_at(one.first) != one.second.value; });
    has_some_ = !known_.empty();
    std::vector<uint64_t> dwords;
    for (const auto& one : known_) dwords.push_back(one.first);
    return dwords;
  }

 private:
  struct Part {
    uint32_t value;
    uint8_t bytes;
  };

  ForkSafe<std::mutex> mutex_;
  std::map<uint64_t, Part> known_;
  std::atomic<bool> has_some_ = false;
};

uint8_t unwritten_bytes(uint64_t dword) { return Parts::get().bytes(dword, value_at(dword)); }

// Which bytes of a dword lie in [begin, end).
uint8_t bytes_inside(uint64_t dword, uint64_t begin, uint64_t end) {
  uint8_t inside = kWhole;
  if (begin > dword) inside = static_cast<uint8_t>(inside << (begin - dword) & kWhole);
  if (end < dword + kDword) inside = static_cast<uint8_t>(inside & kWhole >> (dword + kDword - end));
  return inside;
}

bool points_into(const device::Launch& launch, uint64_t begin, uint64_t end) {
  const uint64_t size = std::max<uint64_t>(launch.descriptor->kernarg_size, 256);
  for (uint64_t at = 0; at + sizeof at <= size; at += sizeof at) {
    uint64_t word;
    if (!device::read_guest(&word, launch.kernarg + at, sizeof word)) return false;
    if (word >= begin && word < end) return true;
  }
  return false;
}

}  // namespace

bool mark_unwritten(void* memory, size_t size) {
  if (!is_wanted()) return false;
  std::fill_n(static_cast<uint32_t*>(memory), size / kDword, kUnwritten);
  return true;
}

void forget_unwritten(const void* memory, size_t size) {
  Parts::get().forget(address_of(memory), address_of(memory) + size);
}

Unwritten find_unwritten(const void* memory, size_t size) {
  const uint64_t begin = address_of(memory), end = begin + size;
  Unwritten found;
  for (uint64_t dword = begin_of_dword(begin); dword < end; dword += kDword) {
    const auto open = static_cast<uint8_t>(unwritten_bytes(dword) & bytes_inside(dword, begin, end));
    if (open == 0) continue;
    if (found.bytes == 0) found.first = dword + static_cast<unsigned>(std::countr_zero(open)) - begin;
    found.bytes += static_cast<unsigned>(std::popcount(open));
  }
  return found;
}

HostWrite::HostWrite(void* to, size_t size, const void* from) : to_(address_of(to)), size_(size) {
  if (size != 0 && is_wanted() && is_allocated(to))
    look(from != nullptr && is_allocated(from) ? from : nullptr);
}

void HostWrite::look(const void* from) {
  const uint64_t end = to_ + size_;
  const auto add = [&](uint64_t dword) {
    const uint8_t written = bytes_inside(dword, to_, end);
    auto open = static_cast<uint8_t>(written == kWhole ? 0 : unwritten_bytes(dword) & ~written);
    if (from != nullptr) {
      const uint64_t source = address_of(from) + dword - to_;
      for (unsigned i = 0; i < kDword; i++) {
        if ((written >> i & 1) == 0) continue;
        const uint64_t byte = source + i;
        open |= static_cast<uint8_t>((unwritten_bytes(begin_of_dword(byte)) >> byte % kDword & 1) << i);
      }
    }
    if (open != 0) parts_.push_back({dword, open});
  };
  const uint64_t first = begin_of_dword(to_), last = begin_of_dword(end - 1);
  if (from == nullptr) {
    add(first);
    if (last != first) add(last);
    return;
  }
  const bool is_shifted = (to_ - address_of(from)) % kDword != 0;
  for (uint64_t dword = first; dword <= last; dword += kDword) {
    // A dword that is copied whole says itself that nobody has written it.
    const bool is_whole = bytes_inside(dword, to_, end) == kWhole;
    if (is_shifted || !is_whole ||
        (Parts::get().has_some() && value_at(address_of(from) + dword - to_) != kUnwritten))
      add(dword);
  }
}

HostWrite::~HostWrite() {
  if (!is_wanted()) return;
  Parts::get().forget(begin_of_dword(to_), to_ + size_);
  for (const Part& part : parts_) {
    if (part.bytes == kWhole)
      std::memcpy(reinterpret_cast<void*>(part.dword), &kUnwritten, kDword);
    else
      Parts::get().note(part.dword, part.bytes);
  }
}

uint8_t unwritten_part(uint64_t address, uint32_t value) { return Parts::get().bytes(address, value); }

bool sees_unwritten_part(const device::Launch& launch) {
  if (!Parts::get().has_some()) return false;
  uint64_t end = 0;  // of the allocation looked at last
  for (const uint64_t dword : Parts::get().all()) {
    if (dword < end) continue;
    const auto found = find_allocation(dword);
    if (!found) continue;
    end = found->address + found->size;
    if (found->label != "buffer" || points_into(launch, found->address, end)) return true;
  }
  return false;
}

}  // namespace morgana::runtime
