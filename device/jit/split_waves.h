// A pass over translated kernels: vectors over the whole wave become parts that the host has registers for,
// and straight-line code is put in an order that finishes one part before it begins the next.
//
// A wave's register is four AVX-512 registers, so that eight of them fill the host's register file; in the
// order of the guest's instructions most operands would come from the stack.
#pragma once

#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

class SplitWavesPass : public llvm::PassInfoMixin<SplitWavesPass> {
 public:
  // `parts`: of a wave, a power of two.
  explicit SplitWavesPass(unsigned parts) : parts_(parts) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  unsigned parts_;
};

}  // namespace morgana::device::jit
