// VOP1, VOP2, VOPC with their SDWA and DPP forms, and the door of the other vector encodings (CDNA4
// guide 13.3).
#include "device/isa/vector_reader.h"

namespace morgana::isa {
namespace {

struct Short {
  Format format;
  uint32_t opcode, dst, src0, src1;
};

Short split(uint32_t word) {
  const uint32_t top = word >> 25, src0 = bits(word, 0, 9), vgpr1 = bits(word, 9, 8), dst = bits(word, 17, 8);
  if (top == 0b0111111) return {Format::VOP1, vgpr1, dst, src0, 0};
  if (top == 0b0111110) return {Format::VOPC, dst, 0, src0, vgpr1};
  return {Format::VOP2, bits(word, 25, 6), dst, src0, vgpr1};
}

void short_destination(VectorReader& reader, const Short& fields) {
  if (fields.format == Format::VOPC) return reader.compare_destination();
  if (reader.has(kScalarDst)) return reader.scalar_destination(fields.dst);
  const uint32_t number = reader.half_register(fields.dst, reader.row().dst[0], 3);
  reader.vector_destination(number, reader.row().op == Op::v_accvgpr_mov_b32);
  if (reader.row().dst[1] == Type::mask) reader.add_destination(reader.mask(kVccLo));
}

Result<Inst> decode_short(const Decoder& decoder, const Row* row, const Short& fields) {
  VectorReader reader(decoder, row, fields.format, 4);
  short_destination(reader, fields);
  if (row->src[0] == Type::none) return reader.finish();
  reader.short_source(fields.src0, true, row->op == Op::v_accvgpr_mov_b32);
  if (fields.format == Format::VOP1) {
    reader.swap_destination();
    return reader.finish();
  }

  const int k = mandatory_literal(*row);
  if (k == 1) reader.literal_k();
  if (row->op == Op::v_readlane_b32 || row->op == Op::v_writelane_b32)
    reader.scalar_source(fields.src1, false);
  else
    reader.short_vector_source(fields.src1);
  if (k == 2) reader.literal_k();
  if (row->src[2] == Type::mask) reader.vcc_source();
  return reader.finish();
}

Result<Inst> decode_dpp(const Decoder& decoder, const Row* row, const Short& fields) {
  VectorReader reader(decoder, row, fields.format, 4);
  MORGANA_TRY(const uint32_t src0, reader.lane_pattern(fields.src0, 1));
  MORGANA_TRY(const uint32_t word, decoder.dword(1));
  short_destination(reader, fields);
  if (row->src[0] != Type::none) reader.short_vector_source(src0);
  if (fields.format != Format::VOP1) reader.short_vector_source(fields.src1);
  if (!reader.inst.dpp8)
    reader.modifiers(bits(word, 21, 1) | bits(word, 23, 1) << 1, bits(word, 20, 1) | bits(word, 22, 1) << 1);
  if (row->src[2] == Type::mask) reader.vcc_source();
  return reader.finish();
}

Result<Inst> decode_sdwa(const Decoder& decoder, const Row* row, const Short& fields) {
  VectorReader reader(decoder, row, fields.format, 8);
  const bool gfx9 = decoder.target.generation >= Generation::gfx9;
  if (reader.has(kNoSdwa) || (gfx9 && reader.has(kNoSdwa9)))
    return not_an_instruction(decoder, "has no SDWA form");
  MORGANA_TRY(const uint32_t word, decoder.dword(1));
  Inst& inst = reader.inst;
  inst.sdwa = true;

  const bool explicit_sdst = fields.format == Format::VOPC && gfx9 && bits(word, 15, 1) != 0;
  if (explicit_sdst && !reader.writes_only_exec())
    reader.scalar_destination(bits(word, 8, 7));
  else
    short_destination(reader, fields);

  // On gfx9 a source may be scalar (S0, S1).
  const auto source = [&](uint32_t number, uint32_t is_scalar) {
    if (is_scalar == 0 || !gfx9) return reader.vector_source(number);
    reader.scalar_source(number, false);
  };
  if (row->src[0] != Type::none) source(bits(word, 0, 8), bits(word, 23, 1));
  if (fields.format != Format::VOP1) source(fields.src1, bits(word, 31, 1));

  inst.src_sel = {uint8_t(bits(word, 16, 3)), uint8_t(bits(word, 24, 3))};
  if (inst.src_sel[0] == 7 || inst.src_sel[1] == 7) reader.fault = "reserved SDWA select";
  const uint32_t sext = bits(word, 19, 1) | bits(word, 27, 1) << 1;
  for (int i = 0; i < inst.n_explicit_src; i++)
    if (!takes_modifiers(*row, i)) inst.sext |= uint8_t(sext & 1u << i);
  reader.modifiers(bits(word, 21, 1) | bits(word, 29, 1) << 1, bits(word, 20, 1) | bits(word, 28, 1) << 1);
  if (fields.format != Format::VOPC) {
    inst.dst_sel = uint8_t(bits(word, 8, 3));
    inst.dst_unused = uint8_t(bits(word, 11, 2));
    if (inst.dst_sel == 7 || inst.dst_unused == 3) reader.fault = "reserved SDWA select";
  }
  if (!explicit_sdst) inst.clamp = bits(word, 13, 1) != 0;
  if (!explicit_sdst && gfx9) inst.omod = uint8_t(bits(word, 14, 2));
  if (row->src[2] == Type::mask) reader.vcc_source();
  return reader.finish();
}

// The encodings of 8 bytes and more.
Result<Inst> decode_long(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const Generation generation = decoder.target.generation;
  if (generation < Generation::gfx10) {
    const bool packed = generation == Generation::gfx9 && word >> 23 == 0b110100111;
    return packed ? decode_vop3p(decoder) : decode_vop3(decoder);
  }
  if (word >> 26 == 0b110101) return decode_vop3(decoder);
  if (word >> 26 == 0b110010) return decode_vopd(decoder);
  return word >> 24 == 0b11001101 ? decode_vinterp(decoder) : decode_vop3p(decoder);
}

}  // namespace

bool valid_dpp_ctrl(const TargetInfo& target, uint32_t ctrl) {
  if (ctrl <= 0xff) return true;                               // quad_perm
  if (ctrl > 0x100 && ctrl < 0x130) return (ctrl & 0xf) != 0;  // row_shl, row_shr, row_ror
  const bool gfx10 = target.generation >= Generation::gfx10;
  if (ctrl >= 0x150 && ctrl <= 0x15f) return target.unified_vgprs || gfx10;  // row_newbcast, row_share
  if (ctrl >= 0x160 && ctrl <= 0x16f) return gfx10;                          // row_xmask
  switch (ctrl) {
    case 0x130:
    case 0x134:
    case 0x138:
    case 0x13c:  // wave_shl, rol, shr, ror
    case 0x142:
    case 0x143: return !gfx10;  // row_bcast
    case 0x140:
    case 0x141: return true;  // mirrors
    default: return false;
  }
}

Result<Inst> decode_vector(const Decoder& decoder) {
  if (decoder.dword0 >> 31 != 0) return decode_long(decoder);
  const Generation generation = decoder.target.generation;
  const Short fields = split(decoder.dword0);
  const Row* row = find_row(decoder.target.target, fields.format, fields.opcode);
  if (row == nullptr) return not_an_instruction(decoder, "unknown opcode");
  const bool plain =
      row->src[0] == Type::none && (row->flags & kNoDpp) != 0;  // v_clrexcp: the field is ignored
  if (plain || generation < Generation::gfx8) return decode_short(decoder, row, fields);
  if (fields.src0 == kSdwa && generation < Generation::gfx11) return decode_sdwa(decoder, row, fields);
  if (fields.src0 == kDpp || (is_dpp8(fields.src0) && generation >= Generation::gfx10))
    return decode_dpp(decoder, row, fields);
  return decode_short(decoder, row, fields);
}

}  // namespace morgana::isa
