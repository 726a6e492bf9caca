// The code objects that a runtime has loaded, found through the debugger's list that it hands to
// RuntimeEnable (r_debug, as a dynamic linker's: AMD's "loader URI" convention).
//
// Read when a fault is reported, and for the names of kernels in a run's summary; the list belongs to the
// runtime and is never trusted. Any thread.
#pragma once

#include <cstdint>

#include "runtime/report.h"

namespace morgana::kmt {

// The runtime's r_debug; nullptr: none.
void set_loader_list(const void* r_debug);

// Adds kernel, function and source line to `place` as far as the code objects tell.
void find_place(uint64_t kernel_object, uint64_t pc, runtime::FaultPlace& place);

// The kernel's name; empty: no code object of the list has it. Remembered as long as `code_version` stays the
// same.
std::string loaded_kernel_name(uint64_t kernel_object, uint64_t code_version);

}  // namespace morgana::kmt
