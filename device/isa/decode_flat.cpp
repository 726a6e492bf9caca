// FLAT, GLOBAL and SCRATCH (CDNA4 guide 13.6, Sea Islands guide 13.7; LLVM for gfx10 and later).
#include "device/isa/effects.h"
#include "device/isa/memory.h"

namespace morgana::isa {
namespace {

// SADDR's code for "off" on gfx9; gfx10 and later have NULL. With it gfx10.3's SCRATCH has no VADDR either.
constexpr uint32_t kNoSaddr = 0x7f;

constexpr Format kSegments[] = {Format::FLAT, Format::SCRATCH, Format::GLOBAL};

struct Fields {
  bool acc = false;
  bool has_saddr = false, has_vaddr = true;
  uint32_t addr = 0, data = 0, saddr = kNoSaddr, vdst = 0;
};

Result<void> set_addresses(const Decoder& decoder, Inst& inst, const Fields& fields) {
  const Type saddr = inst.row->src[kSaddr];
  if (fields.has_saddr && saddr != Type::none) {
    MORGANA_TRY(inst.src[kSaddr], scalar_operand(decoder, fields.saddr, saddr, dwords(saddr)));
  }
  if (fields.has_vaddr && inst.row->src[kVaddr] != Type::none) {
    // With SADDR the VGPR is a 32-bit offset.
    const bool is_offset = inst.format == Format::GLOBAL && fields.has_saddr;
    const Type type = is_offset ? Type::u32 : inst.row->src[kVaddr];
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
    // A transposed tile is spread over all lanes of the wave.
    const bool halved = transposes(row.op) && decoder.wave == WaveSize::wave64;
    const int count = halved ? dwords(row.dst[0]) / 2 : dwords(row.dst[0]);
    const Type type = halved ? bits_type(count) : row.dst[0];
    MORGANA_TRY(inst.dst[0], vector_operand(decoder, fields.vdst, type, count, fields.acc));
    inst.n_dst = 1;
  }
  return {};
}

}  // namespace

Result<Inst> decode_flat(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx9 = decoder.target.generation >= Generation::gfx9;
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
  fields.has_saddr = inst.format != Format::FLAT && fields.saddr != kNoSaddr;
  // Scratch addresses a lane by VADDR or by SADDR; gfx940 says with SVE whether VADDR counts, and allows both
  // or none.
  if (inst.format == Format::SCRATCH)
    fields.has_vaddr = decoder.target.is_gfx940 ? inst.sve : !fields.has_saddr;
  MORGANA_CHECK(set_addresses(decoder, inst, fields));
  MORGANA_CHECK(set_data(decoder, inst, fields));
  return inst;
}

Result<Inst> decode_flat_gfx10(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx11 = decoder.target.generation >= Generation::gfx11;
  const uint32_t segment = bits(word, gfx11 ? 16 : 14, 2);
  if (segment > 2) return bad_encoding(decoder, "reserved segment");
  MORGANA_TRY(Inst inst, begin(decoder, kSegments[segment], bits(word, 18, 7), 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));

  Fields fields{.addr = bits(high, 0, 8),
                .data = bits(high, 8, 8),
                .saddr = bits(high, 16, 7),
                .vdst = bits(high, 24, 8)};
  const bool is_flat = inst.format == Format::FLAT, is_scratch = inst.format == Format::SCRATCH;
  const bool no_address = !gfx11 && is_scratch && fields.saddr == kNoSaddr;
  fields.has_saddr = !is_flat && !no_address && decoder.canonical(fields.saddr) != kNull;
  if (gfx11) {
    set_cache_bits_gfx10(inst, bits(word, 14, 1) != 0, bits(word, 15, 1) != 0, bits(word, 13, 1) != 0);
    inst.offset = is_flat ? int32_t(bits(word, 0, 13)) : signed_bits(word, 0, 13);
    inst.sve = is_scratch && bits(high, 23, 1) != 0;
    if (is_scratch) fields.has_vaddr = inst.sve;
  } else {
    if (no_address && decoder.target.target == Target::gfx1010)
      return bad_encoding(decoder, "scratch without an address");
    set_cache_bits_gfx10(inst, bits(word, 16, 1) != 0, bits(word, 17, 1) != 0, bits(word, 12, 1) != 0);
    inst.offset = is_flat ? int32_t(bits(word, 0, 12)) : signed_bits(word, 0, 12);
    inst.lds = bits(word, 13, 1) != 0;
    if (is_scratch) fields.has_vaddr = !fields.has_saddr && !no_address;
  }
  MORGANA_CHECK(set_addresses(decoder, inst, fields));
  MORGANA_CHECK(set_data(decoder, inst, fields));
  return inst;
}

// VFLAT, VGLOBAL, VSCRATCH.
Result<Inst> decode_flat_gfx12(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const uint32_t segment = bits(word, 24, 2);
  if (segment > 2) return bad_encoding(decoder, "reserved segment");
  MORGANA_TRY(Inst inst, begin(decoder, kSegments[segment], bits(word, 14, 8), 12));
  MORGANA_TRY(const uint32_t middle, decoder.dword(1));
  MORGANA_TRY(const uint32_t high, decoder.dword(2));
  Fields fields{.addr = bits(high, 0, 8),
                .data = bits(middle, 23, 8),
                .saddr = bits(word, 0, 7),
                .vdst = bits(middle, 0, 8)};
  fields.has_saddr = inst.format != Format::FLAT && decoder.canonical(fields.saddr) != kNull;
  set_cache_bits_gfx12(decoder, inst, middle);
  inst.offset = signed_bits(high, 8, 24);
  if (inst.format == Format::SCRATCH) {
    inst.sve = bits(middle, 17, 1) != 0;
    fields.has_vaddr = inst.sve;
  }
  MORGANA_CHECK(set_addresses(decoder, inst, fields));
  MORGANA_CHECK(set_data(decoder, inst, fields));
  return inst;
}

}  // namespace morgana::isa
