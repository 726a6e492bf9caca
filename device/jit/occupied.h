// Waves that begin with fewer lanes than they have, and never get more.
#pragma once

#include "device/jit/analysis.h"

namespace morgana::device::jit {

// Whether only those lanes execute with which a wave begins, and nobody reads what the others hold: code for
// them need not be made then. Compilers write such code but for whole-wave operations; of what EXEC becomes
// it must be seen that it follows from comparisons and from EXEC as it was saved.
bool keeps_to_occupied(const Flow& flow);

}  // namespace morgana::device::jit
