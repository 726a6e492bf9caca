// VOP3 and, on gfx11 and later, VINTERP.
#include "device/isa/vector_reader.h"

namespace morgana::isa {
namespace {

bool is_vop3_interp(Op op) {
  switch (op) {
    case Op::v_interp_p1_f32:
    case Op::v_interp_p2_f32:
    case Op::v_interp_mov_f32:
    case Op::v_interp_p1ll_f16:
    case Op::v_interp_p1lv_f16:
    case Op::v_interp_p2_f16:
    case Op::v_interp_p2_legacy_f16: return true;
    default: return false;
  }
}

// The attribute lies in the SRC0 field; the sources follow from SRC1 on.
void interp_sources(VectorReader& reader, uint32_t word, uint32_t abs, uint32_t neg) {
  Inst& inst = reader.inst;
  inst.attr = uint8_t(bits(word, 0, 6));
  inst.attr_chan = uint8_t(bits(word, 6, 2));
  inst.attr_high = bits(word, 8, 1) != 0;
  if (inst.row->op == Op::v_interp_mov_f32) {
    inst.simm16 = uint16_t(bits(word, 9, 9));
    if (inst.simm16 > 2) reader.fault = "reserved interpolation parameter";
    return;
  }
  for (int i = 0; i < 2 && inst.row->src[i] != Type::none; i++)
    reader.source(bits(word, 9 + 9 * i, 9), false);
  reader.modifiers(abs >> 1, neg >> 1);
}

// Which rows select halves: gfx9 and gfx10 those that say so, later every row with an operand of 16 bits.
bool takes_op_sel(const VectorReader& reader) {
  const Row& row = reader.row();
  if ((row.flags & kOpSel) != 0) return reader.generation() >= Generation::gfx9;
  if (!reader.gfx11()) return false;
  return is_16_bit(row.dst[0]) || is_16_bit(row.src[0]) || is_16_bit(row.src[1]) || is_16_bit(row.src[2]);
}

// SRC0 to SRC2; the first may be the DPP dword's.
Status vop3_sources(VectorReader& reader, uint32_t word1) {
  Inst& inst = reader.inst;
  for (int i = 0; i < 3 && inst.row->src[i] != Type::none; i++) {
    const uint32_t code = bits(word1, 9 * i, 9);
    if (i == 0 && reader.gfx11() && (code == kDpp || is_dpp8(code))) {
      MORGANA_TRY(const uint32_t number, reader.lane_pattern(code, 2));
      reader.vector_source(number);
      continue;
    }
    reader.source(code, reader.gfx10() && !inst.dpp);
    if (inst.src[i].is_scalar() && inst.src[i].dwords > 2) reader.fault = "more than 64 bits of a scalar";
  }
  return {};
}

}  // namespace

Result<Inst> decode_vop3(const Decoder& decoder) {
  const bool modern = decoder.target.generation >= Generation::gfx8;
  const uint32_t word0 = decoder.dword0;
  const uint32_t opcode = modern ? bits(word0, 16, 10) : bits(word0, 17, 9);
  const Row* row = find_row(decoder.target.target, Format::VOP3, opcode);
  if (row == nullptr) return not_an_instruction(decoder, "unknown opcode");
  MORGANA_TRY(const uint32_t word1, decoder.dword(1));

  VectorReader reader(decoder, row, Format::VOP3, 8);
  Inst& inst = reader.inst;
  inst.vop3b = row->dst[1] == Type::mask;
  if (reader.writes_only_exec())
    reader.compare_destination();
  else if (row->dst[0] == Type::mask || reader.has(kScalarDst))
    reader.scalar_destination(bits(word0, 0, 8));
  else
    reader.vector_destination(bits(word0, 0, 8));
  if (inst.vop3b) reader.scalar_destination(bits(word0, 8, 7));

  inst.clamp = (modern || !inst.vop3b) && bits(word0, modern ? 15 : 11, 1) != 0;
  const uint32_t abs = inst.vop3b ? 0 : bits(word0, 8, 3), neg = bits(word1, 29, 3);
  const uint32_t omod = bits(word1, 27, 2);
  if (takes_op_sel(reader)) inst.op_sel = uint8_t(bits(word0, 11, 4));
  if (row->op == Op::v_bitop3_b32 || row->op == Op::v_bitop3_b16)
    inst.bitop3 = uint8_t(omod << 6 | abs << 3 | neg);
  else
    inst.omod = uint8_t(omod);

  if (is_vop3_interp(row->op)) {
    interp_sources(reader, word1, abs, neg);
  } else {
    MORGANA_CHECK(vop3_sources(reader, word1));
    reader.modifiers(abs, neg);
    reader.swap_destination();
  }
  return reader.finish();
}

Result<Inst> decode_vinterp(const Decoder& decoder) {
  const uint32_t word0 = decoder.dword0;
  const Row* row = find_row(decoder.target.target, Format::VINTERP, bits(word0, 16, 5));
  if (row == nullptr) return not_an_instruction(decoder, "unknown opcode");
  MORGANA_TRY(const uint32_t word1, decoder.dword(1));
  VectorReader reader(decoder, row, Format::VINTERP, 8);
  Inst& inst = reader.inst;
  reader.vector_destination(bits(word0, 0, 8));
  inst.wait_exp = uint8_t(bits(word0, 8, 3));
  if (reader.has(kOpSel)) inst.op_sel = uint8_t(bits(word0, 11, 4));
  inst.clamp = bits(word0, 15, 1) != 0;
  for (int i = 0; i < 3; i++) {
    const uint32_t code = bits(word1, 9 * i, 9);
    if (code < kVgprBase) reader.fault = "takes no scalar there";
    reader.source(code, false);
  }
  reader.modifiers(0, bits(word1, 29, 3));
  return reader.finish();
}

}  // namespace morgana::isa
