// Whether a Function is well-formed: kinds, arguments, parameters, and that every value is made before it is
// used on every way. Pure; any thread.
#pragma once

#include <string>

#include "device/lift/ir.h"

namespace morgana::device::lift {

// Empty, or what is wrong first.
std::string verify(const Function& function);

}  // namespace morgana::device::lift
