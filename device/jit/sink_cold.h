// A pass over translated kernels: what only unlikely blocks need is computed there. The ways out of compiled
// code want all live registers, addresses among them that the likely way has replaced by scalars
// (lane_values.h).
#pragma once

#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

class SinkColdPass : public llvm::PassInfoMixin<SinkColdPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace morgana::device::jit
