// Bytes to Inst, Inst to LLVM's assembly text.
//
// Both are pure functions over static tables, callable from any thread. The decoder accepts any
// bytes: what is no instruction of the target is an error that names the first dword.
#pragma once

#include <span>
#include <string>

#include "base/bytes.h"
#include "device/isa/inst.h"

namespace morgana::isa {

// The instruction that starts at `code[0]`. Needs only the bytes the instruction has (4 to 20). `wave` says
// how wide lane masks are; without it, default_wave(target).
Result<Inst> decode(Target target, Bytes code, WaveSize wave);
Result<Inst> decode(Target target, Bytes code);

// How the halves of VGPRs are written on gfx11 and gfx12: "v1.h" (LLVM's real-true16), or "v1" with op_sel.
// LLVM's own choice is the first on gfx11, the second on gfx12.
enum class Halves : uint8_t { as_llvm, named, op_sel };

// LLVM's canonical text of `inst` ("v_add_f32_e32 v1, s2, v3"). `inst` must come from decode() for the same
// target.
std::string disassemble(Target target, const Inst& inst, Halves halves = Halves::as_llvm);

// The rows of one format; of all formats by Op.
std::span<const Row> rows(Format format);
std::span<const Row> all_rows();

// The opcode of `row`'s VOP3 form (its own, or that of the promoted VOP1, VOP2, VOPC), or -1.
int vop3_opcode(Target target, const Row& row);

// AMD's mnemonic of an op ("v_add_f32"), and the name of an encoding ("VOP3").
const char* name(Op op);
const char* name(Format format);

}  // namespace morgana::isa
