// LLVM from a kernel's module to an object file: our passes and LLVM's, and its back end.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string>

#include "base/clock.h"
#include "device/jit/specialisation.h"

namespace morgana::device::jit {

// Processor time of this thread.
inline double thread_milliseconds() {
  return static_cast<double>(nanoseconds(CLOCK_THREAD_CPUTIME_ID)) * 1e-6;
}

// What is wrong, or nothing. `address`: what dumps are named by. `optimised`: when the back end began, by
// thread_milliseconds.
std::optional<std::string> make_object(llvm::Module& module, llvm::Function& kernel,
                                       const Specialisation& key, uint64_t address,
                                       llvm::SmallVector<char, 0>& object, double& optimised);

// Compiles something, which makes what LLVM makes at first use.
void make_statics();

}  // namespace morgana::device::jit
