// VOP3P: packed math, dot products, matrices (MFMA, its scaled form, WMMA and SWMMAC).
#include <algorithm>

#include "device/isa/vector_reader.h"

namespace morgana::isa {
namespace {

constexpr uint32_t kScalePrefix = 44;  // VOP3P opcode of v_mfma_ld_scale_b32

// Registers of an operand of v_mfma_*_f8f6f4, whose element type CBSZ or BLGP names (CDNA4 guide 7.1.5): FP8
// and BF8 8, FP6 and BF6 6, FP4 4.
int f8f6f4_dwords(uint32_t format) { return format == 4 ? 4 : format == 2 || format == 3 ? 6 : 8; }

void mfma_operands(VectorReader& reader, uint32_t word0, uint32_t word1) {
  Inst& inst = reader.inst;
  inst.cbsz = uint8_t(bits(word0, 8, 3));
  inst.abid = uint8_t(bits(word0, 11, 4));
  inst.blgp = uint8_t(bits(word1, 29, 3));
  const bool acc_cd = !reader.unified() || bits(word0, 15, 1) != 0;
  reader.vector_destination(bits(word0, 0, 8), acc_cd);
  for (int i = 0; i < 3; i++) {
    const bool acc = i == 2 ? acc_cd && !reader.has(kSmfmac) : bits(word1, 27 + i, 1) != 0;
    const uint32_t code = bits(word1, 9 * i, 9);
    // A, B and an index are vector registers only (CDNA4 guide 7.5), C may be a constant.
    const bool takes_constant = i == 2 && !reader.has(kSmfmac);
    if (code < (takes_constant ? kRegisterEnd : kVgprBase)) reader.fault = "takes no scalar there";
    reader.source(code, false, acc);
  }
  switch (inst.row->op) {
    case Op::v_mfma_f32_16x16x128_f8f6f4:
    case Op::v_mfma_f32_32x32x64_f8f6f4:
    case Op::v_mfma_scale_f32_16x16x128_f8f6f4:
    case Op::v_mfma_scale_f32_32x32x64_f8f6f4:
      inst.src[0].dwords = uint8_t(f8f6f4_dwords(inst.cbsz));
      inst.src[1].dwords = uint8_t(f8f6f4_dwords(inst.blgp));
      break;
    default: break;
  }
}

// OP_SEL, OP_SEL_HI, NEG and NEG_HI.
void packed_modifiers(VectorReader& reader, uint32_t word0, uint32_t word1) {
  Inst& inst = reader.inst;
  const uint8_t used = uint8_t((1u << inst.n_src) - 1);
  inst.op_sel = uint8_t(bits(word0, 11, 3) & used);
  inst.op_sel_hi = uint8_t((bits(word1, 27, 2) | bits(word0, 14, 1) << 2) & used);
  inst.neg = uint8_t(bits(word1, 29, 3) & used);
  (is_mix(inst.row->op) ? inst.abs : inst.neg_hi) = uint8_t(bits(word0, 8, 3) & used);
  inst.clamp = bits(word0, 15, 1) != 0;
}

// WMMA and SWMMAC spread a matrix over all lanes: in wave64 each lane has half of what the row says. gfx11
// has A and B in every 16 lanes, so that only C and D shrink.
int matrix_dwords(const VectorReader& reader, Type type, bool is_factor) {
  const int span = dwords(type);
  if (reader.decoder.wave == WaveSize::wave32) return span;
  if (is_factor && reader.generation() == Generation::gfx11) return span;
  return std::max(span / 2, 1);
}

void wmma_operands(VectorReader& reader, uint32_t word0, uint32_t word1) {
  const Row& row = reader.row();
  const auto matrix = [&](uint32_t number, Type type, bool is_factor) {
    return reader.vector(number, type, matrix_dwords(reader, type, is_factor), false);
  };
  reader.add_destination(matrix(bits(word0, 0, 8), row.dst[0], false));
  for (int i = 0; i < 3; i++) {
    const uint32_t code = bits(word1, 9 * i, 9);
    const bool is_sum = i == 2 && !reader.has(kSmfmac);
    if (code >= kVgprBase)
      reader.add(matrix(code - kVgprBase, row.src[i], !is_sum));
    else if (is_sum && code >= kRegisterEnd)
      reader.scalar_source(code, false);
    else
      reader.fault = "takes no scalar there";
  }
  if (reader.fault == nullptr) packed_modifiers(reader, word0, word1);
}

Status packed_operands(VectorReader& reader, uint32_t word0, uint32_t word1) {
  Inst& inst = reader.inst;
  const Op op = inst.row->op;
  if (inst.row->dst[0] != Type::none)
    reader.vector_destination(bits(word0, 0, 8), op == Op::v_accvgpr_write_b32);
  for (int i = 0; i < 3 && inst.row->src[i] != Type::none; i++) {
    const uint32_t code = bits(word1, 9 * i, 9);
    if (i == 0 && reader.gfx11() && (code == kDpp || is_dpp8(code))) {
      MORGANA_TRY(const uint32_t number, reader.lane_pattern(code, 2));
      reader.vector_source(number);
      continue;
    }
    reader.source(code, reader.gfx10() && !inst.dpp, op == Op::v_accvgpr_read_b32);
  }
  if (op != Op::v_accvgpr_read_b32 && op != Op::v_accvgpr_write_b32) packed_modifiers(reader, word0, word1);
  return {};
}

Result<Inst> decode_scaled_mfma(const Decoder& decoder, const Row* row, uint32_t word1, uint32_t word2,
                                uint32_t word3) {
  VectorReader reader(decoder, row, Format::VOP3PX2, 16);
  mfma_operands(reader, word2, word3);
  for (int i = 0; i < 2; i++) {
    const uint32_t code = bits(word1, 9 * i, 9);
    if (code >= kVgprBase)
      reader.add(vgpr(code - kVgprBase, Type::b32, 1));
    else if (scalar_readable(decoder.target, code, 1) && code != kLiteral)
      reader.add(scalar(code, Type::b32, 1));
    else
      reader.fault = "reserved scale operand";
  }
  reader.inst.scale_op_sel = uint8_t(bits(decoder.dword0, 11, 2));
  reader.inst.scale_op_sel_hi = uint8_t(bits(word1, 27, 2));
  return reader.finish();
}

}  // namespace

Result<Inst> decode_vop3p(const Decoder& decoder) {
  const uint32_t word0 = decoder.dword0, opcode = bits(word0, 16, 7);
  const Row* row = find_row(decoder.target.target, Format::VOP3P, opcode);
  if (row == nullptr) return not_an_instruction(decoder, "unknown opcode");
  MORGANA_TRY(const uint32_t word1, decoder.dword(1));

  if (opcode == kScalePrefix && decoder.code.contains(8, 8)) {
    // With an F8F6F4 MFMA behind it the prefix is half of a 16-byte instruction (CDNA4 guide 7.2).
    MORGANA_TRY(const uint32_t word2, decoder.dword(2));
    MORGANA_TRY(const uint32_t word3, decoder.dword(3));
    if (word2 >> 23 == word0 >> 23)
      if (const Row* scaled = find_row(decoder.target.target, Format::VOP3PX2, bits(word2, 16, 7)))
        return decode_scaled_mfma(decoder, scaled, word1, word2, word3);
  }

  VectorReader reader(decoder, row, Format::VOP3P, 8);
  if (!reader.has(kMfma)) {
    MORGANA_CHECK(packed_operands(reader, word0, word1));
  } else if (reader.gfx11()) {
    wmma_operands(reader, word0, word1);
  } else {
    mfma_operands(reader, word0, word1);
  }
  return reader.finish();
}

}  // namespace morgana::isa
