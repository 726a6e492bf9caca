// Scratch (private segment) by per-lane byte offsets: the layout rule of device/state/scratch.h.
#pragma once

#include "device/apertures.h"
#include "device/interp/memory_move.h"

namespace morgana::device::MORGANA_SIMD {

// The lanes of `exec` whose access of `bytes` at offset[l] leaves the segment.
MORGANA_INLINE uint64_t outside_scratch(const Wave& wave, const uint32_t* offset, uint32_t bytes,
                                        uint64_t exec) {
  if (wave.scratch_lane_bytes < bytes) return exec;
  const uint32_t last = wave.scratch_lane_bytes - bytes;
  uint64_t outside = 0;
  for (int i = 0; i < kChunks; i++) outside |= bits_of_condition(chunk_of(offset, i) > last) << (16 * i);
  return outside & exec;
}

// Moves each lane's data at its own offset, all in range.
template <class Move>
void move_scratch(Wave& wave, const Data& data, const uint32_t* offset, uint64_t exec) {
  uint8_t* const scratch = wave.scratch;
  const unsigned lanes = wave.lane_count();
  constexpr uint32_t kAlign = Move::kBytes < 4 ? Move::kBytes - 1 : 3;
  uint32_t low_bits = 0;
  for (uint64_t left = exec; left; left &= left - 1) low_bits |= offset[__builtin_ctzll(left)];
  if constexpr (requires { typename Move::Dword; })
    if ((low_bits & kAlign) == 0) {
      alignas(128) uint64_t at[kLanes];
      for (int l = 0; l < kLanes; l++)
        at[l] = reinterpret_cast<uint64_t>(scratch) + scratch_offset(offset[l], l, lanes);
      point_nowhere(at, exec);
      for (int d = 0; d < Move::kBytes; d += 4) {
        Move::Dword::lanes(dword_of(data, d / 4), at, exec);
        for (int l = 0; l < kLanes; l++) at[l] += exec >> l & 1 ? 4 * lanes : 0;
      }
      return;
    }
  move_staged<Move>(
      data, exec, [&](int l, int i) { return scratch + scratch_offset(uint64_t{offset[l]} + i, l, lanes); });
}

// The byte offset that all lanes of a SCRATCH instruction share (CDNA4 guide, Table 56); a VGPR may add to
// it.
MORGANA_INLINE uint32_t scratch_base(const Wave& wave, const Step* step) {
  const auto imm = static_cast<uint32_t>(step->imm);
  return step->kind[2] == Source::none ? imm : imm + scalar32(wave, step, 2);
}
MORGANA_INLINE void scratch_offsets(const Wave& wave, const Step* step, uint32_t* offset) {
  const bool varies = step->kind[0] != Source::none;
  for (int i = 0; i < kChunks; i++)
    set_chunk(offset, i,
              scratch_base(wave, step) + (varies ? chunk_of(registers(wave, step, 0), i) : Chunk(0)));
}

// The same if all are in range; false after a fault.
template <class Move>
bool move_inside_scratch(Wave& wave, const Step* step, const Data& data, const uint32_t* offset,
                         uint64_t exec) {
  if (const uint64_t outside = outside_scratch(wave, offset, Move::kBytes, exec)) {
    const int lane = __builtin_ctzll(outside);
    raise(wave, step, FaultKind::aperture, "beyond the scratch of the work-item", kPrivateBase + offset[lane],
          lane, Move::kStores);
    return false;
  }
  if (exec) move_scratch<Move>(wave, data, offset, exec);
  return true;
}

}  // namespace morgana::device::MORGANA_SIMD
