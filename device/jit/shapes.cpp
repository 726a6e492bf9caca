#include "device/jit/shapes.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "device/isa/constants.h"
#include "device/isa/effects.h"

namespace morgana::device::jit {

using isa::Op;
using namespace shape;

// The initial registers of all waves of a work-group, joined.
void Shapes::enter(const std::array<uint32_t, 3>& local, bool packed, int dimensions, bool full_wave) {
  if (!full_wave || local[0] == 0) return;
  const uint32_t items = local[0] * local[1] * local[2];
  std::array<Shape, 3> joined;
  const uint32_t wave = flow_.occupied;
  for (uint32_t first = 0; first + wave <= items; first += wave) {
    std::array<Shape, 3> id;
    for (Shape& s : id) s = constant(0);
    for (uint32_t l = 0; l < kLanes; l++) {
      const uint32_t flat = first + std::min(l, wave - 1);
      const uint32_t x = flat % local[0], y = flat / local[0] % local[1], z = flat / local[0] / local[1];
      id[0].lane[l] = packed ? x | (dimensions > 1 ? y << 10 : 0) | (dimensions > 2 ? z << 20 : 0) : x;
      id[1].lane[l] = y;
      id[2].lane[l] = z;
    }
    for (int d = 0; d < 3; d++) joined[d] = first == 0 ? id[d] : join(joined[d], id[d]);
  }
  initial_[0] = joined[0];
  if (packed) return;
  for (int d = 1; d < dimensions; d++) initial_[d] = joined[d];
}

// The shape of what `i` writes as if it, when it clamps or chooses, did nothing; and what is supposed for
// that.
void Shapes::suppose(const Instruction& i, bool is_full, const ShapeState& state, Shape& result,
                     Shape& result_pair, bool ends_supposed_sum) {
  const isa::Inst& inst = *i.step->inst;
  Supposition made;
  const auto at = [&](int s) {
    const isa::Operand& operand = inst.src[s];
    return operand.is_vgpr() ? state.vector[operand.code - isa::kVgprBase] : uniform();
  };
  const auto is_uniform = [&](int s) { return uniform_group(at(s)) == kLanes; };
  // The one source of `count` that varies.
  const auto varying = [&](int count) {
    int found = -1;
    for (int s = 0; s < count; s++) {
      if (!inst.src[s].is_scalar() && !inst.src[s].is_vgpr()) return -1;
      if (is_uniform(s)) continue;
      if (found >= 0 || !at(s).is_known()) return -1;
      found = s;
    }
    return found;
  };
  const auto clamp = [&](int sources, bool has_low, bool has_high, bool is_signed) {
    const int value = varying(sources);
    if (value < 0 || at(value).group != kLanes) return;
    const Shape shape = at(value);
    const auto distance = [&](int l) { return static_cast<int32_t>(shape.lane[l] - shape.lane[0]); };
    int least = 0, greatest = 0;
    for (int l = 1; l < kLanes; l++) {
      if (distance(l) < distance(least)) least = l;
      if (distance(l) > distance(greatest)) greatest = l;
    }
    if (int64_t{distance(greatest)} - distance(least) > INT32_MAX) return;
    const int limit = value == 0 ? 1 : 0, other = sources == 3 ? 3 - value - limit : limit;
    made.value = static_cast<int8_t>(value);
    made.low = static_cast<int8_t>(has_low ? limit : -1);
    made.high = static_cast<int8_t>(has_high ? other : -1);
    made.is_signed = is_signed;
    made.least = static_cast<uint8_t>(least), made.greatest = static_cast<uint8_t>(greatest);
    result = shape;
  };
  if (!result.is_known() && !result_pair.is_known()) {
    const isa::Expression& value = isa::effects(inst.row->op).result;
    using namespace isa::rule;
    if (value == greatest_signed(s0, s1)) {
      clamp(2, true, false, true);
    } else if (value == greatest(s0, s1)) {
      clamp(2, true, false, false);
    } else if (value == least_signed(s0, s1)) {
      clamp(2, false, true, true);
    } else if (value == least(s0, s1)) {
      clamp(2, false, true, false);
    } else if (value == median_signed(s0, s1, s2)) {
      clamp(3, true, true, true);
    } else if (value == median(s0, s1, s2)) {
      clamp(3, true, true, false);
    } else if (value == select(s2, s1, s0)) {
      if (const int varied = varying(2); varied >= 0) {
        made.value = static_cast<int8_t>(varied);
        made.is_choice = true;
        result = at(varied);
      }
    }
  }
  made.from = state.supposed_sources(i);
  // Beside what the lower half says of itself: what made the upper halves, whose shapes may tell nothing.
  for (int s = 0; s < inst.n_src && ends_supposed_sum; s++)
    if (inst.src[s].is_vgpr()) made.from.push_back(static_cast<uint16_t>(inst.src[s].code - isa::kVgprBase));
  const uint32_t key = key_of(i, is_full);
  const bool says_nothing = !result.is_known() && !result_pair.is_known() && !ends_supposed_sum;
  if (says_nothing || (made.value < 0 && made.from.empty())) {
    suppositions_.erase(key);
    return;
  }
  result.supposed = result_pair.supposed = true;
  for (int w = 0; w < i.n_v_writes; w++)
    for (unsigned r = 0; r < i.v_writes[w].count; r++) supposed_registers_.set(i.v_writes[w].first + r);
  suppositions_[key] = std::move(made);
}

void Shapes::note_rising(const Instruction& i, bool is_full, const ShapeState& state) {
  rising_registers_.erase(key_of(i, is_full));
  const isa::Inst& inst = *i.step->inst;
  const auto note = [&](unsigned place) {
    const Shape& shape = state.vector[place];
    if (!shape.supposed && shape.group >= kLanes / 4 && uniform_group(shape) < shape.group)
      rising_registers_[key_of(i, is_full)] = {place, shape};
  };
  if (inst.row->op == Op::v_ashrrev_i32)
    if (const auto upper = state.made_upper(i)) return note(upper->low);
  for (int s = 0; s < inst.n_src; s++) {
    const isa::Operand& operand = inst.src[s];
    if (!operand.is_vgpr() || operand.dwords != 2 || isa::is_float(inst.row->src[s])) continue;
    const unsigned low = operand.code - isa::kVgprBase;
    if (!state.pair[low].exact) note(low);
  }
}

void Shapes::compare(const Instruction& i, bool is_full, const ShapeState& state) {
  rising_.erase(key_of(i, is_full));
  if (!i.step->plain) return;
  using Relation = RisingComparison::Relation;
  Relation relation;
  if (i.step->inst->src[0].dwords != 2 || (i.step->inst->row->flags & isa::kWritesExec)) return;
  using namespace isa::rule;
  const isa::Expression& value = isa::effects(i.step->inst->row->op).result;
  const auto is = [&](const isa::Expression& number, const isa::Expression& is_signed) {
    return value == number || value == is_signed;
  };
  if (is(less(s0, s1), less_signed(s0, s1)))
    relation = Relation::less;
  else if (is(less_equal(s0, s1), less_equal_signed(s0, s1)))
    relation = Relation::less_or_equal;
  else if (is(less(s1, s0), less_signed(s1, s0)))
    relation = Relation::greater;
  else if (is(less_equal(s1, s0), less_equal_signed(s1, s0)))
    relation = Relation::greater_or_equal;
  else
    return;
  const bool is_signed = i.step->inst->row->src[0] == isa::Type::i64;
  const auto alike = [](const Shape& shape) { return !shape.supposed && uniform_group(shape) == kLanes; };
  for (const uint8_t s : {0, 1}) {
    const isa::Operand &value = i.step->inst->src[s], &limit = i.step->inst->src[1 - s];
    if (!value.is_vgpr() || limit.is_agpr()) continue;
    const unsigned v = value.code - isa::kVgprBase, l = limit.code - isa::kVgprBase;
    if (limit.is_vgpr() && !(alike(state.vector[l]) && alike(state.vector[l + 1]))) continue;
    const Shape& shape = state.pair[v];
    const AddressShape rising = distances_of(shape, flow_.occupied);
    if (!shape.supposed && rising.group == kLanes && rising.last[0] != 0)
      rising_[key_of(i, is_full)] = {relation, is_signed, s, rising.last[0]};
  }
}

// Whether `i` is a load of one place. Translator::memory gives all lanes its number, also those that do not
// execute where the address has no guard: of GLOBAL.
bool Shapes::loads_one_place(const Instruction& i, bool is_full, const ShapeState& state) const {
  const isa::Inst& inst = *i.step->inst;
  if (i.how != How::memory || i.merges || i.n_v_reads == 0 || (inst.row->flags & isa::kStore)) return false;
  if (!is_global(inst) &&
      !(is_full && (inst.row->format == isa::Format::FLAT || inst.format == isa::Format::DS)))
    return false;
  const unsigned r = i.v_reads[0].first;
  const bool has_pair = is_wide(i);
  const auto is_same = [](const Shape& s) { return !s.supposed && uniform_group(s) == kLanes; };
  if (has_pair && is_same(state.pair[r])) return !state.vector[r + 1].supposed;
  return is_same(state.vector[r]) && (!has_pair || is_same(state.vector[r + 1]));
}

void Shapes::step(const Instruction& i, bool is_full, ShapeState& state) {
  const auto forget = [&](unsigned r) {
    state.vector[r] = Shape{};
    state.pair[r] = Shape{};
    if (r > 0) state.pair[r - 1] = Shape{};
  };
  if (i.how == How::call_all) {
    state.forget_all();
    return;
  }
  if (i.n_v_writes == 0) {
    if (i.how == How::vector) compare(i, is_full, state);
    return state.overwrite_sums(i, flow_.mask_dwords());
  }
  const isa::Inst& inst = *i.step->inst;
  const bool holds = !i.keeps_old || is_full;
  const bool at_one_place = loads_one_place(i, is_full, state);
  const bool plain = i.how == How::vector && i.step->plain && inst.format != isa::Format::VOP3P && !i.merges;
  Shape result, result_pair;
  Shape sum;                                   // of a pair whose upper half is the result
  std::optional<ShapeState::Upper> upper;      // that the result is
  std::optional<ShapeState::HalfSum> started;  // whose lower half it is
  if (plain) {
    const auto at = [&](int s) -> Shape {
      if (s >= inst.n_src || !inst.src[s].present()) return Shape{};
      const isa::Operand& operand = inst.src[s];
      if (operand.is_vgpr()) return state.vector[operand.code - isa::kVgprBase];
      if (operand.is_agpr()) return Shape{};
      const std::optional<uint32_t> number = state.number_of(inst, operand);
      return number ? constant(*number) : uniform();
    };
    const auto pair_at = [&](int s) -> Shape {
      const isa::Operand& operand = inst.src[s];
      if (operand.is_vgpr()) {
        const unsigned r = operand.code - isa::kVgprBase;
        return state.pair[r].is_known() ? state.pair[r] : pair_of(state.vector[r], state.vector[r + 1]);
      }
      if (isa::is_constant(operand.code))
        return exactly(constant(isa::constant_value(operand.code, operand.type, inst.literal).low));
      return exactly(uniform());
    };
    const auto upper_at = [&](int s) -> Shape {
      const isa::Operand& operand = inst.src[s];
      return operand.is_vgpr() ? state.vector[operand.code - isa::kVgprBase + 1] : Shape{};
    };
    struct Values {
      const decltype(at)& source;
      const decltype(pair_at)& pair;
      const decltype(upper_at)& upper;
      const isa::Inst& inst;
      Value leaf(const isa::Term& term) const {
        if (term.fn == isa::Fn::constant) return {constant(static_cast<uint32_t>(term.value)), {}, false};
        if (term.fn != isa::Fn::source) return {};
        const bool is_mask = inst.src[term.value].type == isa::Type::mask;
        if (inst.src[term.value].dwords == 2 && !is_mask)
          return {source(term.value), pair(term.value), true, upper(term.value)};
        return is_mask ? Value{} : Value{source(term.value), {}, false};
      }
      Value apply(isa::Fn fn, const Value* v) const { return value_of(fn, v); }
    };
    const isa::Expression& rule = isa::effects(inst.row->op).result;
    const Value value = isa::evaluate<Value>(rule, Values{at, pair_at, upper_at, inst});
    result = value.low, result_pair = value.pair;
    const bool cuts = inst.row->op == Op::v_mul_u32_u24 || inst.row->op == Op::v_mad_u32_u24;
    if (cuts && !(is_small(at(0)) && is_small(at(1)))) result = {};
    if (inst.row->op == Op::v_add_co_u32) {
      started.emplace();
      started->to = i.v_writes[0].first;
      started->mask = inst.dst[1].code;
      for (int s = 0; s < 2; s++) {
        started->low[s] = at(s);
        if (inst.src[s].is_vgpr()) started->uppers[s] = state.uppers_of(inst.src[s].code - isa::kVgprBase);
      }
      started->may_be_supposed = holds && result.is_known() && !state.supposed_sources(i).empty();
    } else if (inst.row->op == Op::v_addc_co_u32) {
      for (const ShapeState::HalfSum& half : state.sums)
        if (half.mask == inst.src[2].code && half.to + 1 == i.v_writes[0].first)
          sum = ShapeState::whole_sum(half, inst, {at(0), at(1)});
    }
    if (!result.is_known() && i.vector->dst_registers == 1) {
      // Lane by lane, the same operands give the same result.
      uint8_t group = kLanes;
      for (int s = 0; s < i.vector->n_src; s++) {
        if (i.vector->src_registers[s] == 0) {
          if (i.step->kind[s] != Source::none) group = 1;
        } else {
          group = std::min(group, i.vector->src_registers[s] == 1 ? uniform_group(at(s)) : uint8_t{1});
        }
      }
      if (isa::effects(inst.row->op).kind != isa::Class::position) result = pointwise(group);
    }
    upper = state.made_upper(i);
    note_rising(i, is_full, state);
    if (holds) {
      suppose(i, is_full, state, result, upper ? upper->pair : result_pair, sum.supposed);
    } else if (!state.supposed_sources(i).empty() || sum.supposed) {
      result = result_pair = sum = {};
      upper.reset();
      started.reset();
    }
  }
  for (int w = 0; w < i.n_v_writes; w++)
    for (unsigned r = i.v_writes[w].first; r < i.v_writes[w].first + i.v_writes[w].count; r++) {
      forget(r);
      state.unmasked.set(r, !holds);
    }
  state.overwrite_sums(i, flow_.mask_dwords());
  if (started && started->mask < isa::kRegisterEnd) {
    for (std::vector<ShapeState::Upper>& of : started->uppers)  // v_add_co_u32 v1, vcc, s0, v0
      std::erase_if(of, [&](const ShapeState::Upper& one) { return one.at == started->to; });
    state.sums.push_back(*started);
  }
  if (at_one_place) {
    for (int w = 0; w < i.n_v_writes; w++)
      for (unsigned r = 0; r < i.v_writes[w].count; r++) {
        state.vector[i.v_writes[w].first + r] = uniform();
        if (r > 0) state.pair[i.v_writes[w].first + r - 1] = exactly(uniform());
      }
  } else if (i.n_v_writes == 1) {
    const unsigned to = i.v_writes[0].first;
    if (sum.is_known()) state.pair[to - 1] = sum;
    if (upper && upper->low != to) {
      if (upper->low + 1 == to)
        state.pair[upper->low] = upper->pair;
      else if (!upper->pair.supposed)
        state.uppers.push_back(*upper);
    }
    if (result.is_known()) state.vector[to] = result;
    if (result_pair.is_known()) {
      state.pair[to] = result_pair;
      state.vector[to + 1] = pointwise(uniform_group(result_pair));
      state.vector[to + 1].supposed = result_pair.supposed;
    }
  }
}

Shapes::Shapes(const Flow& flow, const std::array<uint32_t, 3>& local, bool packed, int dimensions,
               bool full_wave, std::set<uint32_t> masked)
    : before_(flow.instructions.size() * 2),
      before_pair_(flow.instructions.size() * 2),
      flow_(flow),
      masked_(std::move(masked)),
      next_versions_(flow.blocks.size() * 2) {
  const auto& blocks = flow.blocks;
  size_t registers = 4;  // the initial ones, and one behind the last
  for (size_t r = 0; r < kVectorRegisters; r++)
    if (flow.vectors.test(r)) registers = std::max(registers, r + 2);
  // Nodes of the dataflow: block and version.
  std::vector<ShapeState> in(blocks.size() * 2, ShapeState(registers));
  enter(local, packed, dimensions, full_wave);
  const uint32_t entry = 2 * flow.entry_block + full_wave;
  in[entry].is_reached = true;
  std::copy(initial_.begin(), initial_.end(), in[entry].vector.begin());
  std::vector<uint32_t> pending{entry};
  while (!pending.empty()) {
    const uint32_t node = pending.back(), b = node / 2, version = node % 2;
    pending.pop_back();
    ShapeState state = in[node];
    bool makes_full = false;  // of the last instruction
    for (uint32_t k = 0; k < blocks[b].count; k++) {
      const uint32_t number = blocks[b].first + k;
      const Instruction& i = flow.instructions[number];
      const bool reads_lanes =
          i.n_v_reads > 0 && i.how == How::lane && !state.unmasked.test(i.v_reads[0].first);
      if (reads_lanes || (i.n_v_reads > 0 && i.how == How::memory)) {
        const unsigned r = i.v_reads[0].first;
        before_[2 * number + version] = state.vector[r];
        before_pair_[2 * number + version] =
            state.pair[r].is_known() ? state.pair[r] : pair_of(state.vector[r], state.vector[r + 1]);
        before_pair_[2 * number + version].supposed |= state.vector[r + 1].supposed;
      }
      step(i, version == 1, state);
      makes_full = state.write_masks(i, version == 1, flow.mask_dwords());
      state.write_scalars(i);
    }
    state.forget_unmasked();
    unsigned versions = makes_full ? 2 : flow.next_versions(blocks[b], version);
    if (blocks[b].successors.size() == 1 && masked_.contains(blocks[b].successors[0])) versions = 1;
    next_versions_[node] = static_cast<uint8_t>(versions);
    for (const uint32_t next : blocks[b].successors) {
      ShapeState* from = &state;
      ShapeState known;
      if (blocks[next].is_entry) known = state, known.forget_supposed(), from = &known;
      for (uint32_t v = 0; v < 2; v++)
        if (const uint32_t to = 2 * next + version_of(next, v); (versions >> v & 1) && in[to].merge(*from))
          pending.push_back(to);
    }
  }
  for (const ShapeState& state : in) reached_.push_back(state.is_reached);
  for (uint32_t b = 0; b < blocks.size(); b++) {
    if (!blocks[b].is_loop_header) continue;
    if (in[2 * b + 1].is_reached) note_carried(b, in[2 * b + 1]);
    for (unsigned r = 0; r < registers; r++) {
      uint32_t value = 0, other = 0;
      const ShapeState &some = in[2 * b], &full = in[2 * b + 1];
      const auto holds = [&](const ShapeState& state, uint32_t& found) {
        return !state.vector[r].supposed && number(state.vector[r], found);
      };
      if (some.is_reached && !holds(some, value)) continue;
      if (full.is_reached && !holds(full, other)) continue;
      if (!some.is_reached) value = other;
      if (!full.is_reached) other = value;
      if (value == other && reached_[2 * b] + reached_[2 * b + 1] > 0) numbers_[{b, r}] = value;
    }
  }
}

// The VGPRs that the loop at `b`, up to the last way back, changes and needs.
void Shapes::note_carried(uint32_t b, const ShapeState& state) {
  const Block& header = flow_.blocks[b];
  const uint32_t last = flow_.last_back(header);
  VectorSet changed;
  for (uint32_t n = header.first; n <= last; n++) changed |= written_vectors(flow_.instructions[n]);
  changed &= header.live_in;
  const auto note = [&](const Shape& shape, unsigned r, bool pair) {
    Carried& carried = carried_[b].emplace_back();
    carried.place = r, carried.pair = pair;
    for (int l = 0; l < kLanes; l++) carried.lane[l] = rise(shape, l);
  };
  const auto serves = [](const Shape& shape) { return shape.group == kLanes && !shape.supposed; };
  for (unsigned r = 0; r + 1 < state.vector.size(); r++) {
    if (!changed.test(r)) continue;
    const Shape& pair = state.pair[r];
    if (changed.test(r + 1) && serves(pair) && pair.exact) {
      note(pair, r, true);
      r++;
    } else if (serves(state.vector[r])) {
      note(state.vector[r], r, false);
    }
  }
}

const std::vector<Carried>& Shapes::carried(uint32_t b) const {
  static const std::vector<Carried> none;
  const auto found = carried_.find(b);
  return found == carried_.end() ? none : found->second;
}

bool Shapes::number_at(uint32_t b, unsigned r, uint32_t& number) const {
  const auto found = numbers_.find({b, r});
  if (found != numbers_.end()) number = found->second;
  return found != numbers_.end();
}

bool Shapes::is_uniform(uint32_t i, unsigned version) const {
  const Shape& shape = before(i, version, false);
  return !shape.supposed && uniform_group(shape) == kLanes;
}

AddressShape Shapes::distances(uint32_t i, unsigned version, bool pair) const {
  const Shape& shape = before(i, version, pair);
  return shape.supposed ? AddressShape{} : distances_of(shape, flow_.occupied);
}

AddressShape Shapes::strided(uint32_t i, unsigned version, bool pair) const {
  const Shape& shape = before(i, version, pair);
  return shape.supposed ? AddressShape{} : strided_of(shape, flow_.occupied);
}

AddressShape Shapes::address(uint32_t i, unsigned version, uint32_t size, bool pair) const {
  const Shape& shape = before(i, version, pair);
  return shape.supposed ? AddressShape{} : address_of(shape, size, flow_.occupied);
}

AddressShape Shapes::supposed_address(uint32_t i, unsigned version, uint32_t size, bool pair) const {
  return address_of(before(i, version, pair), size, flow_.occupied);
}

}  // namespace morgana::device::jit
