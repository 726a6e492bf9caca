// LLVM's spelling of operands.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "device/isa/internal.h"

namespace morgana::isa {
namespace {

const char* const kFloats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};

std::string span(char file, uint32_t first, int dwords) {
  if (dwords <= 1) return fmt::format("{}{}", file, first);
  return fmt::format("{}[{}:{}]", file, first, first + uint32_t(dwords) - 1);
}

// A named register pair and its halves: code `low` is the low half.
std::string pair(const char* name, uint32_t code, uint32_t low, int dwords) {
  if (dwords == 2) return name;
  return fmt::format("{}_{}", name, code == low ? "lo" : "hi");
}

std::string special(uint32_t code, int dwords, Generation generation) {
  switch (code) {
    case kVccLo:
    case kVccHi: return pair("vcc", code, kVccLo, dwords);
    case kTba:
    case kTba + 1: return pair("tba", code, kTba, dwords);
    case kTma:
    case kTma + 1: return pair("tma", code, kTma, dwords);
    case kM0: return "m0";
    case kNull:
      if (generation >= Generation::gfx10) return "null";
      break;
    case kExecLo:
    case kExecHi: return pair("exec", code, kExecLo, dwords);
    case kSrcSharedBase: return "src_shared_base";
    case kSrcSharedLimit: return "src_shared_limit";
    case kSrcPrivateBase: return "src_private_base";
    case kSrcPrivateLimit: return "src_private_limit";
    case kSrcPopsExitingWaveId: return "src_pops_exiting_wave_id";
    case kSrcVccz: return "src_vccz";
    case kSrcExecz: return "src_execz";
    case kSrcScc: return "src_scc";
    case kSrcLdsDirect: return "src_lds_direct";
    default: break;
  }
  const uint32_t even = code & ~1u;
  if (generation == Generation::gfx7 && even == kFlatScratchGfx7)
    return pair("flat_scratch", code, even, dwords);
  const bool has_scratch = generation >= Generation::gfx8 && generation < Generation::gfx10;
  if (has_scratch && even == kFlatScratch) return pair("flat_scratch", code, even, dwords);
  if (has_scratch && even == kXnackMask) return pair("xnack_mask", code, even, dwords);
  return {};
}

std::string scalar_name(uint32_t code, int dwords, Generation generation) {
  const uint32_t ttmp = first_ttmp(generation);
  if (code >= ttmp && code < kTrapRegisterEnd) {
    if (dwords <= 1) return fmt::format("ttmp{}", code - ttmp);
    return fmt::format("ttmp[{}:{}]", code - ttmp, code - ttmp + uint32_t(dwords) - 1);
  }
  if (std::string name = special(code, dwords, generation); !name.empty()) return name;
  return span('s', code, dwords);
}

const char* float_name(uint32_t value) {
  switch (value) {
    case 0x3f000000: return kFloats[0];
    case 0xbf000000: return kFloats[1];
    case 0x3f800000: return kFloats[2];
    case 0xbf800000: return kFloats[3];
    case 0x40000000: return kFloats[4];
    case 0xc0000000: return kFloats[5];
    case 0x40800000: return kFloats[6];
    case 0xc0800000: return kFloats[7];
    default: return nullptr;
  }
}

// The inline floats as f16 bits.
constexpr uint16_t kHalves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint16_t kBrainHalves[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22};

bool is_half(Type type, uint32_t value) {
  const auto& values = type == Type::bf16 || type == Type::pk_bf16 ? kBrainHalves : kHalves;
  return std::find(std::begin(values), std::end(values), value) != std::end(values);
}

constexpr uint32_t kTurn = 0x3e22f983;  // 1 / (2 pi)

bool is_16_bit_integer(Type type) { return is_16_bit(type) && !is_float(type); }

bool fits_inline_integer(uint32_t value) { return value <= 64 || value >= 0xfffffff0; }

// Whether an inline constant of the same value exists.
bool is_inline(Type type, uint32_t value, Generation generation) {
  if (type == Type::f64) return false;  // the literal is the high half
  if (is_16_bit_integer(type)) return value <= 64;
  if (is_16_bit(type)) return value <= 64 || value >= 0xfff0 || is_half(type, value);
  if (type == Type::pk_f16 || type == Type::pk_bf16)
    return fits_inline_integer(value) || is_half(type, value);
  if (dwords(type) == 2) return value <= 64;
  return fits_inline_integer(value) || float_name(value) != nullptr ||
         (value == kTurn && generation >= Generation::gfx8);
}

// What LLVM takes the operand for: v_ldexp_f16 has an exponent and v_cmp_class_f16 a mask of the type of
// their value, two packed FP8 (gfx12) are half a register.
Type printed_type(const Inst& inst, Type type) {
  switch (inst.row->op) {
    case Op::v_ldexp_f16:
    case Op::v_cmp_class_f16:
    case Op::v_cmpx_class_f16:
    case Op::v_cvt_pk_f32_fp8:
    case Op::v_cvt_pk_f32_bf8: return is_16_bit(type) ? Type::f16 : type;
    default: return type;
  }
}

std::string literal(const Inst& inst, Type type, Generation generation) {
  const uint32_t value = inst.literal;
  if (is_mix(inst.row->op)) type = Type::f16;
  // gfx11: an inline constant stands for both halves.
  if (inst.row->op == Op::v_pk_fmac_f16 && generation >= Generation::gfx11) {
    const bool is_double =
        value >> 16 == (value & 0xffff) && is_inline(Type::f16, value & 0xffff, generation);
    return is_double || fits_inline_integer(value) ? fmt::format("lit({:#x})", value)
                                                   : fmt::format("{:#x}", value);
  }
  if (inst.row->op == Op::s_setreg_imm32_b32) {
    if (fits_inline_integer(value)) return fmt::format("{}", int32_t(value));
    if (const char* name = float_name(value)) return name;
    if (value == kTurn && generation >= Generation::gfx8) return "0.15915494";
    return fmt::format("{:#x}", value);
  }
  // Scalar floats of 16 bits show all of it; LLVM takes them for something else in SOP1 and SOPC.
  if (inst.format <= Format::SOPP && is_16_bit(type)) {
    const Type taken = inst.format == Format::SOP1   ? Type::b32
                       : inst.format == Format::SOPC ? Type::i16
                                                     : type;
    return is_inline(taken, value, generation) ? fmt::format("lit({:#x})", value)
                                               : fmt::format("{:#x}", value);
  }
  // 16-bit operands read the low half. What the assembler would make an inline constant is written lit().
  const uint32_t low = is_16_bit(type) ? value & 0xffff : value;
  if (is_inline(type, is_16_bit_integer(type) ? value : low, generation))
    return fmt::format("lit({:#x})", value);
  return fmt::format("{:#x}", low);
}

}  // namespace

std::string print_source(Target target, const Inst& inst, int source) {
  if (source == mandatory_literal(*inst.row) && inst.row->op != Op::s_setreg_imm32_b32)
    return fmt::format("{:#x}", inst.literal);
  return print_operand(target, inst, inst.src[size_t(source)]);
}

std::string print_operand(Target target, const Inst& inst, const Operand& operand) {
  if (!operand.present()) return "off";
  if (operand.is_vgpr()) return span('v', operand.code - kVgprBase, operand.dwords);
  if (operand.is_agpr()) return span('a', operand.code - kAgprBase, operand.dwords);
  const uint32_t code = operand.code;
  const Type type = printed_type(inst, operand.type);
  if (code == kLiteral) return literal(inst, type, info(target).generation);
  if (is_inline_integer(code)) return fmt::format("{}", inline_integer(code));
  if (is_inline_float(code)) {
    if (is_16_bit_integer(type)) return fmt::format("{:#x}", kHalves[code - kInlineHalf]);
    if (code == kInlineTurn) return operand.dwords == 2 ? "0.15915494309189532" : "0.15915494";
    return kFloats[code - kInlineHalf];
  }
  return scalar_name(code, operand.dwords, info(target).generation);
}

}  // namespace morgana::isa
