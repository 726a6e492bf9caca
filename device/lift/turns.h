// Where the waves of a group take turns: waits behind which a wave overwrites LDS that others may still be to
// read, though no barrier tells.
//
// On hardware the waves of a group run nearly side by side, and some kernels rely on that: a tile is filled
// anew once the wave's own reads of it have come back. Here a wave runs on to its next barrier, so that those
// behind it would find the next tile. docs/decisions/013-waves-in-step.md has the rule and what it was
// measured on.
#pragma once

#include <cstdint>
#include <vector>

#include "device/lift/code.h"

namespace morgana::device::lift {

// The waits for LDS at which a wave lets the others of its group come up, as bytes from the beginning of the
// code, rising. Empty for nearly every kernel.
std::vector<uint32_t> find_turns(const Code& code);

}  // namespace morgana::device::lift
