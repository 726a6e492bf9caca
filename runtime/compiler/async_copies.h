// Asynchronous copies of a work-group, for the check of races.
//
// AMD's library lets work-item i copy element i. A kernel that reads its own element without waiting for the
// copy is then right by luck, and so is one that not all work-items call it in. Source: OpenCL
// C 3.1, 6.15.11.
#pragma once

namespace llvm {
class Module;
}

namespace morgana::runtime {

// Lets other work-items copy, at each call others, behind a barrier that orders nothing. To be called before
// mark_barriers.
void turn_async_copies(llvm::Module& module);

}  // namespace morgana::runtime
