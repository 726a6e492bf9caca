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
  uint32_t dim;  // of an image of gfx10 and later
};
constexpr Sources kAttempts[] = {
    {kVgpr, kVgpr, kVgpr, 0x101, 0},  // vectors everywhere
    {kVgpr, 0, kVgpr, 0x151,
     1},  // a lane number or a mask in the middle; f64 moves lanes by row_newbcast only
    {kVgpr, kVgpr, 0, 0x101, 6},  // a mask at the end
    {kVgpr, 0, 0, 0x101, 0},      // lane numbers
    {0, 0, 0, 0x101, 0},          // scalars
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

bool is_memory(Format format) { return is_scalar_memory(format) || format >= Format::LDSDIR; }

// FLAT, GLOBAL and SCRATCH of gfx10 and later, without SADDR.
std::vector<uint32_t> late_flat(Generation generation, Format format, uint32_t opcode) {
  const uint32_t segment = format == Format::FLAT ? 0 : format == Format::SCRATCH ? 1 : 2;
  switch (generation) {
    case Generation::gfx10: return {0b110111u << 26 | opcode << 18 | segment << 14, uint32_t{kNull} << 16};
    case Generation::gfx11: return {0b110111u << 26 | opcode << 18 | segment << 16, uint32_t{kM0} << 16};
    default: return {0b111011u << 26 | opcode << 14 | segment << 24 | kM0, 0, 0};
  }
}

// MIMG, VIMAGE, VSAMPLE. 0xf: all channels; gathers take one.
std::vector<uint32_t> late_image(Generation generation, const Row& row, uint32_t opcode, uint32_t dim) {
  const uint32_t channels = row.flags & kGather ? 1 : 0xf, r128 = row.src[2] == Type::b128 ? 1 : 0;
  if (row.format == Format::MIMG && generation == Generation::gfx10)
    return {0b111100u << 26 | (opcode & 0x7f) << 18 | opcode >> 7 | channels << 8 | r128 << 15 | dim << 3, 0};
  if (row.format == Format::MIMG)
    return {0b111100u << 26 | opcode << 18 | channels << 8 | r128 << 15 | dim << 2, 0};
  const uint32_t prefix = row.format == Format::VIMAGE ? 0b110100u : 0b111001u;
  return {prefix << 26 | opcode << 14 | channels << 22 | r128 << 4 | dim, 0, 0};
}

// Memory, images and exports of gfx10 and later. `dim`: 1D, 2D or 2D with samples, whichever the row takes.
std::vector<uint32_t> late_memory(Generation generation, const Row& row, uint32_t opcode, uint32_t dim) {
  const bool gfx11 = generation >= Generation::gfx11, gfx12 = generation >= Generation::gfx12;
  const uint32_t null = gfx11 ? kM0 : kNull;  // as the encoding has it
  switch (row.format) {
    case Format::SMEM: return {0b111101u << 26 | opcode << (gfx12 ? 13 : 18), null << 25};
    case Format::LDSDIR: return {0b11001110u << 24 | opcode << 20};
    case Format::DS: return {0b110110u << 26 | opcode << 18 | (row.flags & kGws ? 1u << 17 : 0), 0};
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH: return late_flat(generation, row.format, opcode);
    case Format::MUBUF:
      if (gfx11) return {0b111000u << 26 | opcode << 18, 0};
      return {0b111000u << 26 | (opcode & 0x7f) << 18 | opcode >> 7 << 25, 0};
    case Format::MTBUF:
      if (gfx11) return {0b111010u << 26 | opcode << 15 | 1u << 19, 0};
      return {0b111010u << 26 | (opcode & 7) << 16 | 1u << 19, opcode >> 3 << 21};
    case Format::VBUFFER: return {0b110001u << 26 | opcode << 14 | null, 1u << 23, 0};
    case Format::MIMG:
    case Format::VIMAGE:
    case Format::VSAMPLE: return late_image(generation, row, opcode, dim);
    default: return {0b111110u << 26, 0};  // EXP
  }
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
  if (gfx10 && is_memory(row.format)) return late_memory(generation, row, opcode, sources.dim);
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
    case Format::VINTRP: return {(gfx8 && !gfx10 ? 0b110101u : 0b110010u) << 26 | opcode << 16};
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
  const bool dpp8 = form == Form::dpp8 || form == Form::vop3_dpp8;
  const bool dpp = dpp8 || form == Form::dpp || form == Form::vop3_dpp;
  const Format format = is_promoted(form) ? Format::VOP3 : row.format;
  return inst->format == format && inst->sdwa == (form == Form::sdwa) && inst->dpp == dpp &&
         inst->dpp8 == dpp8;
}

// The instruction with DPP in place of its first source.
std::vector<uint32_t> with_dpp(Target target, const Row& row, uint32_t opcode, bool is_vop3, bool dpp8,
                               Sources sources) {
  const uint32_t pattern = dpp8 ? 0 : kDppMasks | sources.dpp_ctrl << 8;
  sources.first = dpp8 ? kDpp8 : kDpp;
  if (!is_vop3 && is_short(row)) return short_form(row, opcode, sources.first, {pattern});
  std::vector<uint32_t> code = is_vop3 ? vop3(target, opcode, sources) : plain(target, row, opcode, sources);
  code.push_back(pattern);
  return code;
}

// Whether rows of the format may have the form at all.
bool may_have(Format format, Form form) {
  const bool is_short = format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC;
  switch (form) {
    case Form::plain: return true;
    case Form::dpp:
    case Form::dpp8: return is_short || format == Format::VOP3 || format == Format::VOP3P;
    default: return is_short;
  }
}

}  // namespace

const char* name(Form form) {
  constexpr const char* kNames[] = {"", "VOP3", "SDWA", "DPP", "DPP8", "VOP3_DPP", "VOP3_DPP8"};
  return kNames[int(form)];
}

std::vector<uint32_t> example(Target target, const Row& row, Form form) {
  const int opcode = is_promoted(form) ? vop3_opcode(target, row) : row.opcode[int(target)];
  if (opcode < 0 || !may_have(row.format, form)) return {};
  for (const Sources& sources : kAttempts) {
    std::vector<uint32_t> code;
    switch (form) {
      case Form::plain: code = plain(target, row, uint32_t(opcode), sources); break;
      case Form::vop3: code = vop3(target, uint32_t(opcode), sources); break;
      case Form::sdwa: code = short_form(row, uint32_t(opcode), kSdwa, {kSdwaWord}); break;
      default:
        code = with_dpp(target, row, uint32_t(opcode), is_promoted(form),
                        form == Form::dpp8 || form == Form::vop3_dpp8, sources);
        break;
    }
    if (decodes_to(target, row, form, code)) return code;
  }
  return {};
}

}  // namespace morgana::isa
