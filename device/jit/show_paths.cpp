// Which lanes are neighbours in memory, for kernels that show their accesses (Observer::passes).
#include "device/interp/mark_lds.h"
#include "device/interp/mark_lines.h"
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

MORGANA_INLINE Neighbours named(uint64_t base, const Lanes* addresses, uint64_t exec, uint64_t use) {
  Neighbours lanes;
  lanes.use = PlainUse::of(use);
  lanes.base = base;
  lanes.lanes = exec;
  lanes.low = reinterpret_cast<const uint32_t*>(addresses);
  if (lanes.use.is_wide) lanes.high = reinterpret_cast<const uint32_t*>(addresses + 1);
  return lanes;
}

// Apart, since it keeps all registers.
[[gnu::noinline]] MORGANA_KEEPS_REGISTERS bool ask(const Wave* wave, const Step* step, uint64_t base,
                                                   const Lanes* addresses, uint64_t exec, uint64_t use) {
  static constexpr uint32_t kNothing = 0;
  Neighbours lanes = named(base, addresses, exec, use);
  if (lanes.use.is_scalar) {
    lanes.low = &kNothing;
    lanes.lowest = lanes.highest = base;
    return service::passes(*wave, step, lanes);
  }
  const Lanes *const low = addresses, *const high = lanes.use.is_wide ? addresses + 1 : nullptr;
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

// Of lanes one behind the other.
[[gnu::noinline]] MORGANA_KEEPS_REGISTERS bool ask_run(const Wave* wave, const Step* step, uint64_t base,
                                                       const Lanes* addresses, uint64_t exec, uint64_t use) {
  Neighbours lanes = named(base, addresses, exec, use);
  lanes.rises = exec & exec >> 1;
  lanes.lowest = lanes.address(0);
  lanes.highest = lanes.lowest + uint64_t{lanes.use.bytes} * (__builtin_popcountll(exec) - 1);
  return service::passes(*wave, step, lanes);
}

// Whether all lanes of a wave of 64, or of 32, lie one behind the other, not around 2^32.
MORGANA_INLINE bool are_run(const Lanes* addresses, uint64_t exec, const PlainUse& use) {
  if (exec != kAllLanes && exec != ~uint32_t{0}) return false;
  const int chunks = exec == kAllLanes ? kChunks : kChunks / 2;
  const Lanes *const low = addresses, *const high = addresses + 1;
  const Chunk first = Chunk(low->chunk[0][0]), upper = Chunk(use.is_wide ? high->chunk[0][0] : 0);
  if (first[0] > ~uint32_t{0} - use.bytes * kLanes) return false;
  Chunk wanted = first + kIota * use.bytes, differs = Chunk(0);
  for (int i = 0; i < chunks; i++, wanted += 16 * use.bytes) {
    differs |= low->chunk[i] ^ wanted;
    if (use.is_wide) differs |= high->chunk[i] ^ upper;
  }
  return __builtin_reduce_or(differs) == 0;
}

// Apart, since marks of lanes take more registers.
[[gnu::noinline]] MORGANA_KEEPS_REGISTERS bool passes_lds(const Wave* wave, const Step* step, uint64_t base,
                                                          const Lanes* addresses, uint64_t exec,
                                                          uint64_t use) {
  return leave_lds_marks(*wave, wave->code->pc(step), named(base, addresses, exec, use)) ||
         ask(wave, step, base, addresses, exec, use);
}

}  // namespace

MORGANA_KEEPS_REGISTERS bool passes(const Wave* wave, const Step* step, uint64_t base, const Lanes* addresses,
                                    uint64_t exec, uint64_t use) {
  const PlainUse plain = PlainUse::of(use);
  if (plain.is_lds) return passes_lds(wave, step, base, addresses, exec, use);
  if (plain.is_scalar || !are_run(addresses, exec, plain)) return ask(wave, step, base, addresses, exec, use);
  const uint64_t first = named(base, addresses, exec, use).address(0);
  const auto lanes = static_cast<uint32_t>(__builtin_popcountll(exec));
  return leave_line_marks(*wave, wave->code->pc(step), first, lanes, plain.bytes, plain.writes) ||
         ask_run(wave, step, base, addresses, exec, use);
}

}  // namespace morgana::device::MORGANA_SIMD
