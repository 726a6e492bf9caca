// EXP and VINTRP (Southern Islands guide 12.9 and 12.11, Vega guide 13.9 and 13.10; LLVM for gfx10 and
// later).
#include "device/isa/memory.h"

namespace morgana::isa {

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
