// A pass over translated kernels: what only unlikely blocks need is computed there. The ways out of compiled
// code want all live registers, addresses among them that the likely way has replaced by scalars
// (lane_values.h).
#pragma once

#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

// Stands for its argument, which is computed where the call is. InstCombine moves an operation to the next
// block if that alone uses it: words that were loaded one by one would be put together behind the next check,
// or many, and lie on the stack until then.
inline constexpr const char* kInPlace = "morgana.in_place";

// Leaves the argument alone.
class ForgetPlacesPass : public llvm::PassInfoMixin<ForgetPlacesPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

class SinkColdPass : public llvm::PassInfoMixin<SinkColdPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace morgana::device::jit
