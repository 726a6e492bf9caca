// The prefix dispatch of decode() and disassemble(), and what all decode_*.cpp share: operand constructors.
#include "device/isa/decode.h"

#include "device/isa/internal.h"

namespace morgana::isa {

namespace {

// VOP3, VOP3P; on gfx11 and gfx12 VOPD and VINTERP.
bool is_vector(Generation generation, uint32_t word) {
  const uint32_t top = word >> 26;
  if (generation < Generation::gfx10) return top == 0b110100;
  if (top == 0b110101 || word >> 24 == 0b11001100) return true;
  return generation >= Generation::gfx11 && (top == 0b110010 || word >> 24 == 0b11001101);
}

}  // namespace

Result<Inst> decode(Target target, Bytes code, WaveSize wave) {
  Decoder decoder{info(target), wave, code};
  MORGANA_TRY(decoder.dword0, code.read<uint32_t>(0));
  const uint32_t word = decoder.dword0;
  if (word >> 31 == 0) return decode_vector(decoder);
  if (word >> 30 == 0b10) return decode_scalar(decoder);
  if (is_vector(decoder.target.generation, word)) return decode_vector(decoder);
  return decode_memory(decoder);
}

Result<Inst> decode(Target target, Bytes code) { return decode(target, code, default_wave(target)); }

std::string disassemble(Target target, const Inst& inst, Halves halves) {
  switch (inst.format) {
    case Format::SOP2:
    case Format::SOPK:
    case Format::SOP1:
    case Format::SOPC:
    case Format::SOPP: return print_scalar(target, inst);
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
    case Format::VOP3:
    case Format::VOP3P:
    case Format::VOP3PX2:
    case Format::VOPD:
    case Format::VINTERP: return print_vector(target, inst, halves);
    default: return print_memory(target, inst);
  }
}

Operand vgpr(uint32_t number, Type type, int dwords) {
  return {uint16_t(kVgprBase + number), type, uint8_t(dwords)};
}

Operand scalar(uint32_t code, Type type, int dwords) { return {uint16_t(code), type, uint8_t(dwords)}; }

namespace {

// Operand codes of each generation (CDNA4 guide 5.2 and 6.2, LLVM for the older ones): SGPRs and special
// registers may be written, constants and status bits only read.
constexpr bool is_scalar_register(Generation generation, uint32_t code) {
  if (code < kVccLo) return code < sgpr_end(Generation::gfx6) || generation >= Generation::gfx7;
  return code < kRegisterEnd && (code != kNull || generation >= Generation::gfx10);
}

constexpr bool is_constant(Generation generation, uint32_t code) {
  if (is_aperture(code)) return generation >= Generation::gfx9;
  if (code == kSrcPopsExitingWaveId) return generation >= Generation::gfx9 && generation < Generation::gfx12;
  if (code == kSrcLdsDirect) return generation < Generation::gfx11;
  if (code == kInlineTurn) return generation >= Generation::gfx8;
  return is_inline_integer(code) || is_inline_float(code) || (code >= kSrcVccz && code <= kLiteral);
}

struct CodeTable {
  bool readable[kGenerationCount][256] = {}, writable[kGenerationCount][256] = {};
};
constexpr CodeTable make_code_table() {
  CodeTable table;
  for (int g = 0; g < kGenerationCount; g++)
    for (uint32_t code = 0; code < 256; code++) {
      const auto generation = Generation(6 + g);
      table.writable[g][code] = is_scalar_register(generation, code);
      table.readable[g][code] = is_scalar_register(generation, code) || is_constant(generation, code);
    }
  return table;
}
constexpr CodeTable kCodes = make_code_table();

}  // namespace

bool scalar_readable(const TargetInfo& target, uint32_t code, int dwords) {
  if (code == kM0 && dwords > 1) return false;
  if (code == kSrcLdsDirect && (dwords > 1 || target.unified_vgprs)) return false;
  return code < 256 && kCodes.readable[int(target.generation) - 6][code];
}

bool scalar_writable(const TargetInfo& target, uint32_t code, int dwords) {
  if (code == kM0 && dwords > 1) return false;
  return code < 256 && kCodes.writable[int(target.generation) - 6][code];
}

Error not_an_instruction(const Decoder& decoder, const char* why) {
  return make_error(ErrorCode::malformed, "{:#010x} is no {} instruction: {}", decoder.dword0,
                    decoder.target.name, why);
}

int mandatory_literal(const Row& row) {
  if ((row.flags & kLiteralK) == 0) return -1;
  switch (row.op) {
    case Op::s_setreg_imm32_b32: return 0;
    case Op::v_madmk_f32:
    case Op::v_madmk_f16:
    case Op::v_fmamk_f32:
    case Op::v_fmamk_f16:
    case Op::s_fmamk_f32: return 1;
    default: return 2;
  }
}

bool takes_modifiers(const Row& row, int source) {
  return is_float(row.src[source]) ||
         ((row.op == Op::v_cndmask_b32 || row.op == Op::v_cndmask_b16) && source < 2);
}

}  // namespace morgana::isa
