// Which lanes are neighbours in memory, for kernels that show their accesses (Observer::passes).
#include "device/interp/observed_step.h"
#include "device/jit/paths.h"
#include "device/neighbours.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

MORGANA_INLINE Chunk of_next_lanes(const Lanes* lanes, int i) {
  return __builtin_shufflevector(lanes->chunk[i], lanes->chunk[i + 1 < kChunks ? i + 1 : i], 1, 2, 3, 4, 5, 6,
                                 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
}

}  // namespace

MORGANA_KEEPS_REGISTERS bool passes(const Wave* wave, const Step* step, uint64_t base, const Lanes* addresses,
                                    uint64_t exec, uint64_t use) {
  static constexpr uint32_t kNothing = 0;
  Neighbours lanes;
  lanes.use = PlainUse::of(use);
  lanes.base = base;
  lanes.lanes = exec;
  if (lanes.use.is_scalar || lanes.use.bytes == 0) {
    lanes.low = &kNothing;
    return service::passes(*wave, step, lanes);
  }
  const Lanes *const low = addresses, *const high = lanes.use.is_wide ? addresses + 1 : nullptr;
  lanes.low = reinterpret_cast<const uint32_t*>(low);
  lanes.high = reinterpret_cast<const uint32_t*>(high);
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const Chunk here = low->chunk[i], next = of_next_lanes(low, i), by = Chunk(lanes.use.bytes);
    uint64_t rises = equal_lanes(next - here, by), same = equal_lanes(next, here);
    if (high != nullptr) {
      const uint32_t is_near = equal_lanes(high->chunk[i], of_next_lanes(high, i));
      rises &= is_near, same &= is_near;
    }
    // Not around 2^32.
    rises &= bits_of_condition(next >= by);
    lanes.rises |= rises << 16 * i, lanes.same |= same << 16 * i;
  }
  const uint64_t both = exec & exec >> 1;
  lanes.rises &= both, lanes.same &= both;
  return service::passes(*wave, step, lanes);
}

}  // namespace morgana::device::MORGANA_SIMD
