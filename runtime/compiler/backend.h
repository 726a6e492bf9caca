// The back half of a build: a module of user code to an AMDGPU object, through the device libraries and LLVM.
// Private to runtime/compiler.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "runtime/compiler/frontend.h"

namespace morgana::runtime {

// Notes in the module which options its source was compiled with (mathematical liberties, -g), so that
// linking can choose the device library's behaviour; merging modules keeps what all of them allow.
void record_options(llvm::Module& module, const BuildOptions& options);

// Sends LLVM's own diagnostics (inline assembly, resource limits, ...) to the log of `frontend`; `failed` is
// set when one of them is an error. Both must outlive the context's use.
void route_diagnostics(Frontend& frontend, bool& failed);

using Object = llvm::SmallVector<char, 0>;

// Optimises `module`, a whole program, and emits relocatable ELF objects, to be linked in this order: one, or
// those of its parts (parts.h). Consumes the module's meaning: it is of no use afterwards.
Result<std::vector<Object>> emit_objects(Frontend& frontend, const BuildOptions& options,
                                         const TargetDescription& target, llvm::Module& module);

}  // namespace morgana::runtime
