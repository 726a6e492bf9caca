#include <algorithm>

#include "device/jit/paths.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

using jit::StripAccess;
using jit::StripRange;

struct Ends {
  uint64_t low[kLanes], high[kLanes];
};

Ends ends_of(const StripRange* ranges, const StripAccess& access) {
  Ends ends;
  const StripRange& range = ranges[access.range];
  for (int l = 0; l < kLanes; l++) {
    ends.low[l] = range.low[l] + static_cast<uint64_t>(int64_t{access.from});
    ends.high[l] = range.high[l] + static_cast<uint64_t>(int64_t{access.to});
  }
  return ends;
}

bool all_apart(const Ends& a, const Ends& b, uint32_t lanes) {
  const auto lowest = [lanes](const Ends& e) { return *std::min_element(e.low, e.low + lanes); };
  const auto highest = [lanes](const Ends& e) { return *std::max_element(e.high, e.high + lanes); };
  return highest(a) <= lowest(b) || highest(b) <= lowest(a);
}

// Whether what each lane accesses of both lies behind what the lane before it does, or before that.
bool lanes_apart(const Ends& a, const Ends& b, uint32_t lanes) {
  Ends both;
  for (int l = 0; l < kLanes; l++) {
    both.low[l] = std::min(a.low[l], b.low[l]);
    both.high[l] = std::max(a.high[l], b.high[l]);
  }
  bool rises = true, falls = true;
  for (uint32_t l = 0; l + 1 < lanes; l++) {
    rises &= both.high[l] <= both.low[l + 1];
    falls &= both.high[l + 1] <= both.low[l];
  }
  return rises || falls;
}

}  // namespace

MORGANA_KEEPS_REGISTERS void note_range(StripRange* range, uint64_t base, const Lanes* low, const Lanes* high,
                                        bool is_first) {
  for (int i = 0; i < kChunks; i++) {
    Chunk64 at = __builtin_convertvector(low->chunk[i], Chunk64) + Chunk64(base);
    if (high) at += __builtin_convertvector(high->chunk[i], Chunk64) << 32;
    auto *lowest = reinterpret_cast<Chunk64*>(range->low) + i,
         *highest = reinterpret_cast<Chunk64*>(range->high) + i;
    const Chunk64 below = is_first ? at : *lowest, above = is_first ? at : *highest;
    *lowest = at < below ? at : below;
    *highest = at > above ? at : above;
  }
}

MORGANA_KEEPS_REGISTERS bool lie_apart(const StripRange* ranges, const StripAccess* accesses, uint32_t count,
                                       uint32_t lanes) {
  for (uint32_t s = 0; s < count; s++) {
    if (!accesses[s].stores) continue;
    const Ends stored = ends_of(ranges, accesses[s]);
    for (uint32_t other = 0; other < count; other++) {
      const Ends accessed = ends_of(ranges, accesses[other]);
      if (!all_apart(stored, accessed, lanes) && !lanes_apart(stored, accessed, lanes)) return false;
    }
  }
  return true;
}

}  // namespace morgana::device::MORGANA_SIMD
