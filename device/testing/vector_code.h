// Encodings of vector instructions with register operands, for tests that go over the table of rows.
//
// Sources are v0, v32 and v64 (a pair or a tuple starts there), the destination is v96 and up. Lane masks:
// VCC in the short forms, s[8:9] written and s[10:11] read in VOP3; a lane number is s12. For tests only.
#pragma once

#include <optional>
#include <vector>

#include "device/isa/decode.h"

namespace morgana::device {

enum class VectorForm : uint8_t { plain, vop3, sdwa, dpp };
inline constexpr VectorForm kVectorForms[] = {VectorForm::plain, VectorForm::vop3, VectorForm::sdwa,
                                              VectorForm::dpp};

struct VectorModifiers {
  uint32_t neg = 0, abs = 0, omod = 0;
  bool clamp = false;
};

struct VectorCode {
  std::vector<uint32_t> words;
  isa::Inst inst;
};

inline constexpr int kFirstSource = 0, kSourceStep = 32, kDestination = 96, kTestedRegisters = 160;
inline constexpr uint32_t kMaskDst = 8, kMaskSrc = 10, kLaneNumber = 12, kLiteralWord = 0x40493e20;

// `row` in `form`; nothing where the target has no such encoding. SDWA selects whole dwords, DPP moves
// nothing.
inline std::optional<VectorCode> encode_vector(Target target, const isa::Row& row, VectorForm form,
                                               const VectorModifiers& modifiers = {}) {
  using isa::Format;
  const int opcode = row.opcode[static_cast<size_t>(target)];
  if (opcode < 0) return std::nullopt;
  const bool modern = info(target).generation >= Generation::gfx8;
  const bool is_short =
      row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
  if (!is_short && form != VectorForm::plain) return std::nullopt;
  const auto number = static_cast<uint32_t>(opcode);
  constexpr uint32_t kVgpr = isa::kVgprBase, kSecond = kSourceStep;
  VectorCode code;

  if (is_short && form != VectorForm::vop3) {
    uint32_t src0 = form == VectorForm::sdwa ? isa::kSdwa : form == VectorForm::dpp ? isa::kDpp : kVgpr;
    uint32_t dst = kDestination, src1 = kSecond;
    if (row.flags & isa::kScalarDst) dst = kMaskDst;
    if (row.op == isa::Op::v_readlane_b32 || row.op == isa::Op::v_writelane_b32) src1 = kLaneNumber;
    if (row.format == Format::VOP1) code.words = {0x7e000000u | dst << 17 | number << 9 | src0};
    if (row.format == Format::VOP2) code.words = {number << 25 | dst << 17 | src1 << 9 | src0};
    if (row.format == Format::VOPC) code.words = {0x7c000000u | number << 17 | src1 << 9 | src0};
    if (form == VectorForm::sdwa)
      code.words.push_back(6u << 8 | uint32_t{modifiers.clamp} << 13 | modifiers.omod << 14 | 6u << 16 |
                           (modifiers.neg & 1) << 20 | (modifiers.abs & 1) << 21 | 6u << 24 |
                           (modifiers.neg & 2) << 27 | (modifiers.abs & 2) << 28);
    if (form == VectorForm::dpp)
      code.words.push_back(0xe4u << 8 | (modifiers.neg & 1) << 20 | (modifiers.abs & 1) << 21 |
                           (modifiers.neg & 2) << 21 | (modifiers.abs & 2) << 22 | 0xffu << 24);
    if (row.flags & isa::kLiteralK) code.words.push_back(kLiteralWord);
  } else {
    // Sources by type: a mask is a scalar pair, the lane of readlane and writelane a scalar.
    uint32_t src[3] = {kVgpr, kVgpr + kSourceStep, kVgpr + 2 * kSourceStep};
    for (int i = 0; i < 3; i++) {
      if (row.src[i] == isa::Type::mask) src[i] = kMaskSrc;
      if (row.src[i] == isa::Type::none) src[i] = 0;
    }
    if (row.op == isa::Op::v_readlane_b32 || row.op == isa::Op::v_writelane_b32) src[1] = kLaneNumber;
    const uint32_t sources = src[0] | src[1] << 9 | src[2] << 18;
    const bool scalar_dst = row.dst[0] == isa::Type::mask || (row.flags & isa::kScalarDst);
    const uint32_t dst = scalar_dst ? kMaskDst : kDestination;
    if (row.format == Format::VOP3P) {
      code.words = {0xd3800000u | number << 16 | uint32_t{modifiers.clamp} << 15 | dst, sources};
      if (!(row.flags & (isa::kMfma | isa::kSmfmac))) {
        code.words[0] |= 1u << 14;  // op_sel_hi of the third source
        code.words[1] |= 3u << 27;
      }
    } else {
      const uint32_t promoted = row.format == Format::VOP1   ? number + (modern ? 0x140 : 0x180)
                                : row.format == Format::VOP2 ? number + 0x100
                                                             : number;
      const uint32_t carry = row.dst[1] == isa::Type::mask ? kMaskDst << 8 : modifiers.abs << 8;
      code.words = {0xd0000000u | promoted << (modern ? 16 : 17) |
                        uint32_t{modifiers.clamp} << (modern ? 15 : 11) | carry | dst,
                    sources | modifiers.omod << 27 | modifiers.neg << 29};
    }
  }
  const Result<isa::Inst> inst = isa::decode(target, Bytes(code.words.data(), code.words.size() * 4));
  if (!inst.ok() || inst->row->op != row.op || inst->size != code.words.size() * 4) return std::nullopt;
  code.inst = *inst;
  return code;
}

}  // namespace morgana::device
