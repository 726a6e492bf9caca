// A pass over translated kernels, the last: lane masks are made of numbers of which LLVM's back end knows no
// bit.
//
// The X86 back end of LLVM 22 never ends with some of the others: it moves what it knows of the bits of a & b
// & c over conversions between masks and numbers, and back again. Random kernels have found constants,
// shifted constants, numbers of 32 bits, comparisons of constants and classes looked up in masks of which
// some lanes are constant in such trees (differential_test.cpp). Hidden, too, are numbers that 8 or 16 bits
// are put into, whose other bits it loses, those of which it would reverse the order together with the bits,
// and the high halves of products beside numbers of 16 bits. Bits that constants invert twice are inverted
// once, for the same reason as masks.
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
