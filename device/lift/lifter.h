// The lifter's own: one instruction after another into a Builder. For lift.cpp and lift_memory.cpp.
#pragma once

#include "device/lift/lift.h"
#include "device/lift/operands.h"

namespace morgana::device::lift {

class Lifter {
 public:
  Lifter(const Code& code, const LiftOptions& options);
  Function run();

 private:
  friend struct ScalarAlgebra;
  friend struct LaneAlgebra;

  bool is_vector(const isa::Inst& inst) const { return inst.row->format > isa::Format::SMEM; }
  bool keeps_half(const isa::Inst& inst) const {
    return isa::keeps_half(info(code_.target).generation, inst);
  }

  // --- Instructions ---
  void instruction(const Decoded& at);
  bool scalar_instruction(const isa::Inst& inst, const isa::Effects& effects);
  bool dual_instruction(const Decoded& at);
  bool lane_instruction(const isa::Inst& inst, const isa::Effects& effects);
  bool function_instruction(const isa::Inst& inst);
  bool access_instruction(const isa::Inst& inst, const isa::Effects& effects);
  bool scalar_load(const isa::Inst& inst);
  ValueId address_of(const isa::Inst& inst);
  void call(const isa::Inst& inst, const isa::Effects& effects);
  void add_reads(const isa::Inst& inst, const isa::Effects& effects, Value& call);
  void add_writes(const isa::Inst& inst, const isa::Effects& effects, Value& call) const;

  // --- Blocks ---
  void run_block(const Run& run);
  void end_block(const Run& run, const Decoded& last);
  ValueId exit_value(ValueId callee = kNoValue);

  const Code& code_;
  const LiftOptions options_;
  const Named named_;
  Builder builder_;
  Operands operands_;
  std::vector<uint32_t> block_of_;  // by run
};

}  // namespace morgana::device::lift
