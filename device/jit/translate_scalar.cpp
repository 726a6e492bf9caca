// Scalar instructions, branches and scalar loads.
#include "device/apertures.h"
#include "device/interp/code.h"
#include "device/interp/vector_op.h"
#include "device/isa/constants.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
using isa::Op;

// Source `source` as an i32 or (two dwords) an i64.
llvm::Value* Translator::scalar_source(const Instruction& i, int source, int dwords) {
  const isa::Inst& inst = *i.step->inst;
  const isa::Operand& operand = inst.src[source];
  const auto constant = [&](uint64_t value) -> Value* {
    return dwords == 2 ? b_.getInt64(value) : b_.getInt32(static_cast<uint32_t>(value));
  };
  const auto widened = [&](Value* value) { return b_.CreateZExt(value, dwords == 2 ? i64_ : i32_); };
  const unsigned code = operand.code;
  if (code == isa::kNull) return constant(0);
  if (isa::is_constant(operand.code)) {
    const isa::Constant value = isa::constant_value(operand.code, operand.type, inst.literal);
    return constant(value.low | uint64_t{value.high} << 32);
  }
  if (i.step->kind[source] == Source::special || code >= isa::kRegisterEnd) {
    switch (code) {
      case isa::kSrcVccz: return widened(b_.CreateICmpEQ(whole_vcc(), b_.getInt64(0)));
      case isa::kSrcExecz: return widened(b_.CreateICmpEQ(exec(), b_.getInt64(0)));
      case isa::kSrcScc: return widened(b_.CreateLoad(i32_, scc_));
      default: break;
    }
    // The TTMPs that tell a wave of gfx12 its group.
    if (group_x_ && dwords == 1 && code == isa::kTtmpGroupX) return group_x_;
    if (group_yz_ && dwords == 1 && code == isa::kTtmpGroupYZ) return group_yz_;
    if (isa::is_trap_register(code) && target_.generation >= Generation::gfx12)
      return b_.CreateAlignedLoad(dwords == 2 ? i64_ : i32_, wave_s(code), llvm::Align(4));
    return constant(isa::is_aperture(code) ? aperture_value(code) : 0);
  }
  return dwords == 2 ? s64(code) : s32(code);
}

llvm::Value* Translator::mask_source(const Instruction& i, int source) {
  const isa::Operand& operand = i.step->inst->src[source];
  const bool is_kept = operand.code < isa::kRegisterEnd && (masks_[operand.code] || is_bit(operand.code));
  return is_kept ? mask(operand.code)
                 : b_.CreateZExt(scalar_source(i, source, static_cast<int>(flow_.mask_dwords())), i64_);
}

llvm::Value* Translator::carry_source(const Instruction& i, int source) {
  const auto carry = carries_.find(i.step->inst->src[source].code);
  const bool is_kept = i.step->inst->row->op == isa::Op::v_addc_co_u32 && carry != carries_.end();
  return is_kept ? carry->second.bits : mask_source(i, source);
}

// Calls the function of the instruction; the result is where a ScalarResult lies.
llvm::Value* Translator::scalar_call(const Instruction& i, Value* const* sources) {
  llvm::AllocaInst* arguments = temporary(llvm::ArrayType::get(i64_, 4));
  llvm::AllocaInst* result = temporary(llvm::ArrayType::get(i64_, 2));
  for (unsigned a = 0; a < 4; a++)
    if (sources[a]) b_.CreateStore(sources[a], field(arguments, a * 8));
  Value* immediate =
      b_.getInt32(static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(i.step->inst->simm16))));
  call_library(i.scalar->run, {arguments, b_.CreateLoad(i32_, scc_), immediate, result});
  return result;
}

// What a scalar instruction makes of masks, with bits for lanes that the wave has not (`mask`); nullptr: it
// is none of those that do.
llvm::Value* Translator::mask_result(const Instruction& i) {
  const isa::Expression& result = effects_of(i).result;
  if (!is_bitwise(result)) return nullptr;
  struct Masks {
    Translator& translator;
    const Instruction& i;
    Value* leaf(const isa::Term& term) const {
      return translator.mask_source(i, static_cast<int>(term.value));
    }
    Value* apply(isa::Fn fn, Value* const* v) const {
      llvm::IRBuilder<>& b = translator.b_;
      switch (fn) {
        case isa::Fn::invert: return b.CreateNot(v[0]);
        case isa::Fn::bit_and: return b.CreateAnd(v[0], v[1]);
        case isa::Fn::bit_or: return b.CreateOr(v[0], v[1]);
        default: return b.CreateXor(v[0], v[1]);
      }
    }
  };
  return isa::evaluate<Value*>(result, Masks{*this, i});
}

void Translator::scalar(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  // Nobody reads SCC then.
  if (is_wave32() && inst.n_dst > 0 && is_bit(inst.dst[0].code))
    return set_mask(inst.dst[0].code, mask_result(i));
  Value* sources[4] = {};
  int next = 0;
  for (int a = 0; a < i.scalar->count; a++) {
    const ScalarArgument kind = i.scalar->argument[a];
    if (kind != ScalarArgument::b32 && kind != ScalarArgument::b64) continue;
    Value* value = scalar_source(i, next, kind == ScalarArgument::b64 ? 2 : 1);
    sources[next++] = b_.CreateZExt(value, i64_);
  }
  Value* result = scalar_call(i, sources);
  const unsigned written = i.scalar->dst_dwords == 1 ? inst.dst[0].code : isa::kRegisterEnd;
  Value* const as_mask = written < isa::kRegisterEnd && masks_[written] ? mask_result(i) : nullptr;
  if (i.scalar->dst_dwords != 0) {
    const unsigned code = inst.dst[0].code;
    const bool wide = i.scalar->dst_dwords == 2;
    Value* value = b_.CreateLoad(wide ? i64_ : i32_, result);
    if (i.scalar->conditional) {
      Value* write =
          b_.CreateICmpNE(b_.CreateLoad(i32_, field(result, offsetof(ScalarResult, write))), b_.getInt32(0));
      value = b_.CreateSelect(write, value, wide ? s64(code) : s32(code));
    }
    if (wide)
      set_s64(code, value);
    else
      set_s32(code, value);
  }
  if (as_mask) b_.CreateStore(as_mask, masks_[written]);
  if (i.scalar->writes_scc)
    b_.CreateStore(b_.CreateLoad(i32_, field(result, offsetof(ScalarResult, scc))), scc_);
}

void Translator::scalar_float(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const VectorFunction& f = *i.of_lane;
  llvm::AllocaInst* values = temporary(llvm::ArrayType::get(i8_, sizeof(Values)));
  b_.CreateStore(mode_, field(values, offsetof(Values, mode)));
  for (int s = 0; s < f.n_src; s++) {
    Value* number = scalar_source(i, s, 1);
    if (inst.row->op == Op::s_cvt_hi_f32_f16) number = b_.CreateLShr(number, 16);
    llvm::AllocaInst* operand = temporary(lanes_);
    b_.CreateAlignedStore(splat(number), operand, llvm::Align(256));
    b_.CreateStore(operand, field(values, offsetof(Values, src) + sizeof(void*) * static_cast<unsigned>(s)));
  }
  llvm::AllocaInst* result = temporary(lanes_);
  b_.CreateStore(result, field(values, offsetof(Values, dst)));
  call_library(f.compute, {values});
  if (f.dst_registers == 0) {
    Value* const bits = b_.CreateLoad(i64_, field(values, offsetof(Values, mask_out)));
    b_.CreateStore(b_.CreateZExt(first_lane(mask_lanes(bits)), i32_), scc_);
  } else {
    set_s32(inst.dst[0].code, first_lane(b_.CreateAlignedLoad(lanes_, result, llvm::Align(256))));
  }
}

// EXEC = F(S0, EXEC), SCC = EXEC != 0; the destination gets the old EXEC (saveexec) or the new one (wrexec).
void Translator::exec_op(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  Value* before = exec();
  Value* const sources[4] = {mask_source(i, 0), before, nullptr, nullptr};
  Value* after = known_lanes(b_.CreateLoad(i64_, scalar_call(i, sources)));
  const bool saves = effects_of(i).result.is_leaf(isa::Fn::exec);
  set_mask(inst.dst[0].code, saves ? before : after);
  set_mask(isa::kExecLo, after);
  b_.CreateStore(b_.CreateZExt(b_.CreateICmpNE(after, b_.getInt64(0)), i32_), scc_);
}

llvm::Value* Translator::branch_condition(const Instruction& i) {
  const isa::BranchTest test = isa::branch_test(i.step->inst->row->op);
  Value* value = test.of == isa::Fn::scc   ? b_.CreateLoad(i32_, scc_)
                 : test.of == isa::Fn::vcc ? whole_vcc()
                                           : exec();
  Value* zero = llvm::ConstantInt::get(value->getType(), 0);
  return test.nonzero ? b_.CreateICmpNE(value, zero) : b_.CreateICmpEQ(value, zero);
}

// Ends the block. What the register says is compared with whom the analysis has found.
void Translator::subroutine(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const auto go = [&](uint32_t callee) {
    set_s64(inst.dst[0].code, pc(i.at + i.step->dwords));
    Block* const end = b_.GetInsertBlock();
    Block* const to = edge(callee, i);
    b_.SetInsertPoint(end);
    b_.CreateBr(to);
  };
  if (inst.row->op != Op::s_swappc_b64) return go(i.target);
  const std::vector<uint32_t> one{i.target};
  const auto& callees = i.target == kAnyCallee ? flow_.callees : one;
  Block* const other = block("other");
  Value* const offset = b_.CreateSub(scalar_source(i, 0, 2), code_);
  llvm::SwitchInst* const whom = b_.CreateSwitch(offset, other, static_cast<unsigned>(callees.size()));
  for (const uint32_t callee : callees) {
    Block* const known = block("known");
    whom->addCase(b_.getInt64(uint64_t{callee} * 4), known);
    b_.SetInsertPoint(known);
    go(callee);
  }
  b_.SetInsertPoint(other);
  leave_to_interpreter(i);
}

// Ends the block.
void Translator::ret(const Instruction& i) {
  Block* const other = block("other");
  Value* const offset = b_.CreateSub(scalar_source(i, 0, 2), code_);
  llvm::SwitchInst* const where = b_.CreateSwitch(offset, other, static_cast<unsigned>(flow_.returns.size()));
  for (const uint32_t to : flow_.returns) where->addCase(b_.getInt64(uint64_t{to} * 4), edge(to, i));
  b_.SetInsertPoint(other);
  leave_to_interpreter(i);
}

llvm::Value* Translator::scalar_address(const Instruction& i) {
  Value* offset = b_.getInt64(static_cast<uint64_t>(int64_t{i.step->imm}));
  if (i.step->kind[1] != Source::none)
    offset = b_.CreateAdd(offset, b_.CreateZExt(scalar_source(i, 1, 1), i64_));
  return b_.CreateAnd(b_.CreateAdd(scalar_source(i, 0, 2), offset), ~uint64_t{3});
}

// What the destination's dwords get; where one is none, the one before it has both.
std::vector<llvm::Value*> Translator::load_scalars(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  Value* const address = scalar_address(i);
  if (is_noted(i)) note_step(i);
  if (looks_for_seen(i)) check_scalar(i, address);
  Value* from = b_.CreateIntToPtr(address, ptr_);
  const unsigned code = inst.dst[0].code, dwords = inst.dst[0].dwords;
  std::vector<Value*> loaded(dwords);
  for (unsigned d = 0; d < dwords;) {
    const bool pair = d + 1 < dwords && !((code + d) & 1) && flow_.wide.test(code + d);
    loaded[d] = b_.CreateAlignedLoad(pair ? i64_ : i32_, field(from, d * 4), llvm::Align(4));
    d += pair ? 2 : 1;
  }
  return loaded;
}

void Translator::scalar_load(const Instruction& i) {
  const auto known = loaded_for_all_.find(number(i));
  const std::vector<Value*> loaded = known == loaded_for_all_.end() ? load_scalars(i) : known->second;
  const unsigned code = i.step->inst->dst[0].code;
  for (unsigned d = 0; d < loaded.size(); d++) {
    if (loaded[d] == nullptr) continue;
    if (loaded[d]->getType() == i64_)
      set_s64(code + d, loaded[d]);
    else
      set_s32(code + d, loaded[d]);
  }
}

}  // namespace morgana::device::jit
