#include "device/jit/analysis.h"

#include <algorithm>
#include <set>
#include <utility>

#include "device/interp/code.h"
#include "device/isa/dual.h"
#include "device/isa/effects.h"
#include "device/jit/classify.h"
#include "device/jit/divisions.h"
#include "device/jit/liveness.h"
#include "device/lift/facts.h"
#include "device/lift/lift.h"

namespace morgana::device::jit {
namespace {

using isa::Control;
using isa::Op;

constexpr size_t kMaxInstructions = 30000;
// Edges of the graph: beyond, calls of nobody known are left to the interpreter.
constexpr size_t kMostWays = 20000;
// Larger kernels are not given blocks of their own for a full EXEC after it has been written.
constexpr size_t kMaxVersioned = 1000;

bool ends_block(const Instruction& i) {
  switch (i.how) {
    case How::branch:
    case How::jump:
    case How::subroutine:
    case How::ret:
    case How::end:
    case How::barrier:
    case How::sleep:
    case How::turn:
    case How::leave: return true;
    default: return false;
  }
}
bool falls_through(const Instruction& i) {
  switch (i.how) {
    case How::jump:
    case How::subroutine:
    case How::ret:
    case How::end:
    case How::leave: return false;
    default: return true;
  }
}
bool calls_by_register(const Instruction& i) {
  return i.step->inst != nullptr && isa::effects(i.step->inst->row->op).control == Control::swap_pc;
}
bool has_target(const Instruction& i) {
  return i.how == How::jump || i.how == How::branch || i.how == How::subroutine;
}

class Builder {
 public:
  Builder(Program& program, const Library& library, const FlowOptions& options, Flow& flow)
      : program_(program), library_(library), options_(options), flow_(flow) {}

  bool build(const Step* entry) {
    flow_.lanes = options_.lanes;
    flow_.computes_wide = options_.computes_wide;
    if (!reach(static_cast<uint32_t>(entry - program_.steps))) return false;
    make_blocks();
    if (!keeps_moves_together()) return false;
    connect();
    collect_registers();
    find_divisions(flow_, options_.mode);
    find_liveness(flow_, options_.observe_everything);
    find_unchanged(flow_);
    return true;
  }

 private:
  Instruction classified(const Step* step, uint32_t at) const {
    return classify(step, at, library_, options_, program_.target());
  }

  const Step* decoded(uint32_t at) {
    if (at > program_.count) return nullptr;
    const Step* step = program_.at(program_.address + uint64_t{at} * 4);
    if (step == nullptr) return nullptr;
    if (step->run.load(std::memory_order_acquire) == level().undecoded) program_.decode(step, options_.have);
    return step;
  }

  // Every instruction that can be executed, and where blocks begin.
  bool reach(uint32_t entry) {
    leaders_.insert(entry);
    entry_ = entry;
    if (!follow({entry})) return false;
    // Whom the code does not tell is most often somebody who is called elsewhere: without optimisation
    // compilers keep addresses of functions in registers that they spill.
    while (!untold_.empty() && !flow_.callees.empty() && ways() <= kMostWays) {
      std::vector<uint32_t> behind;
      for (const size_t n : std::exchange(untold_, {})) {
        list_[n].how = How::subroutine;
        list_[n].target = kAnyCallee;
        behind.push_back(add_return(list_[n]));
      }
      if (!follow(std::move(behind))) return false;
    }
    std::sort(list_.begin(), list_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.at, a.is_second) < std::pair(b.at, b.is_second);
    });
    return true;
  }

  // From calls to callees and back.
  size_t ways() const {
    const auto is_ret = [](const Instruction& i) { return i.how == How::ret; };
    const auto rets = static_cast<size_t>(std::count_if(list_.begin(), list_.end(), is_ret));
    return untold_.size() * flow_.callees.size() + rets * (flow_.returns.size() + untold_.size());
  }

  uint32_t add_return(const Instruction& call) {
    const uint32_t next = call.at + call.step->dwords;
    flow_.returns.push_back(next);
    leaders_.insert(next);
    return next;
  }

  bool follow(std::vector<uint32_t> pending) {
    while (!pending.empty()) {
      uint32_t at = pending.back();
      pending.pop_back();
      std::vector<const Step*> path;
      while (!found_.contains(at)) {
        const Step* step = decoded(at);
        Instruction i = step ? classified(step, at) : Instruction{};
        if (step == nullptr) {
          i.step = program_.steps + std::min<uint64_t>(at, program_.count);
          i.at = at;
          i.reads_all = true;
        } else if (step->inst) {
          path.push_back(step);
          find_subroutine(path, i);
        }
        if (found_.size() >= kMaxInstructions) return false;
        found_.insert(at);
        if (step == nullptr || !split_dual(i)) list_.push_back(i);
        if (has_target(i)) {
          leaders_.insert(i.target);
          pending.push_back(i.target);
        }
        if (i.how == How::subroutine) {
          auto& callees = flow_.callees;
          if (std::find(callees.begin(), callees.end(), i.target) == callees.end())
            callees.push_back(i.target);
          pending.push_back(add_return(i));
        } else if (calls_by_register(i)) {
          untold_.push_back(list_.size() - 1);
        }
        if (!falls_through(i)) break;
        at += i.step->dwords;
        if (ends_block(i) || i.writes_exec) leaders_.insert(at);
      }
    }
    return true;
  }

  // The halves of a VOPD, one after the other: false where one of the tables has no function for, or where
  // each reads what the other writes.
  bool split_dual(const Instruction& both) {
    if (both.step->inst == nullptr || both.step->inst->second == nullptr || both.how != How::call)
      return false;
    const auto parts = isa::halves(*both.step->inst);
    if (!parts) return false;
    Instruction made[2];
    for (const unsigned k : {0u, 1u}) {
      auto half = std::make_unique<Half>();
      half->inst = (*parts)[k];
      program_.set_operands(half->inst, half->step);
      half->step.inst = &half->inst;
      half->step.dwords = k == 0 ? 0 : both.step->dwords;
      half->step.run.store(both.step->run.load(std::memory_order_relaxed), std::memory_order_relaxed);
      made[k] = classified(&half->step, both.at);
      if (made[k].how != How::vector) return false;
      made[k].is_second = k == 1;
      flow_.halves.push_back(std::move(half));
    }
    list_.insert(list_.end(), made, made + 2);
    return true;
  }

  // Who is called, where that follows from the code before it, the way compilers compute the addresses of
  // functions. A guess: execution may come into the middle of `path` with other values; what the call makes
  // of it compares.
  void find_subroutine(const std::vector<const Step*>& path, Instruction& i) const {
    if (!calls_by_register(i)) return;
    std::vector<lift::Decoded> code;
    for (const Step* step : path)
      code.push_back({static_cast<uint32_t>(step - program_.steps) * 4, *step->inst});
    lift::LiftOptions options;
    options.acc_base = options_.acc_base;
    options.address = program_.address;
    const lift::Function function = lift::lift(
        lift::straight_run(program_.target(), static_cast<WaveSize>(options_.lanes), std::move(code)),
        options);
    const auto facts = lift::find_facts(function);
    const auto call = std::find_if(function.blocks.begin(), function.blocks.end(),
                                   [](const lift::Block& b) { return b.ending == lift::Ending::call; });
    const lift::Value& exit = function[call->value];
    const auto callee = std::find(exit.registers.begin(), exit.registers.end(), lift::kCallee);
    const lift::Fact& target = facts[exit.arguments[static_cast<size_t>(callee - exit.registers.begin())]];
    if (!target.is_constant() || !program_.contains(target.least) || target.least % 4 != 0) return;
    i.how = How::subroutine;
    i.target = static_cast<uint32_t>((target.least - program_.address) / 4);
  }

  void make_blocks() {
    flow_.instructions = std::move(list_);
    auto& all = flow_.instructions;
    flow_.tests_exec = all.size() <= kMaxVersioned;
    flow_.base = all.front().at;
    flow_.block_at.assign(all.back().at - flow_.base + 1, ~0u);
    for (uint32_t i = 0; i < all.size(); i++) {
      const bool follows =
          i > 0 && falls_through(all[i - 1]) && all[i - 1].at + all[i - 1].step->dwords == all[i].at;
      if ((leaders_.contains(all[i].at) && !all[i].is_second) || !follows) {
        flow_.block_at[all[i].at - flow_.base] = static_cast<uint32_t>(flow_.blocks.size());
        flow_.blocks.emplace_back().first = i;
      }
      flow_.blocks.back().count++;
    }
  }

  // Nobody comes in between s_set_gpr_idx_on, its move, and s_set_gpr_idx_off.
  bool keeps_moves_together() const {
    const auto& all = flow_.instructions;
    const auto op = [&](size_t n) { return all[n].step->inst ? all[n].step->inst->row->op : Op::invalid; };
    const auto follows = [&](size_t n, How before) {
      return n > 0 && all[n - 1].how == before && flow_.block_of(all[n].at) == ~0u;
    };
    for (size_t n = 0; n < all.size(); n++) {
      const bool is_move = all[n].how == How::indexed && op(n) == Op::v_mov_b32;
      const bool is_off = all[n].how == How::nothing && op(n) == Op::s_set_gpr_idx_off;
      if (is_move && !follows(n, How::index_on)) return false;
      if (is_off && !follows(n, How::indexed)) return false;
      if (all[n].how == How::index_on && (n + 2 >= all.size() || all[n + 1].how != How::indexed))
        return false;
    }
    return true;
  }

  void connect() {
    for (uint32_t b = 0; b < flow_.blocks.size(); b++) {
      const Instruction& end = flow_.last(flow_.blocks[b]);
      const auto link = [&](uint32_t to_dword) {
        const uint32_t to = flow_.block_of(to_dword);
        if (to == ~0u) return;
        flow_.blocks[b].successors.push_back(to);
        flow_.blocks[to].predecessors.push_back(b);
        if (to_dword <= end.at) flow_.blocks[to].is_loop_header = true;
      };
      if (end.how == How::subroutine && end.target == kAnyCallee)
        for (const uint32_t callee : flow_.callees) link(callee);
      else if (has_target(end))
        link(end.target);
      if (end.how == How::ret)
        for (const uint32_t next : flow_.returns) link(next);
      if (falls_through(end)) {
        link(end.at + end.step->dwords);
        if (flow_.goes_on_by_entry(flow_.blocks[b]))
          if (const uint32_t next = flow_.block_of(end.at + end.step->dwords); next != ~0u)
            flow_.blocks[next].is_entry = true;
      }
    }
    flow_.entry_block = flow_.block_of(entry_);
    flow_.blocks[flow_.entry_block].is_entry = true;
  }

  void collect_registers() {
    for (const Instruction& i : flow_.instructions) {
      flow_.vectors |= set_of(i.v_reads, i.n_v_reads) | set_of(i.v_writes, i.n_v_writes);
      flow_.scalars |= i.s_reads | i.s_writes;
      if (i.step->inst == nullptr) continue;
      const isa::Inst& inst = *i.step->inst;
      const auto pair = [&](const isa::Operand& operand) {
        if (operand.is_scalar() && operand.dwords == 2 && operand.code < isa::kRegisterEnd)
          flow_.wide.set(operand.code & ~1u);
      };
      for (int s = 0; s < inst.n_src; s++) pair(inst.src[s]);
      for (int d = 0; d < inst.n_dst; d++)
        if (i.how != How::scalar_load) pair(inst.dst[d]);
    }
    flow_.scalars.set(kScc);
    for (const uint16_t code : {isa::kVccLo, isa::kVccHi, isa::kExecLo, isa::kExecHi})
      flow_.scalars.set(code);
    if (flow_.mask_dwords() == 2)
      flow_.wide.set(isa::kVccLo), flow_.wide.set(isa::kExecLo);
    else
      part_masks();
    for (int code = 0; code < isa::kRegisterEnd; code += 2)
      if (flow_.scalars.test(code) || flow_.scalars.test(code + 1))
        flow_.scalars.set(code), flow_.scalars.set(code + 1);
  }

  // Where a mask is one SGPR it does not share a value of 64 bits with the next one: LLVM would take every
  // test of it for one of a half, and know no more what it compares.
  void part_masks() {
    flow_.wide.reset(isa::kExecLo);
    const auto is_exec = [](const isa::Operand& operand) { return operand.code == isa::kExecLo; };
    for (const Instruction& i : flow_.instructions) {
      if (i.step->inst == nullptr) continue;
      const isa::Inst& inst = *i.step->inst;
      const bool of_exec =
          i.how == How::exec_op ||
          (i.how == How::scalar && (std::any_of(inst.src.begin(), inst.src.begin() + inst.n_src, is_exec) ||
                                    std::any_of(inst.dst.begin(), inst.dst.begin() + inst.n_dst, is_exec)));
      const auto part = [&](const isa::Operand& operand) {
        if ((of_exec || operand.type == isa::Type::mask) && operand.code < isa::kRegisterEnd)
          flow_.wide.reset(operand.code & ~1u);
      };
      for (int s = 0; s < inst.n_src; s++) part(inst.src[s]);
      for (int d = 0; d < inst.n_dst; d++) part(inst.dst[d]);
    }
  }

  Program& program_;
  const Library& library_;
  const FlowOptions& options_;
  Flow& flow_;
  uint32_t entry_ = 0;
  std::set<uint32_t> leaders_, found_;
  std::vector<Instruction> list_;
  std::vector<size_t> untold_;  // of list_: calls of nobody known
};

}  // namespace

VectorSet set_of(const Span* spans, int count) {
  VectorSet set;
  for (int s = 0; s < count; s++)
    for (unsigned r = 0; r < spans[s].count && spans[s].first + r < kVectorRegisters; r++)
      set.set(spans[s].first + r);
  return set;
}

const isa::Effects& effects_of(const Instruction& i) {
  const Op op = i.step->inst->row->op;
  return isa::effects(i.how == How::exec_op ? isa::of_whole_mask(op) : op);
}

const isa::Expression& exec_rule(const Instruction& i) {
  static constexpr isa::Expression kUnknown;
  const bool to_exec = i.step->inst->dst[0].code == isa::kExecLo;
  if (i.how == How::exec_op) return to_exec ? kUnknown : effects_of(i).exec;
  return i.how == How::scalar && to_exec ? effects_of(i).result : kUnknown;
}

bool writes_vector(const Instruction& i, unsigned place) {
  return std::any_of(i.v_writes, i.v_writes + i.n_v_writes,
                     [&](const Span& span) { return place - span.first < span.count; });
}

unsigned Flow::next_versions(const Block& block, unsigned version) const {
  const Instruction& end = last(block);
  if (!end.writes_exec || (version == 1 && end.keeps_full)) return 1u << version;
  if (!tests_exec || (version == 0 && !end.widens)) return 1;
  return 3;
}

bool analyse(Program& program, const Step* entry, const Library& library, const FlowOptions& options,
             Flow& flow) {
  if (!Builder(program, library, options, flow).build(entry)) return false;
  if (!options.mode.is_mixed() || std::ranges::any_of(flow.instructions, computes_in_single)) return true;
  FlowOptions wide = options;
  wide.computes_wide = true;
  flow = {};
  return Builder(program, library, wide, flow).build(entry);
}

}  // namespace morgana::device::jit
