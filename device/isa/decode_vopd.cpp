// VOPD (gfx11 and later): two instructions in one.
#include "device/isa/vector_reader.h"

namespace morgana::isa {
namespace {

// One half: its destination and sources, as its short encoding has them.
void read_half(VectorReader& reader, uint32_t dst, uint32_t src0, uint32_t src1) {
  const Row& row = reader.row();
  Inst& inst = reader.inst;
  const int k = mandatory_literal(row);
  reader.vector_destination(dst);
  reader.source(src0, true);
  if (k == 1) reader.literal_k();
  if (row.src[1] != Type::none) reader.vector_source(src1);
  if (k == 2) reader.literal_k();
  if (reader.has(kReadsVcc)) inst.src[inst.n_src++] = reader.mask(kVccLo);
  if (reader.has(kTiedDst)) inst.src[inst.n_src++] = inst.dst[0];
}

}  // namespace

Result<Inst> decode_vopd(const Decoder& decoder) {
  const uint32_t word0 = decoder.dword0;
  const Target target = decoder.target.target;
  const Row* first = find_row(target, Format::VOPD, bits(word0, 22, 4));
  const Row* second = find_row(target, Format::VOPD, bits(word0, 17, 5));
  if (decoder.wave == WaveSize::wave64) return not_an_instruction(decoder, "two in one only in wave32");
  if (first == nullptr || second == nullptr) return not_an_instruction(decoder, "unknown opcode");
  MORGANA_TRY(const uint32_t word1, decoder.dword(1));

  VectorReader x(decoder, first, Format::VOPD, 8), y(decoder, second, Format::VOPD, 8);
  const uint32_t dst_x = bits(word1, 24, 8);
  // One destination is even, the other odd: the encoding has no lowest bit for the second.
  const uint32_t dst_y = bits(word1, 17, 7) << 1 | (~dst_x & 1);
  read_half(x, dst_x, bits(word0, 0, 9), bits(word0, 9, 8));
  read_half(y, dst_y, bits(word1, 0, 9), bits(word1, 9, 8));
  if (x.fault != nullptr || y.fault != nullptr)
    return not_an_instruction(decoder, x.fault != nullptr ? x.fault : y.fault);

  Inst& inst = x.inst;
  inst.second = second;
  inst.n_first_src = inst.n_src;
  inst.dst[inst.n_dst++] = y.inst.dst[0];
  for (int i = 0; i < y.inst.n_src; i++) inst.src[inst.n_src++] = y.inst.src[i];
  if (x.literal || y.literal) {
    MORGANA_TRY(inst.literal, decoder.dword(2));
    inst.size = 12;
  }
  return inst;
}

}  // namespace morgana::isa
