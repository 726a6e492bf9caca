// The fault report: what a person reads when a kernel does something wrong.
#pragma once

#include <string>

#include "device/fault.h"
#include "runtime/dispatch.h"

namespace morgana::runtime {

// Several lines: kernel, work-item, PC, instruction, source line, address and the nearest allocation.
std::string fault_report(const device::Fault& fault, const Dispatch& dispatch);

}  // namespace morgana::runtime
