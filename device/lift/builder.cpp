#include "device/lift/builder.h"

#include <algorithm>
#include <utility>

namespace morgana::device::lift {

Builder::Builder(int width, const PairSet& pairs) : pairs_(pairs) { function_.width = width; }

uint32_t Builder::add_block(uint32_t pc, bool is_entry) {
  function_.blocks.push_back({});
  function_.blocks.back().pc = pc;
  states_.emplace_back().is_entry = is_entry;
  return static_cast<uint32_t>(function_.blocks.size() - 1);
}

ValueId Builder::add(Value value) {
  value.pc = pc_;
  const auto id = static_cast<ValueId>(function_.values.size());
  function_.values.push_back(std::move(value));
  block().values.push_back(id);
  return id;
}

ValueId Builder::constant(int64_t number, Kind kind) {
  Value value;
  value.operation = Operation::constant, value.kind = kind;
  value.number = kind == Kind::s32 ? int64_t{static_cast<int32_t>(number)} : number;
  return add(std::move(value));
}

ValueId Builder::compute(isa::Fn fn, Kind kind, std::vector<ValueId> arguments) {
  Value value;
  value.operation = Operation::compute, value.kind = kind, value.fn = fn;
  value.arguments = std::move(arguments);
  return add(std::move(value));
}

ValueId Builder::convert(Operation operation, Kind kind, ValueId of) {
  const Value& from = function_[of];
  const bool undoes = (operation == Operation::mask && from.operation == Operation::bits) ||
                      (operation == Operation::bits && from.operation == Operation::mask);
  if (undoes) return from.arguments[0];
  Value value;
  value.operation = operation, value.kind = kind;
  value.arguments = {of};
  return add(std::move(value));
}

ValueId Builder::part(ValueId of, int64_t number, Kind kind) {
  Value value;
  value.operation = Operation::part, value.kind = kind, value.number = number;
  value.arguments = {of};
  return add(std::move(value));
}

ValueId Builder::live_in(Register code, bool pair) {
  State& state = states_[block_];
  Value value;
  value.kind = kind_of_register(code, pair);
  value.number = code;
  value.pc = function_.blocks[block_].pc;
  value.operation = state.is_entry ? Operation::input : Operation::parameter;
  const auto id = static_cast<ValueId>(function_.values.size());
  function_.values.push_back(std::move(value));
  if (state.is_entry) {
    // Before everything else.
    block().values.insert(block().values.begin(), id);
  } else {
    block().parameters.push_back(id);
    state.parameters[code] = id;
    pending_.emplace_back(block_, code);
  }
  return id;
}

ValueId Builder::half(const Slot& slot) {
  if (slot.half < 0) return slot.value;
  const Kind kind = is_lanes(function_[slot.value].kind) ? Kind::lanes32 : Kind::s32;
  return compute(slot.half == 0 ? isa::Fn::to_32 : isa::Fn::upper, kind, {slot.value});
}

ValueId Builder::read(Register code, bool pair) {
  auto& slots = states_[block_].slots;
  const auto find = [&](Register at) {
    if (const auto found = slots.find(at); found != slots.end()) return found->second;
    const Register lower = is_upper(at) ? static_cast<Register>(at - 1) : at;
    const bool wide = pairs_.test(lower);
    const auto& parameters = states_[block_].parameters;
    const auto known = parameters.find(lower);
    const ValueId value = known != parameters.end() ? known->second : live_in(lower, wide);
    // Halves that were written since stay.
    slots.try_emplace(lower, Slot{value, static_cast<int8_t>(wide ? 0 : -1)});
    if (wide) slots.try_emplace(static_cast<Register>(lower + 1), Slot{value, 1});
    return slots[at];
  };
  if (!pair) return half(find(code));
  const Slot low = find(code), high = find(static_cast<Register>(code + 1));
  if (low.half == 0 && high.half == 1 && low.value == high.value) return low.value;
  Value value;
  value.operation = Operation::join, value.kind = kind_of_register(code, true);
  const ValueId first = half(low), second = half(high);
  value.arguments = {first, second};
  const ValueId joined = add(std::move(value));
  write(code, joined, true);
  return joined;
}

void Builder::write(Register code, ValueId value, bool pair) {
  auto& slots = states_[block_].slots;
  slots[code] = {value, static_cast<int8_t>(pair ? 0 : -1)};
  if (pair) slots[static_cast<Register>(code + 1)] = {value, 1};
}

// Every parameter's argument on every edge to its block; that may ask for more parameters.
void Builder::fill_parameters() {
  std::vector<std::vector<std::pair<uint32_t, size_t>>> edges_to(function_.blocks.size());
  for (uint32_t b = 0; b < function_.blocks.size(); b++)
    for (size_t e = 0; e < function_.blocks[b].edges.size(); e++)
      edges_to[function_.blocks[b].edges[e].block].emplace_back(b, e);
  while (!pending_.empty()) {
    const auto [to, code] = pending_.back();
    pending_.pop_back();
    const ValueId parameter = states_[to].parameters[code];
    const auto& parameters = function_.blocks[to].parameters;
    const auto place =
        static_cast<size_t>(std::find(parameters.begin(), parameters.end(), parameter) - parameters.begin());
    for (const auto& [from, e] : edges_to[to]) {
      set_block(from);
      set_pc(function_.blocks[from].end_pc);
      const ValueId value = read(code, pairs_.test(code));
      auto& arguments = function_.blocks[from].edges[e].arguments;
      if (arguments.size() <= place) arguments.resize(place + 1, kNoValue);
      arguments[place] = value;
    }
  }
}

// Parameters that are one value and themselves.
void Builder::drop_copies() {
  std::vector<ValueId> same(function_.values.size());
  for (ValueId id = 0; id < same.size(); id++) same[id] = id;
  const auto resolve = [&](ValueId id) {
    while (same[id] != id) id = same[id] = same[same[id]];
    return id;
  };
  std::vector<std::vector<const Edge*>> edges_to(function_.blocks.size());
  for (const Block& from : function_.blocks)
    for (const Edge& edge : from.edges) edges_to[edge.block].push_back(&edge);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < function_.blocks.size(); b++)
      for (size_t p = 0; p < function_.blocks[b].parameters.size(); p++) {
        const ValueId parameter = function_.blocks[b].parameters[p];
        if (same[parameter] != parameter) continue;
        ValueId only = kNoValue;
        bool is_copy = !edges_to[b].empty();
        for (const Edge* edge : edges_to[b]) {
          const ValueId value = resolve(edge->arguments[p]);
          if (value == parameter || value == only) continue;
          is_copy = is_copy && only == kNoValue;
          only = value;
        }
        if (!is_copy || only == kNoValue) continue;
        same[parameter] = only;
        changed = true;
      }
  }
  for (Value& value : function_.values)
    for (ValueId& id : value.arguments) id = resolve(id);
  for (Block& block : function_.blocks) {
    if (block.value != kNoValue) block.value = resolve(block.value);
    for (Edge& edge : block.edges)
      for (ValueId& id : edge.arguments) id = resolve(id);
  }
  // A copy is used by nobody now.
}

// Values and parameters that nothing which has an effect follows from.
void Builder::drop_unused() {
  std::vector<bool> used(function_.values.size());
  std::vector<ValueId> pending;
  const auto use = [&](ValueId id) {
    if (id == kNoValue || used[id]) return;
    used[id] = true;
    pending.push_back(id);
  };
  std::vector<std::pair<uint32_t, size_t>> place(function_.values.size());  // of parameters
  std::vector<std::vector<const Edge*>> edges_to(function_.blocks.size());
  for (uint32_t b = 0; b < function_.blocks.size(); b++) {
    const Block& block = function_.blocks[b];
    for (size_t p = 0; p < block.parameters.size(); p++) place[block.parameters[p]] = {b, p};
    for (const Edge& edge : block.edges) edges_to[edge.block].push_back(&edge);
    use(block.value);
    for (const ValueId id : block.values)
      if (!is_pure(function_[id].operation)) use(id);
  }
  while (!pending.empty()) {
    const ValueId id = pending.back();
    pending.pop_back();
    for (const ValueId argument : function_[id].arguments) use(argument);
    if (function_[id].operation != Operation::parameter) continue;
    const auto [b, p] = place[id];
    for (const Edge* edge : edges_to[b]) use(edge->arguments[p]);
  }
  for (Block& from : function_.blocks)
    for (Edge& edge : from.edges) {
      const auto& parameters = function_.blocks[edge.block].parameters;
      std::vector<ValueId> kept;
      for (size_t p = 0; p < parameters.size(); p++)
        if (used[parameters[p]]) kept.push_back(edge.arguments[p]);
      edge.arguments = std::move(kept);
    }
  for (Block& block : function_.blocks) {
    std::erase_if(block.parameters, [&](ValueId id) { return !used[id]; });
    std::erase_if(block.values, [&](ValueId id) { return !used[id]; });
  }
}

Function Builder::finish() {
  fill_parameters();
  drop_copies();
  drop_unused();
  return std::move(function_);
}

}  // namespace morgana::device::lift
