#include "device/isa/tsv_source.h"

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace morgana::isa {
namespace {

struct Text {
  std::string mnemonic;
  std::vector<std::string> operands;  // the last one carries the modifiers
};

void strip_suffix(std::string& text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
}

std::string canonical_mnemonic(std::string mnemonic) {
  for (int i = 0; i < 2; i++) {
    strip_suffix(mnemonic, "_e32");
    strip_suffix(mnemonic, "_e64");
  }
  if (mnemonic == "v_add_co_u32") return "v_add_i32";
  if (mnemonic == "v_sub_co_u32") return "v_sub_i32";
  if (mnemonic == "v_subrev_co_u32") return "v_subrev_i32";
  return mnemonic;
}

// Operands at commas outside brackets; runs of blanks count as one.
Text split(std::string_view line) {
  Text text;
  size_t at = line.find(' ');
  text.mnemonic = canonical_mnemonic(std::string(line.substr(0, at)));
  if (at == std::string_view::npos) return text;
  int depth = 0;
  std::string operand;
  for (; at < line.size(); at++) {
    const char c = line[at];
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == ',' && depth == 0) {
      text.operands.push_back(std::move(operand));
      operand.clear();
    } else if (c != ' ' || (!operand.empty() && operand.back() != ' ')) {
      operand += c;
    }
  }
  text.operands.push_back(std::move(operand));
  return text;
}

std::optional<int64_t> number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

// A 16-bit immediate: a number, hwreg(id) or hwreg(id, offset, width) of numbers. LLVM's assembler also takes
// an inline float ("s_nop 1.0") and encodes 0.
std::optional<uint16_t> immediate(std::string_view text) {
  if (const auto value = number(text)) return uint16_t(*value);
  if (text.starts_with("hwreg(") && text.ends_with(')')) {
    const Text parts = split("x " + std::string(text.substr(6, text.size() - 7)));
    const auto id = number(parts.operands[0]);
    if (!id) return std::nullopt;
    if (parts.operands.size() == 1) return uint16_t(*id | 31 << 11);
    if (parts.operands.size() != 3) return std::nullopt;
    const auto offset = number(parts.operands[1]), width = number(parts.operands[2]);
    if (!offset || !width) return std::nullopt;
    return uint16_t(*id | *offset << 6 | (*width - 1) << 11);
  }
  if (text == "0.5" || text == "1.0" || text == "-4.0") return 0;
  return std::nullopt;
}

bool has_simm16(const Inst& inst) { return inst.format == Format::SOPK || inst.format == Format::SOPP; }

// "v[8:11] x" and "v8 x" begin at the same register.
bool same_first_register(std::string_view a, std::string_view b) {
  const auto first = [](std::string_view text) {
    if (text.starts_with("v[")) return text.substr(2, text.find(':') - 2);
    return text.starts_with('v') ? text.substr(1) : std::string_view();
  };
  return !first(a).empty() && first(a) == first(b);
}

// Source may say what the text leaves out: modifiers that are 0.
std::string without_zeros(std::string text) {
  for (const std::string_view zero : {" offset:0", " offset0:0", " offset1:0"}) {
    const size_t at = text.find(zero), end = at + zero.size();
    if (at != std::string::npos && (end == text.size() || text[end] == ' ')) text.erase(at, zero.size());
  }
  return text;
}

bool same_operand(const Inst& inst, size_t index, const std::string& canonical, const std::string& source) {
  if (canonical == source || canonical == without_zeros(source)) return true;
  if (inst.format == Format::MIMG && index == 1) return same_first_register(canonical, source);
  if (inst.row->op == Op::s_setreg_imm32_b32 && index == 1) {
    const auto value = immediate(source);
    return value && *value == inst.literal;
  }
  if (has_simm16(inst)) {
    const auto value = immediate(source);
    return value && *value == inst.simm16;
  }
  const auto a = number(canonical), b = number(source);
  return a && b && uint32_t(*a) == uint32_t(*b);
}

}  // namespace

bool same_instruction(const Inst& inst, std::string_view canonical, std::string_view source) {
  Text ours = split(canonical), theirs = split(source);
  if (ours.mnemonic != theirs.mnemonic) return false;
  if (inst.format == Format::VOPC || inst.format == Format::VOP2) {
    std::erase(ours.operands, "vcc");
    std::erase(theirs.operands, "vcc");
  }
  if (ours.operands.size() != theirs.operands.size()) return false;
  for (size_t i = 0; i < ours.operands.size(); i++)
    if (!same_operand(inst, i, ours.operands[i], theirs.operands[i])) return false;
  return true;
}

}  // namespace morgana::isa
