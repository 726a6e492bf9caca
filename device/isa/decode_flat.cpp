// FLAT, GLOBAL and SCRATCH (CDNA4 guide 13.6, Sea Islands guide 13.7).
#include "device/isa/memory.h"

namespace morgana::isa {
namespace {

// SADDR's code for "off" on gfx9.
constexpr uint32_t kNoSaddr = 0x7f;

struct Fields {
  bool acc = false;
  uint32_t addr = 0, data = 0, saddr = kNoSaddr, vdst = 0;
};

Result<void> set_addresses(const Decoder& decoder, Inst& inst, const Fields& fields) {
  const bool has_saddr = inst.format != Format::FLAT && fields.saddr != kNoSaddr;
  if (has_saddr) {
    const Type type = inst.row->src[kSaddr];
    MORGANA_TRY(inst.src[kSaddr], scalar_operand(decoder, fields.saddr, type, dwords(type)));
  }
  // Scratch addresses a lane by VADDR or by SADDR; gfx940 says with SVE whether VADDR counts, and allows both
  // or none.
  const bool has_vaddr = inst.format != Format::SCRATCH || (decoder.target.is_gfx940 ? inst.sve : !has_saddr);
  if (has_vaddr) {
    // With SADDR the VGPR is a 32-bit offset.
    const Type type = inst.format == Format::GLOBAL && has_saddr ? Type::u32 : inst.row->src[kVaddr];
    MORGANA_TRY(inst.src[kVaddr], vector_operand(decoder, fields.addr, type, dwords(type), false));
  }
  return {};
}

Result<void> set_data(const Decoder& decoder, Inst& inst, const Fields& fields) {
  const Row& row = *inst.row;
  if (row.src[kVdata] != Type::none) {
    MORGANA_TRY(inst.src[kVdata],
                vector_operand(decoder, fields.data, row.src[kVdata], dwords(row.src[kVdata]), fields.acc));
  }
  if (row.dst[0] != Type::none && !inst.lds && (!(row.flags & kAtomic) || returns(inst))) {
    MORGANA_TRY(inst.dst[0],
                vector_operand(decoder, fields.vdst, row.dst[0], dwords(row.dst[0]), fields.acc));
    inst.n_dst = 1;
  }
  return {};
}

}  // namespace

Result<Inst> decode_flat(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx9 = decoder.target.generation >= Generation::gfx9;
  constexpr Format kSegments[] = {Format::FLAT, Format::SCRATCH, Format::GLOBAL};
  const uint32_t segment = gfx9 ? bits(word, 14, 2) : 0;
  if (segment > 2) return bad_encoding(decoder, "reserved segment");
  MORGANA_TRY(Inst inst, begin(decoder, kSegments[segment], bits(word, 18, 7), 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));

  set_cache_bits(decoder, inst, bits(word, 16, 1) != 0, bits(word, 25, 1) != 0, bits(word, 17, 1) != 0);
  Fields fields{.addr = bits(high, 0, 8), .data = bits(high, 8, 8), .vdst = bits(high, 24, 8)};
  if (gfx9) {
    fields.saddr = bits(high, 16, 7);
    // Bit 55: ACC with one register file, NV before.
    const bool bit55 = bits(high, 23, 1) != 0;
    fields.acc = decoder.target.unified_vgprs && bit55;
    inst.nv = !decoder.target.unified_vgprs && bit55;
    inst.offset = inst.format == Format::FLAT ? int32_t(bits(word, 0, 12)) : signed_bits(word, 0, 13);
    // Bit 13: LDS, which gfx940 made opcodes of and where it has SVE instead.
    const bool bit13 = bits(word, 13, 1) != 0;
    inst.sve = decoder.target.is_gfx940 && inst.format == Format::SCRATCH && bit13;
    inst.lds = !decoder.target.is_gfx940 && bit13;
  } else {
    inst.tfe = bits(high, 23, 1) != 0;
  }
  if (inst.row->flags & kLdsDst) inst.lds = true;
  MORGANA_CHECK(set_addresses(decoder, inst, fields));
  MORGANA_CHECK(set_data(decoder, inst, fields));
  return inst;
}

}  // namespace morgana::isa
