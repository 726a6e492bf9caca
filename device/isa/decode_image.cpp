// MIMG (Southern Islands guide 12.10, Vega guide 13.8; LLVM for gfx10 and later), VIMAGE and VSAMPLE.
#include <algorithm>
#include <bit>

#include "device/isa/image_address.h"
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
  if (intersects_ray(row)) {
    inst.n_dst = 1;
    MORGANA_TRY(inst.dst[0], vector_operand(decoder, vdata, row.dst[0], dwords(row.dst[0]), false));
    return {};
  }
  const bool atomic = (row.flags & kAtomic) != 0;
  const int count = data_dwords(decoder, inst);
  if (row.src[kVdata] != Type::none) {
    MORGANA_TRY(inst.src[kVdata], vector_operand(decoder, vdata, bits_type(count), count, acc));
  }
  if (row.dst[0] == Type::none || (atomic && !returns(inst))) return {};
  // A compare-and-swap returns one value in the place of two. `tfe` adds the status.
  const int written = (row.flags & kCmpswap ? std::max(1, count / 2) : count) + int(inst.tfe);
  MORGANA_TRY(inst.dst[0], vector_operand(decoder, vdata, bits_type(written), written, acc));
  inst.n_dst = 1;
  if (!atomic && inst.tfe) inst.src[kVdata] = inst.dst[0];
  return {};
}

// Registers, as the encodings of gfx10 and later number them.
struct ImageRegisters {
  uint32_t vdata = 0, srsrc = 0, ssamp = 0;
  std::array<uint8_t, 13> vaddr{};
  int n_vaddr = 1;  // one: the others follow it
};

Result<void> set_address(const Decoder& decoder, Inst& inst, const ImageRegisters& registers) {
  const AddressGroups groups = address_groups(inst, decoder.target.generation, registers.n_vaddr);
  if (groups.count == 0) return bad_encoding(decoder, "too few address registers");
  inst.nsa = registers.n_vaddr > 1;
  for (int i = 0; i < groups.count; i++) {
    const int size = groups.size[i];
    MORGANA_TRY(const Operand group,
                vector_operand(decoder, registers.vaddr[i], bits_type(size), size, false));
    if (i == 0) inst.src[kVaddr] = group;
    for (int r = 0; inst.nsa && r < size; r++) inst.nsa_vgprs[inst.n_nsa++] = uint8_t(registers.vaddr[i] + r);
  }
  return {};
}

// The operands of an instruction whose modifiers are set.
Result<void> set_image_operands(const Decoder& decoder, Inst& inst, const ImageRegisters& registers) {
  const Row& row = *inst.row;
  if (inst.d16 && !(row.flags & kD16)) return bad_encoding(decoder, "no D16 form");
  MORGANA_CHECK(set_address(decoder, inst, registers));
  const int srsrc = inst.r128 || intersects_ray(row) ? 4 : 8;
  MORGANA_TRY(inst.src[kSrsrc], scalar_operand(decoder, registers.srsrc, bits_type(srsrc), srsrc));
  if (row.flags & kSampler) {
    MORGANA_TRY(inst.src[kSsamp], scalar_operand(decoder, registers.ssamp, Type::b128, 4));
  }
  return set_data(decoder, inst, registers.vdata, false);
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

namespace {

void set_fields_gfx10(Inst& inst, uint32_t word, uint32_t high) {
  inst.dim = uint8_t(bits(word, 3, 3));
  inst.unorm = bits(word, 12, 1) != 0;
  set_cache_bits_gfx10(inst, bits(word, 13, 1) != 0, bits(word, 25, 1) != 0, bits(word, 7, 1) != 0);
  inst.tfe = bits(word, 16, 1) != 0;
  inst.lwe = bits(word, 17, 1) != 0;
  inst.a16 = bits(high, 30, 1) != 0;
  inst.d16 = bits(high, 31, 1) != 0;
}

void set_fields_gfx11(Inst& inst, uint32_t word, uint32_t high) {
  inst.dim = uint8_t(bits(word, 2, 3));
  inst.unorm = bits(word, 7, 1) != 0;
  set_cache_bits_gfx10(inst, bits(word, 14, 1) != 0, bits(word, 12, 1) != 0, bits(word, 13, 1) != 0);
  inst.a16 = bits(word, 16, 1) != 0;
  inst.d16 = bits(word, 17, 1) != 0;
  inst.tfe = bits(high, 21, 1) != 0;
  inst.lwe = bits(high, 22, 1) != 0;
}

}  // namespace

// gfx10 and gfx11. NSA: up to three dwords (gfx11: one) with more register numbers follow.
Result<Inst> decode_mimg_gfx10(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const bool gfx11 = decoder.target.generation >= Generation::gfx11;
  const uint32_t opcode = gfx11 ? bits(word, 18, 8) : bits(word, 18, 7) | bits(word, 0, 1) << 7;
  const int more = int(gfx11 ? bits(word, 0, 1) : bits(word, 1, 2));
  MORGANA_TRY(Inst inst, begin(decoder, Format::MIMG, opcode, 8 + 4 * more));
  MORGANA_TRY(const uint32_t high, decoder.dword(1));
  inst.dmask = uint8_t(bits(word, 8, 4));
  inst.r128 = bits(word, 15, 1) != 0;
  if (gfx11)
    set_fields_gfx11(inst, word, high);
  else
    set_fields_gfx10(inst, word, high);

  ImageRegisters registers{.vdata = bits(high, 8, 8),
                           .srsrc = bits(high, 16, 5) * 4,
                           .ssamp = bits(high, gfx11 ? 26 : 21, 5) * 4,
                           .n_vaddr = 1 + 4 * more};
  registers.vaddr[0] = uint8_t(bits(high, 0, 8));
  for (int i = 0; i < 4 * more; i++) {
    MORGANA_TRY(const uint32_t numbers, decoder.dword(2 + i / 4));
    registers.vaddr[1 + i] = uint8_t(bits(numbers, 8 * (i % 4), 8));
  }
  MORGANA_CHECK(set_image_operands(decoder, inst, registers));
  return inst;
}

namespace {

// gfx12: VIMAGE and VSAMPLE have these in the same places, and four numbers of address registers.
Result<ImageRegisters> set_fields_gfx12(const Decoder& decoder, Inst& inst) {
  const uint32_t word = decoder.dword0;
  MORGANA_TRY(const uint32_t middle, decoder.dword(1));
  MORGANA_TRY(const uint32_t high, decoder.dword(2));
  inst.dim = uint8_t(bits(word, 0, 3));
  inst.r128 = bits(word, 4, 1) != 0;
  inst.d16 = bits(word, 5, 1) != 0;
  inst.a16 = bits(word, 6, 1) != 0;
  inst.dmask = uint8_t(bits(word, 22, 4));
  set_cache_bits_gfx12(decoder, inst, middle);
  ImageRegisters registers{.vdata = bits(middle, 0, 8), .srsrc = bits(middle, 9, 9), .n_vaddr = 4};
  for (int i = 0; i < 4; i++) registers.vaddr[i] = uint8_t(bits(high, 8 * i, 8));
  return registers;
}

}  // namespace

Result<Inst> decode_vimage(const Decoder& decoder) {
  MORGANA_TRY(Inst inst, begin(decoder, Format::VIMAGE, bits(decoder.dword0, 14, 8), 12));
  MORGANA_TRY(ImageRegisters registers, set_fields_gfx12(decoder, inst));
  MORGANA_TRY(const uint32_t middle, decoder.dword(1));
  inst.tfe = bits(middle, 23, 1) != 0;
  if (intersects_ray(*inst.row)) registers.vaddr[registers.n_vaddr++] = uint8_t(bits(middle, 24, 8));
  MORGANA_CHECK(set_image_operands(decoder, inst, registers));
  return inst;
}

Result<Inst> decode_vsample(const Decoder& decoder) {
  MORGANA_TRY(Inst inst, begin(decoder, Format::VSAMPLE, bits(decoder.dword0, 14, 8), 12));
  MORGANA_TRY(ImageRegisters registers, set_fields_gfx12(decoder, inst));
  MORGANA_TRY(const uint32_t middle, decoder.dword(1));
  inst.tfe = bits(decoder.dword0, 3, 1) != 0;
  inst.unorm = bits(decoder.dword0, 13, 1) != 0;
  inst.lwe = bits(middle, 8, 1) != 0;
  registers.ssamp = bits(middle, 23, 9);
  MORGANA_CHECK(set_image_operands(decoder, inst, registers));
  return inst;
}

}  // namespace morgana::isa
