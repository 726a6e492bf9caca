// The operands of instructions as values: registers, constants, masks; and what is written to them.
#pragma once

#include "device/lift/builder.h"
#include "device/lift/code.h"

namespace morgana::device::lift {

Register place_of(const isa::Operand& operand, uint32_t acc_base);
// A register that keeps what is written to it.
inline bool is_register(const isa::Operand& operand) {
  return operand.present() &&
         (!operand.is_scalar() || (operand.code < isa::kRegisterEnd && operand.code != isa::kNull));
}

// The registers that code names: pairs by their lower one, which is in `pairs`, too.
struct Named {
  std::vector<Register> registers;
  PairSet pairs;
};
Named find_registers(const Code& code, uint32_t acc_base);

class Operands {
 public:
  Operands(Builder& builder, uint32_t acc_base) : builder_(builder), acc_base_(acc_base) {}

  Register place(const isa::Operand& operand) const { return place_of(operand, acc_base_); }
  // A scalar operand's number, of 32 or 64 bits.
  ValueId scalar(const isa::Inst& inst, int s);
  // One number a lane.
  ValueId lanes(const isa::Inst& inst, int s);
  ValueId mask_operand(const isa::Inst& inst, int s);
  ValueId exec_mask();
  ValueId splat(ValueId value);
  void set_scalar(const isa::Operand& to, ValueId value);
  // Under EXEC.
  void set_lanes(Register code, ValueId value, bool pair);
  void set_mask(const isa::Operand& to, ValueId mask, bool writes_exec);

 private:
  ValueId special(Register code);

  Builder& builder_;
  const uint32_t acc_base_;
};

}  // namespace morgana::device::lift
