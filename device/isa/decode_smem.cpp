// Scalar memory: SMRD of gfx6 and gfx7 (Southern Islands guide 12.6), SMEM of gfx8 and gfx9 (CDNA4
// guide 13.2.1), and of gfx10 and later (LLVM).
#include "device/isa/memory.h"

namespace morgana::isa {
namespace {

// SDATA and SBASE, by the row.
Result<void> set_registers(const Decoder& decoder, Inst& inst, uint32_t sdata, uint32_t sbase) {
  const Row& row = *inst.row;
  if (row.src[kSbase] != Type::none) {
    MORGANA_TRY(inst.src[kSbase], scalar_operand(decoder, sbase, row.src[kSbase], dwords(row.src[kSbase])));
  }
  if (row.src[kSdata] != Type::none) {
    MORGANA_TRY(inst.src[kSdata], scalar_operand(decoder, sdata, row.src[kSdata], dwords(row.src[kSdata])));
  }
  if (row.dst[0] != Type::none && (!(row.flags & kAtomic) || inst.glc)) {
    MORGANA_TRY(inst.dst[0], scalar_operand(decoder, sdata, row.dst[0], dwords(row.dst[0])));
    inst.n_dst = 1;
  }
  return {};
}

// Whether cache bits count: caches are also controlled by rows without data.
bool moves_data(const Row& row) {
  return row.src[kSbase] != Type::none && (row.dst[0] != Type::none || row.src[kSdata] != Type::none);
}

// Rows whose SDATA field is a number.
bool has_number(Op op) {
  switch (op) {
    case Op::s_atc_probe:
    case Op::s_atc_probe_buffer:
    case Op::s_prefetch_inst:
    case Op::s_prefetch_inst_pc_rel:
    case Op::s_prefetch_data:
    case Op::s_prefetch_data_pc_rel:
    case Op::s_buffer_prefetch_data: return true;
    default: return false;
  }
}

void set_cache_bits(Inst& inst, Generation generation, uint32_t word) {
  if (generation >= Generation::gfx12)
    set_cache_bits_gfx12(inst, bits(word, 21, 2), bits(word, 23, 2), bits(word, 20, 1) != 0);
  else if (generation >= Generation::gfx11)
    set_cache_bits_gfx10(inst, bits(word, 14, 1) != 0, false, bits(word, 13, 1) != 0);
  else
    set_cache_bits_gfx10(inst, bits(word, 16, 1) != 0, false, bits(word, 14, 1) != 0);
}

}  // namespace

Result<Inst> decode_smrd(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const uint32_t offset = bits(word, 0, 8);
  const bool immediate = bits(word, 8, 1) != 0;
  const bool literal = !immediate && offset == kLiteral && decoder.target.generation == Generation::gfx7;
  MORGANA_TRY(Inst inst, begin(decoder, Format::SMRD, bits(word, 22, 5), 4));
  const bool has_offset = inst.row->src[kSmemOffset] != Type::none;
  MORGANA_CHECK(set_registers(decoder, inst, bits(word, 15, 7), bits(word, 9, 6) * 2));
  if (!has_offset) return inst;
  inst.offset_is_dwords = immediate || literal;
  inst.offset_imm = immediate || literal;
  if (immediate) {
    inst.offset = int32_t(offset);
  } else if (literal) {
    MORGANA_TRY(inst.literal, decoder.dword(1));
    inst.offset = int32_t(inst.literal);
    inst.size = 8;
  } else {
    MORGANA_TRY(inst.src[kSmemOffset], scalar_operand(decoder, offset, Type::u32, 1));
    inst.soffset_en = true;
  }
  return inst;
}

Result<Inst> decode_smem(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx9 = decoder.target.generation >= Generation::gfx9;
  MORGANA_TRY(Inst inst, begin(decoder, Format::SMEM, bits(word, 18, 8), 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  const Row& row = *inst.row;
  inst.glc = moves_data(row) && bits(word, 16, 1) != 0;
  inst.nv = gfx9 && bits(word, 15, 1) != 0;
  const bool immediate = bits(word, 17, 1) != 0;
  const bool soe = gfx9 && bits(word, 14, 1) != 0;
  MORGANA_CHECK(set_registers(decoder, inst, bits(word, 6, 7), bits(word, 0, 6) * 2));
  if (has_number(row.op)) inst.simm16 = uint16_t(bits(word, 6, 7));
  if (row.src[kSmemOffset] == Type::none) return inst;

  inst.offset_imm = immediate;
  if (immediate) inst.offset = gfx9 ? signed_bits(high, 0, 21) : int32_t(bits(high, 0, 20));
  // Without an immediate the offset field itself names the register, unless SOE says that SOFFSET does.
  inst.soffset_en = soe || !immediate;
  if (inst.soffset_en) {
    MORGANA_TRY(inst.src[kSmemOffset],
                scalar_operand(decoder, soe ? bits(high, 25, 7) : bits(high, 0, 7), Type::u32, 1));
  }
  return inst;
}

Result<Inst> decode_smem_gfx10(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx12 = decoder.target.generation >= Generation::gfx12;
  MORGANA_TRY(Inst inst, begin(decoder, Format::SMEM, gfx12 ? bits(word, 13, 6) : bits(word, 18, 8), 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  const Row& row = *inst.row;
  if (moves_data(row)) set_cache_bits(inst, decoder.target.generation, word);
  MORGANA_CHECK(set_registers(decoder, inst, bits(word, 6, 7), bits(word, 0, 6) * 2));
  if (has_number(row.op)) inst.simm16 = uint16_t(bits(word, 6, 7));
  if (row.src[kSmemOffset] == Type::none) return inst;

  inst.offset = signed_bits(high, 0, gfx12 ? 24 : 21);
  const uint32_t soffset = bits(high, 25, 7);
  inst.soffset_en = decoder.canonical(soffset) != kNull;
  // Both are added; LLVM leaves out an offset of 0 before gfx12.
  inst.offset_imm = gfx12 || inst.offset != 0;
  if (inst.soffset_en) {
    MORGANA_TRY(inst.src[kSmemOffset], scalar_operand(decoder, soffset, Type::u32, 1));
  }
  return inst;
}

}  // namespace morgana::isa
