// Inline constants and literals as values of an operand type.
#pragma once

#include <cstdint>

#include "device/isa/inst.h"

namespace morgana::isa {

struct Constant {
  uint32_t low = 0, high = 0;
  bool wide = false;  // 64 bits
};

// True for the operand codes that stand for a value: inline integers and floats, and the literal.
bool is_constant(uint16_t code);

// The value of operand code `code` read as `type`. `literal` is the instruction's literal dword.
Constant constant_value(uint16_t code, Type type, uint32_t literal);

}  // namespace morgana::isa
