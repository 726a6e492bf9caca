// Repairs of LLVM 22's code generation for AMD GPUs. Private to runtime/compiler.
//
// 1. StructurizeCFG moves an instruction that costs nothing (a cast, an element) out of a block that a branch
//    skips, and lets it take the place of undefined values of the phis that it makes. Where more than an if
//    and its else meet, these are other paths: `s == 0 || v <= h ? a : b` gives b to all lanes.
//    https://github.com/llvm/llvm-project/pull/183792 mends it for LLVM 23. (structured_phis.cpp)
// 2. SILowerSGPRSpills defines a register whose lanes hold spilled scalars where its spills and restores have
//    their nearest common dominator, even in a loop: what the lanes carry into the next round is then
//    nobody's, and another register takes their place. The test is
//    ScalarsThatALoopSpills: -cl-opt-disable, waves of 64. https://github.com/llvm/llvm-project/pull/186348
//    mends it for LLVM 23. (spilled_lanes.cpp)
//
// Each goes when an LLVM that we build with does without it.
#pragma once

namespace llvm {
class Pass;
}

namespace morgana::runtime {

// While it lives, code generation on this thread has the repairs.
class CodegenRepairs {
 public:
  CodegenRepairs();
  ~CodegenRepairs();
  CodegenRepairs(const CodegenRepairs&) = delete;
  CodegenRepairs& operator=(const CodegenRepairs&) = delete;
};

// 1: right before StructurizeCFG. Moves such instructions to where their operands are, from where LLVM does
// not move them on.
llvm::Pass* new_structured_phis();
// 2: right behind SILowerSGPRSpills. Defines such registers at the function's beginning.
llvm::Pass* new_spilled_lanes();

}  // namespace morgana::runtime
