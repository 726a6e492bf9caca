// What compiling a kernel spares, before it is compiled.
#pragma once

#include "device/jit/analysis.h"

namespace morgana::device::jit {

// The part of the interpreter's time that compiled code does not take, from 0 to 1, by what instructions take
// on a host: matrix instructions, for example, take it either way. Those in loops count, where there are any.
double gain(const Flow& flow);

}  // namespace morgana::device::jit
