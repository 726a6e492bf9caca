#include "runtime/managed_memory.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/fork_safe.h"
#include "runtime/mappings.h"

namespace morgana::runtime {
namespace {

struct Noted {
  ForkSafe<std::mutex> mutex;
  std::vector<AddressRange> ranges;  // joined
};

Noted& noted() {
  static auto* all = new Noted;
  return *all;
}

}  // namespace

void note_managed(AddressRange range) {
  Noted& all = noted();
  std::lock_guard lock(all.mutex);
  all.ranges.push_back(range);
  all.ranges = join(std::move(all.ranges));
}

std::vector<AddressRange> managed_memory() {
  Noted& all = noted();
  std::lock_guard lock(all.mutex);
  std::vector<AddressRange> there;
  if (all.ranges.empty()) return there;
  visit_mappings([&](const Mapping& mapping) {
    if (!mapping.is_writable || mapping.is_shared) return true;
    for (const AddressRange& range : all.ranges) {
      const uint64_t begin = std::max(range.begin, mapping.begin), end = std::min(range.end, mapping.end);
      if (begin < end) there.push_back({begin, end});
    }
    return true;
  });
  all.ranges = join(there);
  return all.ranges;
}

}  // namespace morgana::runtime
