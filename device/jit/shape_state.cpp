#include "device/jit/shape_state.h"

#include <algorithm>

#include "device/isa/constants.h"
#include "device/isa/effects.h"

namespace morgana::device::jit {

using isa::Op;
using namespace shape;

bool ShapeState::merge(const ShapeState& from) {
  if (!is_reached) {
    *this = from;
    sums.clear();
    return true;
  }
  bool changed = false;
  const auto take = [&](Shape& to, const Shape& other) {
    Shape joined = join(to, other);
    if (joined == to) return;
    to = joined;
    changed = true;
  };
  for (size_t r = 0; r < vector.size(); r++) {
    if (vector[r].is_known()) take(vector[r], from.vector[r]);
    if (pair[r].is_known()) take(pair[r], from.pair[r]);
  }
  changed = changed || (full & ~from.full).any();
  full &= from.full;
  const size_t dropped = std::erase_if(uppers, [&](const Upper& upper) {
    return std::find(from.uppers.begin(), from.uppers.end(), upper) == from.uppers.end();
  });
  const size_t unknown = std::erase_if(scalars, [&](const auto& one) {
    const auto found = from.scalars.find(one.first);
    return found == from.scalars.end() || found->second != one.second;
  });
  return changed || dropped > 0 || unknown > 0;
}

void ShapeState::forget_unmasked() {
  for (size_t r = 0; r < vector.size(); r++) {
    const bool is_behind = r + 1 < vector.size() && unmasked.test(r + 1);
    if (unmasked.test(r)) vector[r] = Shape{};
    if (unmasked.test(r) || is_behind) pair[r] = Shape{};
  }
  std::erase_if(uppers,
                [&](const Upper& upper) { return unmasked.test(upper.at) || unmasked.test(upper.low); });
  unmasked.reset();
}

void ShapeState::forget_supposed() {
  for (std::vector<Shape>* shapes : {&vector, &pair})
    for (Shape& s : *shapes)
      if (s.supposed) s = Shape{};
}

void ShapeState::forget_all() {
  full.reset();
  std::fill(vector.begin(), vector.end(), Shape{});
  std::fill(pair.begin(), pair.end(), Shape{});
  sums.clear();
  uppers.clear();
  unmasked.reset();
  scalars.clear();
}

void ShapeState::overwrite_sums(const Instruction& i, unsigned mask_dwords) {
  std::erase_if(sums, [&](const HalfSum& sum) {
    return writes_vector(i, sum.to) || i.s_writes.test(sum.mask) ||
           (mask_dwords == 2 && i.s_writes.test(sum.mask + 1));
  });
  for (HalfSum& sum : sums)
    for (std::vector<Upper>& of : sum.uppers)
      std::erase_if(of, [&](const Upper& upper) { return writes_vector(i, upper.at); });
  std::erase_if(
      uppers, [&](const Upper& upper) { return writes_vector(i, upper.at) || writes_vector(i, upper.low); });
}

std::vector<uint16_t> ShapeState::supposed_sources(const Instruction& i) const {
  const isa::Inst& inst = *i.step->inst;
  std::vector<uint16_t> found;
  for (int s = 0; s < inst.n_src; s++) {
    if (!inst.src[s].is_vgpr() || i.vector->src_registers[s] == 0) continue;
    const unsigned first = inst.src[s].code - isa::kVgprBase;
    for (unsigned r = first; r < first + i.vector->src_registers[s]; r++)
      if (vector[r].supposed || pair[r].supposed) found.push_back(static_cast<uint16_t>(r));
  }
  return found;
}

std::vector<ShapeState::Upper> ShapeState::uppers_of(unsigned low) const {
  std::vector<Upper> found;
  if (pair[low].is_known()) found.push_back({low + 1, low, pair[low]});
  for (const Upper& upper : uppers)
    if (upper.low == low) found.push_back(upper);
  return found;
}

Shape ShapeState::whole_sum(const HalfSum& sum, const isa::Inst& inst, const Shape (&upper)[2]) {
  Shape best;
  bool supposes = false;
  for (int s = 0; s < 2; s++) supposes = supposes || sum.low[s].supposed || upper[s].supposed;
  if (supposes && !sum.may_be_supposed) return best;
  for (const int first : {0, 1}) {
    const auto summand = [&](int s) {
      const int at = s ^ first;
      const isa::Operand& operand = inst.src[at];
      for (const Upper& one : sum.uppers[s])
        if (operand.is_vgpr() && operand.code - isa::kVgprBase == one.at &&
            (sum.may_be_supposed || !one.pair.supposed))
          return one.pair;
      return pair_of(sum.low[s], upper[at]);
    };
    const Shape one = summand(0), other = summand(1);
    Shape whole = add_pairs(one, other);
    whole.supposed = whole.is_known() && (supposes || one.supposed || other.supposed);
    if (whole.group > best.group) best = whole;
  }
  return best;
}

std::optional<ShapeState::Upper> ShapeState::made_upper(const Instruction& i) const {
  const isa::Inst& inst = *i.step->inst;
  const isa::Op op = inst.row->op;
  if ((op != Op::v_ashrrev_i32 && op != Op::v_and_b32) || i.n_v_writes != 1) return {};
  const unsigned to = i.v_writes[0].first;
  for (const int s : {0, 1}) {
    const isa::Operand &by = inst.src[s], &value = inst.src[1 - s];
    if (!isa::is_constant(by.code) || !value.is_vgpr()) continue;
    const uint32_t bits = isa::constant_value(by.code, by.type, inst.literal).low;
    const unsigned from = value.code - isa::kVgprBase;
    if (op == Op::v_ashrrev_i32) {
      if (s != 0 || (bits & 31) != 31 || !vector[from].is_known()) return {};
      return Upper{to, from, may_wrap(vector[from])};
    }
    if ((bits & (bits + 1)) != 0) return {};
    if (from > 0 && pair[from - 1].is_known() && !pair[from - 1].supposed)
      return Upper{to, from - 1, may_wrap(pair[from - 1])};
    for (const Upper& upper : uppers)
      if (upper.at == from) return Upper{to, upper.low, may_wrap(upper.pair)};
  }
  return {};
}

bool ShapeState::write_masks(const Instruction& i, bool exec_is_full, unsigned mask_dwords) {
  bool makes_full = false, saves_full = false;
  if (i.how == How::scalar || i.how == How::exec_op) {
    const isa::Inst& inst = *i.step->inst;
    const isa::Effects& effects = effects_of(i);
    const auto is_full = [&](int source) {
      const isa::Operand& operand = inst.src[source];
      if (operand.code == isa::kExecLo) return exec_is_full;
      if (isa::is_constant(operand.code)) return operand.code == isa::kInlineMinusOne;
      return operand.is_scalar() && operand.code < isa::kExecLo && full.test(operand.code);
    };
    const bool is_whole = inst.dst[0].dwords == mask_dwords;
    // Of a wave of 32 lanes EXEC_HI is no part of EXEC.
    const bool is_mask = is_whole && (i.how == How::exec_op || inst.dst[0].code != isa::kExecHi);
    makes_full =
        is_mask && isa::fills(i.how == How::scalar ? effects.result : effects.exec, exec_is_full, is_full);
    saves_full = exec_is_full && is_whole && effects.result.is_leaf(isa::Fn::exec);
    if (i.how == How::scalar) saves_full = makes_full;
  }
  for (unsigned code = 0; code < isa::kRegisterEnd; code += mask_dwords)
    if (i.s_writes.test(code) || (mask_dwords == 2 && i.s_writes.test(code + 1))) full.reset(code);
  if (saves_full && i.step->inst->dst[0].code < isa::kTba) full.set(i.step->inst->dst[0].code);
  return makes_full && i.writes_exec;
}

std::optional<uint32_t> ShapeState::number_of(const isa::Inst& inst, const isa::Operand& operand) const {
  if (isa::is_constant(operand.code))
    return isa::constant_value(operand.code, operand.type, inst.literal).low;
  const auto found = scalars.find(operand.code);
  return found == scalars.end() ? std::optional<uint32_t>{} : found->second;
}

void ShapeState::write_scalars(const Instruction& i) {
  struct Numbers {
    const ShapeState& state;
    const isa::Inst& inst;
    std::optional<isa::Number> leaf(const isa::Term& term) const {
      switch (term.fn) {
        case isa::Fn::constant: return isa::constant_of(term);
        case isa::Fn::signed_immediate:
          return isa::number_of(static_cast<uint64_t>(int64_t{static_cast<int16_t>(inst.simm16)}), 32);
        case isa::Fn::unsigned_immediate: return isa::number_of(inst.simm16, 32);
        case isa::Fn::source: break;
        default: return {};
      }
      const isa::Operand& operand = inst.src[term.value];
      const std::optional<uint32_t> low = state.number_of(inst, operand);
      if (operand.dwords != 1 || !low) return {};
      return isa::number_of(*low, 32);
    }
    std::optional<isa::Number> apply(isa::Fn fn, const std::optional<isa::Number>* v) const {
      isa::Number numbers[3];
      for (int n = 0; n < isa::arguments(fn); n++) {
        if (!v[n]) return {};
        numbers[n] = *v[n];
      }
      return isa::compute(fn, numbers);
    }
  };
  std::optional<isa::Number> made;
  const isa::Inst& inst = *i.step->inst;
  const bool is_whole = i.how == How::scalar && inst.dst[0].dwords == 1 && inst.dst[0].code < isa::kVccLo;
  if (is_whole) made = isa::evaluate<std::optional<isa::Number>>(effects_of(i).result, Numbers{*this, inst});
  std::erase_if(scalars, [&](const auto& one) { return i.s_writes.test(one.first); });
  if (made && made->width == 32 && i.s_writes.test(inst.dst[0].code))
    scalars[inst.dst[0].code] = static_cast<uint32_t>(made->bits);
}

}  // namespace morgana::device::jit
