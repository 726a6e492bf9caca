// What local and private memory holds when a kernel begins: zeros (cl_khr_initialize_memory), or what nobody
// knows. Private to runtime/compiler.
#pragma once

#include <llvm/IR/Module.h>

namespace morgana::runtime {

// Of a whole program, before it is optimised. Local memory: that of the work-group, static or an argument,
// which the kernel itself fills before anything else. Private memory: every variable of every function.
void zero_local_memory(llvm::Module& module);
void zero_private_memory(llvm::Module& module);
// Local variables stay, though nothing may store to them: LLVM would make constants of what is read there,
// and the check of values that nobody has written would see none of it.
void keep_local_memory(llvm::Module& module);

}  // namespace morgana::runtime
