// The services of device/interp/code.h need to know where the executing wave's launch finds its code.
//
// Internal to device/dispatch.
#pragma once

#include "device/dispatch/guest_guard.h"
#include "device/dispatch/resident_group.h"
#include "device/program/program.h"

namespace morgana::device {

// The code regions that a wave may jump to.
CodeMap& code_map_of(const Wave& wave);

// Makes a Fault of a host trap that happened while `wave` was executing.
void record_trap(Wave& wave, const GuestTrap& trap);

}  // namespace morgana::device
