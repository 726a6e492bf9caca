// A pass over translated kernels, late: each access of a place at a known distance from a pointer computes
// its address itself.
//
// Earlier passes share addresses, and a kernel accesses the Wave thousands of times: for each shared address
// LLVM's CodeGenPrepare then looks through all users of the pointer, which took half of the compilation.
#pragma once

#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

class OwnAddressesPass : public llvm::PassInfoMixin<OwnAddressesPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace morgana::device::jit
