// Accesses to LDS that can race with no other: between two barriers the waves of a group only read, or only
// use atomics that give nothing back.
//
// Where all waves of the group go on from one and the same barrier; who relies on it tests that
// (device/observe/race_check.h). FLAT accesses count as ones of LDS. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "device/lift/code.h"

namespace morgana::device::lift {

// As bytes from the beginning of the code, rising.
std::vector<uint32_t> find_quiet_lds(const Code& code);

}  // namespace morgana::device::lift
