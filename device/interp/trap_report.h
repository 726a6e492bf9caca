// What a runtime's trap handler reports (TrapUse::reports): the Fault that made a wave enter it is kept until
// the handler halts the wave. Services of device/dispatch, like those of code.h.
#pragma once

#include "device/interp/code.h"

namespace morgana::device::service {

// Before a wave enters its trap handler: keeps the fault, if the handler is a runtime's.
void note_fault(Wave& wave, const Step* step, FaultKind kind, const char* detail, uint64_t address, int lane,
                bool is_write);

// Whether the wave's registers are there for a handler to return to. Those of compiled code are not.
bool may_return(const Wave& wave);

// The handler has halted the wave, which would go on at `step`: fills in Group::fault.
void report_halt(Wave& wave, const Step* step);

}  // namespace morgana::device::service
