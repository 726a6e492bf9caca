// Ranges of addresses. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace morgana::runtime {

struct AddressRange {
  uint64_t begin = 0, end = 0;
};

// By rising address; those that meet are one.
inline std::vector<AddressRange> join(std::vector<AddressRange> ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::begin);
  std::vector<AddressRange> joined;
  for (const AddressRange& range : ranges) {
    if (joined.empty() || range.begin > joined.back().end)
      joined.push_back(range);
    else
      joined.back().end = std::max(joined.back().end, range.end);
  }
  return joined;
}

}  // namespace morgana::runtime
