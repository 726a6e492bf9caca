// Which instructions are the barrier of a work-group, and marks of it. Pure functions.
#pragma once

#include "device/isa/inst.h"

namespace morgana::isa {

// Whether a wave comes to the barrier that all waves of its group share. gfx12: signals it.
inline bool is_group_barrier(const Inst& inst) {
  switch (inst.row->op) {
    case Op::s_barrier: return true;
    case Op::s_barrier_signal:
    case Op::s_barrier_signal_isfirst: return inst.src[0].code == kInlineMinusOne;
    default: return false;
  }
}

// What the compiler puts before a barrier that orders some memory only (runtime/barrier_mark.h): an s_nop
// with a bit that hardware does not read and no other s_nop has.
inline constexpr uint32_t kBarrierMarkNop = 0x100;
inline bool is_barrier_mark(const Inst& inst) {
  return inst.row->op == Op::s_nop && inst.simm16 == kBarrierMarkNop;
}

}  // namespace morgana::isa
