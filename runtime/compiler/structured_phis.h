// Keeps LLVM's StructurizeCFG from giving a phi the value of another path. Private to runtime/compiler.
//
// The pass moves an instruction that costs nothing (a cast, an element) out of a block that a branch skips,
// and lets it take the place of undefined values of the phis that it makes. Where more than an if and its
// else meet, these are other paths: `s == 0 || v <= h ? a : b` gives b to all lanes.
// https://github.com/llvm/llvm-project/pull/183792 mends it for LLVM 23; this file can go with LLVM 22.
#pragma once

namespace morgana::runtime {

// While it lives, code generation for AMD GPUs on this thread moves such instructions itself, to where their
// operands are, from where LLVM does not move them on.
class StructuredPhis {
 public:
  StructuredPhis();
  ~StructuredPhis();
  StructuredPhis(const StructuredPhis&) = delete;
  StructuredPhis& operator=(const StructuredPhis&) = delete;
};

}  // namespace morgana::runtime
