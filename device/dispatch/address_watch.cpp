// Which address watches a memory instruction hits.
#include "device/address_watch.h"

#include "device/interp/code.h"

namespace morgana::device {
namespace {

bool is_meant(WatchMode mode, const isa::Inst& inst) {
  const bool atomic = inst.row->flags & isa::kAtomic, stores = inst.row->flags & isa::kStore;
  switch (mode) {
    case WatchMode::read: return !atomic && !stores;
    case WatchMode::non_read: return atomic || stores;
    case WatchMode::atomic: return atomic;
    default: return true;
  }
}

// The first lane of the access that touches what `watch` covers, or -1.
int lane_of(const AddressWatch& watch, const Wave::Access& access) {
  for (int lane = 0; lane < kLanes; lane++) {
    if (!(access.lanes >> lane & 1)) continue;
    const uint64_t first = access.address[lane] / AddressWatch::kLine;
    const uint64_t last = (access.address[lane] + access.bytes - 1) / AddressWatch::kLine;
    for (uint64_t line = first; line <= last; line++)
      if (watch.covers(line * AddressWatch::kLine)) return lane;
  }
  return -1;
}

}  // namespace

namespace service {

void observe_access(Wave& wave, const isa::Inst& inst) {
  // Watch 0 is EXCP's own bit, the others have one each (Table 5, ADDR_WATCH1-3).
  constexpr uint32_t kBits[] = {kExcpAddressWatch, kTrapstsWatch1, kTrapstsWatch1 << 1, kTrapstsWatch1 << 2};
  for (size_t i = 0; i < wave.watches->size(); i++) {
    const AddressWatch& watch = (*wave.watches)[i];
    if (!watch.is_set || !is_meant(watch.mode, inst)) continue;
    const int lane = lane_of(watch, wave.access);
    if (lane < 0) continue;
    if (wave.observed == 0) wave.observed_lane = static_cast<uint32_t>(lane);
    wave.observed |= kBits[i];
  }
}

}  // namespace service
}  // namespace morgana::device
