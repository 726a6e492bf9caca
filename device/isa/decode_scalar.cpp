// SOP2, SOPK, SOP1, SOPC, SOPP (CDNA4 guide 13.1).
#include "device/isa/internal.h"

namespace morgana::isa {
namespace {

struct Reader {
  const Decoder& decoder;
  Inst inst;
  const char* fault = nullptr;
  bool literal = false;

  void source(uint32_t code) {
    code = decoder.canonical(code);
    const Type type = inst.row->src[inst.n_src];
    const int span = decoder.scalar_dwords(type);
    if (!scalar_readable(decoder.target, code, span) || code == kSrcLdsDirect)
      fault = "reserved source operand";
    if (code == kLiteral) literal = true;
    inst.src[inst.n_src++] = scalar(aligned(decoder.target, code, span), type, span);
    inst.n_explicit_src = inst.n_src;
  }

  void destination(uint32_t code) {
    code = decoder.canonical(code);
    const Type type = inst.row->dst[0];
    const int span = decoder.scalar_dwords(type);
    if (!scalar_writable(decoder.target, code, span)) fault = "reserved destination";
    inst.dst[0] = scalar(aligned(decoder.target, code, span), type, span);
    inst.n_dst = 1;
  }

  void read_literal() {
    literal = true;
    inst.src[inst.n_src++] = scalar(kLiteral, inst.row->src[inst.n_explicit_src], 1);
    inst.n_explicit_src = inst.n_src;
  }

  Result<Inst> finish() {
    if (fault != nullptr) return not_an_instruction(decoder, fault);
    if (literal) {
      MORGANA_TRY(inst.literal, decoder.dword(1));
      inst.size = 8;
    }
    if ((inst.row->flags & kTiedDst) != 0) inst.src[inst.n_src++] = inst.dst[0];
    return inst;
  }
};

struct Place {
  Format format;
  uint32_t opcode;
};

// SOP1, SOPC, SOPP and SOPK take their prefixes out of SOP2's opcode range.
Place place(uint32_t word) {
  switch (word >> 23) {
    case 0b101111101: return {Format::SOP1, bits(word, 8, 8)};
    case 0b101111110: return {Format::SOPC, bits(word, 16, 7)};
    case 0b101111111: return {Format::SOPP, bits(word, 16, 7)};
    default: break;
  }
  if (word >> 28 == 0b1011) return {Format::SOPK, bits(word, 23, 5)};
  return {Format::SOP2, bits(word, 23, 7)};
}

}  // namespace

Result<Inst> decode_scalar(const Decoder& decoder) {
  const uint32_t word = decoder.dword0;
  const Place at = place(word);
  const Row* row = find_row(decoder.target.target, at.format, at.opcode);
  if (row == nullptr) return not_an_instruction(decoder, "unknown opcode");

  Reader reader{decoder, {}};
  Inst& inst = reader.inst;
  inst.row = row;
  inst.format = at.format;
  inst.size = 4;

  const bool has_dst = row->dst[0] != Type::none;
  const bool has_src0 = row->src[0] != Type::none, has_src1 = row->src[1] != Type::none;
  switch (at.format) {
    case Format::SOP2:
      if (has_dst) reader.destination(bits(word, 16, 7));
      reader.source(bits(word, 0, 8));
      if (mandatory_literal(*row) == 1) reader.read_literal();
      reader.source(bits(word, 8, 8));
      if (mandatory_literal(*row) == 2) reader.read_literal();
      break;
    case Format::SOP1:
      if (has_dst) reader.destination(bits(word, 16, 7));
      if (has_src0)
        reader.source(bits(word, 0, 8));
      else
        inst.simm16 = uint16_t(bits(word, 0, 8));  // s_sendmsg_rtn: the message
      break;
    case Format::SOPC:
      reader.source(bits(word, 0, 8));
      if (has_src1)
        reader.source(bits(word, 8, 8));
      else
        inst.simm16 = uint16_t(bits(word, 8, 8));
      break;
    case Format::SOPK:
      inst.simm16 = uint16_t(word);
      if (has_dst) reader.destination(bits(word, 16, 7));
      if ((row->flags & kLiteralK) != 0) {
        reader.read_literal();
      } else if (has_src0) {
        if (!scalar_writable(decoder.target, decoder.canonical(bits(word, 16, 7)), dwords(row->src[0])))
          reader.fault = "reserved source operand";
        reader.source(bits(word, 16, 7));
      }
      break;
    default: inst.simm16 = uint16_t(word); break;
  }
  return reader.finish();
}

}  // namespace morgana::isa
