// Passes over translated kernels: 64-bit numbers in two registers become one value where instructions, or the
// iterations of a loop, would put them together and take them apart again.
#pragma once

#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

// Of single lanes, carried by loops.
class JoinHalvesPass : public llvm::PassInfoMixin<JoinHalvesPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Of all lanes, from instruction to instruction. Where one register is 0, or both are alike in all lanes, the
// other passes see an extension or one number.
struct JoinRowsPass : llvm::PassInfoMixin<JoinRowsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace morgana::device::jit
