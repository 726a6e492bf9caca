// Passes over translated kernels: 64-bit numbers in two registers become one value where instructions, or the
// iterations of a loop, would put them together and take them apart again.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

// Two dwords as one number of 64 bits.
inline llvm::Value* join_dwords(llvm::IRBuilderBase& b, llvm::Value* low, llvm::Value* high) {
  llvm::Value* const above = b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32);
  return b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), above);
}

// The 64-bit numbers of all lanes from their lower and upper dwords, and back: JoinRowsPass knows both forms.
llvm::Value* zipped(llvm::IRBuilderBase& b, llvm::Value* low, llvm::Value* high, llvm::Type* number);
void unzip(llvm::IRBuilderBase& b, llvm::Value* numbers, llvm::Value** words);

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
