// Which registers may be read before anybody has written them.
//
// Goes forward from the kernel's beginning. A vector register is written in some lanes: those of EXEC, of the
// others, and of masks that SGPRs hold, so that what a branch has written is known when its lanes come back.
// What is loaded from memory counts as written. Pure; any thread.
#pragma once

#include <bitset>

#include "codeobj/kernel_descriptor.h"
#include "device/isa/codes.h"
#include "device/lift/code.h"
#include "device/limits.h"
#include "device/written_registers.h"

namespace morgana::device::lift {

// What the kernel's waves begin with: vector registers, and scalars.
struct WrittenAtEntry {
  std::bitset<kRegisterSlots> vectors;
  std::bitset<isa::kRegisterEnd> scalars;
};
WrittenAtEntry written_at_entry(const codeobj::KernelDescriptor& descriptor, Target target);

// `acc_base`: place of AccVGPR 0.
WrittenRegisters find_written(const Code& code, const WrittenAtEntry& entry, uint32_t acc_base);

}  // namespace morgana::device::lift
