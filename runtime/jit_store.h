// The disk cache as the place where the device keeps compiled kernels.
#pragma once

namespace morgana::runtime {

// Makes the process's cache, if it has one, the JIT's object store. Called before the first agent is made;
// any number of times.
void install_jit_store();

}  // namespace morgana::runtime
