// What the per-encoding files of device/isa share. Not for use outside this folder.
//
// Each group of encodings has one decode_*.cpp and one print_*.cpp. A decode function receives the
// bytes and a fresh Inst and fills everything; a print function appends the operands after the mnemonic.
#pragma once

#include "device/isa/decode.h"

namespace morgana::isa {

struct Decoder {
  const TargetInfo& target;
  WaveSize wave;
  Bytes code;
  uint32_t dword0 = 0;

  // Registers of a scalar operand of `type`. The one place that knows how many a lane mask has.
  int scalar_dwords(Type type) const {
    return type == Type::mask && wave == WaveSize::wave32 ? 1 : dwords(type);
  }

  // The dword at index `i`, or malformed when the code ends before it.
  Result<uint32_t> dword(int i) const { return code.read<uint32_t>(uint64_t(i) * 4); }

  // The number that an operand field has in Operand: M0 and NULL have one on all generations.
  uint32_t canonical(uint32_t code) const {
    const bool swapped = target.generation >= Generation::gfx11 && (code == kM0 || code == kNull);
    return swapped ? uint32_t{kM0} + kNull - code : code;
  }
};

constexpr uint32_t bits(uint64_t word, int low, int count) {
  return uint32_t((word >> low) & ((uint64_t{1} << count) - 1));
}
constexpr int32_t signed_bits(uint64_t word, int low, int count) {
  return int32_t(uint32_t(word >> low) << (32 - count)) >> (32 - count);
}

// The row with `opcode` in `format` on `target`, or nullptr. Constant time.
const Row* find_row(Target target, Format format, uint32_t opcode);

// Sets a register operand and its span.
Operand vgpr(uint32_t number, Type type, int dwords);
Operand scalar(uint32_t code, Type type, int dwords);

// Whether canonical `code` (0..255) names something that an instruction of the target can read, or write, as
// `dwords` registers.
bool scalar_readable(const TargetInfo& target, uint32_t code, int dwords);
bool scalar_writable(const TargetInfo& target, uint32_t code, int dwords);

// The first register of a scalar operand: pairs are aligned, the hardware ignores the low bit (CDNA4
// guide 5.2). NULL is no register.
inline uint32_t aligned(const TargetInfo& target, uint32_t code, int dwords) {
  const bool is_null = code == kNull && target.generation >= Generation::gfx10;
  return code < kRegisterEnd && dwords == 2 && !is_null ? code & ~1u : code;
}

// malformed: names the first dword.
Error not_an_instruction(const Decoder& decoder, const char* why);

// Whether abs and neg apply to explicit source `source` of a VALU row: those read as floats.
bool takes_modifiers(const Row& row, int source);

// The source that is a literal in every encoding of a kLiteralK row; -1 where there is none.
int mandatory_literal(const Row& row);

// Whether DPP_CTRL `ctrl` names a lane pattern of the target.
bool valid_dpp_ctrl(const TargetInfo& target, uint32_t ctrl);

// Scalar ALU and program control (alu_scalar), vector ALU and MFMA (alu_vector), memory, image, export
// (memory).
Result<Inst> decode_scalar(const Decoder& decoder);
Result<Inst> decode_vector(const Decoder& decoder);
Result<Inst> decode_memory(const Decoder& decoder);

std::string print_scalar(Target target, const Inst& inst);
std::string print_vector(Target target, const Inst& inst, Halves halves);
std::string print_memory(Target target, const Inst& inst);

// LLVM's spelling of an operand: "s[4:5]", "v7", "a[0:3]", "vcc", "0.15915494", "0x1234", "src_shared_base".
std::string print_operand(Target target, const Inst& inst, const Operand& operand);
std::string print_source(Target target, const Inst& inst, int source);

}  // namespace morgana::isa
