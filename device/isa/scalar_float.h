// Scalar instructions on floats (gfx11.5 and later). Each is a vector instruction of which lane 0 counts: its
// result goes to an SGPR, its mask's bit to SCC.
#pragma once

#include <optional>

#include "device/isa/inst.h"

namespace morgana::isa {

// That vector instruction; none: `scalar` is no such instruction.
std::optional<Op> vector_of(Op scalar);

}  // namespace morgana::isa
