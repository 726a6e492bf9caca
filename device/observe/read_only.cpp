#include "device/observe/read_only.h"

#include <algorithm>

#include "device/guest_access.h"
#include "device/observe/reporter.h"

namespace morgana::device {
namespace {

constexpr size_t kMostRanges = 64;  // of memory that is read only, or that is stored to

bool meet(const SeenRange& one, uint64_t begin, uint64_t end) { return begin < one.end && one.begin < end; }

}  // namespace

void ReadOnly::begin(const Launch& launch, const KernelAccesses& code) {
  if (!code.knows_stores) return;
  std::vector<uint64_t> pointers(argument_bytes(launch) / 8);
  if (!read_guest(pointers.data(), launch.kernarg, pointers.size() * 8)) {
    pointers.resize(launch.descriptor->kernarg_size / 8);
    if (!read_guest(pointers.data(), launch.kernarg, pointers.size() * 8)) return;
  }
  for (const std::vector<uint32_t>& arguments : code.stored_by) {
    bool is_known = false;
    for (const uint32_t dword : arguments) {
      if (dword / 2 >= pointers.size()) return;
      const KnownMemory memory = host_.memory_at(pointers[dword / 2]);
      if (memory.state != KnownMemory::State::known) continue;
      is_known = true;
      if (std::ranges::none_of(stored_, [&](const SeenRange& one) { return one.begin == memory.begin; }))
        stored_.push_back({memory.begin, memory.end});
    }
    if (!is_known) return;
  }
  if (stored_.size() > kMostRanges) return;
  unstored_.push_back({launch.kernarg, launch.kernarg + 8 * pointers.size()});
  is_expecting_ = true;
}

std::optional<SeenRange> ReadOnly::find(uint64_t begin, uint64_t end) {
  if (!takes_more_ || (begin >= last_refused_.begin && end <= last_refused_.end)) return std::nullopt;
  const KnownMemory memory = host_.memory_at(begin);
  if (memory.state != KnownMemory::State::known || !memory.may_read || end > memory.end) return std::nullopt;
  const bool is_stored =
      std::ranges::any_of(stored_, [&](const SeenRange& one) { return meet(one, memory.begin, memory.end); });
  if (is_stored || unstored_.size() == kMostRanges) {
    last_refused_ = {memory.begin, memory.end};
    return std::nullopt;
  }
  unstored_.push_back({memory.begin, memory.end});
  return unstored_.back();
}

bool ReadOnly::note_store(uint64_t begin, uint64_t end) {
  const auto holds = [&](const SeenRange& one) { return begin >= one.begin && end <= one.end; };
  if (const auto found = std::ranges::find_if(stored_, holds); found != stored_.end()) {
    last_stored_ = *found;
    return true;
  }
  if (std::ranges::none_of(unstored_, [&](const SeenRange& one) { return meet(one, begin, end); })) {
    // Nobody reads there without leaving a mark, and nobody will.
    if (stored_.size() >= kMostRanges) {
      takes_more_ = false;
      return true;
    }
    const KnownMemory memory = host_.memory_at(begin);
    const bool is_whole = memory.state == KnownMemory::State::known && end <= memory.end;
    stored_.push_back(is_whole ? SeenRange{memory.begin, memory.end} : SeenRange{begin, end});
    last_stored_ = stored_.back();
    return true;
  }
  return false;
}

}  // namespace morgana::device
