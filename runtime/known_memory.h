// What checks ask of memory: whether an address lies in an allocation. Any thread.
#pragma once

#include "device/checks.h"

namespace morgana::runtime {

device::KnownMemory known_memory(uint64_t address);

}  // namespace morgana::runtime
