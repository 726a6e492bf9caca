// The size of a program's waves, which is that of its sub-groups. Private to runtime/compiler.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include "base/result.h"
#include "base/target.h"
#include "runtime/compiler/compiler.h"

namespace morgana::runtime {

// What the functions of `module` are compiled for. Targets before gfx10 have waves of 64 only.
WaveSize wave_size(const llvm::Module& module, const TargetDescription& target);

// Gives all functions the size that kernels require (intel_reqd_sub_group_size). An error, with a line in the
// log, when the target lacks it or kernels of one program require both: all of a program's functions have
// one.
Result<WaveSize> settle_wave_size(llvm::Module& module, const TargetDescription& target,
                                  llvm::raw_ostream& log);

}  // namespace morgana::runtime
