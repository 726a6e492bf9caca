#include "device/observe/memory_order.h"

#include "device/observe/wait_check.h"

namespace morgana::device {

using isa::Op;

uint8_t waits_for(const isa::Inst& inst, Generation generation) {
  const uint32_t simm16 = inst.simm16;
  const auto if_all = [](uint32_t outstanding, uint8_t what) -> uint8_t {
    return outstanding == 0 ? what : kWaitsForNothing;
  };
  switch (inst.row->op) {
    case Op::s_waitcnt: {
      const Waits waits = waits_of(simm16, generation);
      // gfx10 and later count stores elsewhere.
      const uint32_t stores = generation < Generation::gfx10 ? waits.vector : 1;
      return if_all(stores, kWaitsForStores) | if_all(waits.lgkm, kWaitsForLds);
    }
    case Op::s_waitcnt_vscnt:
    case Op::s_wait_storecnt: return if_all(simm16 & 0x3f, kWaitsForStores);
    case Op::s_waitcnt_lgkmcnt:
    case Op::s_wait_loadcnt_dscnt:
    case Op::s_wait_dscnt: return if_all(simm16 & 0x3f, kWaitsForLds);
    case Op::s_wait_storecnt_dscnt:
      return if_all(simm16 >> 8 & 0x3f, kWaitsForStores) | if_all(simm16 & 0x3f, kWaitsForLds);
    case Op::s_wait_idle: return kWaitsForStores | kWaitsForLds;
    default: return kWaitsForNothing;
  }
}

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
