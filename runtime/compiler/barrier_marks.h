// What a work-group barrier orders, written down for the check of races.
//
// Machine code does not show it: on most GPUs the waves of a work-group see each other's accesses in order
// after any s_barrier, whatever memory `barrier(flags)` names. Source: OpenCL C 3.1, 6.15.8 and 6.15.12.
#pragma once

namespace llvm {
class Module;
}

namespace morgana::runtime {

// Puts a symbol (runtime/barrier_mark.h) before each call of OpenCL C's barriers with constant flags that
// lack local or global memory, and sees to it that those of small work-groups stay. To be called before the
// device library is linked.
void mark_barriers(llvm::Module& module);

}  // namespace morgana::runtime
