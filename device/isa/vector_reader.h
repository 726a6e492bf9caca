// What the decoders of the vector encodings share: building an Inst operand by operand. Only for decode_*.cpp
// of this folder.
#pragma once

#include "device/isa/internal.h"

namespace morgana::isa {

// Operands in assembly order, checked; then what is implicit.
struct VectorReader {
  const Decoder& decoder;
  Inst inst{};
  const char* fault = nullptr;
  bool literal = false;

  VectorReader(const Decoder& from, const Row* row, Format format, int size);

  const Row& row() const { return *inst.row; }
  bool has(uint32_t flag) const { return (inst.row->flags & flag) != 0; }
  Generation generation() const { return decoder.target.generation; }
  bool gfx10() const { return generation() >= Generation::gfx10; }
  bool gfx11() const { return generation() >= Generation::gfx11; }
  bool unified() const { return decoder.target.unified_vgprs; }

  Operand vector(uint32_t number, Type type, int span, bool acc);

  // The type of the source that comes next.
  Type next_type() const { return row().src[inst.n_src]; }

  void add(Operand operand) {
    inst.src[inst.n_src++] = operand;
    inst.n_explicit_src = inst.n_src;
  }

  // An SGPR, special register or constant.
  void scalar_source(uint32_t code, bool literal_allowed);
  void vector_source(uint32_t number, bool acc = false) {
    const Type type = next_type();
    add(vector(number, type, dwords(type), acc));
  }
  // A 9-bit source field.
  void source(uint32_t code, bool literal_allowed, bool acc = false) {
    if (code >= kVgprBase)
      vector_source(code - kVgprBase, acc);
    else
      scalar_source(code, literal_allowed);
  }
  void literal_k();

  void add_destination(Operand operand) { inst.dst[inst.n_dst++] = operand; }
  void vector_destination(uint32_t number, bool acc = false) {
    const Type type = row().dst[inst.n_dst];
    if (type != Type::none) add_destination(vector(number, type, dwords(type), acc));
  }
  void scalar_destination(uint32_t code);

  // The short encodings of gfx11 and later reach VGPR 0 to 127 as halves where the operand has 16 bits: bit 7
  // is the half, which goes to op_sel.
  uint32_t half_register(uint32_t number, Type type, int op_sel_bit) {
    if (!gfx11() || !is_16_bit(type)) return number;
    inst.op_sel |= uint8_t((number >> 7 & 1) << op_sel_bit);
    return number & 0x7f;
  }
  void short_vector_source(uint32_t number, bool acc = false) {
    vector_source(half_register(number, next_type(), inst.n_src), acc);
  }
  void short_source(uint32_t code, bool literal_allowed, bool acc = false) {
    if (code >= kVgprBase)
      short_vector_source(code - kVgprBase, acc);
    else
      scalar_source(code, literal_allowed);
  }

  Operand mask(uint16_t code) const { return scalar(code, Type::mask, decoder.scalar_dwords(Type::mask)); }
  void vcc_source() { add(mask(kVccLo)); }
  // Where a short VOPC writes: VCC; v_cmpx of gfx10 and later only EXEC.
  void compare_destination() { add_destination(mask(writes_only_exec() ? kExecLo : kVccLo)); }
  bool writes_only_exec() const { return gfx10() && has(kWritesExec) && row().format == Format::VOPC; }

  // What an operand swap writes besides its destination: the register of its source.
  void swap_destination() {
    if (row().dst[0] != Type::none && row().dst[0] == row().dst[1]) add_destination(inst.src[0]);
  }

  void modifiers(uint32_t abs, uint32_t neg);

  // The dword of DPP16 or DPP8 behind the instruction, whose SRC0 field held `code`; the source register in
  // it.
  Result<uint32_t> lane_pattern(uint32_t code, int dword);

  Result<Inst> finish();
};

// Whether the row has a DPP form, in its own encoding or in VOP3.
bool has_dpp(const TargetInfo& target, const Row& row);

constexpr bool is_dpp8(uint32_t code) { return code == kDpp8 || code == kDpp8FetchInactive; }

Result<Inst> decode_vop3(const Decoder& decoder);
Result<Inst> decode_vop3p(const Decoder& decoder);
Result<Inst> decode_vinterp(const Decoder& decoder);
Result<Inst> decode_vopd(const Decoder& decoder);

}  // namespace morgana::isa
