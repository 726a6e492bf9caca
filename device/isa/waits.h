// What instructions wait for, of the memory accesses that their wave has issued. Pure functions.
#pragma once

#include <cstdint>

#include "base/target.h"
#include "device/isa/inst.h"

namespace morgana::isa {

// The fields of s_waitcnt: so many of each may be outstanding.
struct Waits {
  uint32_t vector, lgkm, exports;
};
Waits waits_of(uint32_t simm16, Generation generation);
uint32_t most_lgkm(Generation generation);

// Whether none may be outstanding then.
enum Waited : uint8_t { kWaitsForNothing = 0, kWaitsForStores = 1, kWaitsForLds = 2 };
uint8_t waits_for(const Inst& inst, Generation generation);

}  // namespace morgana::isa
