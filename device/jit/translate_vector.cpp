// Vector instructions: operands with their modifiers, the library's function, results.
#include <llvm/IR/MDBuilder.h>

#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "device/interp/code.h"
#include "device/interp/vector_op.h"
#include "device/isa/constants.h"
#include "device/jit/join_halves.h"
#include "device/jit/lane_values.h"
#include "device/jit/translator.h"

namespace morgana::device::jit {
namespace {

using isa::Op;
using isa::Type;

constexpr uint32_t kSign = 0x80000000u;

}  // namespace

// Dword `word` of source `source` for all lanes.
llvm::Value* Translator::vector_source(const Instruction& i, int source, int word) {
  const isa::Inst& inst = *i.step->inst;
  const isa::Operand& operand = inst.src[source];
  if (inst.dpp && source == 0) return moved_source(i, word);
  if (!operand.is_scalar()) return active_vgpr(place(operand) + static_cast<unsigned>(word));
  const int dwords = i.vector && i.vector->src_registers[source] == 2 ? 2 : 1;
  Value* value = scalar_source(i, source, dwords);
  if (dwords == 2) value = b_.CreateTrunc(word ? b_.CreateLShr(value, 32) : value, i32_);
  return splat(value);
}

// SDWA selects, then op_sel, abs and neg: device/interp/vector_modified.cpp has the same in the same order.
void Translator::apply_modifiers(const Instruction& i, int source, int registers, Value** words) {
  const isa::Inst& inst = *i.step->inst;
  const auto bit = [&](unsigned mask) { return (mask >> source & 1) != 0; };
  const Type type = inst.row->src[source];
  const bool neg = bit(inst.neg), abs = bit(inst.abs), neg_hi = bit(inst.neg_hi), op_sel = bit(inst.op_sel),
             op_sel_hi = bit(inst.op_sel_hi);
  const auto c = [&](uint32_t value) { return splat(b_.getInt32(value)); };
  if (source >= inst.n_explicit_src && (inst.op_sel & 8) && keeps_half(i)) {
    words[0] = b_.CreateLShr(words[0], c(16));  // what accumulates onto one half reads that half
    return;
  }
  if (registers > 2 || source >= inst.n_explicit_src || isa::takes_signedness(inst.row->op)) return;
  if (i.step->plain && inst.format != isa::Format::VOP3P) return;
  if (isa::is_mix(inst.row->op)) {
    llvm::AllocaInst* value = temporary(lanes_);
    b_.CreateAlignedStore(words[0], value, llvm::Align(256));
    call_library("morgana_mix_operand",
                 {mode_, b_.getInt1(neg), b_.getInt1(abs), b_.getInt1(op_sel), b_.getInt1(op_sel_hi), value});
    words[0] = b_.CreateAlignedLoad(lanes_, value, llvm::Align(256));
    return;
  }
  if (inst.sdwa && source < 2 && inst.src_sel[source] != 6) {
    const uint32_t select = inst.src_sel[source];
    const uint32_t bits = select < 4 ? 8 : 16, low = select < 4 ? 8 * select : select == 5 ? 16 : 0;
    Value* top = b_.CreateShl(words[0], c(32 - bits - low));
    words[0] = inst.sext >> source & 1 ? b_.CreateAShr(top, c(32 - bits)) : b_.CreateLShr(top, c(32 - bits));
  }
  if (is_packed_16_bit(type) && !inst.sdwa) {
    const bool vop3p = inst.format == isa::Format::VOP3P;
    const bool low_from_high = vop3p && op_sel, high_from_high = !vop3p || op_sel_hi;
    if (low_from_high || !high_from_high) {
      Value* low = low_from_high ? b_.CreateLShr(words[0], c(16)) : b_.CreateAnd(words[0], c(0xffff));
      Value* high = high_from_high ? b_.CreateAnd(words[0], c(0xffff0000)) : b_.CreateShl(words[0], c(16));
      words[0] = b_.CreateOr(low, high);
    }
    const uint32_t flip = (neg ? 0x8000u : 0) | ((vop3p ? neg_hi : abs) ? kSign : 0);
    if (flip) words[0] = b_.CreateXor(words[0], c(flip));
  } else if (is_packed_32_bit(type)) {
    Value* const pair[2] = {words[0], words[1]};
    words[0] = pair[op_sel];
    words[1] = pair[op_sel_hi];
    if (neg) words[0] = b_.CreateXor(words[0], c(kSign));
    if (neg_hi) words[1] = b_.CreateXor(words[1], c(kSign));
  } else {
    if (op_sel && is_16_bit(type)) words[0] = b_.CreateLShr(words[0], c(16));
    if (!neg && !abs) return;
    Value*& top = words[is_64_bit(type) && registers == 2];
    if (&top == words || llvm::isa<llvm::Constant>(top)) {
      const uint32_t sign = is_16_bit(type) ? 0x8000u : kSign;
      if (abs) top = b_.CreateAnd(top, c(~sign));
      if (neg) top = b_.CreateXor(top, c(sign));
      return;
    }
    // In the upper dword alone, LLVM would negate a factor of the float product that made it: a NaN then
    // keeps its sign.
    const llvm::APInt sign = llvm::APInt::getSignMask(64);
    Value* number = zipped(b_, words[0], words[1], b_.getInt64Ty());
    if (abs) number = b_.CreateAnd(number, splat(b_.getInt(~sign)));
    if (neg) number = b_.CreateXor(number, splat(b_.getInt(sign)));
    unzip(b_, number, words);
  }
}

void Translator::write_result(const Instruction& i, unsigned count, Value** words) {
  const isa::Inst& inst = *i.step->inst;
  const unsigned to = place(inst.dst[0]);
  const auto c = [&](uint32_t value) { return splat(b_.getInt32(value)); };
  if (inst.sdwa && inst.dst_sel != 6) {
    const uint32_t bits = inst.dst_sel < 4 ? 8 : 16, low = inst.dst_sel < 4    ? 8u * inst.dst_sel
                                                           : inst.dst_sel == 5 ? 16
                                                                               : 0;
    const uint32_t field_mask = ((1u << bits) - 1) << low;
    Value* placed = b_.CreateAnd(b_.CreateShl(words[0], c(low)), c(field_mask));
    if (inst.dst_unused == 1)
      placed = b_.CreateShl(b_.CreateAShr(b_.CreateShl(words[0], c(32 - bits)), c(32 - bits)), c(low));
    else if (inst.dst_unused == 2)
      placed = b_.CreateOr(b_.CreateAnd(active_vgpr(to), c(~field_mask)), placed);
    return set_vgpr(i, to, placed);
  }
  if (isa::is_mix(inst.row->op) && inst.row->dst[0] == Type::f16) {
    const bool high = inst.row->op == Op::v_fma_mixhi_f16 || inst.row->op == Op::v_mad_mixhi_f16;
    Value* kept = b_.CreateAnd(active_vgpr(to), c(high ? 0xffff : 0xffff0000));
    words[0] = b_.CreateOr(kept, high ? b_.CreateShl(words[0], c(16)) : words[0]);
  } else if (!inst.sdwa && (inst.op_sel & 8) && is_16_bit(inst.row->dst[0])) {
    words[0] = b_.CreateOr(b_.CreateShl(words[0], c(16)), b_.CreateAnd(active_vgpr(to), c(0xffff)));
  } else if (keeps_half(i)) {
    words[0] = b_.CreateOr(b_.CreateAnd(words[0], c(0xffff)), b_.CreateAnd(active_vgpr(to), c(0xffff0000)));
  }
  if (inst.dpp) keep_unmoved(i, count, words);
  for (unsigned r = 0; r < count; r++) set_vgpr(i, to + r, words[r]);
}

// The last instruction of a whole division: the steps before it are left without users.
void Translator::division(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const bool wide = inst.dst[0].dwords == 2;
  const auto source = [&](int s) -> Value* {
    Value* value = vector_source(i, s, 0);
    if (wide) return zipped(b_, value, vector_source(i, s, 1), b_.getDoubleTy());
    return b_.CreateBitCast(value, llvm::FixedVectorType::get(b_.getFloatTy(), kLanes));
  };
  Value* quotient = b_.CreateFDiv(source(2), source(1));
  Value* words[2] = {nullptr, nullptr};
  if (wide)
    unzip(b_, quotient, words);
  else
    words[0] = b_.CreateBitCast(quotient, lanes_);
  write_result(i, wide ? 2 : 1, words);
}

// By the first and the last lane, when the lanes between them can only do the same.
bool Translator::compare_ends(const Instruction& i) {
  const RisingComparison* rising = shapes_.rising_comparison(number(i), version_);
  if (rising == nullptr || !is_full() || is_serial_) return false;
  const auto lane = [&](int source, int l) {
    return join_dwords(b_, b_.CreateExtractElement(vector_source(i, source, 0), l),
                       b_.CreateExtractElement(vector_source(i, source, 1), l));
  };
  const bool is_signed = rising->is_signed;
  const auto predicate = [&] {
    using llvm::CmpInst;
    switch (rising->relation) {
      case RisingComparison::Relation::less: return is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
      case RisingComparison::Relation::less_or_equal:
        return is_signed ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
      case RisingComparison::Relation::greater: return is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
      default: return is_signed ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
    }
  }();
  const auto holds = [&](Value* value, Value* limit) {
    return rising->source == 0 ? b_.CreateICmp(predicate, value, limit)
                               : b_.CreateICmp(predicate, limit, value);
  };
  Value *first = lane(rising->source, 0), *last = lane(rising->source, key_.occupied - 1);
  Value* limit = lane(1 - rising->source, 0);
  Value *of_first = holds(first, limit), *of_last = holds(last, limit);
  Value* rises = is_signed ? b_.CreateICmpSLE(first, last) : b_.CreateICmpULE(first, last);
  Value* whole = b_.CreateICmpEQ(b_.CreateSub(last, first), b_.getInt64(rising->distance));
  Value* alike = b_.CreateAnd(b_.CreateAnd(rises, whole), b_.CreateICmpEQ(of_first, of_last));
  llvm::MDBuilder weights(context_);
  either(
      alike,
      [&] { set_mask(i.step->inst->dst[0].code, b_.CreateSelect(of_first, all_lanes_, b_.getInt64(0))); },
      [&] { whole_vector(i); }, weights.createLikelyBranchWeights());
  return true;
}

// One instruction of the host for any truth table, which the semantics' sums of products do not become.
bool Translator::truth_table(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  if (inst.row->op != Op::v_bitop3_b32 || level().host != HostLevel::avx512) return false;
  Value* const source[3] = {vector_source(i, 0, 0), vector_source(i, 1, 0), vector_source(i, 2, 0)};
  constexpr int kPart = 16;
  const auto row = [](int first, int count) {
    llvm::SmallVector<int, kLanes> lanes(static_cast<size_t>(count));
    std::iota(lanes.begin(), lanes.end(), first);
    return lanes;
  };
  Value* parts[kLanes / kPart];
  for (int p = 0; p < kLanes / kPart; p++) {
    Value* arguments[4] = {};
    for (int s = 0; s < 3; s++) arguments[s] = b_.CreateShuffleVector(source[s], row(p * kPart, kPart));
    arguments[3] = b_.getInt32(inst.bitop3);
    parts[p] = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_pternlog_d_512, arguments);
  }
  Value* low = b_.CreateShuffleVector(parts[0], parts[1], row(0, 2 * kPart));
  Value* high = b_.CreateShuffleVector(parts[2], parts[3], row(0, 2 * kPart));
  Value* words[1] = {b_.CreateShuffleVector(low, high, row(0, kLanes))};
  write_result(i, 1, words);
  return true;
}

// By a power of two that is a number of the format: a product rounds once, too.
bool Translator::scale_by_constant(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  if (inst.row->op != Op::v_ldexp_f64 || inst.dpp || inst.sdwa || inst.omod || inst.clamp ||
      !inst.src[1].is_scalar())
    return false;
  constexpr int64_t kLargest = 1022;
  const auto* const power = llvm::dyn_cast<llvm::ConstantInt>(scalar_source(i, 1, 1));
  if (power == nullptr || power->isZero() || std::abs(power->getSExtValue()) > kLargest) return false;
  Value* words[2] = {vector_source(i, 0, 0), vector_source(i, 0, 1)};
  apply_modifiers(i, 0, 2, words);
  Value* const factor =
      llvm::ConstantFP::get(b_.getDoubleTy(), std::ldexp(1.0, static_cast<int>(power->getSExtValue())));
  unzip(b_, b_.CreateFMul(zipped(b_, words[0], words[1], b_.getDoubleTy()), splat(factor)), words);
  write_result(i, 2, words);
  return true;
}

// Tells the passes how the lanes of an index rise, before it becomes one of 64 bits: without that every lane
// that is asked for is computed from the beginning.
void Translator::note_rising(const Instruction& i) {
  const Rising* const known = is_serial_ ? nullptr : shapes_.rising(number(i), version_);
  if (known == nullptr || homes_.test(known->place)) return;
  const unsigned from = known->place;
  const Shape& shape = known->shape;
  std::vector<uint32_t> above(kLanes);
  for (unsigned l = 0; l < kLanes; l++) above[l] = shape.lane[l] - shape.lane[l / shape.group * shape.group];
  const llvm::FunctionCallee rising =
      module_.getOrInsertFunction(kRising, llvm::FunctionType::get(lanes_, {lanes_, lanes_, i32_}, false));
  Value* const index = call_marker(
      rising, {active_vgpr(from), llvm::ConstantDataVector::get(context_, above), b_.getInt32(shape.group)});
  if (unmasked_[from])
    unmasked_[from] = index;
  else
    put_vgpr(from, index);
}

void Translator::vector(const Instruction& i) {
  if (i.divides) return division(i);
  note_rising(i);
  if (truth_table(i) || scale_by_constant(i)) return;
  note_index(i);
  if (!compare_ends(i)) whole_vector(i);
}

void Translator::whole_vector(const Instruction& i) {
  const isa::Inst& inst = *i.step->inst;
  const VectorFunction& f = *i.vector;
  llvm::AllocaInst* values = temporary(llvm::ArrayType::get(i8_, sizeof(Values)));
  b_.CreateStore(mode_, field(values, offsetof(Values, mode)));
  const uint32_t immediate = isa::takes_signedness(inst.row->op) ? inst.neg : inst.bitop3;
  b_.CreateStore(b_.getInt32(immediate), field(values, offsetof(Values, immediate)));
  for (int s = 0; s < f.n_src; s++) {
    const int registers = f.src_registers[s];
    if (registers == 0) {
      if (i.step->kind[s] != Source::none)
        b_.CreateStore(carry_source(i, s), field(values, offsetof(Values, mask_in)));
      continue;
    }
    Value* words[4];
    for (int r = 0; r < registers; r++) words[r] = vector_source(i, s, r);
    apply_modifiers(i, s, registers, words);
    llvm::AllocaInst* operand = temporary(llvm::ArrayType::get(lanes_, static_cast<unsigned>(registers)));
    for (int r = 0; r < registers; r++)
      b_.CreateAlignedStore(words[r], field(operand, static_cast<unsigned>(r) * kLanes * 4),
                            llvm::Align(256));
    b_.CreateStore(operand, field(values, offsetof(Values, src) + sizeof(void*) * static_cast<unsigned>(s)));
  }
  const unsigned results = f.dst_registers;
  llvm::AllocaInst* result = temporary(llvm::ArrayType::get(lanes_, results ? results : 1));
  b_.CreateStore(result, field(values, offsetof(Values, dst)));
  call_library(inst.clamp && !f.clamped.empty() ? f.clamped : f.compute, {values});
  if (inst.omod || inst.clamp) {
    const Type type = inst.row->dst[0];
    const bool is_pair = type == Type::pk_f32 && inst.row->format == isa::Format::VOP3P;
    const char* finish = type == Type::f32 || is_pair ? "morgana_finish_f32"
                         : type == Type::f64          ? "morgana_finish_f64"
                                                      : nullptr;
    for (unsigned r = 0; finish && r < (is_pair ? 2 : 1); r++)
      call_library(finish,
                   {mode_, b_.getInt32(inst.omod), b_.getInt32(inst.clamp), field(result, r * kLanes * 4)});
  }
  if (results) {
    Value* words[4];
    for (unsigned r = 0; r < results; r++)
      words[r] = b_.CreateAlignedLoad(lanes_, field(result, r * kLanes * 4), llvm::Align(256));
    write_result(i, results, words);
  }
  if (f.writes_mask) {
    Value *const all = b_.CreateLoad(i64_, field(values, offsetof(Values, mask_out))), *bits = all;
    if (is_serial_)
      bits = b_.CreateSExt(first_lane(mask_lanes(bits)), i64_);
    else if (!is_full() || is_narrow())
      bits = b_.CreateAnd(bits, exec());
    const unsigned code = results ? inst.dst[1].code : inst.dst[0].code;
    if (code < isa::kRegisterEnd) {
      set_mask(code, bits);
      if (inst.row->op == Op::v_add_co_u32 && !is_serial_ && !is_full()) carries_[code] = {&i, all};
    }
    if (f.writes_exec) set_mask(isa::kExecLo, bits);
  }
}

llvm::Value* Translator::supposed(unsigned place, unsigned count) {
  Value* all = b_.getTrue();
  for (unsigned r = place; r < place + count; r++)
    if (const auto found = supposed_.find(r); found != supposed_.end())
      all = b_.CreateAnd(all, b_.CreateLoad(b_.getInt1Ty(), found->second));
  return all;
}

llvm::Value* Translator::supposed(const Instruction& i) {
  const Supposition* made = shapes_.supposition(number(i), version_);
  Value* all = b_.getTrue();
  if (made == nullptr) return all;
  for (const uint16_t r : made->from) all = b_.CreateAnd(all, supposed(r, 1));
  const auto require = [&](Value* condition) { all = b_.CreateAnd(all, condition); };
  if (made->is_choice) {
    const int64_t mask = made->value == 1 ? -1 : 0;
    for (int s = 0; s < i.vector->n_src; s++)
      if (i.vector->src_registers[s] == 0 && i.step->kind[s] != Source::none)
        require(b_.CreateICmpEQ(known_lanes(mask_source(i, s)),
                                known_lanes(b_.getInt64(static_cast<uint64_t>(mask)))));
  } else if (made->value >= 0) {
    const auto lane = [&](int source, unsigned l) {
      return b_.CreateExtractElement(vector_source(i, source, 0), l);
    };
    const auto at_most = [&](Value* a, Value* b) {
      require(made->is_signed ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b));
    };
    Value *least = lane(made->value, made->least), *greatest = lane(made->value, made->greatest);
    at_most(least, greatest);  // nothing wraps in between
    Value* low = made->low < 0 ? nullptr : lane(made->low, 0);
    Value* high = made->high < 0 ? nullptr : lane(made->high, 0);
    if (low && high) {
      Value* const one = low;
      const bool is_signed = made->is_signed;
      low = b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, one, high);
      high = b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, one, high);
    }
    if (low) at_most(low, least);
    if (high) at_most(greatest, high);
  }
  return all;
}

void Translator::set_supposed(const Instruction& i, Value* holds) {
  for (int w = 0; w < i.n_v_writes; w++)
    for (unsigned r = i.v_writes[w].first; r < i.v_writes[w].first + i.v_writes[w].count; r++)
      if (const auto found = supposed_.find(r); found != supposed_.end())
        b_.CreateStore(holds, found->second);
}

}  // namespace morgana::device::jit
