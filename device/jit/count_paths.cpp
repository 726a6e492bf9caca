#include "device/alike_accesses.h"
#include "device/interp/observed_step.h"
#include "device/jit/paths.h"

namespace morgana::device::MORGANA_SIMD {

namespace {

// Counts the access if it is like one that is known.
MORGANA_INLINE bool is_known(AlikeAccesses& alike, uint64_t base, const Lanes* low, const Lanes* high,
                             uint64_t exec) {
  const auto lane = [](const Lanes* lanes, int l) {
    return uint64_t{reinterpret_cast<const volatile uint32_t*>(lanes)[l]};
  };
  const auto address = [&](int l) {
    return base + lane(low, l) + (high != nullptr ? lane(high, l) << 32 : 0);
  };
  const uint64_t first = address(__builtin_ctzll(exec));
  const uint64_t span = address(63 - __builtin_clzll(exec)) - first;
  for (uint32_t w = 0; w < AlikeAccesses::kWays; w++) {
    if (alike.lanes[w] != exec || alike.span[w] != span) continue;
    AlikeAccesses::Way& way = alike.ways[w];
    bool is_alike = true;
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++) {
      Chunk64 distance = __builtin_convertvector(low->chunk[i], Chunk64) + Chunk64(base - first);
      if (high != nullptr) distance += __builtin_convertvector(high->chunk[i], Chunk64) << 32;
      const uint32_t equal = __builtin_bit_cast(
          uint16_t, __builtin_convertvector(distance == peek<Chunk64>(way.distance + 16 * i), ChunkMask));
      is_alike = is_alike && covers(equal, chunk_mask(exec, i));
    }
    if (!is_alike) continue;
    way.times[first % AlikeAccesses::kLine]++;
    return true;
  }
  return false;
}

}  // namespace

MORGANA_KEEPS_REGISTERS void count_alike(AlikeAccesses* alike, Wave* wave, const Step* step, uint64_t base,
                                         const Lanes* low, const Lanes* high) {
  if (alike->now == 0) return;
  if (alike->skips != 0)
    alike->skips--;
  else if (is_known(*alike, base, low, high, alike->now))
    return;
  alignas(64) uint64_t address[kLanes];
  for (int i = 0; i < kChunks; i++) {
    Chunk64 at = __builtin_convertvector(low->chunk[i], Chunk64) + Chunk64(base);
    if (high != nullptr) at += __builtin_convertvector(high->chunk[i], Chunk64) << 32;
    poke<Chunk64>(address + 16 * i, at);
  }
  service::count_lanes(*wave, step, *alike, address);
}

}  // namespace morgana::device::MORGANA_SIMD
