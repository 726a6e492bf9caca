// One encoding of every form of every row, for whoever asks a table question of the decoder or the
// interpreter: the coverage list and its tests.
//
// Pure functions, callable from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "device/isa/inst.h"

namespace morgana::isa {

// How a row may be encoded: its own format; VOP1, VOP2 and VOPC also as VOP3, SDWA and DPP.
enum class Form : uint8_t { plain, vop3, sdwa, dpp };
inline constexpr Form kForms[] = {Form::plain, Form::vop3, Form::sdwa, Form::dpp};
const char* name(Form form);

// Dwords that decode() reads as `row` in `form` on `target`, with low register numbers and no modifier. Empty
// when the target has no such form of the row.
std::vector<uint32_t> example(Target target, const Row& row, Form form);

}  // namespace morgana::isa
