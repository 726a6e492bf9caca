// Constants with which LLVM would compute something else than the wave. It takes x * 1.0 and x + 0.0 for x,
// and 0.0 * 2.0 + x, which is wrong where they flush denormals or quiet a NaN, and when all operands are
// constants it flushes nothing.
#pragma once

#include <llvm/IR/PassManager.h>

#include "device/state/wave.h"

namespace morgana::device::jit {

// Names metadata of stores to registers that stay in the Wave: LLVM takes what is stored there for what is
// loaded later.
constexpr const char* kHome = "home";

// Before the passes that evaluate constants, and again where more functions have been inlined. Where
// denormals are flushed, numbers that are constants in some lanes or by some ways only are found too: LLVM
// moves operations to where their operands are chosen.
class HideConstantsPass : public llvm::PassInfoMixin<HideConstantsPass> {
 public:
  explicit HideConstantsPass(Mode mode) : mode_(mode) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  Mode mode_;
};

}  // namespace morgana::device::jit
