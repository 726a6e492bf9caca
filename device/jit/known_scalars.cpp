#include "device/jit/known_scalars.h"

#include "device/isa/constants.h"

namespace morgana::device::jit {

std::optional<isa::Number> KnownScalars::operand(const isa::Inst& inst, int s) const {
  const isa::Operand& operand = inst.src[s];
  const int width = 32 * operand.dwords;
  if (isa::is_constant(operand.code)) {
    const isa::Constant value = isa::constant_value(operand.code, operand.type, inst.literal);
    return isa::number_of(value.low | uint64_t{value.high} << 32, width);
  }
  if (width == 64) {
    const auto value = pair(operand);
    return value ? std::optional(isa::number_of(*value, width)) : std::nullopt;
  }
  const bool is_known = operand.is_scalar() && operand.code < value_.size() && value_[operand.code];
  return is_known ? std::optional(isa::number_of(*value_[operand.code], width)) : std::nullopt;
}

std::optional<uint64_t> KnownScalars::pair(const isa::Operand& operand) const {
  if (!operand.is_scalar() || operand.code + 1u >= value_.size()) return std::nullopt;
  const auto low = value_[operand.code], high = value_[operand.code + 1];
  if (!low || !high) return std::nullopt;
  return *low | uint64_t{*high} << 32;
}

void KnownScalars::execute(const isa::Inst& inst, uint64_t next) {
  using Known = std::optional<isa::Number>;
  struct Numbers {
    const KnownScalars& known;
    const isa::Inst& inst;
    uint64_t next;
    Known result;

    Known leaf(const isa::Term& term) const {
      switch (term.fn) {
        case isa::Fn::source: return known.operand(inst, term.value);
        case isa::Fn::constant: return isa::constant_of(term);
        case isa::Fn::signed_immediate:
          return isa::number_of(static_cast<uint64_t>(int64_t{static_cast<int16_t>(inst.simm16)}), 32);
        case isa::Fn::unsigned_immediate: return isa::number_of(inst.simm16, 32);
        case isa::Fn::scc: return known.scc_ ? Known(isa::number_of(*known.scc_, 1)) : std::nullopt;
        case isa::Fn::next_pc: return isa::number_of(next, 64);
        case isa::Fn::result: return result;
        default: return std::nullopt;
      }
    }
    Known apply(isa::Fn fn, const Known* v) const {
      isa::Number numbers[3];
      for (int n = 0; n < isa::arguments(fn); n++) {
        if (!v[n]) return std::nullopt;
        numbers[n] = *v[n];
      }
      return isa::compute(fn, numbers);
    }
  };
  const isa::Effects& effects = isa::effects(inst.row->op);
  Numbers numbers{*this, inst, next, std::nullopt};
  if (effects.kind == isa::Class::scalar) numbers.result = isa::evaluate<Known>(effects.result, numbers);
  if (effects.writes & isa::kStateScc) {
    const Known scc = isa::evaluate<Known>(effects.scc, numbers);
    scc_ = scc ? std::optional(scc->bits != 0) : std::nullopt;
  }
  for (int d = 0; d < inst.n_dst; d++) {
    const isa::Operand& operand = inst.dst[d];
    if (!operand.present() || !operand.is_scalar()) continue;
    for (uint32_t i = 0; i < operand.dwords && operand.code + i < value_.size(); i++)
      value_[operand.code + i] = d == 0 && i < 2 && numbers.result
                                     ? std::optional(static_cast<uint32_t>(numbers.result->bits >> 32 * i))
                                     : std::nullopt;
  }
}

}  // namespace morgana::device::jit
