#include "device/jit/lane_paths.h"

#include <algorithm>
#include <set>

#include "device/isa/constants.h"
#include "device/isa/effects.h"

namespace morgana::device::jit {
namespace {

constexpr size_t kMostMasks = 8, kMostStates = 4096;

class Explorer {
 public:
  Explorer(const Flow& flow, const Loop& loop, uint32_t behind, const ScalarSet& masks)
      : flow_(flow), head_(loop.head()), behind_(behind) {
    for (uint16_t code = 0; code < isa::kExecLo; code++)
      if (masks.test(code)) paths_.codes.push_back(code);
  }

  std::optional<LanePaths> explore(const ScalarSet& set_masks) {
    if (paths_.codes.size() > kMostMasks) return std::nullopt;
    const LaneBits all = (LaneBits{2} << paths_.codes.size()) - 1;
    const LaneBits live = live_at(head_) | live_at(behind_);
    LaneBits set = 0;
    for (size_t c = 0; c < paths_.codes.size(); c++)
      if (set_masks.test(paths_.codes[c])) set |= LaneBits{2} << c;
    for (LaneBits bits = 0; bits <= all; bits++) {
      if (bits & ~(live | kActive)) continue;  // nobody reads them before they are written
      if (!(bits & kActive)) {
        if (!idles(bits)) return std::nullopt;
      } else if (!(bits & set) && !follow(bits)) {
        return std::nullopt;
      }
    }
    return std::move(paths_);
  }

 private:
  struct State {
    uint32_t block;
    LaneBits bits;
    bool operator<(const State& other) const {
      return block != other.block ? block < other.block : bits < other.bits;
    }
    bool operator==(const State&) const = default;
  };

  const Instruction* first(uint32_t block) const {
    return flow_.instructions.data() + flow_.blocks[block].first;
  }

  LaneBits live_at(uint32_t block) const {
    LaneBits live = kActive;
    for (size_t c = 0; c < paths_.codes.size(); c++)
      if (flow_.blocks[block].s_live_in.test(paths_.codes[c])) live |= LaneBits{2} << c;
    return live;
  }

  LaneBits bit(uint16_t code) const {
    if (code == isa::kExecLo) return kActive;
    const auto found = std::find(paths_.codes.begin(), paths_.codes.end(), code);
    return found == paths_.codes.end() ? 0 : LaneBits{2} << (found - paths_.codes.begin());
  }

  // One lane's bit of a number.
  bool value(const isa::Expression& expression, const isa::Inst& inst, LaneBits bits) const {
    struct Bits {
      const Explorer& explorer;
      const isa::Inst& inst;
      LaneBits bits;
      isa::Number leaf(const isa::Term& term) const {
        if (term.fn == isa::Fn::exec) return {bits & kActive, 1};
        const uint16_t code = inst.src[term.value].code;
        return {code == isa::kInlineMinusOne || (bits & explorer.bit(code)) ? 1u : 0u, 1};
      }
      isa::Number apply(isa::Fn fn, const isa::Number* v) const { return isa::compute(fn, v); }
    };
    return isa::evaluate<isa::Number>(expression, Bits{*this, inst, bits}).bits & 1;
  }

  // What a lane that comes to a block with some bits may have at its end: comparisons give either.
  std::vector<LaneBits> execute(const State& from) const {
    std::vector<LaneBits> now{from.bits};
    const auto put = [](LaneBits& bits, LaneBits bit, bool value) {
      bits = value ? bits | bit : bits & ~bit;
    };
    for (const Instruction* i = first(from.block); i < first(from.block) + flow_.blocks[from.block].count;
         i++) {
      const isa::Inst& inst = *i->step->inst;
      const isa::Effects& effects = effects_of(*i);
      if (i->how == How::scalar || i->how == How::exec_op) {
        for (LaneBits& bits : now) {
          const LaneBits old = bits;
          put(bits, bit(inst.dst[0].code), value(effects.result, inst, old));
          if (i->how == How::exec_op) put(bits, kActive, value(effects.exec, inst, old));
        }
      } else if (i->how == How::vector && i->vector->writes_mask) {
        const LaneBits result = bit(inst.dst[i->vector->dst_registers ? 1 : 0].code);
        const size_t count = now.size();
        for (size_t n = 0; n < count; n++) {
          put(now[n], result, false);
          if (result && (now[n] & kActive)) now.push_back(now[n] | result);
        }
        std::sort(now.begin(), now.end());
        now.erase(std::unique(now.begin(), now.end()), now.end());
      }
    }
    return now;
  }

  // Where a lane goes from the end of a block when it is alone (`alone`), or may go with its wave.
  void next(uint32_t block, LaneBits bits, bool alone, std::vector<uint32_t>& to) const {
    const Instruction& last = flow_.last(flow_.blocks[block]);
    const uint32_t on = flow_.block_of(last.at + last.step->dwords);
    to.clear();
    if (last.how == How::jump) {
      to.push_back(flow_.block_of(last.target));
    } else if (last.how != How::branch) {
      to.push_back(on);
    } else {
      const bool if_active = isa::branch_test(last.step->inst->row->op).nonzero;
      const bool is_active = bits & kActive;
      if (!(is_active || alone) || is_active == if_active) to.push_back(flow_.block_of(last.target));
      if (!(is_active || alone) || is_active != if_active) to.push_back(on);
    }
  }

  // Where lanes without EXEC's bit come to: active again, or outside.
  std::set<State> ends(const State& from) const {
    std::set<State> found, seen;
    std::vector<State> pending{from};
    std::vector<uint32_t> to;
    while (!pending.empty()) {
      const State state = pending.back();
      pending.pop_back();
      if (state.block == behind_ || (state.bits & kActive)) {
        found.insert({state.block, state.bits & live_at(state.block)});
        continue;
      }
      if (!seen.insert(state).second) continue;
      const LaneBits after = execute(state)[0];
      next(state.block, after, false, to);
      for (const uint32_t block : to) pending.push_back({block, after});
    }
    return found;
  }

  // A lane that waits at the head until the others are done must be left as it is.
  bool idles(LaneBits bits) const {
    return ends({head_, bits}) == std::set<State>{{behind_, bits & live_at(behind_)}};
  }

  void note(const State& state) {
    const auto [place, is_new] = paths_.places.try_emplace(
        LanePaths::Place{state.block, state.bits & kActive}, state.bits, ~state.bits);
    if (is_new) return;
    place->second.first &= state.bits;
    place->second.second &= ~state.bits;
  }

  // All ways that a lane takes from the head; false: not those that its wave takes, or they do not end.
  bool follow(LaneBits bits) {
    std::vector<State> pending{{head_, bits}};
    std::vector<uint32_t> to;
    while (!pending.empty()) {
      const State state = pending.back();
      pending.pop_back();
      if (state.block == behind_) {
        if (state.bits & kActive) return false;
        continue;
      }
      if (!states_.insert(state).second) continue;
      if (states_.size() > kMostStates) return false;
      note(state);
      if (!(state.bits & kActive) && (ends(state).size() != 1 || !stops(state))) return false;
      for (const LaneBits after : execute(state)) {
        next(state.block, after, true, to);
        for (const uint32_t block : to) pending.push_back({block, after});
      }
    }
    return true;
  }

  // Whether a lane that is alone and not active comes to an end of that.
  bool stops(State state) const {
    std::set<State> seen;
    std::vector<uint32_t> to;
    while (state.block != behind_ && !(state.bits & kActive)) {
      if (!seen.insert(state).second) return false;
      state.bits = execute(state)[0];
      next(state.block, state.bits, true, to);
      state.block = to[0];
    }
    return true;
  }

  const Flow& flow_;
  const uint32_t head_, behind_;
  LanePaths paths_;
  std::set<State> states_;
};

}  // namespace

bool is_mask_code(const Flow& flow, uint16_t code) {
  if (code == isa::kInlineZero || code == isa::kInlineMinusOne) return true;
  if (code >= isa::kRegisterEnd || code == isa::kNull || code % flow.mask_dwords() != 0) return false;
  return code == isa::kExecLo || (flow.mask_dwords() == 2 ? flow.wide.test(code) : code < isa::kTba);
}

bool is_bitwise(const isa::Expression& value) {
  struct Bitwise {
    bool leaf(const isa::Term& term) const { return term.fn == isa::Fn::source || term.fn == isa::Fn::exec; }
    bool apply(isa::Fn fn, const bool* v) const {
      if (fn == isa::Fn::invert) return v[0];
      return (fn == isa::Fn::bit_and || fn == isa::Fn::bit_or || fn == isa::Fn::bit_xor) && v[0] && v[1];
    }
  };
  return !value.empty() && isa::evaluate<bool>(value, Bitwise{});
}

std::optional<LanePaths> lane_paths(const Flow& flow, const Loop& loop, uint32_t behind,
                                    const ScalarSet& masks, const ScalarSet& set_masks) {
  return Explorer(flow, loop, behind, masks).explore(set_masks);
}

}  // namespace morgana::device::jit
