#include "device/testing/witness.h"

#include <array>
#include <bit>

#include "device/interp/code.h"
#include "device/isa/waits.h"
#include "device/observe/access.h"

namespace morgana::device {
namespace {

constexpr uint64_t kPiece = 1024;

template <class Do>
void for_lanes(uint64_t lanes, const Do& act) {
  for (; lanes != 0; lanes &= lanes - 1) act(static_cast<uint32_t>(std::countr_zero(lanes)));
}

}  // namespace

void Witness::begin(uint64_t seed, std::span<Wave> waves) {
  seed_ = seed;
  times_ = {};
  for (Wave& wave : waves) wave.times = &times_[wave.index];
  ranges_ = {};
  ranges_.group_bytes = group_bytes_;
  ranges_.private_bytes = private_bytes_;
  forbidden_.clear();
}

// Three of four are.
bool Witness::is_allowed(uint64_t piece) const {
  return seed_ == 0 || ((piece + seed_) * 0x9e37'79b9'7f4a'7c15 >> 62) != 0;
}

bool Witness::is_allowed(const Access& access, uint32_t lane) const {
  const uint64_t at = access.address[lane];
  if (access.space != Space::global) {
    const uint32_t size = access.space == Space::lds ? group_bytes_ : private_bytes_;
    return at < size && access.bytes <= size - at;
  }
  for (uint64_t piece = at / kPiece; piece <= (at + access.bytes - 1) / kPiece; piece++)
    if (!is_allowed(piece)) return false;
  return true;
}

// What lies around `address` without a gap, if that is allowed.
SeenRange Witness::allowed_around(uint64_t address) const {
  uint64_t first = address / kPiece, last = first;
  for (int i = 0; i < 64 && is_allowed(first - 1); i++) first--;
  for (int i = 0; i < 64 && is_allowed(last + 1); i++) last++;
  return {first * kPiece, (last + 1) * kPiece};
}

void Witness::store(const Wave& wave, Space space) {
  WaveTimes& times = *wave.times;
  times.stores(space == Space::lds ? times.lds_since : times.stores_since);
}

// Waits as compiled code does, without showing them.
bool Witness::before(const Moment& moment) {
  WaveTimes& times = *moment.wave.times;
  if (is_barrier_mark(moment.inst)) times.mark = moment.pc;
  const uint8_t waited = isa::waits_for(moment.inst, moment.wave.target->generation);
  times.waits(waited & isa::kWaitsForStores, waited & isa::kWaitsForLds);
  for (const Access& access : moment.accesses)
    if (access.writes && access.lanes != 0) store(moment.wave, access.space);
  for (const Access& access : moment.accesses)
    for_lanes(access.lanes, [&](uint32_t lane) {
      if (!is_allowed(access, lane))
        forbidden_.emplace(moment.pc, moment.wave.index, lane, access.space, access.address[lane]);
    });
  return true;
}

// Each second instruction is looked at here; loads that are allowed are not shown again where they lie. What
// is said of neighbours that are none is as an access of a lane that there is not.
bool Witness::passes(const Wave& wave, const isa::Inst& inst, uint64_t pc, const Neighbours& lanes) {
  const PlainUse& use = lanes.use;
  if (pc / 4 % 2 != 0) return false;
  std::array<Access, 2> accesses;
  const uint32_t places = use.has_two ? 2 : 1;
  for (uint32_t place = 0; place < places; place++) {
    Access& access = accesses[place];
    access.space = use.is_lds ? Space::lds : Space::global;
    access.bytes = use.bytes;
    access.lanes = lanes.lanes;
    access.writes = use.writes;
    bool is_global = true;
    for_lanes(lanes.lanes, [&](uint32_t lane) {
      const uint64_t at = lanes.address(lane) + place * use.apart;
      access.address[lane] = use.is_lds ? static_cast<uint32_t>(at) : at;
      is_global = is_global && !may_lie_elsewhere(wave, at, at + use.bytes);
    });
    if (!use.is_lds && !is_global) return false;
  }
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    const bool is_last = lane + 1 == kLanes || (lanes.lanes >> lane & 3) != 3;
    uint64_t apart = is_last ? 1 : accesses[0].address[lane + 1] - accesses[0].address[lane];
    if (use.is_lds) apart = static_cast<uint32_t>(apart);
    if ((lanes.same >> lane & 1) != (apart == 0) || ((lanes.rises >> lane & 1) && apart != use.bytes))
      forbidden_.emplace(pc, wave.index, kLanes, accesses[0].space, lane);
  }
  const auto [lowest, highest] = span_of(accesses[0]);
  if (lanes.lanes != 0 && (lowest != lanes.lowest || highest != lanes.highest))
    forbidden_.emplace(pc, wave.index, kLanes, accesses[0].space, lowest);
  if (!use.is_lds && !use.writes && lanes.lanes != 0) {
    bool all = true;
    for_lanes(lanes.lanes, [&](uint32_t lane) { all = all && is_allowed(accesses[0], lane); });
    const auto first = static_cast<uint32_t>(std::countr_zero(lanes.lanes));
    if (all)
      ranges_.range[SeenRanges::slot(static_cast<uint32_t>((pc - wave.code->address) / 4), false)] =
          allowed_around(accesses[0].address[first]);
  }
  return before({wave, inst, pc, {accesses.data(), places}});
}

bool Witness::allows(const isa::Inst&, std::span<const Access> accesses, uint32_t slot) {
  bool all = true;
  for (const Access& access : accesses)
    for_lanes(access.lanes, [&](uint32_t lane) {
      all = all && is_allowed(access, lane);
      if (all && access.space == Space::global) ranges_.range[slot] = allowed_around(access.address[lane]);
    });
  return all;
}

}  // namespace morgana::device
