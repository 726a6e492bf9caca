#include "device/isa/vector_reader.h"

#include <algorithm>

namespace morgana::isa {
namespace {

// LLVM's "REV" opcodes, whose first source LDS_DIRECT cannot be: the hardware exchanges their operands.
bool is_reversed(Op op) {
  switch (op) {
    case Op::v_subrev_f32:
    case Op::v_subrev_f16:
    case Op::v_subrev_u32:
    case Op::v_subrev_u16:
    case Op::v_subrev_co_u32:
    case Op::v_subbrev_co_u32:
    case Op::v_lshlrev_b16:
    case Op::v_lshlrev_b32:
    case Op::v_lshlrev_b64:
    case Op::v_lshrrev_b16:
    case Op::v_lshrrev_b32:
    case Op::v_lshrrev_b64:
    case Op::v_ashrrev_i16:
    case Op::v_ashrrev_i32:
    case Op::v_ashrrev_i64:
    case Op::v_pk_lshlrev_b16:
    case Op::v_pk_lshrrev_b16:
    case Op::v_pk_ashrrev_i16: return true;
    default: return false;
  }
}

// DPP moves single dwords.
bool is_wide(Type type) { return type != Type::mask && dwords(type) > 1; }

}  // namespace

VectorReader::VectorReader(const Decoder& from, const Row* row, Format format, int size) : decoder(from) {
  inst.row = row;
  inst.format = format;
  inst.size = uint8_t(size);
}

Operand VectorReader::vector(uint32_t number, Type type, int span, bool acc) {
  if (type == Type::mask) fault = "takes no VGPR there";
  if (int(number) + span > 256) fault = "registers past the last";
  return {uint16_t((acc ? kAgprBase : kVgprBase) + number), type, uint8_t(span)};
}

void VectorReader::scalar_source(uint32_t code, bool literal_allowed) {
  code = decoder.canonical(code);
  const Type type = next_type();
  const int span = decoder.scalar_dwords(type);
  // LLVM reads LDS_DIRECT in VOPD, where the generation has none.
  if (code == kSrcLdsDirect && inst.format == Format::VOPD) return add(scalar(code, type, span));
  if (!scalar_readable(decoder.target, code, span)) fault = "reserved source operand";
  if (code == kSrcLdsDirect && (inst.n_src > 0 || inst.sdwa || is_reversed(row().op)))
    fault = "takes no LDS_DIRECT there";
  if (code == kLiteral) {
    if (!literal_allowed) fault = "takes no literal";
    literal = true;
  }
  add(scalar(aligned(decoder.target, code, span), type, span));
}

void VectorReader::literal_k() {
  literal = true;
  const Type type = next_type();
  add(scalar(kLiteral, type, dwords(type)));
}

void VectorReader::scalar_destination(uint32_t code) {
  code = decoder.canonical(code);
  const Type type = row().dst[inst.n_dst];
  const int span = decoder.scalar_dwords(type);
  // As LLVM has it, a lane mask (on gfx10 and later, a lane as well) may also go to a read-only register,
  // where the write has no effect.
  const bool is_state =
      is_aperture(code) || code == kSrcPopsExitingWaveId || (code >= kSrcVccz && code <= kSrcLdsDirect);
  const bool is_lane = gfx10() && has(kScalarDst);
  const bool read_only =
      (type == Type::mask || is_lane) && is_state && scalar_readable(decoder.target, code, span);
  if (!scalar_writable(decoder.target, code, span) && !read_only) fault = "reserved scalar destination";
  add_destination(scalar(aligned(decoder.target, code, span), type, span));
}

void VectorReader::modifiers(uint32_t abs, uint32_t neg) {
  for (int i = 0; i < inst.n_explicit_src; i++) {
    // LLVM reads a sign of the class mask as well, when it is the half of a register.
    const bool is_class = row().op == Op::v_cmp_class_f16 || row().op == Op::v_cmpx_class_f16;
    if (!takes_modifiers(row(), i) && !(gfx11() && is_class)) continue;
    inst.abs |= uint8_t(abs & 1u << i);
    inst.neg |= uint8_t(neg & 1u << i);
  }
}

Result<uint32_t> VectorReader::lane_pattern(uint32_t code, int dword) {
  MORGANA_TRY(const uint32_t word, decoder.dword(dword));
  if (!has_dpp(decoder.target, row())) fault = "has no DPP form";
  inst.dpp = true;
  inst.size = uint8_t(4 * dword + 4);
  if (is_dpp8(code)) {
    inst.dpp8 = true;
    inst.fetch_inactive = code == kDpp8FetchInactive;
    inst.lane_select = word >> 8;
    return word & 0xff;
  }
  inst.dpp_ctrl = uint16_t(bits(word, 8, 9));
  inst.fetch_inactive = gfx10() && bits(word, 18, 1) != 0;
  inst.bound_ctrl = bits(word, 19, 1) != 0;
  inst.bank_mask = uint8_t(bits(word, 24, 4));
  inst.row_mask = uint8_t(bits(word, 28, 4));
  if (!valid_dpp_ctrl(decoder.target, inst.dpp_ctrl)) fault = "reserved DPP control";
  return word & 0xff;
}

Result<Inst> VectorReader::finish() {
  if (fault != nullptr) return not_an_instruction(decoder, fault);
  if (literal) {
    MORGANA_TRY(inst.literal, decoder.dword(inst.size / 4));
    inst.size = uint8_t(inst.size + 4);
  }
  const auto& types = row().src;
  if (has(kReadsVcc) && std::find(types.begin(), types.end(), Type::mask) == types.end())
    inst.src[inst.n_src++] = mask(kVccLo);  // v_div_fmas: VCC in every form
  if (has(kTiedDst)) inst.src[inst.n_src++] = inst.dst[0];
  return inst;
}

bool has_dpp(const TargetInfo& target, const Row& row) {
  if (target.generation < Generation::gfx8 || (row.flags & kNoDpp) != 0) return false;
  if (target.generation < Generation::gfx10) return true;
  const bool gfx11 = target.generation >= Generation::gfx11;
  if (is_wide(row.dst[0]) || std::any_of(row.src.begin(), row.src.end(), is_wide)) return false;
  switch (row.format) {
    case Format::VOP1: return row.src[0] != Type::none || !gfx11;
    case Format::VOP2: return true;
    case Format::VOP3P: return gfx11 && (row.dst[0] == Type::f32 || is_mix(row.op));
    default: return gfx11;
  }
}

}  // namespace morgana::isa
