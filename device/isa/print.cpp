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
    case 106:
    case 107: return pair("vcc", code, 106, dwords);
    case 108:
    case 109: return pair("tba", code, 108, dwords);
    case 110:
    case 111: return pair("tma", code, 110, dwords);
    case 124: return "m0";
    case 126:
    case 127: return pair("exec", code, 126, dwords);
    case 235: return "src_shared_base";
    case 236: return "src_shared_limit";
    case 237: return "src_private_base";
    case 238: return "src_private_limit";
    case 239: return "src_pops_exiting_wave_id";
    case 251: return "src_vccz";
    case 252: return "src_execz";
    case 253: return "src_scc";
    case 254: return "src_lds_direct";
    default: break;
  }
  if (generation == Generation::gfx7 && (code == 104 || code == 105))
    return pair("flat_scratch", code, 104, dwords);
  if (generation >= Generation::gfx8 && (code == 102 || code == 103))
    return pair("flat_scratch", code, 102, dwords);
  if (generation >= Generation::gfx8 && (code == 104 || code == 105))
    return pair("xnack_mask", code, 104, dwords);
  return {};
}

std::string scalar_name(uint32_t code, int dwords, Generation generation) {
  const uint32_t ttmp = generation == Generation::gfx9 ? 108 : 112;
  if (code >= ttmp && code <= 123) {
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

// Inline constants 240..248 as f16 bits.
constexpr uint16_t kHalves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};

bool is_16_bit_integer(Type type) { return is_16_bit(type) && !is_float(type); }

bool is_inline_integer(uint32_t value) { return value <= 64 || value >= 0xfffffff0; }

// Whether an inline constant of the same value exists.
bool is_inline(Type type, uint32_t value, Generation generation) {
  if (type == Type::f64) return false;  // the literal is the high half
  if (is_16_bit_integer(type)) return value <= 64;
  if (is_16_bit(type))
    return value <= 64 || value >= 0xfff0 ||
           std::find(std::begin(kHalves), std::end(kHalves), value) != std::end(kHalves);
  if (dwords(type) == 2) return value <= 64;
  return is_inline_integer(value) || float_name(value) != nullptr ||
         (value == 0x3e22f983 && generation >= Generation::gfx8);
}

std::string literal(const Inst& inst, Type type, Generation generation) {
  const uint32_t value = inst.literal;
  if (inst.row->op == Op::s_setreg_imm32_b32) {
    if (is_inline_integer(value)) return fmt::format("{}", int32_t(value));
    if (const char* name = float_name(value)) return name;
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
  if (code >= 128 && code <= 192) return fmt::format("{}", code - 128);
  if (code >= 193 && code <= 208) return fmt::format("-{}", code - 192);
  if (code >= 240 && code <= 248 && is_16_bit_integer(operand.type))
    return fmt::format("{:#x}", kHalves[code - 240]);
  if (code >= 240 && code <= 247) return kFloats[code - 240];
  if (code == 248) return operand.dwords == 2 ? "0.15915494309189532" : "0.15915494";
  return scalar_name(code, operand.dwords, info(target).generation);
}

}  // namespace morgana::isa
