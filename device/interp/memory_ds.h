// What the two halves of the DS instructions share.
#pragma once

#include "device/interp/memory_atomic.h"

namespace morgana::device::MORGANA_SIMD {

// The unsigned integer of N dwords.
template <int N>
struct WordOf;
template <>
struct WordOf<1> {
  using type = uint32_t;
};
template <>
struct WordOf<2> {
  using type = uint64_t;
};

// The atomics of LDS, and what counts and exchanges; nullptr for no such instruction. Step::extra is filled
// already.
Handler select_ds_atomic(const isa::Inst& inst);

// In Step::extra of a copy that a GDS instruction runs: Group::lds is the global share from M0's base on.
inline constexpr uint32_t kGlobalShare = 1u << 25;

// The handler of what `inst` does to LDS, whatever its GDS bit.
Handler select_shared(Target target, const isa::Inst& inst, Step& step);
// The same in the global data share (memory_gds.cpp).
Handler select_gds(Target target, const isa::Inst& inst, Step& step);

// Global wave sync (memory_gws.cpp).
Handler select_gws(const isa::Inst& inst, Step& step);

}  // namespace morgana::device::MORGANA_SIMD
