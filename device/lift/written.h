// Which registers may be read before anybody has written them.
//
// Goes forward from the kernel's beginning. A vector register is written in some lanes: those of EXEC, of the
// others, and of masks that SGPRs hold, so that what a branch has written is known when its lanes come back.
// What is loaded from memory counts as written. Pure; any thread.
#pragma once

#include "device/lift/code.h"
#include "device/written_registers.h"

namespace morgana::device::lift {

// `acc_base`: place of AccVGPR 0.
WrittenRegisters find_written(const Code& code, const WrittenAtEntry& entry, uint32_t acc_base);

}  // namespace morgana::device::lift
