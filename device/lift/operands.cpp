#include "device/lift/operands.h"

#include <algorithm>

#include "device/apertures.h"
#include "device/isa/constants.h"

namespace morgana::device::lift {

using isa::Fn;
using isa::Inst;
using isa::Operand;

Register place_of(const isa::Operand& operand, uint32_t acc_base) {
  if (!operand.is_agpr()) return operand.code;
  return static_cast<Register>(kVector + acc_base + operand.code - isa::kAgprBase);
}

Named find_registers(const Code& code, uint32_t acc_base) {
  Named found;
  std::bitset<kRegisters> named;
  std::vector<int> uses(kRegisters);
  const auto note = [&](const Operand& operand) {
    if (!is_register(operand)) return;
    const Register first = place_of(operand, acc_base);
    for (unsigned d = 0; d < operand.dwords && first + d < kRegisters; d++) named.set(first + d);
    if (operand.dwords == 2) uses[first]++;
  };
  for (const Decoded& at : code.instructions) {
    for (int s = 0; s < at.inst.n_src; s++) note(at.inst.src[s]);
    for (int d = 0; d < at.inst.n_dst; d++) note(at.inst.dst[d]);
  }
  for (const Register mask : {isa::kVccLo, isa::kExecLo}) {
    named.set(mask), named.set(mask + 1u);
    if (code.wave == WaveSize::wave64) uses[mask] = 1 << 30;
  }
  named.set(kScc);
  // Those that are used most often first; none overlap.
  std::vector<Register> order;
  for (unsigned at = 0; at + 1 < kRegisters; at++)
    if (uses[at] > 0) order.push_back(static_cast<Register>(at));
  std::sort(order.begin(), order.end(),
            [&](Register a, Register b) { return uses[a] != uses[b] ? uses[a] > uses[b] : a < b; });
  for (const Register at : order)
    if (!found.pairs.test(at) && !found.pairs.test(at + 1u) && (at == 0 || !found.pairs.test(at - 1u)))
      found.pairs.set(at);
  for (unsigned at = 0; at < kRegisters; at++)
    if (named.test(at) && (at == 0 || !found.pairs.test(at - 1)))
      found.registers.push_back(static_cast<Register>(at));
  return found;
}

ValueId Operands::scalar(const Inst& inst, int s) {
  const Operand& operand = inst.src[static_cast<unsigned>(s)];
  const bool wide =
      operand.type == isa::Type::mask ? builder_.mask_number() == Kind::s64 : operand.dwords == 2;
  if (is_register(operand)) return builder_.read(operand.code, wide);
  if (operand.code == isa::kNull) return builder_.constant(0, wide ? Kind::s64 : Kind::s32);
  if (isa::is_constant(operand.code)) {
    const isa::Constant value = isa::constant_value(operand.code, operand.type, inst.literal);
    const uint64_t number = value.low | (wide ? uint64_t{value.high} << 32 : 0);
    return builder_.constant(static_cast<int64_t>(number), wide ? Kind::s64 : Kind::s32);
  }
  if (isa::is_aperture(operand.code)) {
    return builder_.constant(static_cast<int64_t>(aperture_value(operand.code)),
                             wide ? Kind::s64 : Kind::s32);
  }
  const ValueId bit = special(operand.code);
  return wide ? builder_.compute(Fn::to_64, Kind::s64, {builder_.compute(Fn::to_32, Kind::s32, {bit})})
              : builder_.compute(Fn::to_32, Kind::s32, {bit});
}

// SCC, VCCZ, EXECZ.
ValueId Operands::special(Register code) {
  if (code == isa::kSrcScc) return builder_.read(kScc);
  const ValueId mask = builder_.read_mask(code == isa::kSrcVccz ? isa::kVccLo : isa::kExecLo);
  return builder_.compute(Fn::equal, Kind::bit, {mask, builder_.constant(0, builder_.mask_number())});
}

ValueId Operands::splat(ValueId value) {
  return builder_.convert(Operation::splat, kind_of(bits_of(builder_.kind(value)), true), value);
}

ValueId Operands::lanes(const Inst& inst, int s) {
  const Operand& operand = inst.src[static_cast<unsigned>(s)];
  if (operand.is_scalar()) return splat(scalar(inst, s));
  return builder_.read(place(operand), operand.dwords == 2);
}

ValueId Operands::mask_operand(const Inst& inst, int s) {
  return builder_.convert(Operation::mask, Kind::mask, scalar(inst, s));
}

ValueId Operands::exec_mask() {
  return builder_.convert(Operation::mask, Kind::mask, builder_.read_mask(isa::kExecLo));
}

void Operands::set_scalar(const Operand& to, ValueId value) {
  if (is_register(to)) builder_.write(to.code, value, to.dwords == 2);
}

void Operands::set_lanes(Register code, ValueId value, bool pair) {
  Value merge;
  merge.operation = Operation::merge, merge.kind = builder_.kind(value);
  const ValueId mask = exec_mask(), old = builder_.read(code, pair);
  merge.arguments = {mask, value, old};
  builder_.write(code, builder_.add(std::move(merge)), pair);
}

// Lanes that are not active get 0.
void Operands::set_mask(const Operand& to, ValueId mask, bool writes_exec) {
  const ValueId active = builder_.compute(Fn::bit_and, Kind::mask, {mask, exec_mask()});
  const ValueId bits = builder_.convert(Operation::bits, builder_.mask_number(), active);
  if (is_register(to)) builder_.write_mask(to.code, bits);
  if (writes_exec) builder_.write_mask(isa::kExecLo, bits);
}

}  // namespace morgana::device::lift
