// The fault report: what a person reads when a kernel does something wrong.
#pragma once

#include <string>
#include <string_view>

#include "device/fault.h"
#include "runtime/dispatch.h"

namespace morgana::runtime {

// Where a fault happened, as far as the code objects tell; what is empty is left out.
struct FaultPlace {
  std::string kernel;
  std::string processor;
  std::string function;
  uint64_t offset_in_function = 0;
  std::string source;  // "file.cl:12"
};

// Several lines: kernel, work-item, PC, instruction, source line, address and the nearest allocation.
std::string fault_report(const device::Fault& fault, const FaultPlace& place);
std::string fault_report(const device::Fault& fault, const Dispatch& dispatch);

// The lines about the address of a memory fault.
std::string fault_address(const device::Fault& fault);

// Writes the report to standard error (MORGANA_FAULT_REPORT); of a fault that repeats at one place only its
// count, each time that doubles. Failures without a fault are never shortened. Callable from any thread.
void print_report(const device::Fault& fault, std::string_view kernel, const std::string& text);

}  // namespace morgana::runtime
