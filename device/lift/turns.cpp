#include "device/lift/turns.h"

#include <algorithm>
#include <bitset>
#include <set>

#include "device/isa/codes.h"
#include "device/isa/effects.h"
#include "device/isa/memory.h"

namespace morgana::device::lift {
namespace {

using isa::Direction;
using isa::Op;

// Addresses that a wave has read since its last barrier, by the register that still holds them; the last bit:
// by one that has been written since.
constexpr unsigned kVgprs = 256, kGone = kVgprs;
using Addresses = std::bitset<kVgprs + 1>;

struct State {
  Addresses settled;         // read before the last wait
  Addresses recent;          // and since then
  std::set<uint32_t> waits;  // the last one, whichever way execution came
  bool operator==(const State&) const = default;

  void join(const State& other) {
    settled |= other.settled;
    recent |= other.recent;
    waits.insert(other.waits.begin(), other.waits.end());
  }
};

enum class Touch { none, reads, writes };

// What the instruction does to LDS. Atomics that add up are writes: whoever comes later finds another value.
Touch touch(const isa::Inst& inst) {
  const isa::Row& row = *inst.row;
  if (inst.lds || (row.flags & isa::kLdsDst)) return Touch::writes;
  if (row.flags & isa::kLdsSrc) return Touch::reads;
  const isa::MemoryAccess& access = isa::effects(row.op).access;
  if (access.space != isa::Space::lds || inst.gds || (row.flags & isa::kGws)) return Touch::none;
  return access.direction == Direction::load ? Touch::reads : Touch::writes;
}

bool waits_for_lds(Op op) {
  switch (op) {
    case Op::s_waitcnt:
    case Op::s_waitcnt_lgkmcnt:
    case Op::s_wait_dscnt:
    case Op::s_wait_loadcnt_dscnt:
    case Op::s_wait_storecnt_dscnt:
    case Op::s_wait_idle: return true;
    default: return false;
  }
}

// The register of the address; kGone where no VGPR holds it (M0).
unsigned address_of(const isa::Inst& inst) {
  const isa::Operand& address = inst.src[isa::kDsAddr];
  if (inst.format != isa::Format::DS || !address.present() || !address.is_vgpr()) return kGone;
  return address.code - isa::kVgprBase;
}

void forget(Addresses& addresses, unsigned first, unsigned count) {
  for (unsigned r = first; r < first + count && r < kVgprs; r++)
    if (addresses.test(r)) addresses.reset(r).set(kGone);
}

class Finder {
 public:
  explicit Finder(const Code& code) : code_(code), at_begin_(code.runs.size()) {}

  std::vector<uint32_t> find() {
    std::vector<uint32_t> pending{code_.entry};
    std::vector<bool> seen(code_.runs.size());
    while (!pending.empty()) {
      const uint32_t index = pending.back();
      pending.pop_back();
      seen[index] = true;
      State state = at_begin_[index];
      const Run& run = code_.runs[index];
      for (uint32_t i = run.first; i < run.first + run.count; i++) step(code_.instructions[i], state);
      for (const uint32_t next : {run.next, run.target}) {
        if (next == Run::kNowhere) continue;
        State joined = at_begin_[next];
        joined.join(state);
        if (seen[next] && joined == at_begin_[next]) continue;
        at_begin_[next] = std::move(joined);
        pending.push_back(next);
      }
    }
    return {turns_.begin(), turns_.end()};
  }

 private:
  void step(const Decoded& at, State& state) {
    const isa::Inst& inst = at.inst;
    if (isa::effects(inst.row->op).control == isa::Control::barrier) {
      state = {};
      return;
    }
    if (waits_for_lds(inst.row->op)) {
      state.settled |= state.recent;
      state.recent.reset();
      if (state.settled.any()) state.waits = {at.pc};
      return;
    }
    const Touch touched = touch(inst);
    if (touched == Touch::writes) write(inst, state);
    if (touched == Touch::reads) state.recent.set(address_of(inst));
    for (int d = 0; d < inst.n_dst; d++) {
      if (!inst.dst[d].is_vgpr()) continue;
      const unsigned first = inst.dst[d].code - isa::kVgprBase, count = inst.dst[d].dwords;
      forget(state.settled, first, count);
      forget(state.recent, first, count);
    }
  }

  // A lane that writes where it has read works on a place of its own, most often. Where it writes elsewhere
  // after reads, others may be about to read that.
  void write(const isa::Inst& inst, State& state) {
    const unsigned address = address_of(inst);
    if (state.settled.none()) return;
    if (address != kGone && (state.settled.test(address) || state.recent.test(address))) return;
    turns_.insert(state.waits.begin(), state.waits.end());
    state.settled.reset();
  }

  const Code& code_;
  std::vector<State> at_begin_;
  std::set<uint32_t> turns_;
};

}  // namespace

std::vector<uint32_t> find_turns(const Code& code) {
  const bool touches = std::any_of(code.instructions.begin(), code.instructions.end(),
                                   [](const Decoded& at) { return touch(at.inst) == Touch::writes; });
  return touches ? Finder(code).find() : std::vector<uint32_t>{};
}

}  // namespace morgana::device::lift
