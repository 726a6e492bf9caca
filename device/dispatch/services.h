// What handlers call outside their level (device/interp/code.h), and what makes Faults of host traps.
//
// Internal to device/dispatch.
#pragma once

#include "device/dispatch/guest_guard.h"
#include "device/dispatch/resident_group.h"

namespace morgana::device {

// Makes a Fault of a host trap that happened while `wave` was executing.
void record_trap(Wave& wave, const GuestTrap& trap);
// Lets a wave run until it stops. When the host refuses a guest access, the wave's Fault says so.
void run_guarded(Wave& wave);

// Does to `wave` what the host asks for by `word` (WaveCommands). False: the wave has stopped.
bool take_command(Wave& wave, uint64_t word);

}  // namespace morgana::device
