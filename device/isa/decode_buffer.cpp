// MUBUF and MTBUF (CDNA4 guide 13.7, Southern Islands guide 12.8; LLVM for gfx10 and later), VBUFFER.
#include "device/isa/memory.h"

namespace morgana::isa {
namespace {

// VDATA of the row's type: format components pack in pairs when D16, but on gfx803. `extra` registers follow.
Result<Operand> data_operand(const Decoder& decoder, const Row& row, Type type, uint32_t vdata, int extra,
                             bool acc) {
  const bool packs =
      (row.flags & kFormat) && (row.flags & kD16) && decoder.target.generation >= Generation::gfx9;
  if (packs) type = bits_type((dwords(type) + 1) / 2);
  return vector_operand(decoder, vdata, type, dwords(type) + extra, acc);
}

// Registers, as the encoding numbers them.
struct BufferRegisters {
  uint32_t vaddr = 0, vdata = 0, srsrc = 0, soffset = 0;
  bool acc = false;
};

// The operands of an instruction whose modifiers are set.
Result<void> set_buffer_operands(const Decoder& decoder, Inst& inst, const BufferRegisters& registers) {
  const Row& row = *inst.row;
  if (inst.addr64 && (inst.offen || inst.idxen)) return bad_encoding(decoder, "addr64 with idxen or offen");
  if (inst.tfe && (row.flags & kAtomic)) return bad_encoding(decoder, "tfe on an atomic");

  const int vaddr_dwords = inst.addr64 ? 2 : int(inst.idxen) + int(inst.offen);
  if (vaddr_dwords != 0 && row.src[kVaddr] != Type::none) {
    const Type type = inst.addr64 ? Type::u64 : bits_type(vaddr_dwords);
    MORGANA_TRY(inst.src[kVaddr], vector_operand(decoder, registers.vaddr, type, vaddr_dwords, false));
  }
  MORGANA_TRY(inst.src[kSrsrc], scalar_operand(decoder, registers.srsrc, Type::b128, 4));
  MORGANA_TRY(inst.src[kSoffset], scalar_source(decoder, registers.soffset, Type::u32));

  if (const Type type = row.src[kVdata]; type != Type::none) {
    MORGANA_TRY(inst.src[kVdata], data_operand(decoder, row, type, registers.vdata, 0, registers.acc));
  }
  const bool writes = row.dst[0] != Type::none && !inst.lds && (!(row.flags & kAtomic) || returns(inst));
  if (writes) {
    MORGANA_TRY(inst.dst[0],
                data_operand(decoder, row, row.dst[0], registers.vdata, int(inst.tfe), registers.acc));
    inst.n_dst = 1;
    // What the load does not write stays: the other half, or with a texture fail all of it.
    if (!(row.flags & kAtomic) && (inst.tfe || (row.flags & kD16))) inst.src[kVdata] = inst.dst[0];
  }
  return {};
}

// What MUBUF and MTBUF have in common up to gfx9: the second dword and the addressing bits of the first.
Result<void> set_fields(const Decoder& decoder, Inst& inst, uint32_t high) {
  const uint32_t word = decoder.dword0;
  const bool unified = decoder.target.unified_vgprs, bit23 = bits(high, 23, 1) != 0;
  inst.tfe = !unified && bit23;
  inst.offset = int32_t(bits(word, 0, 12));
  inst.offen = bits(word, 12, 1) != 0;
  inst.idxen = bits(word, 13, 1) != 0;
  inst.addr64 = decoder.target.generation <= Generation::gfx7 && bits(word, 15, 1) != 0;
  return set_buffer_operands(decoder, inst,
                             {.vaddr = bits(high, 0, 8),
                              .vdata = bits(high, 8, 8),
                              .srsrc = bits(high, 16, 5) * 4,
                              .soffset = bits(high, 24, 8),
                              .acc = unified && bit23});
}

// The same on gfx10 and gfx11, which moved them. Without operands only the opcode counts.
Result<void> set_fields_gfx10(const Decoder& decoder, Inst& inst, uint32_t high) {
  if (inst.n_src == 0) return {};
  const uint32_t word = decoder.dword0;
  inst.offset = int32_t(bits(word, 0, 12));
  if (decoder.target.generation >= Generation::gfx11) {
    set_cache_bits_gfx10(inst, bits(word, 14, 1) != 0, bits(word, 12, 1) != 0, bits(word, 13, 1) != 0);
    inst.tfe = bits(high, 21, 1) != 0;
    inst.offen = bits(high, 22, 1) != 0;
    inst.idxen = bits(high, 23, 1) != 0;
  } else {
    set_cache_bits_gfx10(inst, bits(word, 14, 1) != 0, bits(high, 22, 1) != 0, bits(word, 15, 1) != 0);
    inst.tfe = bits(high, 23, 1) != 0;
    inst.offen = bits(word, 12, 1) != 0;
    inst.idxen = bits(word, 13, 1) != 0;
  }
  return set_buffer_operands(decoder, inst,
                             {.vaddr = bits(high, 0, 8),
                              .vdata = bits(high, 8, 8),
                              .srsrc = bits(high, 16, 5) * 4,
                              .soffset = bits(high, 24, 8)});
}

// Loads that have an LDS form (CDNA4 guide 9.1.9; the wide ones came with gfx950).
bool has_lds_form(const Decoder& decoder, Op op) {
  switch (op) {
    case Op::buffer_load_ubyte:
    case Op::buffer_load_sbyte:
    case Op::buffer_load_ushort:
    case Op::buffer_load_sshort:
    case Op::buffer_load_dword:
    case Op::buffer_load_format_x: return true;
    case Op::buffer_load_dwordx3:
    case Op::buffer_load_dwordx4: return decoder.target.target == Target::gfx950;
    default: return false;
  }
}

}  // namespace

Result<Inst> decode_mubuf(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx8 = decoder.target.generation >= Generation::gfx8;
  MORGANA_TRY(Inst inst, begin(decoder, Format::MUBUF, bits(word, 18, 7), 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  const bool slc = gfx8 ? bits(word, 17, 1) != 0 : bits(high, 22, 1) != 0;
  set_cache_bits(decoder, inst, bits(word, 14, 1) != 0, bits(word, 15, 1) != 0, slc);
  if (inst.n_src == 0) return inst;
  inst.lds = bits(word, 16, 1) != 0;
  if (inst.lds != ((inst.row->flags & kLdsSrc) != 0) && !has_lds_form(decoder, inst.row->op))
    return bad_encoding(decoder, "no LDS form");
  MORGANA_CHECK(set_fields(decoder, inst, high));
  return inst;
}

Result<Inst> decode_mtbuf(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx8 = decoder.target.generation >= Generation::gfx8;
  MORGANA_TRY(Inst inst, begin(decoder, Format::MTBUF, gfx8 ? bits(word, 15, 4) : bits(word, 16, 3), 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  set_cache_bits(decoder, inst, bits(word, 14, 1) != 0, bits(high, 21, 1) != 0, bits(high, 22, 1) != 0);
  inst.dfmt = uint8_t(bits(word, 19, 4));
  inst.nfmt = uint8_t(bits(word, 23, 3));
  MORGANA_CHECK(set_fields(decoder, inst, high));
  return inst;
}

Result<Inst> decode_mubuf_gfx10(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx11 = decoder.target.generation >= Generation::gfx11;
  const uint32_t opcode = gfx11 ? bits(word, 18, 8) : bits(word, 18, 7) | bits(word, 25, 1) << 7;
  MORGANA_TRY(Inst inst, begin(decoder, Format::MUBUF, opcode, 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  inst.lds = inst.n_src != 0 && !gfx11 && bits(word, 16, 1) != 0;
  if (inst.lds && !has_lds_form(decoder, inst.row->op)) return bad_encoding(decoder, "no LDS form");
  MORGANA_CHECK(set_fields_gfx10(decoder, inst, high));
  return inst;
}

Result<Inst> decode_mtbuf_gfx10(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx11 = decoder.target.generation >= Generation::gfx11;
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  const uint32_t opcode = gfx11 ? bits(word, 15, 4) : bits(word, 16, 3) | bits(high, 21, 1) << 3;
  MORGANA_TRY(Inst inst, begin(decoder, Format::MTBUF, opcode, 8));
  inst.buffer_format = uint8_t(bits(word, 19, 7));
  MORGANA_CHECK(set_fields_gfx10(decoder, inst, high));
  return inst;
}

// gfx12: MUBUF and MTBUF in one; SOFFSET is a register, NULL for none.
Result<Inst> decode_vbuffer(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  MORGANA_TRY(Inst inst, begin(decoder, Format::VBUFFER, bits(word, 14, 8), 12));
  MORGANA_TRY(const uint32_t middle, decoder.dword(1));
  MORGANA_TRY(const uint32_t high, decoder.dword(2));
  set_cache_bits_gfx12(decoder, inst, middle);
  inst.tfe = bits(word, 22, 1) != 0;
  inst.offset = int32_t(bits(high, 8, 24));
  inst.offen = bits(middle, 30, 1) != 0;
  inst.idxen = bits(middle, 31, 1) != 0;
  if (is_typed(inst)) inst.buffer_format = uint8_t(bits(middle, 23, 7));
  MORGANA_CHECK(set_buffer_operands(decoder, inst,
                                    {.vaddr = bits(high, 0, 8),
                                     .vdata = bits(middle, 0, 8),
                                     .srsrc = bits(middle, 9, 9),
                                     .soffset = bits(word, 0, 7)}));
  return inst;
}

}  // namespace morgana::isa
