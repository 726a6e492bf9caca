#include "device/jit/serial_loops.h"

#include <algorithm>

#include "device/isa/constants.h"
#include "device/isa/effects.h"

namespace morgana::device::jit {
namespace {

// Steps of a chain of results through one iteration, in cycles of the host: a lane alone waits for it.
constexpr int kFloatSteps = 4, kMostSteps = 9;
// Lane by lane pays when there are no more other instructions than this for a gather.
constexpr uint32_t kOthersPerGather = 12;

// A bf16 comes from a conversion, which is quicker.
bool has_float_steps(isa::Type type) {
  return isa::is_float(type) && type != isa::Type::bf16 && type != isa::Type::pk_bf16;
}

// Whether it waits until all that has been loaded is there; up to gfx9 that goes for stores, too.
bool waits_for_loads(const isa::Inst& inst, Generation generation) {
  switch (inst.row->op) {
    case isa::Op::s_waitcnt: return (inst.simm16 & (generation >= Generation::gfx11 ? 0xfc00 : 0xc00f)) == 0;
    case isa::Op::s_waitcnt_vmcnt:
    case isa::Op::s_wait_loadcnt: return inst.simm16 == 0;
    case isa::Op::s_wait_loadcnt_dscnt: return (inst.simm16 & 0x3f00) == 0;
    default: return false;
  }
}
// Of gfx10 and later.
bool waits_for_stores(isa::Op op) {
  return op == isa::Op::s_waitcnt_vscnt || op == isa::Op::s_wait_storecnt ||
         op == isa::Op::s_wait_storecnt_dscnt || op == isa::Op::s_wait_idle;
}

class Examiner {
 public:
  Examiner(const Flow& flow, const Loop& loop, Generation generation) : flow_(flow), generation_(generation) {
    loop_.loop = loop;
    loop_.behind = loop.exits[0];
    const Instruction& last = flow.last(flow.blocks[loop.head()]);
    loop_.is_strip = loop.blocks.size() == 1 && last.how == How::branch &&
                     isa::branch_test(last.step->inst->row->op).of == isa::Fn::scc;
  }

  bool examine() {
    for (const uint32_t index : loop_.loop.blocks) {
      const Block& block = flow_.blocks[index];
      if (block.is_entry || block.s_live_in.test(kScc)) return false;
      for (uint32_t n = block.first; n < block.first + block.count; n++)
        if (!instruction(flow_.instructions[n], n)) return false;
      loop_.instructions += flow_.counted(block.first, block.count);
    }
    if (flow_.blocks[loop_.behind].s_live_in.test(kScc)) return false;
    loop_.gathers = std::max(1u, (loop_.others + kOthersPerGather - 1) / kOthersPerGather);
    if (loop_.accesses.size() < loop_.gathers) return false;
    // A lane whose address lies in an aperture begins the loop anew in the interpreter.
    if (has_flat_ && (loop_.writes_memory || loop_.is_strip)) return false;
    // What counts as a mask is nowhere read as a number.
    for (unsigned code = 0; code < isa::kRegisterEnd; code++)
      if (numbers_.test(code) &&
          (loop_.masks.test(flow_.mask_at(code)) || code == isa::kExecLo || code == isa::kExecHi))
        return false;
    if (loop_.is_strip) return are_masks_its_own() && !waits() && !loop_.is_indirect && finds_addresses();
    std::optional<LanePaths> paths =
        lane_paths(flow_, loop_.loop, loop_.behind, loop_.masks, loop_.set_masks);
    if (!paths || waits()) return false;
    loop_.paths = std::move(*paths);
    return true;
  }

  SerialLoop take() { return std::move(loop_); }

 private:
  bool instruction(const Instruction& i, uint32_t number) {
    if (i.reads_all || i.crosses_lanes || i.moves_lanes) return false;
    if (loop_.is_strip && i.how != How::vector && i.how != How::memory && i.how != How::nothing)
      return uniform(i);
    switch (i.how) {
      case How::scalar:
        return !i.writes_exec || i.step->inst->dst[0].code == isa::kExecLo ? scalar(i) : false;
      case How::exec_op: return is_bitwise(effects_of(i).exec) && scalar(i);
      case How::vector: return vector(i);
      case How::memory: return access(i, number);
      case How::call:
        return serial_atomic(i.step->inst->row->op).operation != SerialAtomic::none && access(i, number);
      case How::branch: return isa::branch_test(i.step->inst->row->op).of == isa::Fn::exec;
      case How::nothing: return isa::effects(i.step->inst->row->op).control != isa::Control::barrier;
      case How::jump: return true;
      default: return false;
    }
  }

  // What the wave does once for all lanes, and in a strip loop for each one again.
  bool uniform(const Instruction& i) {
    if (i.how != How::scalar && i.how != How::scalar_float && i.how != How::scalar_load &&
        i.how != How::branch)
      return false;
    numbers_ |= i.s_reads | i.s_writes;
    loop_.numbers |= i.s_writes;
    return !i.writes_exec;
  }

  // Whether every iteration of a strip loop writes the masks that it reads, and nobody reads them behind it.
  bool are_masks_its_own() const {
    const Block& block = flow_.blocks[loop_.head()];
    for (unsigned code = 0; code < isa::kExecLo; code++)
      if (loop_.masks.test(flow_.mask_at(code)) &&
          (block.s_live_in.test(code) || flow_.blocks[loop_.behind].s_live_in.test(code)))
        return false;
    return true;
  }

  bool finds_addresses() {
    if (!loop_.writes_memory) return true;
    if (orders_stores()) return false;
    std::optional<StripAddresses> found = strip_addresses(flow_, loop_);
    if (found) loop_.addresses = std::move(*found);
    return found.has_value();
  }

  // Whether somebody else may see in which order lanes store: a wait whose next instruction reads nothing
  // that is being loaded, as a release leaves it. Or whether scalars are loaded, which are for all lanes at
  // once.
  bool orders_stores() const {
    const Block& block = flow_.blocks[loop_.head()];
    VectorSet loading;
    for (const bool is_second_turn : {false, true})
      for (uint32_t n = block.first; n < block.first + block.count; n++) {
        const Instruction& i = flow_.instructions[n];
        const bool waits = waits_for_loads(*i.step->inst, generation_);
        if (i.how == How::scalar_load || waits_for_stores(i.step->inst->row->op)) return true;
        loading &= ~set_of(i.v_writes, i.n_v_writes);
        if (i.how == How::memory) loading |= set_of(i.v_writes, i.n_v_writes);
        uint32_t behind = n + 1;
        while (behind < block.first + block.count && flow_.instructions[behind].how == How::nothing) behind++;
        if (!waits || behind == block.first + block.count) continue;
        const Instruction& next = flow_.instructions[behind];
        const VectorSet read = set_of(next.v_reads, next.n_v_reads);
        if (is_second_turn && (read & loading).none()) return true;
        loading &= ~read;
      }
    return false;
  }

  bool mask(const isa::Operand& operand, bool writes) {
    if (operand.code == isa::kNull) return true;  // 0, and writes are dropped
    if (operand.dwords != flow_.mask_dwords() || !is_mask_code(flow_, operand.code)) return false;
    if (operand.code >= isa::kRegisterEnd) return !writes;
    if (operand.code == isa::kExecLo) return true;
    loop_.masks.set(operand.code);
    if (writes) loop_.set_masks.set(operand.code);
    return true;
  }

  bool scalar(const Instruction& i) {
    const isa::Inst& inst = *i.step->inst;
    if (!is_bitwise(effects_of(i).result)) return false;
    for (int s = 0; s < inst.n_src; s++)
      if (!mask(inst.src[s], false)) return false;
    return mask(inst.dst[0], true);
  }

  bool vector(const Instruction& i) {
    const isa::Inst& inst = *i.step->inst;
    const VectorFunction& f = *i.vector;
    if (f.writes_exec || isa::effects(inst.row->op).kind == isa::Class::position) return false;
    for (int s = 0; s < inst.n_src; s++) {
      const isa::Operand& operand = inst.src[s];
      if (!operand.present() || !operand.is_scalar()) continue;
      if (s < f.n_src && f.src_registers[s] == 0) {
        if (i.step->kind[s] != Source::none && !mask(operand, false)) return false;
      } else if (operand.code < isa::kRegisterEnd) {
        number(operand);
      } else if (operand.code >= isa::kSrcVccz && operand.code <= isa::kSrcScc) {
        return false;
      }
    }
    if (f.writes_mask && !mask(inst.dst[f.dst_registers ? 1 : 0], true)) return false;
    read_and_write(i);
    loop_.others++;
    return true;
  }

  bool access(const Instruction& i, uint32_t at) {
    const isa::Inst& inst = *i.step->inst;
    const bool is_flat = inst.row->format == isa::Format::FLAT;
    if ((!is_flat && inst.row->format != isa::Format::GLOBAL) || (!writes_memory(i) && i.is_result_dead))
      return false;
    has_flat_ |= is_flat;
    loop_.writes_memory |= writes_memory(i);
    for (int s = 0; s < inst.n_src; s++)
      if (inst.src[s].present() && inst.src[s].is_scalar()) number(inst.src[s]);
    read_and_write(i);
    loop_.accesses.push_back(at);
    return true;
  }

  void number(const isa::Operand& operand) {
    for (unsigned d = 0; d < operand.dwords && operand.code + d < isa::kRegisterEnd; d++)
      numbers_.set(operand.code + d);
  }

  void read_and_write(const Instruction& i) {
    loop_.reads |= set_of(i.v_reads, i.n_v_reads);
    if (i.merges) loop_.reads |= set_of(i.v_writes, i.n_v_writes);
    loop_.writes |= set_of(i.v_writes, i.n_v_writes);
  }

  // Whether a lane alone would wait for its own results: for loads whose addresses other loads gave, or for
  // long chains of arithmetic from one iteration to the next. Ways through the loop are taken as one.
  bool waits() {
    VectorSet loaded;  // what follows from a load of this iteration
    ScalarSet loaded_masks;
    std::vector<int> steps(kVectorRegisters, 0);
    const VectorSet carried = loop_.writes & flow_.blocks[loop_.head()].live_in;
    VectorSet addresses;  // registers at the beginning of an iteration that addresses follow from
    std::vector<VectorSet> origin(kVectorRegisters);
    for (unsigned r = 0; r < kVectorRegisters; r++) origin[r].set(r);
    for (const uint32_t index : loop_.loop.blocks)
      for (uint32_t n = 0; n < flow_.blocks[index].count; n++) {
        const Instruction& i = flow_.instructions[flow_.blocks[index].first + n];
        const bool follows_mask = (i.s_reads & loaded_masks).any();
        if (i.how == How::scalar || i.how == How::exec_op)
          loaded_masks = follows_mask ? loaded_masks | i.s_writes : loaded_masks & ~i.s_writes;
        if (i.how != How::vector && i.how != How::memory && i.how != How::call) continue;
        const bool loads = i.how != How::vector;
        VectorSet read = set_of(i.v_reads, i.n_v_reads), from;
        int most = 0;
        bool follows = loads || follows_mask;
        for (unsigned r = 0; r < kVectorRegisters; r++) {
          if (!read.test(r)) continue;
          most = std::max(most, steps[r]);
          follows = follows || loaded.test(r);
          from |= origin[r];
        }
        if (loads && !writes_memory(i)) addresses |= from;
        loop_.is_indirect |= loads && !(loop_.is_strip && writes_memory(i)) && (read & loaded).any();
        const int own = i.step->inst->row->dst[0] == isa::Type::none ? 0
                        : has_float_steps(i.step->inst->row->dst[0]) ? kFloatSteps
                                                                     : 1;
        if (!loads) loaded_masks = follows ? loaded_masks | i.s_writes : loaded_masks & ~i.s_writes;
        for (int w = 0; w < i.n_v_writes; w++)
          for (unsigned r = i.v_writes[w].first; r < i.v_writes[w].first + i.v_writes[w].count; r++) {
            loaded.set(r, follows);
            steps[r] = loads || (loop_.is_strip && (from & carried).none()) ? 0 : most + own;
            origin[r] = from;
          }
      }
    for (unsigned r = 0; r < kVectorRegisters; r++)
      if (carried.test(r) && ((loaded.test(r) && addresses.test(r)) || steps[r] > kMostSteps)) return true;
    return false;
  }

  const Flow& flow_;
  const Generation generation_;
  SerialLoop loop_;
  ScalarSet numbers_;  // scalars that are read as such
  bool has_flat_ = false;
};

}  // namespace

std::vector<SerialLoop> serial_loops(const Flow& flow, Generation generation) {
  std::vector<SerialLoop> found;
  for (const Loop& candidate : innermost_loops(flow)) {
    if (candidate.exits.size() != 1) continue;
    Examiner examiner(flow, candidate, generation);
    if (examiner.examine()) found.push_back(examiner.take());
  }
  return found;
}

bool gathers(const SerialLoop& loop, const Flow& flow, const Shapes& shapes) {
  // A loop whose lanes leave it one by one ends with none.
  if (!loop.is_strip && (!shapes.is_reached(loop.head(), 0) || !shapes.is_reached(loop.behind, 0)))
    return false;
  const auto may_gather = [&](uint32_t access) {
    const Instruction& i = flow.instructions[access];
    if (i.how == How::call) return true;
    const auto& blocks = loop.loop.blocks;
    const uint32_t index = *std::find_if(blocks.begin(), blocks.end(), [&](uint32_t b) {
      return access - flow.blocks[b].first < flow.blocks[b].count;
    });
    const bool pair = is_wide(i);
    const uint32_t size = access_bytes(isa::effects(i.step->inst->row->op).access);
    for (unsigned version = 0; version < 2; version++)
      if (shapes.is_reached(index, version) && shapes.address(access, version, size, pair).group > 1)
        return false;
    return true;
  };
  return std::count_if(loop.accesses.begin(), loop.accesses.end(), may_gather) >= loop.gathers;
}

SerialAtomicForm serial_atomic(isa::Op op) {
  using isa::Op;
  switch (op) {
#define BOTH(name, operation)                                             \
  case Op::global_atomic_##name: return {SerialAtomic::operation, false}; \
  case Op::global_atomic_##name##_x2: return {SerialAtomic::operation, true};
    BOTH(swap, exchange)
    BOTH(cmpswap, compare_exchange)
    BOTH(add, add)
    BOTH(sub, subtract)
    BOTH(smin, min_signed)
    BOTH(umin, min)
    BOTH(smax, max_signed)
    BOTH(umax, max)
    BOTH(and, bit_and)
    BOTH(or, bit_or)
    BOTH(xor, bit_xor)
#undef BOTH
    default: return {};
  }
}

}  // namespace morgana::device::jit
