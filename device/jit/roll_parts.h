// Long straight-line code as a loop over a wave's parts. SplitWavesPass makes every instruction once for each
// part; what is long enough and has few values in and out becomes one copy, executed for one part after
// another, so that LLVM's back end, whose time most of a compilation is, sees it once.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

namespace morgana::device::jit {

// A wave's value, part by part.
using Parts = llvm::SmallVector<llvm::Value*, 8>;

// What SplitWavesPass made.
struct SplitValues {
  // The parts of one instruction; those that are instructions in one block stand there one behind the other.
  std::vector<Parts> made;
  // Whole values that parts were put together to.
  std::vector<std::pair<llvm::Instruction*, Parts>> joined;
};

// Gives the instructions that are left of those in `values` to `order`, which returns them as they should
// stand in the loop. `removed` is called for each that is going to be deleted.
void roll_parts(
    llvm::Function& function, const SplitValues& values, unsigned parts,
    llvm::function_ref<std::vector<llvm::Instruction*>(const std::vector<llvm::Instruction*>&)> order,
    llvm::function_ref<void(const llvm::Instruction*)> removed);

}  // namespace morgana::device::jit
