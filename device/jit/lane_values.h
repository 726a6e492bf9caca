// A pass over translated kernels: single lanes of vectors that are read as scalars (addresses of the first
// and the last lane, mostly) are computed as scalars, so that the vectors themselves need not be.
#pragma once

#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

// Functions whose name begins so, of a vector, stand for its first lane: code that runs for one lane after
// another asks for it. Nothing is too much for these, floats included.
inline constexpr const char* kFirstLane = "morgana.first_lane";

// Stands for its first argument, whose lanes rise by known numbers: the third is how many lanes make a group,
// the second says how far each lies above the group's first one.
inline constexpr const char* kRising = "morgana.rising";

// An extracted element is replaced when all that it follows from is known without extracting anything else:
// constants, scalars and memory, through integer arithmetic, shuffles and loops.
class LaneValuesPass : public llvm::PassInfoMixin<LaneValuesPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace morgana::device::jit
