// Equality of a disassembly with assembler source, where the source may be any of several spellings of one
// encoding. Used for gfx6 and gfx7, for which LLVM has an assembler and no disassembler. Internal to
// device/isa.
#pragma once

#include <string_view>

#include "device/isa/inst.h"

namespace morgana::isa {

// Whether `source` is another way to write `inst`, whose canonical text is `canonical`. What may differ:
// - `_e32` and `_e64`, which the assembler deduces;
// - VCC where an encoding implies it;
// - v_add_co_u32 and its kin, LLVM's other name of gfx6's v_add_i32;
// - the base of numbers, and names of 16-bit immediates (hwreg, sendmsg, s_waitcnt) against their value;
// - the span of an image address, which the encoding does not hold.
bool same_instruction(const Inst& inst, std::string_view canonical, std::string_view source);

}  // namespace morgana::isa
