// Which lanes are neighbours in memory, for kernels that show their accesses (Observer::passes).
#include "device/interp/mark_lds.h"
#include "device/interp/observed_step.h"
#include "device/jit/paths.h"
#include "device/neighbours.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

MORGANA_INLINE Chunk of_next_lanes(const Lanes* lanes, int i) {
  return __builtin_shufflevector(lanes->chunk[i], lanes->chunk[i + 1 < kChunks ? i + 1 : i], 1, 2, 3, 4, 5, 6,
                                 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
}

MORGANA_INLINE Chunk64 wide(Chunk lanes) { return __builtin_convertvector(lanes, Chunk64); }

// Apart, since it keeps all registers.
[[gnu::noinline]] MORGANA_KEEPS_REGISTERS bool ask(const Wave* wave, const Step* step, uint64_t base,
                                                   const Lanes* addresses, uint64_t exec, uint64_t use) {
  static constexpr uint32_t kNothing = 0;
  Neighbours lanes;
  lanes.use = PlainUse::of(use);
  lanes.base = base;
  lanes.lanes = exec;
  if (lanes.use.is_scalar) {
    lanes.low = &kNothing;
    lanes.lowest = lanes.highest = base;
    return service::passes(*wave, step, lanes);
  }
  const Lanes *const low = addresses, *const high = lanes.use.is_wide ? addresses + 1 : nullptr;
  lanes.low = reinterpret_cast<const uint32_t*>(low);
  lanes.high = reinterpret_cast<const uint32_t*>(high);
  Chunk64 lowest = Chunk64(~uint64_t{0}), highest = Chunk64(0);
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
    const Chunk upper = high != nullptr ? high->chunk[i] : Chunk(0);
    Chunk64 address = (wide(here) | wide(upper) << 32) + base;
    if (lanes.use.is_lds) address &= 0xffffffff;
    const ChunkMask is_active = as_bools(chunk_mask(exec, i));
    lowest = __builtin_elementwise_min(lowest, is_active ? address : lowest);
    highest = __builtin_elementwise_max(highest, is_active ? address : highest);
  }
  const uint64_t both = exec & exec >> 1;
  lanes.rises &= both, lanes.same &= both;
  lanes.lowest = __builtin_reduce_min(lowest), lanes.highest = __builtin_reduce_max(highest);
  return service::passes(*wave, step, lanes);
}

}  // namespace

MORGANA_KEEPS_REGISTERS bool passes(const Wave* wave, const Step* step, uint64_t base, const Lanes* addresses,
                                    uint64_t exec, uint64_t use) {
  Neighbours lanes;
  lanes.use = PlainUse::of(use);
  if (lanes.use.is_lds) {
    lanes.base = base;
    lanes.lanes = exec;
    lanes.low = reinterpret_cast<const uint32_t*>(addresses);
    if (leave_lds_marks(*wave, wave->code->pc(step), lanes)) return true;
  }
  return ask(wave, step, base, addresses, exec, use);
}

}  // namespace morgana::device::MORGANA_SIMD
