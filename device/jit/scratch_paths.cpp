#include "device/jit/paths.h"
#include "device/state/scratch.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// Of so many bytes a lane every dword lies within 32 bits.
constexpr uint32_t kMostBytes = 1u << 25;

// Where each lane's first dword lies. False unless those of `exec` lie in scratch, at whole dwords.
bool places(const Wave* wave, uint32_t add, const Lanes* offset, uint32_t dwords, uint64_t exec,
            uint32_t* place) {
  const uint32_t bytes = wave->scratch_lane_bytes;
  if (bytes < 4 * dwords || bytes > kMostBytes) return false;
  Chunk bad = Chunk(0);
  for (int i = 0; i < kChunks; i++) {
    const Chunk at = blend(chunk_mask(exec, i), offset->chunk[i] + add, Chunk(0));
    bad |= (at & 3) | __builtin_bit_cast(Chunk, at > bytes - 4 * dwords);
    set_chunk(place, i, at * uint32_t{kLanes} + (kIota + 16 * i) * 4);
  }
  return is_zero(bad);
}

}  // namespace

MORGANA_KEEPS_REGISTERS bool load_scratch(const Wave* wave, uint32_t add, const Lanes* offset,
                                          uint32_t dwords, Lanes* data) {
  alignas(64) uint32_t place[kLanes];
  if (!places(wave, add, offset, dwords, wave->exec(), place)) return false;
  for (uint32_t d = 0; d < dwords; d++) {
    const uint8_t* const from = wave->scratch + scratch_offset(4 * d, 0);
#pragma clang loop unroll(disable)
    for (int i = 0; i < kChunks; i++) {
      Chunk v;
#pragma clang loop unroll(full)
      for (int l = 0; l < 16; l++) v[l] = peek<uint32_t>(from + place[16 * i + l]);
      data[d].chunk[i] = v;
    }
  }
  return true;
}

MORGANA_KEEPS_REGISTERS bool store_scratch(const Wave* wave, uint32_t add, const Lanes* offset,
                                           uint32_t dwords, const Lanes* data) {
  alignas(64) uint32_t place[kLanes];
  const uint64_t exec = wave->exec();
  if (!places(wave, add, offset, dwords, exec, place)) return false;
  for (uint32_t d = 0; d < dwords; d++) {
    uint8_t* const to = wave->scratch + scratch_offset(4 * d, 0);
    const auto* const from = reinterpret_cast<const uint32_t*>(data + d);
    for (uint64_t left = exec; left; left &= left - 1) {
      const int l = __builtin_ctzll(left);
      poke(to + place[l], from[l]);
    }
  }
  return true;
}

}  // namespace morgana::device::MORGANA_SIMD
