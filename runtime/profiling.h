// Profiles of kernels (MORGANA_PROFILE=DIR): what every dispatch of this process did is counted, and written
// to DIR as a file of JSON when the process exits (docs/profiling.md). Any thread.
#pragma once

#include "device/device.h"
#include "runtime/checking.h"

namespace morgana::runtime {

// Of this process. Kernels are interpreted then; not with checks, which want the same.
bool profile_wanted();

// Executes the launch and adds what it did to the profile of its kernel.
device::Fault run_profiled(device::Device& device, device::Launch& launch, CodePlaces& code);

}  // namespace morgana::runtime
