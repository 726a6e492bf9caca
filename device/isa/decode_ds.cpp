// DS: LDS and GDS (CDNA4 guide 13.5, Southern Islands guide 12.7), and LDSDIR (gfx12: VDSDIR).
#include "device/isa/memory.h"

namespace morgana::isa {

Result<Inst> decode_ds(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const Generation generation = decoder.target.generation;
  const bool gfx8 = generation == Generation::gfx8 || generation == Generation::gfx9;
  MORGANA_TRY(Inst inst, begin(decoder, Format::DS, bits(word, gfx8 ? 17 : 18, 8), 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  const Row& row = *inst.row;
  const bool acc = decoder.target.unified_vgprs && bits(word, 25, 1) != 0;
  // gfx90a+ has no GDS and ignores the bit, but for global wave sync; gfx12 has neither.
  const bool has_gds =
      (!decoder.target.unified_vgprs || (row.flags & kGws) != 0) && generation < Generation::gfx12;
  inst.gds = has_gds && bits(word, gfx8 ? 16 : 17, 1) != 0;
  if (row.flags & kTwoOffsets) {
    inst.offset0 = uint8_t(bits(word, 0, 8));
    inst.offset1 = uint8_t(bits(word, 8, 8));
  } else {
    inst.offset = int32_t(bits(word, 0, 16));
  }
  const uint32_t addr = bits(high, 0, 8), data0 = bits(high, 8, 8), data1 = bits(high, 16, 8);
  if (row.src[kDsAddr] != Type::none) {
    MORGANA_TRY(inst.src[kDsAddr], vector_operand(decoder, addr, row.src[kDsAddr], 1, false));
  }
  if (row.src[kDsData0] != Type::none) {
    MORGANA_TRY(inst.src[kDsData0], vector_operand(decoder, row.flags & kGws ? addr : data0,
                                                   row.src[kDsData0], dwords(row.src[kDsData0]), acc));
  }
  if (row.src[kDsData1] != Type::none) {
    MORGANA_TRY(inst.src[kDsData1],
                vector_operand(decoder, data1, row.src[kDsData1], dwords(row.src[kDsData1]), acc));
  }
  if (row.dst[0] != Type::none) {
    MORGANA_TRY(inst.dst[0], vector_operand(decoder, bits(high, 24, 8), row.dst[0], dwords(row.dst[0]), acc));
    inst.n_dst = 1;
  }
  return inst;
}

// What pixel shaders read of LDS: an attribute's parameters, or a dword at M0.
Result<Inst> decode_ldsdir(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  MORGANA_TRY(Inst inst, begin(decoder, Format::LDSDIR, bits(word, 20, 2), 4));
  if (inst.row->op == Op::lds_param_load) {
    inst.attr_chan = uint8_t(bits(word, 8, 2));
    inst.attr = uint8_t(bits(word, 10, 6));
  }
  inst.wait_va_vdst = uint8_t(bits(word, 16, 4));
  inst.wait_vm_vsrc = decoder.target.generation >= Generation::gfx12 && bits(word, 23, 1) != 0;
  inst.n_dst = 1;
  MORGANA_TRY(inst.dst[0], vector_operand(decoder, bits(word, 0, 8), Type::b32, 1, false));
  return inst;
}

}  // namespace morgana::isa
