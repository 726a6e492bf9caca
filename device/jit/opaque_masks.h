// A pass over translated kernels, the last: it keeps from LLVM's back end what the one of LLVM 22 does not
// end with, or makes wrong code of.
//
// Lanes of a number that are added to numbers (carries) are lanes of which it knows no bit: random kernels
// have found many numbers of which it finds some bits to be 0, and then does not end (differential_test.cpp).
// Hidden, too, are numbers that 8 or 16 bits are put into, whose other bits it loses, those of which it would
// reverse the order together with the bits, the high halves of products beside numbers of 16 bits, and lanes
// that are the bits of a half, lanes that are stored with what lay there in others, and fields that are put
// into numbers where some lanes keep those. Bits that constants invert twice are inverted once.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PassManager.h>

namespace morgana::device::jit {

// An integer of which LLVM does not know that it is `value`, or a vector of one host register.
llvm::Value* opaque(llvm::IRBuilderBase& b, llvm::Value* value);

class OpaqueMasksPass : public llvm::PassInfoMixin<OpaqueMasksPass> {
 public:
  // `lanes`: of a host register of 32-bit numbers.
  explicit OpaqueMasksPass(unsigned lanes) : lanes_(lanes) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  unsigned lanes_;
};

}  // namespace morgana::device::jit
