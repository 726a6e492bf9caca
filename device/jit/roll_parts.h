// Long straight-line code as a loop over a wave's parts. SplitWavesPass makes every instruction once for each
// part; what is long enough and has few values in and out becomes one copy, executed for one part after
// another, so that LLVM's back end, whose time most of a compilation is, sees it once.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>

#include <vector>

#include "device/jit/split_values.h"

namespace morgana::device::jit {

// Puts the instructions of a loop in the order in which they should stand there.
using Order = llvm::function_ref<std::vector<llvm::Instruction*>(const std::vector<llvm::Instruction*>&)>;
// Called for each instruction that is going to be deleted.
using Removed = llvm::function_ref<void(const llvm::Instruction*)>;

void roll_parts(llvm::Function& function, const SplitValues& values, unsigned parts, Order order,
                Removed removed);

}  // namespace morgana::device::jit
