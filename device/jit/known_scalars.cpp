#include "device/jit/known_scalars.h"

#include "device/program/constants.h"

namespace morgana::device::jit {

using isa::Op;

std::optional<uint32_t> KnownScalars::source(const isa::Inst& inst, int s, uint32_t dword) const {
  const isa::Operand& operand = inst.src[s];
  if (is_constant(operand.code)) {
    const Constant value = constant_value(operand.code, operand.type, inst.literal);
    return dword == 0 ? value.low : value.high;
  }
  return operand.is_scalar() && operand.code + dword < value_.size() ? value_[operand.code + dword]
                                                                     : std::nullopt;
}

std::optional<uint64_t> KnownScalars::pair(const isa::Operand& operand) const {
  if (!operand.is_scalar() || operand.code + 1u >= value_.size()) return std::nullopt;
  const auto low = value_[operand.code], high = value_[operand.code + 1];
  if (!low || !high) return std::nullopt;
  return *low | uint64_t{*high} << 32;
}

void KnownScalars::execute(const isa::Inst& inst, uint64_t next) {
  std::optional<uint32_t> result[2];
  std::optional<bool> carry;
  switch (inst.row->op) {
    case Op::s_getpc_b64: result[0] = static_cast<uint32_t>(next), result[1] = next >> 32; break;
    case Op::s_mov_b32: result[0] = source(inst, 0, 0), carry = carry_; break;
    case Op::s_mov_b64: result[0] = source(inst, 0, 0), result[1] = source(inst, 0, 1), carry = carry_; break;
    case Op::s_add_u32:
    case Op::s_addc_u32: {
      const auto a = source(inst, 0, 0), b = source(inst, 1, 0);
      const bool adds_carry = inst.row->op == Op::s_addc_u32;
      if (!a || !b || (adds_carry && !carry_)) break;
      const uint64_t sum = uint64_t{*a} + *b + (adds_carry && *carry_);
      result[0] = static_cast<uint32_t>(sum);
      carry = sum >> 32 != 0;
      break;
    }
    default: break;
  }
  for (int d = 0; d < inst.n_dst; d++) {
    const isa::Operand& operand = inst.dst[d];
    if (!operand.present() || !operand.is_scalar()) continue;
    for (uint32_t i = 0; i < operand.dwords && operand.code + i < value_.size(); i++)
      value_[operand.code + i] = d == 0 && i < 2 ? result[i] : std::nullopt;
  }
  // Only scalar instructions write SCC; those that do not are taken for ones that do.
  carry_ = carry;
}

}  // namespace morgana::device::jit
