#include "device/isa/constants.h"

#include <bit>

namespace morgana::isa {
namespace {

// The inline floats: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1 / (2 pi), in every float format (CDNA4 guide 6.2 and
// Table 24).
constexpr uint32_t kFloat32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint32_t kFloat16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint64_t kFloat64[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                 0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                 0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

bool is_bf16(Type type) { return type == Type::bf16 || type == Type::pk_bf16; }

Constant wide_value(uint64_t value) {
  return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32), true};
}

Constant literal_value(Type type, uint32_t literal) {
  if (type == Type::f64) return {0, literal, true};
  if (type == Type::i64) return wide_value(static_cast<uint64_t>(int64_t{static_cast<int32_t>(literal)}));
  if (is_64_bit(type)) return {literal, 0, true};
  return {literal, literal, is_packed_32_bit(type)};
}

}  // namespace

bool is_constant(uint16_t code) {
  return is_inline_integer(code) || is_inline_float(code) || code == kLiteral;
}

Constant constant_value(uint16_t code, Type type, uint32_t literal) {
  if (code == kLiteral) return literal_value(type, literal);
  if (is_inline_integer(code)) {
    const int64_t value = inline_integer(code);
    if (is_64_bit(type)) return wide_value(static_cast<uint64_t>(value));
    return {static_cast<uint32_t>(value), static_cast<uint32_t>(value), is_packed_32_bit(type)};
  }
  const int index = code - kInlineHalf;
  if (is_64_bit(type)) return wide_value(kFloat64[index]);
  if (is_f16(type)) return {kFloat16[index], 0, false};
  // A bfloat16 constant is the rounded upper half of the f32 one; only 1 / (2 pi) has more bits, and rounds
  // up.
  if (is_bf16(type)) return {index == 8 ? 0x3e23u : kFloat32[index] >> 16, 0, false};
  return {kFloat32[index], kFloat32[index], is_packed_32_bit(type)};
}

}  // namespace morgana::isa
