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

constexpr uint32_t kTurn = 0x3e22f983;  // 1 / (2 pi)

bool is_16_bit_integer(Type type) { return is_16_bit(type) && !is_float(type); }

bool fits_inline_integer(uint32_t value) { return value <= 64 || value >= 0xfffffff0; }

// Whether an inline constant of the same value exists.
bool is_inline(Type type, uint32_t value, Generation generation) {
  if (type == Type::f64) return false;  // the literal is the high half
  if (is_16_bit_integer(type)) return value <= 64;
  if (is_16_bit(type))
    return value <= 64 || value >= 0xfff0 ||
           std::find(std::begin(kHalves), std::end(kHalves), value) != std::end(kHalves);
  if (dwords(type) == 2) return value <= 64;
  return fits_inline_integer(value) || float_name(value) != nullptr ||
         (value == kTurn && generation >= Generation::gfx8);
}

std::string literal(const Inst& inst, Type type, Generation generation) {
  const uint32_t value = inst.literal;
  if (inst.row->op == Op::s_setreg_imm32_b32) {
    if (fits_inline_integer(value)) return fmt::format("{}", int32_t(value));
    if (const char* name = float_name(value)) return name;
    if (value == kTurn && generation >= Generation::gfx8) return "0.15915494";
    return fmt::format("{:#x}", value);
  }
  if ((inst.row->flags & kLiteralK) != 0) return fmt::format("{:#x}", value);
  // 16-bit operands read the low half. What the assembler would make an inline constant is written lit().
  const uint32_t low = is_16_bit(type) ? value & 0xffff : value;
  if (is_inline(type, is_16_bit_integer(type) ? value : low, generation))
    return fmt::format("lit({:#x})", value);
  return fmt::format("{:#x}", low);
}

}  // namespace

std::string print_operand(Target target, const Inst& inst, const Operand& operand) {
  if (!operand.present()) return "off";
  if (operand.is_vgpr()) return span('v', operand.code - kVgprBase, operand.dwords);
  if (operand.is_agpr()) return span('a', operand.code - kAgprBase, operand.dwords);
  const uint32_t code = operand.code;
  if (code == kLiteral) return literal(inst, operand.type, info(target).generation);
  if (is_inline_integer(code)) return fmt::format("{}", inline_integer(code));
  if (is_inline_float(code)) {
    if (is_16_bit_integer(operand.type)) return fmt::format("{:#x}", kHalves[code - kInlineHalf]);
    if (code == kInlineTurn) return operand.dwords == 2 ? "0.15915494309189532" : "0.15915494";
    return kFloats[code - kInlineHalf];
  }
  return scalar_name(code, operand.dwords, info(target).generation);
}

}  // namespace morgana::isa
