// Large programs in parts, each with kernels of its own, that are optimised and emitted side by side. Private
// to runtime/compiler.
//
// How a program is cut depends on it alone: the code object is the same whatever the number of threads.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <vector>

#include "base/result.h"

namespace morgana::runtime {

// Functions and variables of a module, by their places in it.
struct Part {
  std::vector<bool> functions, variables;
  std::vector<bool> defined;  // variables that other parts do not show to the linker
  size_t weight = 0;          // instructions, those of called functions once a call
};

// The parts of a whole program, in the order of its kernels; none if it is better left whole. Kernels that
// share a variable which changes are in one part; constants and functions are in every part that needs them.
std::vector<Part> cut(const llvm::Module& module);

// Reads a part from the bitcode of the whole.
Result<std::unique_ptr<llvm::Module>> take_part(llvm::StringRef bitcode, const Part& part,
                                                llvm::LLVMContext& context);

}  // namespace morgana::runtime
