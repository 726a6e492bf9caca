// Liveness of a Flow's registers, of active and of inactive lanes.
//
// Code that is made from structured programs takes lanes away and gives back those that it has saved: what
// gives lanes back names an SGPR pair, and those lanes were active where that was written from EXEC or by a
// comparison. So an inactive lane's value is kept as live in the lanes of the mask in such a pair; before the
// pair is written it is not, unless the lanes come from another mask.
#pragma once

#include "device/jit/analysis.h"

namespace morgana::device::jit {

// Fills in Instruction::keeps_old, is_result_dead, live and s_live, and Block::live_in and s_live_in.
void find_liveness(Flow& flow, bool observe_everything);

// Fills in what blocks say of registers that the Wave holds, after find_liveness: the function's entries load
// what is live.
void find_unchanged(Flow& flow);

}  // namespace morgana::device::jit
