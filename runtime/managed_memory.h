// Managed memory: the program's own, of which ROCm's runtime tells the driver that devices use it (KFD's SVM
// ranges). Nobody says when it goes: it is there while it is mapped. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/address_range.h"

namespace morgana::runtime {

void note_managed(AddressRange range);
// What was noted and consists of private pages that can be written to now. By rising address.
std::vector<AddressRange> managed_memory();

}  // namespace morgana::runtime
