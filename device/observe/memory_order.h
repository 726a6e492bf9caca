// What an instruction does for the order of a wave's accesses as others see them (besides waiting,
// isa/waits.h): caches that it drops or writes back, and how far an atomic reaches. Follows LLVM's memory
// model of each target (AMDGPUUsage).
#pragma once

#include <cstdint>

#include "base/target.h"
#include "device/isa/inst.h"

namespace morgana::device {

// Which caches the wave drops, or what it will read anew: what only its group shares, and what other groups
// share, too. gfx10 and gfx11 have one of each; kDropsBoth reaches all groups.
enum Dropped : uint8_t { kDropsNothing = 0, kDropsOfGroup = 1, kDropsOfOthers = 2, kDropsBoth = 3 };
uint8_t drops(const isa::Inst& inst, const TargetInfo& target);

// Whether stores must leave the L2 for other groups (it is not one for the whole device), ...
inline bool has_many_l2(const TargetInfo& target) { return target.is_gfx940; }
// ... and what makes them.
inline bool writes_back(const isa::Inst& inst) { return inst.row->op == isa::Op::buffer_wbl2 && inst.sc1; }

// Whether the instruction gives something back.
inline bool has_result(const isa::Inst& inst) { return inst.n_dst > 0 && inst.dst[0].present(); }

// Whether an atomic access is one for all groups: gfx12 alone says so in the instruction.
inline bool reaches_all(const isa::Inst& inst, const TargetInfo& target) {
  return target.generation < Generation::gfx12 || inst.scope >= 2;
}

}  // namespace morgana::device
