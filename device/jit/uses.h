// Where values are used.
#pragma once

#include <llvm/IR/Instructions.h>

namespace morgana::device::jit {

// The block that must have the value.
inline llvm::BasicBlock* block_of(const llvm::Use& use) {
  auto* user = llvm::cast<llvm::Instruction>(use.getUser());
  auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
  return phi ? phi->getIncomingBlock(use) : user->getParent();
}

}  // namespace morgana::device::jit
