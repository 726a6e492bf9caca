// MUBUF and MTBUF (CDNA4 guide 13.7, Southern Islands guide 12.8).
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

// What MUBUF and MTBUF have in common: the second dword and the addressing bits of the first.
Result<void> set_operands(const Decoder& decoder, Inst& inst, uint32_t high) {
  const Row& row = *inst.row;
  const uint32_t word = decoder.dword0;
  const bool acc = decoder.target.unified_vgprs && bits(high, 23, 1) != 0;
  inst.tfe = !decoder.target.unified_vgprs && bits(high, 23, 1) != 0;
  inst.offset = int32_t(bits(word, 0, 12));
  inst.offen = bits(word, 12, 1) != 0;
  inst.idxen = bits(word, 13, 1) != 0;
  inst.addr64 = decoder.target.generation <= Generation::gfx7 && bits(word, 15, 1) != 0;
  if (inst.addr64 && (inst.offen || inst.idxen)) return bad_encoding(decoder, "addr64 with idxen or offen");
  if (inst.tfe && (row.flags & kAtomic)) return bad_encoding(decoder, "tfe on an atomic");

  const int vaddr_dwords = inst.addr64 ? 2 : int(inst.idxen) + int(inst.offen);
  if (vaddr_dwords != 0 && row.src[kVaddr] != Type::none) {
    const Type type = inst.addr64 ? Type::u64 : bits_type(vaddr_dwords);
    MORGANA_TRY(inst.src[kVaddr], vector_operand(decoder, bits(high, 0, 8), type, vaddr_dwords, false));
  }
  MORGANA_TRY(inst.src[kSrsrc], scalar_operand(decoder, bits(high, 16, 5) * 4, Type::b128, 4));
  MORGANA_TRY(inst.src[kSoffset], scalar_source(decoder, bits(high, 24, 8), Type::u32));

  const uint32_t vdata = bits(high, 8, 8);
  if (const Type type = row.src[kVdata]; type != Type::none) {
    MORGANA_TRY(inst.src[kVdata], data_operand(decoder, row, type, vdata, 0, acc));
  }
  const bool writes = row.dst[0] != Type::none && !inst.lds && (!(row.flags & kAtomic) || returns(inst));
  if (writes) {
    MORGANA_TRY(inst.dst[0], data_operand(decoder, row, row.dst[0], vdata, int(inst.tfe), acc));
    inst.n_dst = 1;
    // What the load does not write stays: the other half, or with a texture fail all of it.
    if (!(row.flags & kAtomic) && (inst.tfe || (row.flags & kD16))) inst.src[kVdata] = inst.dst[0];
  }
  return {};
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
  MORGANA_CHECK(set_operands(decoder, inst, high));
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
  MORGANA_CHECK(set_operands(decoder, inst, high));
  return inst;
}

}  // namespace morgana::isa
