// One encoding of every form of every row, for whoever asks a table question of the decoder or the
// interpreter: the coverage list and its tests.
//
// Pure functions, callable from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "device/isa/inst.h"

namespace morgana::isa {

// How a row may be encoded: its own format; VOP1, VOP2 and VOPC also as VOP3, SDWA and DPP, on gfx11 and
// later VOP3 and VOP3P with DPP, and so what is promoted to VOP3.
enum class Form : uint8_t { plain, vop3, sdwa, dpp, dpp8, vop3_dpp, vop3_dpp8 };
inline constexpr Form kForms[] = {Form::plain, Form::vop3,     Form::sdwa,     Form::dpp,
                                  Form::dpp8,  Form::vop3_dpp, Form::vop3_dpp8};
constexpr bool is_promoted(Form form) {
  return form == Form::vop3 || form == Form::vop3_dpp || form == Form::vop3_dpp8;
}
const char* name(Form form);

// Dwords that decode() reads as `row` in `form` on `target`, with low register numbers and no modifier. Empty
// when the target has no such form of the row.
std::vector<uint32_t> example(Target target, const Row& row, Form form);

}  // namespace morgana::isa
