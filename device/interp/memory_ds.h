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

// Global wave sync (memory_gws.cpp).
Handler select_gws(const isa::Inst& inst, Step& step);

}  // namespace morgana::device::MORGANA_SIMD
