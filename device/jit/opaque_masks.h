// A pass over translated kernels, the last: lane masks are made of numbers of which LLVM's back end knows no
// bit.
//
// The X86 back end of LLVM 22 never ends with some of the others: it moves what it knows of the bits of a & b
// & c over conversions between masks and numbers, and back again. Random kernels have found constants,
// shifted constants, numbers of 32 bits and comparisons of constants in such trees (differential_test.cpp).
#pragma once

#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

class OpaqueMasksPass : public llvm::PassInfoMixin<OpaqueMasksPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace morgana::device::jit
