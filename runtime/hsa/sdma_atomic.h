// The atomic operations of SDMA packets, numbered as the texture cache numbers them (TC_OP_ATOMIC_*).
#pragma once

#include <cstdint>

namespace morgana::runtime {

// False: no such operation. `swapped` tells whether a compare-and-swap took place (true for all others).
bool sdma_atomic(uint32_t operation, uint64_t address, uint64_t value, uint64_t compare, bool& swapped);

}  // namespace morgana::runtime
