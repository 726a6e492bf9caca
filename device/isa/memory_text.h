// The text of a memory instruction as it is put together. Only for print_*.cpp of this folder.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "device/isa/memory.h"

namespace morgana::isa {

// Mnemonic, then operands separated by commas, then modifiers separated by spaces.
class MemoryText {
 public:
  MemoryText(Target target, const Inst& inst) : target_(target), inst_(inst), text_(inst.row->mnemonic) {}

  void suffix(std::string_view text) { text_ += text; }

  void operand(const Operand& operand) { raw(print_operand(target_, inst_, operand)); }
  void operand_or_off(const Operand& operand) {
    raw(operand.present() ? print_operand(target_, inst_, operand) : "off");
  }
  void operand_if_present(const Operand& op) {
    if (op.present()) operand(op);
  }
  void raw(std::string_view text) {
    text_ += any_operand_ ? ", " : " ";
    any_operand_ = true;
    text_ += text;
  }
  void modifier(std::string_view text) {
    text_ += ' ';
    text_ += text;
  }
  void modifier_if(bool condition, std::string_view text) {
    if (condition) modifier(text);
  }
  void number(const char* name, int32_t value) {
    if (value != 0) modifier(fmt::format("{}:{}", name, value));
  }
  void cache_bits();
  std::string take() { return std::move(text_); }

 private:
  Target target_;
  const Inst& inst_;
  std::string text_;
  bool any_operand_ = false;
};

// VDATA as one operand. LLVM counts the register that `tfe` adds with stores and atomics too.
Operand vdata(const Inst& inst);

void print_buffer(MemoryText& text, const Inst& inst, Generation generation);
void print_image(MemoryText& text, const Inst& inst, Generation generation);

}  // namespace morgana::isa
