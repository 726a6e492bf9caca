#include "device/isa/waits.h"

namespace morgana::isa {

uint32_t most_lgkm(Generation generation) { return generation >= Generation::gfx10 ? 63 : 15; }

Waits waits_of(uint32_t simm16, Generation generation) {
  if (generation >= Generation::gfx11) return {simm16 >> 10, simm16 >> 4 & 0x3f, simm16 & 7};
  const uint32_t vector = (simm16 & 0xf) | (generation >= Generation::gfx9 ? simm16 >> 14 << 4 : 0);
  return {vector, simm16 >> 8 & most_lgkm(generation), simm16 >> 4 & 7};
}

uint8_t waits_for(const Inst& inst, Generation generation) {
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

}  // namespace morgana::isa
