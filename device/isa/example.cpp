#include "device/isa/example.h"

#include "device/isa/internal.h"

namespace morgana::isa {
namespace {

constexpr uint32_t kVgpr = kVgprBase;                          // VGPR 0 in a 9-bit source field
constexpr uint32_t kSdwaWord = 6u << 8 | 6u << 16 | 6u << 24;  // whole dwords
constexpr uint32_t kDppMasks = 0xffu << 24;

// What the source fields of an attempt hold; the decoder says which one the row takes.
struct Sources {
  uint32_t first, second, third;
  uint32_t dpp_ctrl;
};
constexpr Sources kAttempts[] = {
    {kVgpr, kVgpr, kVgpr, 0x101},  // vectors everywhere
    {kVgpr, 0, kVgpr, 0x151},  // a lane number or a mask in the middle; f64 moves lanes by row_newbcast only
    {kVgpr, kVgpr, 0, 0x101},  // a mask at the end
    {0, 0, 0, 0x101},          // scalars
};

std::vector<uint32_t> vop3(Target target, uint32_t opcode, const Sources& sources) {
  const Generation generation = info(target).generation;
  const int shift = generation >= Generation::gfx8 ? 16 : 17;
  return {(generation >= Generation::gfx10 ? 0b110101u : 0b110100u) << 26 | opcode << shift,
          sources.first | sources.second << 9 | sources.third << 18};
}

std::vector<uint32_t> short_form(const Row& row, uint32_t opcode, uint32_t src0, std::vector<uint32_t> more) {
  uint32_t word = src0;
  switch (row.format) {
    case Format::VOP1: word |= 0b0111111u << 25 | opcode << 9; break;
    case Format::VOPC: word |= 0b0111110u << 25 | opcode << 17; break;
    default: word |= opcode << 25; break;
  }
  more.insert(more.begin(), word);
  return more;
}

// Encodings whose bits differ on gfx10 and later: not known here yet.
bool is_memory(Format format) {
  return is_scalar_memory(format) || format == Format::VINTRP || format >= Format::LDSDIR;
}

// Both halves the same where the first can be it; else a move and the row.
std::vector<uint32_t> dual(const Row& row, uint32_t opcode) {
  constexpr uint32_t kMove = 8, kFirstOps = 14;
  std::vector<uint32_t> words = {
      0b110010u << 26 | (opcode < kFirstOps ? opcode : kMove) << 22 | opcode << 17 | kVgpr, 1u << 24 | kVgpr};
  if (row.flags & kLiteralK) words.push_back(0);
  return words;
}

std::vector<uint32_t> plain(Target target, const Row& row, uint32_t opcode, const Sources& sources) {
  const Generation generation = info(target).generation;
  const bool gfx8 = generation >= Generation::gfx8, gfx10 = generation >= Generation::gfx10;
  if (gfx10 && is_memory(row.format)) return {};
  const bool literal = (row.flags & kLiteralK) != 0;
  const auto with_literal = [&](uint32_t word) {
    return literal ? std::vector<uint32_t>{word, 0} : std::vector<uint32_t>{word};
  };
  switch (row.format) {
    case Format::SOP2: return with_literal(0b10u << 30 | opcode << 23);
    case Format::SOPK: return with_literal(0b1011u << 28 | opcode << 23);
    case Format::SOP1: return {0b101111101u << 23 | opcode << 8};
    case Format::SOPC: return {0b101111110u << 23 | opcode << 16};
    case Format::SOPP: return {0b101111111u << 23 | opcode << 16};
    case Format::SMRD: return {0b11000u << 27 | opcode << 22};
    case Format::SMEM: return {0b110000u << 26 | opcode << 18, 0};
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
      return short_form(row, opcode, sources.first,
                        literal ? std::vector<uint32_t>{0} : std::vector<uint32_t>{});
    case Format::VOP3: return vop3(target, opcode, sources);
    case Format::VOP3P:
      return {(gfx10 ? 0b11001100u << 24 : 0b110100111u << 23) | opcode << 16,
              sources.first | sources.second << 9 | sources.third << 18};
    case Format::VOP3PX2: {
      const uint32_t prefix = 0b110100111u << 23 | 44u << 16, operands = kVgpr | kVgpr << 9 | kVgpr << 18;
      return {prefix, kVgpr | kVgpr << 9, 0b110100111u << 23 | opcode << 16, operands};
    }
    case Format::VOPD: return dual(row, opcode);
    case Format::VINTERP: return {0b11001101u << 24 | opcode << 16, kVgpr | kVgpr << 9 | kVgpr << 18};
    case Format::VINTRP: return {(gfx8 ? 0b110101u : 0b110010u) << 26 | opcode << 16};
    case Format::DS: {
      // GDS rows need the GDS bit, wherever the generation has it.
      const uint32_t gds = row.flags & kGws ? 1u << (gfx8 ? 16 : 17) : 0;
      return {0b110110u << 26 | opcode << (gfx8 ? 17 : 18) | gds, 0};
    }
    case Format::FLAT: return {0b110111u << 26 | opcode << 18, 0};
    case Format::GLOBAL: return {0b110111u << 26 | opcode << 18 | 2u << 14, 0x7fu << 16};
    case Format::SCRATCH: return {0b110111u << 26 | opcode << 18 | 1u << 14, 0};
    case Format::MUBUF: return {0b111000u << 26 | opcode << 18 | (row.flags & kLdsSrc ? 1u << 16 : 0), 0};
    case Format::MTBUF: return {0b111010u << 26 | opcode << (gfx8 ? 15 : 16), 0};
    case Format::MIMG: return {0b111100u << 26 | opcode << 18 | (row.flags & kGather ? 1u : 0xfu) << 8, 0};
    case Format::EXP: return {(gfx8 ? 0b110001u : 0b111110u) << 26, 0};
    case Format::LDSDIR:
    case Format::VBUFFER:
    case Format::VIMAGE:
    case Format::VSAMPLE: break;
  }
  return {};
}

bool is_short(const Row& row) {
  return row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
}

bool decodes_to(Target target, const Row& row, Form form, const std::vector<uint32_t>& code) {
  const Result<Inst> inst = decode(target, Bytes(code.data(), code.size() * 4));
  if (!inst.ok() || (inst->row != &row && inst->second != &row) || inst->size != code.size() * 4)
    return false;
  return inst->sdwa == (form == Form::sdwa) && inst->dpp == (form == Form::dpp);
}

}  // namespace

const char* name(Form form) {
  constexpr const char* kNames[] = {"", "VOP3", "SDWA", "DPP"};
  return kNames[int(form)];
}

std::vector<uint32_t> example(Target target, const Row& row, Form form) {
  const int opcode = form == Form::vop3 ? vop3_opcode(target, row) : row.opcode[int(target)];
  if (opcode < 0 || (form != Form::plain && !is_short(row))) return {};
  for (const Sources& sources : kAttempts) {
    std::vector<uint32_t> code;
    switch (form) {
      case Form::plain: code = plain(target, row, uint32_t(opcode), sources); break;
      case Form::vop3: code = vop3(target, uint32_t(opcode), sources); break;
      case Form::sdwa: code = short_form(row, uint32_t(opcode), kSdwa, {kSdwaWord}); break;
      case Form::dpp:
        code = short_form(row, uint32_t(opcode), kDpp, {kDppMasks | sources.dpp_ctrl << 8});
        break;
    }
    if (decodes_to(target, row, form, code)) return code;
  }
  return {};
}

}  // namespace morgana::isa
