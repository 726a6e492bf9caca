// A pass over translated kernels: 64-bit numbers that loops carry as two registers become one value, so that
// an iteration need not put them together and take them apart again.
#pragma once

#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

class JoinHalvesPass : public llvm::PassInfoMixin<JoinHalvesPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace morgana::device::jit
