// Passes of LLVM 22 whose time grows faster than the program, kept from functions to which they would bring
// little. Private to runtime/compiler.
//
// 1. The vectorizer of straight-line code (SLP) tries vectors for trees of values, through phis of any number
// of
//    branches: password hashes, which assemble buffers in switches, took it nine tenths of their build. It
//    makes packed instructions of numbers of 16 bits and of floats, so functions that compute with neither go
//    without.
// 2. Straight-line strength reduction compares every sum with all earlier ones that share a term, and every
// product
//    with those that share a factor. A few hundred are a chain of arithmetic (`x = x * x + y`, unrolled),
//    which it cannot shorten, and not the addresses that it is for.
#pragma once

#include <llvm/IR/OptBisect.h>

namespace llvm {
class Module;
}

namespace morgana::runtime {

// While it lives, the passes over a module leave those out.
class LongPasses final : public llvm::OptPassGate {
 public:
  explicit LongPasses(const llvm::Module& module);
  ~LongPasses() override;
  LongPasses(const LongPasses&) = delete;
  LongPasses& operator=(const LongPasses&) = delete;

  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const override;

 private:
  const llvm::Module& module_;
  llvm::OptPassGate& before_;
};

}  // namespace morgana::runtime
