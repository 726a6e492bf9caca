// The code objects that a runtime has loaded, found through the debugger's list that it hands to
// RuntimeEnable (r_debug, as a dynamic linker's: AMD's "loader URI" convention).
//
// Read only when a fault is reported; the list belongs to the runtime and is never trusted. Any thread.
#pragma once

#include <cstdint>

#include "runtime/report.h"

namespace morgana::kmt {

// The runtime's r_debug; nullptr: none.
void set_loader_list(const void* r_debug);

// Adds kernel, function and source line to `place` as far as the code objects tell.
void find_place(uint64_t kernel_object, uint64_t pc, runtime::FaultPlace& place);

}  // namespace morgana::kmt
