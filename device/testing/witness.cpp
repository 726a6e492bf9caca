#include "device/testing/witness.h"

#include <bit>

namespace morgana::device {
namespace {

constexpr uint64_t kPiece = 1024;

template <class Do>
void for_lanes(uint64_t lanes, const Do& act) {
  for (; lanes != 0; lanes &= lanes - 1) act(static_cast<uint32_t>(std::countr_zero(lanes)));
}

}  // namespace

void Witness::begin(uint64_t seed) {
  seed_ = seed;
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

bool Witness::before(const Moment& moment) {
  for (const Access& access : moment.accesses)
    for_lanes(access.lanes, [&](uint32_t lane) {
      if (!is_allowed(access, lane))
        forbidden_.emplace(moment.pc, moment.wave.index, lane, access.space, access.address[lane]);
    });
  return true;
}

bool Witness::allows(const isa::Inst&, std::span<const Access> accesses, uint32_t slot) {
  bool all = true;
  for (const Access& access : accesses)
    for_lanes(access.lanes, [&](uint32_t lane) {
      all = all && is_allowed(access, lane);
      if (!all || access.space != Space::global) return;
      // What lies around it without a gap.
      uint64_t first = access.address[lane] / kPiece, last = first;
      for (int i = 0; i < 64 && is_allowed(first - 1); i++) first--;
      for (int i = 0; i < 64 && is_allowed(last + 1); i++) last++;
      ranges_.range[slot] = {first * kPiece, (last + 1) * kPiece};
    });
  return all;
}

}  // namespace morgana::device
