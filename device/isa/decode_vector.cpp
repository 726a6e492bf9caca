// VOP1, VOP2, VOPC with their SDWA and DPP forms, VOP3, VOP3P, MFMA and its scaled form (CDNA4 guide 13.3).
#include <algorithm>

#include "device/isa/internal.h"

namespace morgana::isa {
namespace {

constexpr uint32_t kScalePrefix = 44;  // VOP3P opcode of v_mfma_ld_scale_b32

// LLVM's "REV" opcodes, whose first source LDS_DIRECT cannot be: the hardware exchanges their operands.
bool is_reversed(Op op) {
  switch (op) {
    case Op::v_subrev_f32:
    case Op::v_subrev_f16:
    case Op::v_subrev_u32:
    case Op::v_subrev_u16:
    case Op::v_subrev_co_u32:
    case Op::v_subbrev_co_u32:
    case Op::v_lshlrev_b16:
    case Op::v_lshlrev_b32:
    case Op::v_lshlrev_b64:
    case Op::v_lshrrev_b16:
    case Op::v_lshrrev_b32:
    case Op::v_lshrrev_b64:
    case Op::v_ashrrev_i16:
    case Op::v_ashrrev_i32:
    case Op::v_ashrrev_i64:
    case Op::v_pk_lshlrev_b16:
    case Op::v_pk_lshrrev_b16:
    case Op::v_pk_ashrrev_i16: return true;
    default: return false;
  }
}

// Builds an Inst: operands in assembly order, checked; then what is implicit.
struct Reader {
  const Decoder& decoder;
  Inst inst{};
  const char* fault = nullptr;
  bool literal = false;

  Reader(const Decoder& from, const Row* row, Format format, int size) : decoder(from) {
    inst.row = row;
    inst.format = format;
    inst.size = uint8_t(size);
  }
  const Row& row() const { return *inst.row; }
  bool has(uint32_t flag) const { return (inst.row->flags & flag) != 0; }
  bool gfx9() const { return decoder.target.generation == Generation::gfx9; }
  bool unified() const { return decoder.target.unified_vgprs; }

  Operand vector(uint32_t number, Type type, int span, bool acc) {
    if (int(number) + span > 256) fault = "registers past the last";
    return {uint16_t((acc ? kAgprBase : kVgprBase) + number), type, uint8_t(span)};
  }

  // The type of the source that comes next.
  Type next_type() const { return row().src[inst.n_src]; }

  void add(Operand operand) {
    inst.src[inst.n_src++] = operand;
    inst.n_explicit_src = inst.n_src;
  }

  // An SGPR, special register or constant.
  void scalar_source(uint32_t code, bool literal_allowed) {
    const Type type = next_type();
    if (!scalar_readable(decoder.target, code, type)) fault = "reserved source operand";
    if (code == kSrcLdsDirect && (inst.n_src > 0 || inst.sdwa || is_reversed(row().op)))
      fault = "takes no LDS_DIRECT there";
    if (code == kLiteral) {
      if (!literal_allowed) fault = "takes no literal";
      literal = true;
    }
    add(scalar(aligned(code, type), type, dwords(type)));
  }

  void vector_source(uint32_t number, bool acc = false) {
    const Type type = next_type();
    add(vector(number, type, dwords(type), acc));
  }

  // A 9-bit source field.
  void source(uint32_t code, bool literal_allowed, bool acc = false) {
    if (code >= kVgprBase)
      vector_source(code - kVgprBase, acc);
    else
      scalar_source(code, literal_allowed);
  }

  void literal_k() {
    literal = true;
    const Type type = next_type();
    add(scalar(kLiteral, type, dwords(type)));
  }

  void add_destination(Operand operand) { inst.dst[inst.n_dst++] = operand; }

  void vector_destination(uint32_t number, bool acc = false) {
    const Type type = row().dst[inst.n_dst];
    if (type != Type::none) add_destination(vector(number, type, dwords(type), acc));
  }

  void scalar_destination(uint32_t code) {
    const Type type = row().dst[inst.n_dst];
    // As LLVM has it, a lane mask may also go to a read-only register, where the write has no effect.
    const bool is_state =
        is_aperture(code) || code == kSrcPopsExitingWaveId || (code >= kSrcVccz && code <= kSrcLdsDirect);
    const bool read_only = type == Type::mask && is_state && scalar_readable(decoder.target, code, type);
    if (!scalar_writable(decoder.target, code, type) && !read_only) fault = "reserved scalar destination";
    add_destination(scalar(aligned(code, type), type, dwords(type)));
  }

  void vcc_destination() { add_destination(scalar(kVccLo, Type::mask, 2)); }
  void vcc_source() { add(scalar(kVccLo, Type::mask, 2)); }

  // What an operand swap writes besides its destination: the register of its source.
  void swap_destination() {
    if (row().dst[0] == Type::b32 && row().dst[1] == Type::b32) add_destination(inst.src[0]);
  }

  void modifiers(uint32_t abs, uint32_t neg) {
    for (int i = 0; i < inst.n_explicit_src; i++) {
      if (!takes_modifiers(row(), i)) continue;
      inst.abs |= uint8_t(abs & 1u << i);
      inst.neg |= uint8_t(neg & 1u << i);
    }
  }

  Result<Inst> finish() {
    if (fault != nullptr) return not_an_instruction(decoder, fault);
    if (literal) {
      MORGANA_TRY(inst.literal, decoder.dword(inst.size / 4));
      inst.size = uint8_t(inst.size + 4);
    }
    const auto& types = row().src;
    if (has(kReadsVcc) && std::find(types.begin(), types.end(), Type::mask) == types.end())
      inst.src[inst.n_src++] = scalar(kVccLo, Type::mask, 2);  // v_div_fmas: VCC in every form
    if (has(kTiedDst)) inst.src[inst.n_src++] = inst.dst[0];
    return inst;
  }
};

// --- VOP1, VOP2, VOPC ---

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

void short_destination(Reader& reader, const Short& fields) {
  if (fields.format == Format::VOPC) return reader.vcc_destination();
  if (reader.has(kScalarDst)) return reader.scalar_destination(fields.dst);
  reader.vector_destination(fields.dst, reader.row().op == Op::v_accvgpr_mov_b32);
  if (reader.row().dst[1] == Type::mask) reader.vcc_destination();
}

Result<Inst> decode_short(const Decoder& decoder, const Row* row, const Short& fields) {
  Reader reader(decoder, row, fields.format, 4);
  short_destination(reader, fields);
  if (row->src[0] == Type::none) return reader.finish();
  reader.source(fields.src0, true, row->op == Op::v_accvgpr_mov_b32);
  if (fields.format == Format::VOP1) {
    reader.swap_destination();
    return reader.finish();
  }

  const bool k_last = row->op == Op::v_madak_f32 || row->op == Op::v_madak_f16 || row->op == Op::v_fmaak_f32;
  if (reader.has(kLiteralK) && !k_last) reader.literal_k();
  if (row->op == Op::v_readlane_b32 || row->op == Op::v_writelane_b32)
    reader.scalar_source(fields.src1, false);
  else
    reader.vector_source(fields.src1);
  if (k_last) reader.literal_k();
  if (row->src[2] == Type::mask) reader.vcc_source();
  return reader.finish();
}

Result<Inst> decode_dpp(const Decoder& decoder, const Row* row, const Short& fields) {
  Reader reader(decoder, row, fields.format, 8);
  if (reader.has(kNoDpp)) return not_an_instruction(decoder, "has no DPP form");
  MORGANA_TRY(const uint32_t word, decoder.dword(1));
  Inst& inst = reader.inst;
  inst.dpp = true;
  inst.dpp_ctrl = uint16_t(bits(word, 8, 9));
  inst.bound_ctrl = bits(word, 19, 1) != 0;
  inst.bank_mask = uint8_t(bits(word, 24, 4));
  inst.row_mask = uint8_t(bits(word, 28, 4));
  if (!valid_dpp_ctrl(decoder.target, inst.dpp_ctrl)) reader.fault = "reserved DPP control";

  short_destination(reader, fields);
  if (row->src[0] != Type::none) reader.vector_source(bits(word, 0, 8));
  if (fields.format != Format::VOP1) reader.vector_source(fields.src1);
  reader.modifiers(bits(word, 21, 1) | bits(word, 23, 1) << 1, bits(word, 20, 1) | bits(word, 22, 1) << 1);
  if (row->src[2] == Type::mask) reader.vcc_source();
  return reader.finish();
}

Result<Inst> decode_sdwa(const Decoder& decoder, const Row* row, const Short& fields) {
  Reader reader(decoder, row, fields.format, 8);
  if (reader.has(kNoSdwa) || (reader.gfx9() && reader.has(kNoSdwa9)))
    return not_an_instruction(decoder, "has no SDWA form");
  MORGANA_TRY(const uint32_t word, decoder.dword(1));
  Inst& inst = reader.inst;
  inst.sdwa = true;

  const bool explicit_sdst = fields.format == Format::VOPC && reader.gfx9() && bits(word, 15, 1) != 0;
  if (explicit_sdst)
    reader.scalar_destination(bits(word, 8, 7));
  else
    short_destination(reader, fields);

  // On gfx9 a source may be scalar (S0, S1).
  const auto source = [&](uint32_t number, uint32_t is_scalar) {
    if (is_scalar == 0 || !reader.gfx9()) return reader.vector_source(number);
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
  if (!explicit_sdst && reader.gfx9()) inst.omod = uint8_t(bits(word, 14, 2));
  if (row->src[2] == Type::mask) reader.vcc_source();
  return reader.finish();
}

// --- VOP3 ---

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
void interp_sources(Reader& reader, uint32_t word, uint32_t abs, uint32_t neg) {
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

Result<Inst> decode_vop3(const Decoder& decoder) {
  const bool modern = decoder.target.generation >= Generation::gfx8;
  const uint32_t word0 = decoder.dword0;
  const uint32_t opcode = modern ? bits(word0, 16, 10) : bits(word0, 17, 9);
  const Row* row = find_row(decoder.target.target, Format::VOP3, opcode);
  if (row == nullptr) return not_an_instruction(decoder, "unknown opcode");
  MORGANA_TRY(const uint32_t word1, decoder.dword(1));

  Reader reader(decoder, row, Format::VOP3, 8);
  Inst& inst = reader.inst;
  inst.vop3b = row->dst[1] == Type::mask;
  if (row->dst[0] == Type::mask || reader.has(kScalarDst))
    reader.scalar_destination(bits(word0, 0, 8));
  else
    reader.vector_destination(bits(word0, 0, 8));
  if (inst.vop3b) reader.scalar_destination(bits(word0, 8, 7));

  inst.clamp = (modern || !inst.vop3b) && bits(word0, modern ? 15 : 11, 1) != 0;
  const uint32_t abs = inst.vop3b ? 0 : bits(word0, 8, 3), neg = bits(word1, 29, 3);
  const uint32_t omod = bits(word1, 27, 2);
  if (reader.has(kOpSel) && reader.gfx9()) {
    inst.op_sel = uint8_t(bits(word0, 11, 4));
  }
  if (row->op == Op::v_bitop3_b32 || row->op == Op::v_bitop3_b16)
    inst.bitop3 = uint8_t(omod << 6 | abs << 3 | neg);
  else
    inst.omod = uint8_t(omod);

  if (is_vop3_interp(row->op)) {
    interp_sources(reader, word1, abs, neg);
  } else {
    for (int i = 0; i < 3 && row->src[i] != Type::none; i++) {
      reader.source(bits(word1, 9 * i, 9), false);
      if (inst.src[i].is_scalar() && inst.src[i].dwords > 2) reader.fault = "more than 64 bits of a scalar";
    }
    reader.modifiers(abs, neg);
    reader.swap_destination();
  }
  return reader.finish();
}

// --- VOP3P ---

// Registers of an operand of v_mfma_*_f8f6f4, whose element type CBSZ or BLGP names (CDNA4 guide 7.1.5): FP8
// and BF8 8, FP6 and BF6 6, FP4 4.
int f8f6f4_dwords(uint32_t format) { return format == 4 ? 4 : format == 2 || format == 3 ? 6 : 8; }

void mfma_operands(Reader& reader, uint32_t word0, uint32_t word1) {
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

void packed_operands(Reader& reader, uint32_t word0, uint32_t word1) {
  Inst& inst = reader.inst;
  const Op op = inst.row->op;
  if (inst.row->dst[0] != Type::none)
    reader.vector_destination(bits(word0, 0, 8), op == Op::v_accvgpr_write_b32);
  for (int i = 0; i < 3 && inst.row->src[i] != Type::none; i++)
    reader.source(bits(word1, 9 * i, 9), false, op == Op::v_accvgpr_read_b32);
  if (op == Op::v_accvgpr_read_b32 || op == Op::v_accvgpr_write_b32) return;

  const uint8_t used = uint8_t((1u << inst.n_src) - 1);
  inst.op_sel = uint8_t(bits(word0, 11, 3) & used);
  inst.op_sel_hi = uint8_t((bits(word1, 27, 2) | bits(word0, 14, 1) << 2) & used);
  inst.neg = uint8_t(bits(word1, 29, 3) & used);
  (is_mix(op) ? inst.abs : inst.neg_hi) = uint8_t(bits(word0, 8, 3) & used);
  inst.clamp = bits(word0, 15, 1) != 0;
}

Result<Inst> decode_scaled_mfma(const Decoder& decoder, const Row* row, uint32_t word1, uint32_t word2,
                                uint32_t word3) {
  Reader reader(decoder, row, Format::VOP3PX2, 16);
  mfma_operands(reader, word2, word3);
  for (int i = 0; i < 2; i++) {
    const uint32_t code = bits(word1, 9 * i, 9);
    if (code >= kVgprBase)
      reader.add(vgpr(code - kVgprBase, Type::b32, 1));
    else if (scalar_readable(decoder.target, code, Type::b32) && code != kLiteral)
      reader.add(scalar(code, Type::b32, 1));
    else
      reader.fault = "reserved scale operand";
  }
  reader.inst.scale_op_sel = uint8_t(bits(decoder.dword0, 11, 2));
  reader.inst.scale_op_sel_hi = uint8_t(bits(word1, 27, 2));
  return reader.finish();
}

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

  Reader reader(decoder, row, Format::VOP3P, 8);
  if (reader.has(kMfma))
    mfma_operands(reader, word0, word1);
  else
    packed_operands(reader, word0, word1);
  return reader.finish();
}

}  // namespace

bool valid_dpp_ctrl(const TargetInfo& target, uint32_t ctrl) {
  if (ctrl <= 0xff) return true;                                    // quad_perm
  if (ctrl > 0x100 && ctrl < 0x130) return (ctrl & 0xf) != 0;       // row_shl, row_shr, row_ror
  if (ctrl >= 0x150 && ctrl <= 0x15f) return target.unified_vgprs;  // row_newbcast
  switch (ctrl) {
    case 0x130:
    case 0x134:
    case 0x138:
    case 0x13c:  // wave_shl, rol, shr, ror
    case 0x140:
    case 0x141:
    case 0x142:
    case 0x143: return true;  // mirrors, row_bcast
    default: return false;
  }
}

Result<Inst> decode_vector(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool modern = decoder.target.generation >= Generation::gfx8;
  if (word >> 31 != 0) {
    if (decoder.target.generation == Generation::gfx9 && word >> 23 == 0b110100111)
      return decode_vop3p(decoder);
    return decode_vop3(decoder);
  }
  const Short fields = split(word);
  const Row* row = find_row(decoder.target.target, fields.format, fields.opcode);
  if (row == nullptr) return not_an_instruction(decoder, "unknown opcode");
  const bool plain =
      row->src[0] == Type::none && (row->flags & kNoDpp) != 0;  // v_clrexcp: the field is ignored
  if (modern && fields.src0 == kSdwa && !plain) return decode_sdwa(decoder, row, fields);
  if (modern && fields.src0 == kDpp && !plain) return decode_dpp(decoder, row, fields);
  return decode_short(decoder, row, fields);
}

}  // namespace morgana::isa
