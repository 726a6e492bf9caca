#include "device/lift/verify.h"

#include <algorithm>

namespace morgana::device::lift {
namespace {

class Verifier {
 public:
  explicit Verifier(const Function& function)
      : f_(function), block_(function.values.size(), kNowhere), order_(function.values.size()) {}

  std::string run() {
    if (f_.blocks.empty()) return "no blocks";
    if (f_.width != 32 && f_.width != 64) return "a wave of " + std::to_string(f_.width) + " lanes";
    place();
    find_dominators();
    for (uint32_t b = 0; b < f_.blocks.size() && problem_.empty(); b++) block(b);
    return problem_;
  }

 private:
  static constexpr uint32_t kNowhere = ~0u;

  void fail(ValueId id, const std::string& what) {
    if (problem_.empty()) problem_ = "%" + std::to_string(id) + ": " + what;
  }
  void fail_block(uint32_t b, const std::string& what) {
    if (problem_.empty()) problem_ = "block" + std::to_string(b) + ": " + what;
  }

  // Which block makes each value, and when.
  void place() {
    for (uint32_t b = 0; b < f_.blocks.size(); b++) {
      uint32_t order = 0;
      for (const auto* list : {&f_.blocks[b].parameters, &f_.blocks[b].values})
        for (const ValueId id : *list) {
          if (id >= f_.values.size()) return fail(id, "no such value");
          if (block_[id] != kNowhere) return fail(id, "made twice");
          block_[id] = b, order_[id] = order++;
          const bool is_parameter = f_[id].operation == Operation::parameter;
          if (is_parameter != (list == &f_.blocks[b].parameters)) fail(id, "a parameter in the wrong place");
        }
    }
  }

  // Immediate dominators, by Cooper, Harvey and Kennedy's iteration.
  void find_dominators() {
    const size_t count = f_.blocks.size();
    std::vector<std::vector<uint32_t>> predecessors(count);
    for (uint32_t b = 0; b < count; b++)
      for (const Edge& edge : f_.blocks[b].edges) {
        if (edge.block >= count) return fail_block(b, "leads nowhere");
        predecessors[edge.block].push_back(b);
      }
    std::vector<uint32_t> order;
    number_.assign(count, kNowhere);
    std::vector<std::pair<uint32_t, size_t>> pending{{0, 0}};
    std::vector<bool> seen(count);
    seen[0] = true;
    while (!pending.empty()) {
      auto& [b, next] = pending.back();
      if (next < f_.blocks[b].edges.size()) {
        const uint32_t to = f_.blocks[b].edges[next++].block;
        if (!seen[to]) seen[to] = true, pending.emplace_back(to, 0);
        continue;
      }
      number_[b] = static_cast<uint32_t>(order.size());
      order.push_back(b);
      pending.pop_back();
    }
    dominator_.assign(count, kNowhere);
    dominator_[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t n = order.size(); n-- > 0;) {
        const uint32_t b = order[n];
        if (b == 0) continue;
        uint32_t found = kNowhere;
        for (const uint32_t from : predecessors[b])
          if (dominator_[from] != kNowhere) found = found == kNowhere ? from : meet(from, found);
        if (found != dominator_[b]) dominator_[b] = found, changed = true;
      }
    }
    if (!predecessors[0].empty()) fail_block(0, "is entered, and has predecessors");
  }
  uint32_t meet(uint32_t a, uint32_t b) const {
    while (a != b) {
      while (number_[a] < number_[b]) a = dominator_[a];
      while (number_[b] < number_[a]) b = dominator_[b];
    }
    return a;
  }
  bool dominates(uint32_t a, uint32_t b) const {
    while (b != a && b != 0) b = dominator_[b];
    return b == a;
  }

  // Whether `id` is there in block `b` before its value number `order`.
  bool is_there(ValueId id, uint32_t b, uint32_t order) {
    if (id >= f_.values.size() || block_[id] == kNowhere) return false;
    if (block_[id] == b) return order_[id] < order;
    return number_[b] == kNowhere || dominates(block_[id], b);  // of what is never reached nothing is asked
  }

  void block(uint32_t b) {
    const Block& block = f_.blocks[b];
    for (const ValueId id : block.values) {
      for (const ValueId argument : f_[id].arguments)
        if (!is_there(argument, b, order_[id]))
          return fail(id, "%" + std::to_string(argument) + " is not there");
      if (const char* wrong = kinds(f_[id])) return fail(id, wrong);
    }
    ending(b, block);
  }

  void ending(uint32_t b, const Block& block) {
    static constexpr size_t kEdges[] = {1, 2, 1, 1, 0, 0};
    if (block.edges.size() != kEdges[static_cast<int>(block.ending)]) return fail_block(b, "has other edges");
    const Kind needs = block.ending == Ending::branch                                    ? Kind::bit
                       : block.ending == Ending::jump || block.ending == Ending::barrier ? Kind::none
                                                                                         : Kind::exit;
    if ((needs == Kind::none) != (block.value == kNoValue)) return fail_block(b, "ends with another value");
    if (needs != Kind::none && (!is_there(block.value, b, ~0u) || f_[block.value].kind != needs))
      return fail_block(b, "ends with another kind of value");
    for (const Edge& edge : block.edges) {
      const auto& parameters = f_.blocks[edge.block].parameters;
      if (edge.arguments.size() != parameters.size())
        return fail_block(b, "gives another number of arguments");
      for (size_t p = 0; p < parameters.size(); p++) {
        if (!is_there(edge.arguments[p], b, ~0u)) return fail_block(b, "gives what is not there");
        if (f_[edge.arguments[p]].kind != f_[parameters[p]].kind) return fail_block(b, "gives another kind");
      }
    }
  }

  Kind kind(const Value& v, size_t n) const { return f_[v.arguments[n]].kind; }

  // What is wrong with the kinds, or nullptr.
  const char* kinds(const Value& v) const {
    const size_t n = v.arguments.size();
    switch (v.operation) {
      case Operation::input:
        return n == 0 && v.number >= 0 && v.number < kRegisters ? nullptr : "no register";
      case Operation::constant:
        return n == 0 && (v.kind == Kind::s32 || v.kind == Kind::s64 || v.kind == Kind::bit) ? nullptr
                                                                                             : "no constant";
      case Operation::compute: return compute(v);
      case Operation::splat:
        return n == 1 && !has_lanes(kind(v, 0)) && v.kind == kind_of(bits_of(kind(v, 0)), true) ? nullptr
                                                                                                : "no splat";
      case Operation::join:
        return n == 2 && bits_of(v.kind) == 64 && kind(v, 0) == kind_of(32, is_lanes(v.kind)) &&
                       kind(v, 1) == kind(v, 0)
                   ? nullptr
                   : "no halves";
      case Operation::mask:
        return n == 1 && v.kind == Kind::mask && kind(v, 0) == number_kind() ? nullptr : "no mask";
      case Operation::bits:
        return n == 1 && v.kind == number_kind() && kind(v, 0) == Kind::mask ? nullptr : "no mask";
      case Operation::merge:
        return n == 3 && kind(v, 0) == Kind::mask && has_lanes(v.kind) && kind(v, 1) == v.kind &&
                       kind(v, 2) == v.kind
                   ? nullptr
                   : "merges other kinds";
      case Operation::function: return bits_of(v.kind) != 0 ? nullptr : "gives nothing";
      case Operation::part: return part(v);
      case Operation::access: return access(v);
      case Operation::call:
        return v.kind == Kind::memory && n == v.registers.size() + 1 && kind(v, 0) == Kind::memory
                   ? nullptr
                   : "no call";
      case Operation::exit: return v.kind == Kind::exit && n == v.registers.size() ? nullptr : "no exit";
      case Operation::parameter: return nullptr;
    }
    return "no operation";
  }
  Kind number_kind() const { return f_.width == 64 ? Kind::s64 : Kind::s32; }

  const char* compute(const Value& v) const {
    if (v.fn < isa::Fn::invert) return "computes nothing";
    const auto n = static_cast<size_t>(isa::arguments(v.fn));
    if (v.arguments.size() != n) return "has another number of arguments";
    const bool lanes = has_lanes(v.kind);
    for (size_t a = 0; a < n; a++)
      if (bits_of(kind(v, a)) == 0 || has_lanes(kind(v, a)) != lanes) return "mixes lanes and numbers";
    const int first = bits_of(kind(v, 0)), second = n > 1 ? bits_of(kind(v, 1)) : 0;
    if (v.kind != kind_of(isa::width_of(v.fn, first, second), lanes)) return "is of another kind";
    if (v.fn == isa::Fn::select)
      return first == 1 && kind(v, 1) == kind(v, 2) ? nullptr : "chooses otherwise";
    const bool shifts = v.fn >= isa::Fn::shift_left && v.fn <= isa::Fn::shift_right_signed;
    if (n == 2 && second != (shifts ? 32 : first)) return "computes with other widths";
    return nullptr;
  }

  const char* part(const Value& v) const {
    if (v.arguments.size() != 1) return "is a part of nothing";
    const Value& of = f_[v.arguments[0]];
    if (of.operation == Operation::function)
      return v.number == 1 && v.kind == Kind::mask ? nullptr : "no such part";
    if (of.operation == Operation::access)
      return bits_of(v.kind) == 32 && v.number >= 0 && v.number < 16 ? nullptr : "no such part";
    if (of.operation != Operation::call || v.number < 0 || v.number >= static_cast<int64_t>(of.writes.size()))
      return "no such part";
    const Register code = of.writes[static_cast<size_t>(v.number)];
    return v.kind == kind_of_register(static_cast<Register>(code & ~kPair), (code & kPair) != 0)
               ? nullptr
               : "a part of another kind";
  }

  const char* access(const Value& v) const {
    if (v.kind != Kind::memory || v.arguments.empty() || kind(v, 0) != Kind::memory) return "no memory";
    const bool by_lane = is_by_lane(v.access.space);
    const size_t at = by_lane ? 2 : 1;
    if (v.arguments.size() <= at || (by_lane && kind(v, 1) != Kind::mask)) return "no mask";
    const bool wide = v.access.space == isa::Space::global || v.access.space == isa::Space::flat || !by_lane;
    if (kind(v, at) != kind_of(wide ? 64 : 32, by_lane)) return "another kind of address";
    return v.access.direction == isa::Direction::none || v.access.count == 0 ? "moves nothing" : nullptr;
  }

  const Function& f_;
  std::vector<uint32_t> block_, order_;       // by value
  std::vector<uint32_t> number_, dominator_;  // by block: in post-order
  std::string problem_;
};

}  // namespace

std::string verify(const Function& function) { return Verifier(function).run(); }

}  // namespace morgana::device::lift
