// Local and private memory that is zero when a kernel begins (cl_khr_initialize_memory). Private to
// runtime/compiler.
#pragma once

#include <llvm/IR/Module.h>

namespace morgana::runtime {

// Of a whole program, before it is optimised. Local memory: that of the work-group, static or an argument,
// which the kernel itself fills before anything else. Private memory: every variable of every function.
void zero_local_memory(llvm::Module& module);
void zero_private_memory(llvm::Module& module);

}  // namespace morgana::runtime
