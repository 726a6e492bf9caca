// The code objects that a runtime has loaded.
//
// A runtime keeps a list of them for debuggers and passes its address to hsaKmtRuntimeEnable. The list is an
// r_debug like a dynamic linker's, whose names are URIs (AMD's "loader URI" convention). It is read when a
// fault is reported, and for kernels' names in the summary of a run. The list belongs to the runtime: every
// read may fail and no content is trusted. Any thread.
#pragma once

#include <cstdint>

#include "runtime/checking.h"
#include "runtime/report.h"

namespace morgana::kmt {

// The runtime's r_debug; nullptr: none.
void set_loader_list(const void* r_debug);

// Adds kernel, function and source line to `place` as far as the code objects tell.
void find_place(uint64_t kernel_object, uint64_t pc, runtime::FaultPlace& place);

// The code object that has the kernel.
runtime::CodeImage loaded_code_object(uint64_t kernel_object);

// The kernel's name; empty: no code object of the list has it. Remembered as long as `code_version` stays the
// same.
std::string loaded_kernel_name(uint64_t kernel_object, uint64_t code_version);

}  // namespace morgana::kmt
