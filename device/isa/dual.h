// The two instructions of a VOPD (gfx11 7.6).
#pragma once

#include <array>
#include <optional>

#include "device/isa/inst.h"

namespace morgana::isa {

// One after the other, in an order in which the second reads nothing that the first writes; nothing: each
// reads what the other writes. Neither has a size of its own.
std::optional<std::array<Inst, 2>> halves(const Inst& dual);

}  // namespace morgana::isa
