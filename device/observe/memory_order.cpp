#include "device/observe/memory_order.h"

namespace morgana::device {

using isa::Op;

uint8_t drops(const isa::Inst& inst, const TargetInfo& target) {
  switch (inst.row->op) {
    case Op::buffer_wbinvl1:
    case Op::buffer_wbinvl1_vol:
    case Op::buffer_wbinvl1_sc:
    case Op::buffer_invl2: return kDropsBoth;
    case Op::buffer_inv: return !target.is_gfx940 || inst.sc1 ? kDropsBoth : kDropsOfGroup;
    case Op::buffer_gl0_inv: return kDropsOfGroup;
    case Op::buffer_gl1_inv: return kDropsOfOthers;
    case Op::global_inv:
    case Op::global_wbinv:
      return inst.scope >= 2 ? kDropsBoth : inst.scope == 1 ? kDropsOfGroup : kDropsNothing;
    default: return kDropsNothing;
  }
}

}  // namespace morgana::device
