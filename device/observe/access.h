// What memory an instruction is about to touch.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "device/apertures.h"
#include "device/observe/observer.h"

namespace morgana::device {

// An instruction makes up to four, one that moves a block of registers up to sixteen.
using Accesses = std::array<Access, 16>;

// Fills `out` and returns how many. `wave.access` has the addresses of flat and buffer instructions, as
// Level::locate_access gives them. Image instructions, the global data share and buffer accesses that convert
// formats are left out.
size_t accesses_of(const Wave& wave, const isa::Inst& inst, Accesses& out);
// Of an instruction with an address: all but where and by which lanes.
Access described(const isa::Inst& inst);
// As accesses_of, of a flat or global instruction whose lanes access these places.
size_t accesses_at(Wave& wave, const isa::Inst& inst, uint64_t lanes, const uint64_t* addresses,
                   Accesses& out);

// The lowest and the highest address of its lanes.
inline std::pair<uint64_t, uint64_t> span_of(const Access& access) {
  uint64_t lowest = ~uint64_t{0}, highest = 0;
  for (uint64_t left = access.lanes; left != 0; left &= left - 1) {
    const uint64_t address = access.address[static_cast<uint32_t>(std::countr_zero(left))];
    lowest = std::min(lowest, address), highest = std::max(highest, address);
  }
  return {lowest, highest};
}

// Whether some of [begin, end), by an address of flat memory, may be LDS or scratch.
inline bool may_lie_elsewhere(const Wave& wave, uint64_t begin, uint64_t end) {
  const auto reaches = [&](uint64_t from, uint64_t size) { return begin < from + size && from < end; };
  if (reaches(kSharedBase, kApertureBytes) || reaches(kPrivateBase, kApertureBytes)) return true;
  const uint64_t slice = uint64_t{wave.scratch_lane_bytes} * wave.lane_count();
  const auto own = reinterpret_cast<uint64_t>(wave.scratch);
  return slice != 0 && reaches(own - slice * wave.index, slice * wave.group->wave_count);
}

}  // namespace morgana::device
