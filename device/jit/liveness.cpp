#include "device/jit/liveness.h"

#include <map>

#include "device/isa/effects.h"

namespace morgana::device::jit {
namespace {

// Where the lanes of a mask come from: all that it has are among these.
struct Origin {
  bool is_known = true;
  bool from_exec = false;
  uint8_t masks[2] = {};  // by their first SGPR
  uint8_t n_masks = 0;
};

// `dwords` of a mask.
Origin of_operand(const isa::Operand& operand, unsigned dwords) {
  Origin o;
  if (operand.code == isa::kExecLo && operand.dwords == dwords) {
    o.from_exec = true;
  } else if (operand.code < isa::kTba && operand.dwords == dwords && operand.code % dwords == 0) {
    o.masks[o.n_masks++] = static_cast<uint8_t>(operand.code);
  } else {
    o.is_known = operand.code == isa::kInlineZero;  // the constant 0 has no lanes
  }
  return o;
}
Origin either(const Origin& a, const Origin& b) {
  Origin o = a;
  o.is_known = a.is_known && b.is_known && a.n_masks + b.n_masks <= 2;
  o.from_exec = a.from_exec || b.from_exec;
  for (int k = 0; k < b.n_masks && o.is_known; k++) o.masks[o.n_masks++] = b.masks[k];
  return o;
}

// Of the mask that `i` writes to its first destination, or to EXEC.
Origin origin_of(const Instruction& i, bool to_exec, unsigned dwords) {
  const isa::Inst& inst = *i.step->inst;
  Origin unknown;
  unknown.is_known = false;
  if (i.how == How::vector) {
    Origin active;
    active.from_exec = true;
    return i.vector->writes_mask ? active : unknown;
  }
  // Bit by bit: of two of which a lane must have both, either tells.
  struct Origins {
    const isa::Inst& inst;
    Origin unknown;
    unsigned dwords;
    Origin leaf(const isa::Term& term) const {
      if (term.fn == isa::Fn::exec)
        return of_operand({isa::kExecLo, isa::Type::mask, static_cast<uint8_t>(dwords)}, dwords);
      return term.fn == isa::Fn::source ? of_operand(inst.src[term.value], dwords) : unknown;
    }
    Origin apply(isa::Fn fn, const Origin* v) const {
      switch (fn) {
        case isa::Fn::bit_and:
          return v[0].is_known && (v[0].n_masks == 0 || !v[1].is_known || v[1].n_masks > 0) ? v[0] : v[1];
        case isa::Fn::bit_or:
        case isa::Fn::bit_xor: return either(v[0], v[1]);
        case isa::Fn::select: return either(v[1], v[2]);
        default: return unknown;
      }
    }
  };
  const isa::Effects& effects = effects_of(i);
  const isa::Expression& value = to_exec && !effects.exec.empty() ? effects.exec : effects.result;
  return value.empty() ? unknown : isa::evaluate<Origin>(value, Origins{inst, unknown, dwords});
}

struct Live {
  VectorSet active;
  VectorSet inactive;                   // in any lanes
  std::map<uint8_t, VectorSet> masked;  // in the lanes of the mask that begins at an SGPR
  ScalarSet scalars;
  bool operator==(const Live&) const = default;

  VectorSet not_active() const {
    VectorSet all = inactive;
    for (const auto& [mask, set] : masked) all |= set;
    return all;
  }
  void add(const Live& other) {
    active |= other.active;
    inactive |= other.inactive;
    for (const auto& [mask, set] : other.masked) masked[mask] |= set;
    scalars |= other.scalars;
  }
  // `set` is live in the lanes that come from `origin`, and is known to be where those are active.
  void add(const Origin& origin, const VectorSet& set) {
    if (set.none()) return;
    if (!origin.is_known) inactive |= set;
    for (int k = 0; k < origin.n_masks && origin.is_known; k++) masked[origin.masks[k]] |= set;
  }
};

// Where masks begin that are 0 behind `i`, from those before it. Compilers clear the mask in which a loop
// collects the lanes that have left it some instructions before the loop.
void clear_masks(const Instruction& i, const Flow& flow, ScalarSet& zero) {
  if (i.how == How::call_all) zero.reset();
  for (unsigned code = 0; code < isa::kRegisterEnd; code++)
    if (i.s_writes.test(code)) zero.reset(flow.mask_at(code));
  const isa::Inst& inst = *i.step->inst;
  if (i.how == How::scalar && effects_of(i).result.is_leaf(isa::Fn::source) &&
      inst.src[0].code == isa::kInlineZero && inst.dst[0].dwords == flow.mask_dwords() &&
      inst.dst[0].code < isa::kExecLo && !i.scalar->conditional)
    zero.set(inst.dst[0].code);
}
// By instruction.
std::vector<ScalarSet> find_zero_masks(const Flow& flow) {
  std::vector<ScalarSet> before(flow.blocks.size(), ScalarSet().set()), behind(flow.instructions.size());
  for (size_t b = 0; b < flow.blocks.size(); b++)
    if (flow.blocks[b].is_entry) before[b].reset();
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = 0; b < flow.blocks.size(); b++) {
      ScalarSet zero = before[b];
      for (uint32_t n = flow.blocks[b].first; n < flow.blocks[b].first + flow.blocks[b].count; n++) {
        clear_masks(flow.instructions[n], flow, zero);
        behind[n] = zero;
      }
      for (const uint32_t next : flow.blocks[b].successors) {
        changed = changed || (before[next] & ~zero).any();
        before[next] &= zero;
      }
    }
  }
  return behind;
}

// Masks and EXEC, from what is live behind `i` to before it.
void masks_before(const Instruction& i, unsigned dwords, Live& live) {
  const VectorSet woken = live.active, rest = live.not_active();
  const auto is_written = [&](uint8_t mask) {
    return i.s_writes.test(mask) || (dwords == 2 && i.s_writes.test(mask + 1));
  };
  std::map<uint8_t, VectorSet> overwritten;
  for (auto it = live.masked.begin(); it != live.masked.end();)
    it = is_written(it->first) ? (overwritten.insert(*it), live.masked.erase(it)) : std::next(it);
  for (const auto& [mask, set] : overwritten) {
    const isa::Inst& inst = *i.step->inst;
    // Carry, comparison or saved EXEC: whichever of the destinations is the whole mask.
    bool whole = false;
    for (int d = 0; d < inst.n_dst; d++)
      whole |= inst.dst[d].present() && inst.dst[d].code == mask && inst.dst[d].dwords == dwords;
    Origin unknown;
    unknown.is_known = false;
    live.add(whole ? origin_of(i, false, dwords) : unknown, set);
  }
  if (!i.writes_exec) return;
  live.active |= rest;
  if (i.widens) live.add(origin_of(i, true, dwords), woken);
}

// What the interpreter may read where another index is not compiled code's: registers behind those that
// Instruction::indexed has, or v0 for one that the wave does not have.
VectorSet behind_index(const Instruction& i, const VectorSet& all) {
  VectorSet read;
  if (i.how != How::indexed || i.merges) return read;
  for (unsigned r = i.indexed.first; r < kVectorRegisters; r++) read.set(r, all.test(r));
  read.set(0, all.test(0));
  return read;
}

// `zero`: masks that are 0 behind it, so that no lane is in them.
void before(Instruction& i, const Flow& flow, const ScalarSet& zero, Live& live, const Live& everything,
            bool observe_everything) {
  std::erase_if(live.masked, [&](const auto& masked) { return zero.test(masked.first); });
  if (i.how == How::end) {
    live = observe_everything ? everything : Live{};
    return;
  }
  if (i.reads_all) {
    live = everything;
    i.live = live.active, i.s_live = live.scalars;
    return;
  }
  masks_before(i, flow.mask_dwords(), live);
  const VectorSet written = set_of(i.v_writes, i.n_v_writes), inactive = live.not_active();
  i.keeps_old = (written & inactive).any();
  i.is_result_dead = (written & (live.active | inactive)).none();
  if (i.merges)
    live.active |= written;
  else
    live.active &= ~written;
  const VectorSet read = set_of(i.v_reads, i.n_v_reads) | behind_index(i, everything.active);
  live.active |= read;
  if (i.crosses_lanes) live.inactive |= read;
  live.scalars &= ~i.s_writes;
  live.scalars |= i.s_reads;
  live.scalars.set(isa::kExecLo), live.scalars.set(isa::kExecHi);
  i.live = live.active | live.not_active();
  i.s_live = live.scalars;
}

}  // namespace

void find_liveness(Flow& flow, bool observe_everything) {
  auto& blocks = flow.blocks;
  const Live everything{flow.vectors, flow.vectors, {}, flow.scalars};
  const std::vector<ScalarSet> zero = find_zero_masks(flow);
  std::vector<Live> in(blocks.size());
  std::vector<bool> done(blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      Live live;
      for (const uint32_t next : blocks[b].successors) live.add(in[next]);
      for (uint32_t i = blocks[b].count; i-- > 0;)
        before(flow.instructions[blocks[b].first + i], flow, zero[blocks[b].first + i], live, everything,
               observe_everything);
      if (done[b] && live == in[b]) continue;
      done[b] = true;
      in[b] = live;
      changed = true;
    }
  }
  for (size_t b = 0; b < blocks.size(); b++) {
    blocks[b].live_in = in[b].active | in[b].not_active();
    blocks[b].s_live_in = in[b].scalars;
  }
}

VectorSet written_vectors(const Instruction& i) {
  return i.how == How::call_all ? ~VectorSet{} : set_of(i.v_writes, i.n_v_writes);
}

namespace {

VectorSet written_in(const Flow& flow, const Block& block) {
  VectorSet written;
  for (uint32_t k = 0; k < block.count; k++) written |= written_vectors(flow.instructions[block.first + k]);
  return written;
}

// Registers that a loop with barriers leaves as they are would be stored at every barrier, because those that
// enter the loop have not been.
void give_before_loops(Flow& flow) {
  auto& blocks = flow.blocks;
  for (uint32_t head = 0; head < blocks.size(); head++) {
    if (!blocks[head].is_loop_header) continue;
    // Blocks on the ways from the head back to it; the loop may be entered elsewhere.
    std::vector<bool> reached(blocks.size()), inside(blocks.size());
    const auto spread = [&](std::vector<uint32_t> pending, std::vector<bool>& set, bool forward) {
      while (!pending.empty()) {
        const uint32_t b = pending.back();
        pending.pop_back();
        if (set[b] || (!forward && !reached[b])) continue;
        set[b] = true;
        if (!forward && b == head) continue;
        const auto& next = forward ? blocks[b].successors : blocks[b].predecessors;
        pending.insert(pending.end(), next.begin(), next.end());
      }
    };
    spread({head}, reached, true);
    std::vector<uint32_t> latches;
    const uint32_t at = flow.instructions[blocks[head].first].at;
    for (const uint32_t from : blocks[head].predecessors)
      if (flow.last(blocks[from]).at >= at) latches.push_back(from);
    spread(latches, inside, false);
    inside[head] = true;
    bool has_barrier = false;
    VectorSet written;
    for (uint32_t b = 0; b < blocks.size(); b++) {
      if (!inside[b]) continue;
      has_barrier = has_barrier || flow.goes_on_by_entry(blocks[b]);
      written |= written_in(flow, blocks[b]);
    }
    if (!has_barrier) continue;
    for (uint32_t b = 0; b < blocks.size(); b++) {
      if (!inside[b]) continue;
      for (const uint32_t from : blocks[b].predecessors)
        if (!inside[from] && !flow.goes_on_by_entry(blocks[from]))
          blocks[from].given_to_wave |= blocks[b].live_in & ~written;
    }
  }
}

// What is read, or stored, on some way from `entry` to the next.
VectorSet needed_from(const Flow& flow, uint32_t entry) {
  const auto& blocks = flow.blocks;
  std::vector<VectorSet> unchanged(blocks.size());
  unchanged[entry] = blocks[entry].live_in;
  VectorSet needed;
  std::vector<uint32_t> pending{entry};
  while (!pending.empty()) {
    const uint32_t b = pending.back();
    pending.pop_back();
    VectorSet left = unchanged[b];
    needed |= left & blocks[b].live_in & ~blocks[b].in_wave;
    for (uint32_t k = 0; k < blocks[b].count; k++) {
      const Instruction& i = flow.instructions[blocks[b].first + k];
      VectorSet read = set_of(i.v_reads, i.n_v_reads);
      const VectorSet written = written_vectors(i);
      if (i.merges || i.keeps_old || i.how == How::lane) read |= set_of(i.v_writes, i.n_v_writes);
      needed |= read & left;
      left &= ~written;
    }
    if (flow.goes_on_by_entry(blocks[b])) continue;
    for (const uint32_t next : blocks[b].successors) {
      const VectorSet more = left & blocks[next].live_in & ~unchanged[next];
      if (more.none()) continue;
      unchanged[next] |= more;
      pending.push_back(next);
    }
  }
  return needed;
}

// What the Wave holds at the end of a block, from what it holds at its beginning.
void at_end(const Flow& flow, const Block& block, VectorSet& vectors, ScalarSet& scalars) {
  vectors = (block.in_wave & ~written_in(flow, block)) | block.given_to_wave;
  scalars = block.s_in_wave;
  for (uint32_t k = 0; k < block.count; k++) {
    const Instruction& i = flow.instructions[block.first + k];
    scalars &= i.how == How::call_all ? ScalarSet{} : ~i.s_writes;
  }
}

void find_in_wave(Flow& flow) {
  auto& blocks = flow.blocks;
  for (Block& block : blocks) {
    block.in_wave = block.is_entry ? block.live_in : ~VectorSet{};
    block.s_in_wave = block.is_entry ? block.s_live_in : ~ScalarSet{};
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Block& block : blocks) {
      if (flow.goes_on_by_entry(block)) continue;
      VectorSet vectors;
      ScalarSet scalars;
      at_end(flow, block, vectors, scalars);
      for (const uint32_t next : block.successors) {
        Block& to = blocks[next];
        if ((to.in_wave & ~vectors).none() && (to.s_in_wave & ~scalars).none()) continue;
        to.in_wave &= vectors;
        to.s_in_wave &= scalars;
        changed = true;
      }
    }
  }
}

// A block that ends at a barrier would store what came from one of the blocks before it, on the ways from the
// others too.
bool give_before_barriers(Flow& flow) {
  auto& blocks = flow.blocks;
  bool gives = false;
  for (const Block& block : blocks) {
    if (!flow.goes_on_by_entry(block) || block.predecessors.size() < 2) continue;
    const VectorSet left = block.live_in & ~written_in(flow, block);
    std::vector<VectorSet> held(block.predecessors.size());
    VectorSet in_some;
    for (size_t p = 0; p < held.size(); p++) {
      const Block& from = blocks[block.predecessors[p]];
      ScalarSet scalars;
      at_end(flow, from, held[p], scalars);
      if (flow.goes_on_by_entry(from))
        held[p] = ~VectorSet{};
      else
        in_some |= held[p];
    }
    for (size_t p = 0; p < held.size(); p++) {
      const VectorSet more = left & in_some & ~held[p];
      blocks[block.predecessors[p]].given_to_wave |= more;
      gives = gives || more.any();
    }
  }
  return gives;
}

}  // namespace

void find_unchanged(Flow& flow) {
  auto& blocks = flow.blocks;
  give_before_loops(flow);
  find_in_wave(flow);
  if (give_before_barriers(flow)) find_in_wave(flow);
  for (uint32_t b = 0; b < blocks.size(); b++)
    if (blocks[b].is_entry) blocks[b].needed = needed_from(flow, b);
}

}  // namespace morgana::device::jit
