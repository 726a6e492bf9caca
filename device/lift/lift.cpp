#include "device/lift/lifter.h"

#include <algorithm>

#include "device/isa/constants.h"
#include "device/isa/dual.h"

namespace morgana::device::lift {

using isa::Class;
using isa::Control;
using isa::Effects;
using isa::Fn;
using isa::Inst;
using isa::Operand;

namespace {

// An operand that is a register of the wave or a constant. Others are read and written by the interpreter.
bool is_plain(const Operand& operand) {
  if (!operand.present() || !operand.is_scalar()) return true;
  if (operand.code < isa::kRegisterEnd) return !isa::is_trap_register(operand.code);
  return isa::is_constant(operand.code) || isa::is_aperture(operand.code) || operand.code == isa::kSrcVccz ||
         operand.code == isa::kSrcExecz || operand.code == isa::kSrcScc;
}
bool are_plain(const Inst& inst) {
  const auto of = [](const auto& operands, int count) {
    return std::all_of(operands.begin(), operands.begin() + count, is_plain);
  };
  return of(inst.src, inst.n_src) && of(inst.dst, inst.n_dst);
}
bool has_modifiers(const Inst& inst) {
  return inst.sdwa || inst.dpp || inst.clamp || inst.omod || inst.neg || inst.abs || inst.op_sel;
}

}  // namespace

// --- Expressions ---

// For the wave. The fields of both: what is known when the expression is evaluated.
struct ScalarAlgebra {
  Lifter& lifter;
  const Inst& inst;
  ValueId result = kNoValue;
  bool of_masks = false;  // constants are compared with masks

  Builder& builder() const { return lifter.builder_; }
  ValueId leaf(const isa::Term& term) const {
    switch (term.fn) {
      case Fn::source: return lifter.operands_.scalar(inst, term.value);
      case Fn::constant:
        return builder().constant(term.value, !term.wide  ? Kind::s32
                                              : !of_masks ? Kind::s64
                                                          : builder().mask_number());
      case Fn::signed_immediate: return builder().constant(static_cast<int16_t>(inst.simm16), Kind::s32);
      case Fn::unsigned_immediate: return builder().constant(inst.simm16, Kind::s32);
      case Fn::scc: return builder().read(kScc);
      case Fn::vcc: return builder().read_mask(isa::kVccLo);
      case Fn::exec: return builder().read_mask(isa::kExecLo);
      case Fn::old: return builder().read(inst.dst[0].code, inst.dst[0].dwords == 2);
      default: return result;
    }
  }
  ValueId apply(Fn fn, const ValueId* v) const { return compute(builder(), fn, v, false); }

  static ValueId compute(Builder& builder, Fn fn, const ValueId* v, bool lanes) {
    if (fn == Fn::to_64 && bits_of(builder.kind(v[0])) == 64) return v[0];
    const int n = isa::arguments(fn);
    const int second = n > 1 ? bits_of(builder.kind(v[1])) : 0;
    const int bits = isa::width_of(fn, bits_of(builder.kind(v[0])), second);
    return builder.compute(fn, kind_of(bits, lanes), {v, v + n});
  }
};

// Lane by lane.
struct LaneAlgebra {
  Lifter& lifter;
  const Inst& inst;
  ValueId result = kNoValue;

  ValueId leaf(const isa::Term& term) const {
    Builder& builder = lifter.builder_;
    if (term.fn == Fn::source)
      return inst.src[static_cast<unsigned>(term.value)].type == isa::Type::mask
                 ? lifter.operands_.mask_operand(inst, term.value)
                 : lifter.operands_.lanes(inst, term.value);
    if (term.fn == Fn::constant)
      return lifter.operands_.splat(builder.constant(term.value, term.wide ? Kind::s64 : Kind::s32));
    return result;
  }
  ValueId apply(Fn fn, const ValueId* v) const {
    return ScalarAlgebra::compute(lifter.builder_, fn, v, true);
  }
};

Lifter::Lifter(const Code& code, const LiftOptions& options)
    : code_(code),
      options_(options),
      named_(find_registers(code, options.acc_base)),
      builder_(static_cast<int>(code.wave), named_.pairs),
      operands_(builder_, options.acc_base) {}

// --- Instructions ---

void Lifter::instruction(const Decoded& at) {
  builder_.set_pc(at.pc);
  if (at.inst.second != nullptr && dual_instruction(at)) return;
  const Inst& inst = at.inst;
  const bool is_wave32 = code_.wave == WaveSize::wave32;
  const isa::Op op = is_wave32 ? isa::of_whole_mask(inst.row->op) : inst.row->op;
  const Effects& effects = isa::effects(op);
  if (effects.kind == Class::nothing) return;
  if (inst.second == nullptr && are_plain(inst)) {
    switch (effects.kind) {
      case Class::scalar:
        // What has 64 lanes in its name.
        if (is_wave32 && op == inst.row->op &&
            ((effects.reads | effects.writes) & (isa::kStateExec | isa::kStateVcc)))
          break;
        if (scalar_instruction(inst, effects)) return;
        break;
      case Class::lanes:
        if (lane_instruction(inst, effects) || function_instruction(inst)) return;
        break;
      case Class::position:
        if (function_instruction(inst)) return;
        break;
      case Class::access:
        if (access_instruction(inst, effects)) return;
        break;
      default: break;
    }
  }
  call(inst, effects);
}

bool Lifter::scalar_instruction(const Inst& inst, const Effects& effects) {
  const bool is_function = effects.result.empty() ? inst.n_dst > 0 : effects.result.has(Fn::next_pc);
  if ((effects.writes & isa::kStateScc) && effects.scc.empty()) return false;
  if (is_function && !is_register(inst.dst[0])) return false;
  // The destination may be EXEC or a half of it, which is written as well.
  if (!effects.exec.empty() && inst.dst[0].code >= isa::kExecLo) return false;
  ScalarAlgebra algebra{*this, inst, kNoValue, !effects.exec.empty()};
  if (effects.result.has(Fn::next_pc) && options_.address) {
    const uint64_t next = *options_.address + builder_.pc() + inst.size;
    algebra.result = builder_.constant(static_cast<int64_t>(next), Kind::s64);
  } else if (is_function) {
    Value function;
    function.operation = Operation::function, function.op = inst.row->op;
    function.kind = inst.dst[0].dwords == 2 ? Kind::s64 : Kind::s32;
    for (int s = 0; s < inst.n_src; s++) function.arguments.push_back(operands_.scalar(inst, s));
    algebra.result = builder_.add(std::move(function));
  } else if (!effects.result.empty()) {
    algebra.result = isa::evaluate<ValueId>(effects.result, algebra);
  }
  const ValueId scc = effects.scc.empty() ? kNoValue : isa::evaluate<ValueId>(effects.scc, algebra);
  const ValueId exec = effects.exec.empty() ? kNoValue : isa::evaluate<ValueId>(effects.exec, algebra);
  if (algebra.result != kNoValue) operands_.set_scalar(inst.dst[0], algebra.result);
  if (exec != kNoValue) builder_.write_mask(isa::kExecLo, exec);
  if (scc != kNoValue) builder_.write(kScc, scc);
  return true;
}

// A VOPD, as its two instructions: the second at the second dword. False: the interpreter's.
bool Lifter::dual_instruction(const Decoded& at) {
  const auto halves = isa::halves(at.inst);
  if (!halves) return false;
  const auto is_ours = [](const Inst& half) {
    return isa::effects(half.row->op).kind == Class::lanes && are_plain(half) && half.dst[0].dwords == 1;
  };
  if (!is_ours((*halves)[0]) || !is_ours((*halves)[1])) return false;
  for (const uint32_t k : {0u, 1u}) {
    const Inst& half = (*halves)[k];
    builder_.set_pc(at.pc + 4 * k);
    if (!lane_instruction(half, isa::effects(half.row->op))) function_instruction(half);
  }
  return true;
}

bool Lifter::lane_instruction(const Inst& inst, const Effects& effects) {
  if (effects.result.empty() || has_modifiers(inst) || keeps_half(inst)) return false;
  // A mask in a vector register is no mask.
  for (int s = 0; s < inst.n_src; s++)
    if (inst.src[s].type == isa::Type::mask && !inst.src[s].is_scalar()) return false;
  const bool has_second = inst.n_dst > 1 && inst.dst[1].present();
  if (has_second && effects.second.empty()) return false;
  LaneAlgebra algebra{*this, inst};
  algebra.result = isa::evaluate<ValueId>(effects.result, algebra);
  const ValueId second = has_second ? isa::evaluate<ValueId>(effects.second, algebra) : kNoValue;
  if (inst.dst[0].is_scalar())
    operands_.set_mask(inst.dst[0], algebra.result, (inst.row->flags & isa::kWritesExec) != 0);
  else
    operands_.set_lanes(operands_.place(inst.dst[0]), algebra.result, inst.dst[0].dwords == 2);
  if (second == kNoValue) return true;
  if (inst.dst[1].is_scalar())
    operands_.set_mask(inst.dst[1], second, false);
  else
    operands_.set_lanes(operands_.place(inst.dst[1]), second, inst.dst[1].dwords == 2);
  return true;
}

// What a lane computes, without a rule: as long as it is all of its destination.
bool Lifter::function_instruction(const Inst& inst) {
  if (inst.sdwa || inst.dpp || (inst.op_sel & 8) || inst.n_dst == 0 || keeps_half(inst)) return false;
  const Operand& to = inst.dst[0];
  const bool has_second = inst.n_dst > 1 && inst.dst[1].present();
  const bool is_mask = to.is_scalar();
  if (to.dwords > 2 || (is_mask && to.type != isa::Type::mask)) return false;
  if (has_second && (is_mask || inst.dst[1].type != isa::Type::mask)) return false;
  for (int s = 0; s < inst.n_src; s++) {
    if (!inst.src[s].present() || inst.src[s].dwords > 2) return false;
    if (inst.src[s].type == isa::Type::mask && !inst.src[s].is_scalar()) return false;
  }
  Value function;
  function.operation = Operation::function, function.op = inst.row->op;
  function.kind = is_mask ? Kind::mask : kind_of(32 * to.dwords, true);
  for (int s = 0; s < inst.n_src; s++)
    function.arguments.push_back(inst.src[s].type == isa::Type::mask ? operands_.mask_operand(inst, s)
                                                                     : operands_.lanes(inst, s));
  const ValueId value = builder_.add(std::move(function));
  if (is_mask) {
    operands_.set_mask(to, value, (inst.row->flags & isa::kWritesExec) != 0);
    return true;
  }
  const ValueId second = has_second ? builder_.part(value, 1, Kind::mask) : kNoValue;
  operands_.set_lanes(operands_.place(to), value, to.dwords == 2);
  if (has_second) operands_.set_mask(inst.dst[1], second, false);
  return true;
}

// --- Blocks ---

ValueId Lifter::exit_value(ValueId callee) {
  Value exit;
  exit.operation = Operation::exit, exit.kind = Kind::exit;
  for (const Register code : named_.registers) {
    exit.registers.push_back(code);
    exit.arguments.push_back(builder_.read(code, named_.pairs.test(code)));
  }
  exit.registers.push_back(kMemory);
  exit.arguments.push_back(builder_.read(kMemory));
  if (callee != kNoValue) exit.registers.push_back(kCallee), exit.arguments.push_back(callee);
  return builder_.add(std::move(exit));
}

void Lifter::end_block(const Run& run, const Decoded& last) {
  const Effects& effects = isa::effects(last.inst.row->op);
  builder_.set_pc(last.pc);
  const auto leave_at = [&](uint32_t pc) {
    builder_.block().ending = Ending::leave;
    builder_.block().end_pc = pc;
    builder_.block().value = exit_value();
  };
  // Where the code goes on, as a block; what is not known leaves there.
  const auto way = [&](uint32_t to, uint32_t pc, uint32_t from) {
    if (to != Run::kNowhere) return block_of_[to];
    const uint32_t out = builder_.add_block(pc, false);
    builder_.set_block(out);
    leave_at(pc);
    builder_.set_block(from);
    return out;
  };
  const uint32_t here = block_of_[static_cast<size_t>(&run - code_.runs.data())];
  const uint32_t target =
      last.next() + static_cast<uint32_t>(4 * int32_t{static_cast<int16_t>(last.inst.simm16)});
  const auto finish = [&](Ending ending, ValueId value, const std::vector<uint32_t>& ways) {
    Block& block_now = builder_.block();
    block_now.ending = ending, block_now.end_pc = last.pc, block_now.value = value;
    for (const uint32_t to : ways) block_now.edges.push_back({to, {}});
  };
  switch (effects.control) {
    case Control::branch: {
      const ValueId condition =
          isa::evaluate<ValueId>(effects.condition, ScalarAlgebra{*this, last.inst, kNoValue, true});
      const uint32_t taken = way(run.target, target, here), other = way(run.next, last.next(), here);
      return finish(Ending::branch, condition, {taken, other});
    }
    case Control::jump: return finish(Ending::jump, kNoValue, {way(run.target, target, here)});
    case Control::none:
    case Control::sleep: return finish(Ending::jump, kNoValue, {way(run.next, last.next(), here)});
    case Control::barrier: return finish(Ending::barrier, kNoValue, {way(run.next, last.next(), here)});
    case Control::call:
    case Control::swap_pc: {
      const bool by_register = effects.control == Control::swap_pc;
      const ValueId exit = exit_value(by_register ? operands_.scalar(last.inst, 0) : kNoValue);
      const uint32_t to = way(run.next, last.next(), here), entry = builder_.add_block(last.next(), true);
      builder_.set_block(entry);
      finish(Ending::jump, kNoValue, {to});
      builder_.block().end_pc = last.next();
      builder_.set_block(here);
      return finish(Ending::call, exit, {entry});
    }
    case Control::end: {
      Value memory;
      memory.operation = Operation::exit, memory.kind = Kind::exit;
      memory.registers = {kMemory}, memory.arguments = {builder_.read(kMemory)};
      return finish(Ending::end, options_.observe_everything ? exit_value() : builder_.add(memory), {});
    }
    case Control::set_pc:
    case Control::leave: return leave_at(last.pc);
  }
}

void Lifter::run_block(const Run& run) {
  builder_.set_block(block_of_[static_cast<size_t>(&run - code_.runs.data())]);
  for (uint32_t i = run.first; i < run.first + run.count; i++) {
    const Decoded& at = code_.instructions[i];
    if (isa::effects(at.inst.row->op).kind != Class::control) instruction(at);
  }
  end_block(run, code_.instructions[run.first + run.count - 1]);
}

Function Lifter::run() {
  const uint32_t entry = builder_.add_block(code_.runs[code_.entry].pc, true);
  for (const Run& run : code_.runs) block_of_.push_back(builder_.add_block(run.pc, false));
  builder_.set_block(entry);
  builder_.block().ending = Ending::jump;
  builder_.block().end_pc = builder_.block().pc;
  builder_.block().edges.push_back({block_of_[code_.entry], {}});
  for (const Run& run : code_.runs) run_block(run);
  return builder_.finish();
}

Function lift(const Code& code, const LiftOptions& options) { return Lifter(code, options).run(); }

}  // namespace morgana::device::lift
