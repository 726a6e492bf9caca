// The door of the memory decoders, and what they share.
#include "device/isa/memory.h"

#include <algorithm>

namespace morgana::isa {

Error bad_encoding(const Decoder& decoder, const char* what) {
  return make_error(ErrorCode::malformed, "{:#010x} is no instruction of {}: {}", decoder.dword0,
                    decoder.target.name, what);
}

Result<Inst> begin(const Decoder& decoder, Format format, uint32_t opcode, int size) {
  if (!decoder.code.contains(0, uint64_t(size))) return bad_encoding(decoder, "the code ends within it");
  const Row* row = find_row(decoder.target.target, format, opcode);
  if (row == nullptr) return bad_encoding(decoder, "unknown opcode");
  Inst inst;
  inst.row = row;
  inst.format = format;
  inst.size = uint8_t(size);
  for (int i = 0; i < int(row->src.size()); i++)
    if (row->src[i] != Type::none) inst.n_src = uint8_t(i + 1);
  inst.n_explicit_src = inst.n_src;
  return inst;
}

Result<Operand> vector_operand(const Decoder& decoder, uint32_t number, Type type, int dwords, bool acc) {
  if (number + uint32_t(dwords) > 256) return bad_encoding(decoder, "an operand passes the last VGPR");
  return Operand{uint16_t((acc ? kAgprBase : kVgprBase) + number), type, uint8_t(dwords)};
}

namespace {

// Scalar registers that may stand in one span: SGPRs with FLAT_SCRATCH and XNACK_MASK where they are, VCC,
// TBA and TMA before gfx9, TTMPs, M0, EXEC.
struct Group {
  uint32_t begin, end;
};
constexpr Group kSpecial[] = {{kVccLo, kVccHi + 1}, {kM0, kM0 + 1}, {kExecLo, kExecHi + 1}};
constexpr Group kTraps[] = {{kTba, kTma}, {kTma, kTtmpGfx6}, {kTtmpGfx6, kTrapRegisterEnd}};
constexpr Group kTrapsGfx9[] = {{kTtmp, kTrapRegisterEnd}};

bool is_span(Generation generation, uint32_t code, uint32_t dwords) {
  const auto within = [&](const Group& group) { return code >= group.begin && code + dwords <= group.end; };
  const uint32_t numbered = generation == Generation::gfx6 ? sgpr_end(generation) : uint32_t{kVccLo};
  return within({0, numbered}) || std::ranges::any_of(kSpecial, within) ||
         (generation >= Generation::gfx9 ? std::ranges::any_of(kTrapsGfx9, within)
                                         : std::ranges::any_of(kTraps, within));
}

}  // namespace

Result<Operand> scalar_operand(const Decoder& decoder, uint32_t code, Type type, int dwords) {
  code = decoder.canonical(code);
  // Spans are aligned; the hardware ignores the low bits (CDNA4 guide 5.2).
  if (code == kNull && decoder.target.generation >= Generation::gfx10)  // as wide as need be
    return Operand{kNull, type, uint8_t(std::min(dwords, 2))};
  if (dwords >= 2) code &= dwords == 2 ? ~1u : ~3u;
  if (is_span(decoder.target.generation, code, uint32_t(dwords)))
    return Operand{uint16_t(code), type, uint8_t(dwords)};
  return bad_encoding(decoder, "no such scalar registers");
}

Result<Operand> scalar_source(const Decoder& decoder, uint32_t code, Type type) {
  if (code < kRegisterEnd) return scalar_operand(decoder, code, type, 1);
  if (!scalar_readable(decoder.target, code, dwords(type)) || code == kSrcLdsDirect || code == kLiteral)
    return bad_encoding(decoder, "no such scalar source");
  return Operand{uint16_t(code), type, 1};
}

Type bits_type(int dwords) {
  switch (dwords) {
    case 1: return Type::b32;
    case 2: return Type::b64;
    case 3: return Type::b96;
    case 4: return Type::b128;
    case 5: return Type::b160;
    case 6: return Type::b192;
    default: return dwords <= 8 ? Type::b256 : Type::b512;
  }
}

void set_cache_bits(const Decoder& decoder, Inst& inst, bool glc_sc0, bool scc_sc1, bool slc_nt) {
  if (decoder.target.is_gfx940) {
    inst.sc0 = glc_sc0;
    inst.sc1 = scc_sc1;
    inst.nt = slc_nt;
    return;
  }
  inst.glc = glc_sc0;
  inst.slc = slc_nt;
  inst.scc = scc_sc1 && decoder.target.unified_vgprs;
}

void set_cache_bits_gfx10(Inst& inst, bool glc, bool slc, bool dlc) {
  inst.glc = glc;
  inst.slc = slc;
  inst.dlc = dlc;
}

void set_cache_bits_gfx12(Inst& inst, uint32_t scope, uint32_t th, bool nv) {
  inst.nv = nv;
  inst.scope = uint8_t(scope);
  inst.th = uint8_t(th);
}

namespace {

Result<Inst> decode_gfx10(const Decoder& decoder) {
  const bool gfx11 = decoder.target.generation >= Generation::gfx11;
  switch (bits(decoder.dword0, 26, 6)) {
    case 0b110010:
      if (!gfx11) return decode_vintrp(decoder);
      break;
    case 0b110011:
      if (gfx11 && bits(decoder.dword0, 24, 2) == 0b10) return decode_ldsdir(decoder);
      break;
    case 0b110110: return decode_ds(decoder);
    case 0b110111: return decode_flat_gfx10(decoder);
    case 0b111000: return decode_mubuf_gfx10(decoder);
    case 0b111010: return decode_mtbuf_gfx10(decoder);
    case 0b111100: return decode_mimg_gfx10(decoder);
    case 0b111101: return decode_smem_gfx10(decoder);
    case 0b111110: return decode_exp(decoder);
    default: break;
  }
  return bad_encoding(decoder, "unknown encoding");
}

Result<Inst> decode_gfx12(const Decoder& decoder) {
  switch (bits(decoder.dword0, 26, 6)) {
    case 0b110001: return decode_vbuffer(decoder);
    case 0b110011:
      if (bits(decoder.dword0, 24, 2) == 0b10) return decode_ldsdir(decoder);
      break;
    case 0b110100: return decode_vimage(decoder);
    case 0b110110: return decode_ds(decoder);
    case 0b111001: return decode_vsample(decoder);
    case 0b111011: return decode_flat_gfx12(decoder);
    case 0b111101: return decode_smem_gfx10(decoder);
    case 0b111110: return decode_exp(decoder);
    default: break;
  }
  return bad_encoding(decoder, "unknown encoding");
}

}  // namespace

Result<Inst> decode_memory(const Decoder& decoder) {
  if (decoder.target.generation >= Generation::gfx12) return decode_gfx12(decoder);
  if (decoder.target.generation >= Generation::gfx10) return decode_gfx10(decoder);
  const bool gfx8 = decoder.target.generation >= Generation::gfx8;
  if (!gfx8 && bits(decoder.dword0, 27, 5) == 0b11000) return decode_smrd(decoder);
  switch (bits(decoder.dword0, 26, 6)) {
    case 0b110000: return decode_smem(decoder);
    case 0b110001:
      if (gfx8) return decode_exp(decoder);
      break;
    case 0b110010:
      if (!gfx8) return decode_vintrp(decoder);
      break;
    case 0b110101:
      if (gfx8) return decode_vintrp(decoder);
      break;
    case 0b110110: return decode_ds(decoder);
    case 0b110111: return decode_flat(decoder);
    case 0b111000: return decode_mubuf(decoder);
    case 0b111010: return decode_mtbuf(decoder);
    case 0b111100: return decode_mimg(decoder);
    case 0b111110:
      if (!gfx8) return decode_exp(decoder);
      break;
    default: break;
  }
  return bad_encoding(decoder, "unknown encoding");
}

}  // namespace morgana::isa
