// The disk cache as the place where the device keeps compiled kernels.
#pragma once

namespace morgana::runtime {

// Makes the cache of the process, if it has one, the JIT's object store. To be called before the first agent
// is made; further calls do nothing.
void install_jit_store();

}  // namespace morgana::runtime
