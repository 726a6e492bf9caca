// MIMG, and the graphics encodings EXP and VINTRP (Southern Islands guide 12.9 to 12.11, Vega guide 13.8
// to 13.10).
#include <algorithm>
#include <bit>

#include "device/isa/memory.h"

namespace morgana::isa {
namespace {

// Registers of VDATA that hold channels.
int data_dwords(const Decoder& decoder, const Inst& inst) {
  const int channels = inst.row->flags & kGather ? 4 : std::max(1, std::popcount(inst.dmask));
  const bool packs = inst.d16 && decoder.target.generation >= Generation::gfx9;
  return packs ? (channels + 1) / 2 : channels;
}

Result<void> set_data(const Decoder& decoder, Inst& inst, uint32_t vdata, bool acc) {
  const Row& row = *inst.row;
  const bool atomic = (row.flags & kAtomic) != 0;
  const int count = data_dwords(decoder, inst);
  if (row.src[kVdata] != Type::none) {
    MORGANA_TRY(inst.src[kVdata], vector_operand(decoder, vdata, bits_type(count), count, acc));
  }
  if (row.dst[0] == Type::none || (atomic && !inst.glc)) return {};
  // A compare-and-swap returns one value in the place of two. `tfe` adds the status.
  const int written = (row.flags & kCmpswap ? std::max(1, count / 2) : count) + int(inst.tfe);
  MORGANA_TRY(inst.dst[0], vector_operand(decoder, vdata, bits_type(written), written, acc));
  inst.n_dst = 1;
  if (!atomic && inst.tfe) inst.src[kVdata] = inst.dst[0];
  return {};
}

}  // namespace

Result<Inst> decode_mimg(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx8 = decoder.target.generation >= Generation::gfx8;
  const bool gfx9 = decoder.target.generation >= Generation::gfx9;
  const bool unified = decoder.target.unified_vgprs;
  MORGANA_TRY(Inst inst, begin(decoder, Format::MIMG, bits(word, 18, 7), 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  const Row& row = *inst.row;
  inst.dmask = uint8_t(bits(word, 8, 4));
  inst.unorm = bits(word, 12, 1) != 0;
  inst.da = bits(word, 14, 1) != 0;
  inst.lwe = bits(word, 17, 1) != 0;
  inst.glc = bits(word, 13, 1) != 0;
  inst.slc = bits(word, 25, 1) != 0;
  inst.scc = unified && bits(word, 7, 1) != 0;
  // Bit 15 is R128, on gfx9 A16. Bit 16 is TFE, with one register file ACC.
  const bool bit15 = bits(word, 15, 1) != 0, bit16 = bits(word, 16, 1) != 0;
  inst.r128 = !gfx9 && bit15;
  inst.a16 = gfx9 && bit15;
  inst.tfe = !unified && bit16;
  inst.d16 = gfx8 && bits(high, 31, 1) != 0;
  if (inst.d16 && !(row.flags & kD16)) return bad_encoding(decoder, "no D16 form");

  const Type vaddr = row.src[kVaddr];
  MORGANA_TRY(inst.src[kVaddr], vector_operand(decoder, bits(high, 0, 8), vaddr, dwords(vaddr), false));
  const int srsrc = inst.r128 ? 4 : 8;
  MORGANA_TRY(inst.src[kSrsrc], scalar_operand(decoder, bits(high, 16, 5) * 4, bits_type(srsrc), srsrc));
  if (row.flags & kSampler) {
    MORGANA_TRY(inst.src[kSsamp], scalar_operand(decoder, bits(high, 21, 5) * 4, Type::b128, 4));
  }
  MORGANA_CHECK(set_data(decoder, inst, bits(high, 8, 8), unified && bit16));
  return inst;
}

Result<Inst> decode_exp(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  MORGANA_TRY(Inst inst, begin(decoder, Format::EXP, 0, 8));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  inst.en = uint8_t(bits(word, 0, 4));
  inst.exp_target = uint8_t(bits(word, 4, 6));
  const bool gfx11 = decoder.target.generation >= Generation::gfx11;
  inst.exp_compr = !gfx11 && bits(word, 10, 1) != 0;
  inst.exp_done = bits(word, 11, 1) != 0;
  inst.exp_vm = !gfx11 && bits(word, 12, 1) != 0;
  inst.exp_row_en = gfx11 && bits(word, 13, 1) != 0;
  for (int i = 0; i < 4; i++) {
    if ((inst.en >> i & 1) == 0) continue;
    // Compressed: two components a register, in the first two.
    const int field = inst.exp_compr ? i / 2 : i;
    MORGANA_TRY(inst.src[i], vector_operand(decoder, bits(high, 8 * field, 8), Type::b32, 1, false));
  }
  return inst;
}

Result<Inst> decode_vintrp(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  MORGANA_TRY(Inst inst, begin(decoder, Format::VINTRP, bits(word, 16, 2), 4));
  inst.attr_chan = uint8_t(bits(word, 8, 2));
  inst.attr = uint8_t(bits(word, 10, 6));
  inst.n_dst = 1;
  MORGANA_TRY(inst.dst[0], vector_operand(decoder, bits(word, 18, 8), Type::f32, 1, false));
  if (inst.row->op == Op::v_interp_mov_f32) {
    inst.simm16 = uint16_t(bits(word, 0, 8));
  } else {
    MORGANA_TRY(inst.src[0], vector_operand(decoder, bits(word, 0, 8), Type::f32, 1, false));
  }
  return inst;
}

}  // namespace morgana::isa
