// Which instructions are the barrier of a work-group. A pure function.
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

}  // namespace morgana::isa
