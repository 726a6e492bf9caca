// What is called before the steps of a wave whose launch is observed (device/observe).
#pragma once

#include "device/interp/step.h"

namespace morgana::device {
struct Neighbours;
}

namespace morgana::device::service {

// wave.access has the addresses of flat and buffer instructions. False: the wave is to stop, and its Fault is
// recorded.
bool observe_step(Wave& wave, const Step* step);

// Behind an instruction that accesses memory which others see: whether it ends the wave's turn (Exit::turn).
bool ends_turn(const Wave& wave);

// What compiled code calls (device/seen_ranges.h). Whether lanes may access these places as the
// instruction does, which is a flat or global one.
bool may_access(Wave& wave, const Step* step, uint32_t slot, uint64_t lanes, const uint64_t* addresses);
// Shows an instruction's accesses to a launch that counts them; the Wave has its operands.
void count_accesses(Wave& wave, const Step* step);
// The phases that LDS takes for lanes at these places, and in the upper half the fewest (LdsUse::packed).
uint64_t lds_phases(const uint32_t* addresses, uint64_t lanes, uint64_t use);
// As observe_step, of an instruction that a handler is to execute for it; the Wave has its operands.
bool observe_single(Wave& wave, const Step* step);
// What compiled code asks and says of what it loads: Observer::reads_unwritten, of an instruction that it is
// about to execute, whose operands the Wave has, and loaded_unwritten.
bool reads_unwritten(Wave& wave, const Step* step);
void loaded_unwritten(const Wave& wave, const Step* step);
// What compiled code asks before it shows an access that is_plain: Observer::passes.
bool passes(const Wave& wave, const Step* step, const Neighbours& lanes);
// The same, of one that compiled code executes itself; nothing if all of it is allowed.
bool observe_unseen(Wave& wave, const Step* step, uint32_t slot);

}  // namespace morgana::device::service
