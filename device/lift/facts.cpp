#include "device/lift/facts.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "device/lift/transfer.h"

namespace morgana::device::lift {
namespace {

// Times that a fact of a parameter may get weaker before its range is given up.
constexpr int kMostChanges = 8;

class Finder {
 public:
  Finder(const Function& function, const std::vector<InitialFact>& initial)
      : f_(function),
        facts_(function.values.size()),
        users_(function.values.size()),
        changes_(function.values.size()) {
    for (const InitialFact& known : initial) initial_.push_back(known);
    index();
  }

  std::vector<Fact> run() {
    reach(0);
    while (!pending_.empty()) {
      const ValueId id = pending_.front();
      pending_.pop_front();
      is_pending_[id] = false;
      update(id);
    }
    return std::move(facts_);
  }

 private:
  struct Incoming {
    uint32_t from;
    size_t edge, place;
  };

  void index() {
    is_pending_.resize(f_.values.size());
    is_initial_.resize(f_.values.size());
    for (const ValueId id : f_.blocks[0].values) is_initial_[id] = true;
    incoming_.resize(f_.values.size());
    reached_.resize(f_.blocks.size());
    for (uint32_t b = 0; b < f_.blocks.size(); b++) {
      const Block& block = f_.blocks[b];
      for (const ValueId id : block.values)
        for (const ValueId argument : f_[id].arguments) users_[argument].push_back(id);
      for (size_t e = 0; e < block.edges.size(); e++) {
        const auto& parameters = f_.blocks[block.edges[e].block].parameters;
        for (size_t p = 0; p < parameters.size(); p++) {
          incoming_[parameters[p]].push_back({b, e, p});
          users_[block.edges[e].arguments[p]].push_back(parameters[p]);
        }
      }
    }
  }

  // Everything in a block, once; and where it leads. Which way a branch takes is not decided here.
  void reach(uint32_t first) {
    std::vector<uint32_t> blocks{first};
    while (!blocks.empty()) {
      const uint32_t b = blocks.back();
      blocks.pop_back();
      if (reached_[b]) continue;
      reached_[b] = true;
      for (const ValueId id : f_.blocks[b].parameters) queue(id);
      for (const ValueId id : f_.blocks[b].values) queue(id);
      for (const Edge& edge : f_.blocks[b].edges) blocks.push_back(edge.block);
    }
  }
  void queue(ValueId id) {
    if (!is_pending_[id]) is_pending_[id] = true, pending_.push_back(id);
  }

  void update(ValueId id) {
    const Value& value = f_[id];
    Fact fact = value.operation == Operation::parameter ? parameter(id) : of(id);
    if (!fact.is_reached() || fact == facts_[id]) return;
    // Never stronger than it was: what followed from that has been used.
    if (facts_[id].is_reached()) fact = join(facts_[id], fact, value.kind);
    if (fact == facts_[id]) return;
    if (++changes_[id] > kMostChanges) fact = without_range(fact, value.kind);
    if (changes_[id] > 4 * kMostChanges) fact = unknown(value.kind);
    if (fact == facts_[id]) return;
    facts_[id] = fact;
    for (const ValueId user : users_[id]) queue(user);
  }

  Fact parameter(ValueId id) const {
    Fact fact;
    for (const Incoming& way : incoming_[id]) {
      const Fact& given = facts_[f_.blocks[way.from].edges[way.edge].arguments[way.place]];
      if (reached_[way.from] && given.is_reached())
        fact = fact.is_reached() ? join(fact, given, f_[id].kind) : given;
    }
    // A subset of a value that another turn of the loop makes anew is none.
    fact.subset_of = kNoValue;
    return fact;
  }

  // What is known of a register, or of its halves.
  Fact initial(Register code, Kind kind) const {
    for (const InitialFact& known : initial_)
      if (known.code == code && known.kind == kind) return known.fact;
    if (bits_of(kind) != 64) return unknown(kind);
    const Kind half = kind_of(32, has_lanes(kind));
    return join_halves(initial(code, half), initial(static_cast<Register>(code + 1), half), kind);
  }

  Fact of(ValueId id) const {
    const Value& value = f_[id];
    std::vector<Fact> arguments;
    for (const ValueId id : value.arguments) {
      arguments.push_back(facts_[id]);
      if (!facts_[id].is_reached() && bits_of(f_[id].kind) != 0) return {};
    }
    // Inputs of other blocks are what a call of guest code has left.
    if (value.operation == Operation::input && is_initial_[id])
      return initial(static_cast<Register>(value.number), value.kind);
    return transfer(f_, value, arguments);
  }

  const Function& f_;
  std::vector<InitialFact> initial_;
  std::vector<Fact> facts_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<int> changes_;
  std::vector<std::vector<Incoming>> incoming_;
  std::vector<bool> is_pending_, reached_, is_initial_;
  std::deque<ValueId> pending_;
};

}  // namespace

std::vector<Fact> find_facts(const Function& function, const std::vector<InitialFact>& initial) {
  return Finder(function, initial).run();
}

std::string describe(const Fact& fact, Kind kind) {
  if (!fact.is_reached()) return "unreached";
  const int bits = bits_of(kind);
  if (bits == 0) return "";
  std::string text;
  const auto say = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (kind == Kind::mask) {
    if (fact.is_full()) return "full";
    if (fact.is_empty()) return "empty";
    if (fact.is_uniform()) say("full or empty");
    if (fact.subset_of != kNoValue) say("subset of %" + std::to_string(fact.subset_of));
    return text;
  }
  if (is_lanes(kind) && fact.shape == Shape::affine)
    say(fact.stride == 0
            ? "uniform"
            : "stride " + std::to_string(static_cast<int64_t>(fact.stride << (64 - bits)) >> (64 - bits)));
  if (fact.least == fact.greatest)
    say(std::to_string(fact.least));
  else if (fact.least != 0 || fact.greatest != isa::ones(bits))
    say(std::to_string(fact.least) + " to " + std::to_string(fact.greatest));
  const int zeros = std::countr_one(fact.zeros);
  if (zeros > 0 && fact.least != fact.greatest) say("multiple of " + std::to_string(uint64_t{1} << zeros));
  return text;
}

}  // namespace morgana::device::lift
