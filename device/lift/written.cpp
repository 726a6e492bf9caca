#include "device/lift/written.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "device/isa/cancels.h"
#include "device/isa/effects.h"

namespace morgana::device::lift {
namespace {

using isa::Class;
using isa::Control;
using isa::Direction;
using isa::Fn;
using isa::Op;
using isa::Operand;
using isa::Space;
using Vectors = std::bitset<kRegisterSlots>;

// A mask that an instruction computes.
struct MaskLanes {
  Vectors written;       // in all of them
  bool is_all = false;   // every lane there is
  bool in_exec = false;  // EXEC has all of them
};

template <class Map>
void keep_common(Map& kept, const Map& other) {
  for (auto it = kept.begin(); it != kept.end();) {
    const auto found = other.find(it->first);
    it = found == other.end() ? kept.erase(it) : (it->second &= found->second, std::next(it));
  }
}

// Before an instruction.
struct Written {
  Vectors active, inactive;            // in all lanes that EXEC has; in all others
  std::map<uint8_t, Vectors> masked;   // in the lanes of a mask in SGPRs, by their first code
  std::map<uint16_t, uint64_t> lanes;  // in single lanes, by register
  std::bitset<isa::kRegisterEnd> scalars;
  bool scc = false;
  bool is_indexed = false;                 // vector operands are not those that instructions name
  std::bitset<isa::kRegisterEnd> in_exec;  // masks of which EXEC has all lanes
  // In lanes of EXEC unwritten again, as long as EXEC stays; what is said of other lanes and masks holds but
  // for those lanes.
  Vectors unwritten;

  void settle_unwritten() {
    if (unwritten.none()) return;
    inactive &= ~unwritten;
    for (auto& [mask, written] : masked) written &= ~unwritten;
    unwritten.reset();
  }

  void join(const Written& other) {
    active &= other.active;
    inactive &= other.inactive;
    keep_common(masked, other.masked);
    keep_common(lanes, other.lanes);
    scalars &= other.scalars;
    scc = scc && other.scc;
    is_indexed = is_indexed || other.is_indexed;
    in_exec &= other.in_exec;
    unwritten |= other.unwritten;
  }
  bool operator==(const Written&) const = default;

  // In all lanes.
  Vectors everywhere() const { return active & inactive; }
};

// Whether what is written to private memory or LDS may be a part of a dword.
bool stores_parts(const isa::Inst& inst) {
  const isa::MemoryAccess& access = isa::effects(inst.row->op).access;
  const bool is_own = access.space == Space::lds || access.space == Space::scratch ||
                      access.space == Space::flat || access.space == Space::buffer;
  const bool loads_to_lds = inst.lds || (inst.row->flags & isa::kLdsDst);
  if (access.direction == Direction::load ? !loads_to_lds : !is_own) return false;
  return access.converts || access.half || isa::bytes(access.element) < 4;
}

bool moves_relatively(Op op) {
  switch (op) {
    case Op::v_movrels_b32:
    case Op::v_movreld_b32:
    case Op::v_movrelsd_b32:
    case Op::s_movrels_b32:
    case Op::s_movrels_b64:
    case Op::s_movreld_b32:
    case Op::s_movreld_b64: return true;
    default: return false;
  }
}

class WrittenFinder {
 public:
  WrittenFinder(const Code& code, const WrittenAtEntry& entry, uint32_t acc_base)
      : code_(code), acc_base_(acc_base), mask_dwords_(code_.wave == WaveSize::wave32 ? 1 : 2) {
    entry_.active = entry_.inactive = entry.vectors;
    entry_.scalars = entry.scalars;
    entry_.in_exec.set(isa::kExecLo);
  }

  // False: the kernel cannot be followed.
  bool find(WrittenRegisters& found) {
    for (const Decoded& at : code_.instructions) {
      const isa::Effects& effects = isa::effects(at.inst.row->op);
      if (effects.kind == Class::unknown || effects.control == Control::call ||
          effects.control == Control::set_pc || effects.control == Control::swap_pc)
        return false;
      found.stores_bytes = found.stores_bytes || stores_parts(at.inst);
    }
    // Who goes on there would be taken for a wave that begins.
    for (const Run& run : code_.runs)
      if (run.target == code_.entry || run.next == code_.entry) return false;
    before_.resize(code_.runs.size());
    before_[code_.entry] = entry_;
    std::vector<uint32_t> pending{code_.entry};
    while (!pending.empty()) {
      const Run& run = code_.runs[pending.back()];
      Written state = *before_[pending.back()];
      pending.pop_back();
      for (uint32_t i = run.first; i < run.first + run.count; i++) step(code_.instructions[i].inst, state);
      if (!is_known_) return false;
      for (const uint32_t next : {run.next, run.target})
        if (next != Run::kNowhere && reaches(next, state)) pending.push_back(next);
    }
    return find_unproven(found);
  }

 private:
  bool find_unproven(WrittenRegisters& found) {
    Vectors followed;
    for (size_t r = 0; r < code_.runs.size(); r++) {
      if (!before_[r]) continue;
      Written state = *before_[r];
      for (uint32_t i = code_.runs[r].first; i < code_.runs[r].first + code_.runs[r].count; i++) {
        const Decoded& at = code_.instructions[i];
        unproven_.reset();
        step(at.inst, state);
        if (unproven_.none()) continue;
        WrittenRegisters::Reader& reader = found.unproven.emplace_back();
        reader.dword = at.pc / 4;
        for (uint16_t place = 0; place < kRegisterSlots; place++)
          if (unproven_.test(place)) reader.registers.push_back(place);
        followed |= unproven_;
      }
    }
    std::ranges::sort(found.unproven, {}, &WrittenRegisters::Reader::dword);
    for (uint16_t place = 0; place < kRegisterSlots; place++)
      if (followed.test(place)) found.followed.push_back(place);
    // What somebody has to follow is to be written whole, or not at all.
    return (followed & in_parts_).none() && followed.count() <= WrittenRegisters::kMostFollowed;
  }

  // False: nothing new.
  bool reaches(uint32_t run, const Written& state) {
    std::optional<Written>& before = before_[run];
    if (!before) {
      before = state;
      return true;
    }
    Written joined = *before;
    joined.join(state);
    if (joined == *before) return false;
    before = std::move(joined);
    return true;
  }

  // Also of the longest operand's last register below kRegisterSlots.
  size_t place(const Operand& operand) const {
    return operand.is_agpr() ? acc_base_ + operand.code - isa::kAgprBase
                             : static_cast<size_t>(operand.code - isa::kVgprBase);
  }
  bool is_mask(const Operand& operand) const {
    return operand.is_scalar() && operand.dwords == mask_dwords_ && operand.code < isa::kRegisterEnd;
  }

  bool is_scalar_written(const Operand& operand, const Written& state) const {
    if (operand.code == isa::kSrcScc) return state.scc;
    for (uint32_t d = 0; d < std::max<uint32_t>(operand.dwords, 1); d++)
      if (operand.code + d < isa::kRegisterEnd && !state.scalars.test(operand.code + d)) return false;
    return true;
  }
  bool is_dword_written(const Operand& operand, uint32_t dword, const Written& state) const {
    if (!operand.present()) return true;
    if (operand.is_scalar())
      return operand.code + dword >= isa::kRegisterEnd || state.scalars.test(operand.code + dword);
    return state.active.test(place(operand) + dword);
  }

  // Registers that may not have been written: whoever executes the instruction tests them first.
  void read(const Operand& operand, Written& state) {
    if (!operand.present()) return;
    if (operand.is_scalar()) {
      is_known_ = is_known_ && is_scalar_written(operand, state);
      return;
    }
    for (uint32_t d = 0; d < operand.dwords; d++) {
      const size_t at = place(operand) + d;
      if (!state.active.test(at)) unproven_.set(at), write(at, state);
    }
  }
  void write(size_t at, Written& state) const {
    state.active.set(at);
    state.unwritten.reset(at);
    for (auto& [mask, written] : state.masked)
      if (state.in_exec.test(mask)) written.set(at);
  }

  void step(const isa::Inst& inst, Written& state) {
    const isa::Effects& effects = isa::effects(inst.row->op);
    if (effects.kind == Class::nothing) return;
    if (moves_relatively(inst.row->op) || isa::moves_block(inst.row->op)) is_known_ = false;
    if (inst.row->op == Op::s_set_gpr_idx_on) state.is_indexed = true;
    if (inst.row->op == Op::s_set_gpr_idx_off) state.is_indexed = false;
    if (state.is_indexed) take_all_for_written(state);
    if (effects.kind == Class::control) return step_control(inst, effects, state);
    if (computes_halves(inst)) return step_halves(inst, state);
    read_operands(inst, effects, state);
    write_scalars(inst, effects, state);
    write_vectors(inst, effects, state);
  }

  // What M0 chooses is not followed.
  static void take_all_for_written(Written& state) {
    state.active.set(), state.inactive.set();
    for (auto& [mask, written] : state.masked) written.set();
  }

  void step_control(const isa::Inst& inst, const isa::Effects& effects, Written& state) {
    if (effects.control != Control::branch) return;
    if (effects.condition.has(Fn::scc)) is_known_ = is_known_ && state.scc;
    for (unsigned d = 0; d < mask_dwords_ && effects.condition.has(Fn::vcc); d++)
      is_known_ = is_known_ && state.scalars.test(isa::kVccLo + d);
    for (int s = 0; s < inst.n_src; s++) read(inst.src[static_cast<size_t>(s)], state);
  }

  // Two results of 32 bits, each of halves of the operands; or a sum of which the lower half follows from
  // lower ones.
  static bool computes_halves(const isa::Inst& inst) {
    if (inst.dpp || inst.n_dst == 0 || inst.dst[0].dwords != 2) return false;
    if (inst.row->op == Op::v_mad_u64_u32 || inst.row->op == Op::v_mad_i64_i32) return true;
    const auto is_pair = [](const Operand& operand) { return operand.type == isa::Type::pk_f32; };
    return std::string_view(inst.row->mnemonic).starts_with("v_pk_") && inst.n_dst == 1 &&
           is_pair(inst.dst[0]) && std::all_of(inst.src.begin(), inst.src.begin() + inst.n_src, is_pair);
  }
  void step_halves(const isa::Inst& inst, Written& state) {
    bool written[2] = {true, true};
    const bool is_packed = inst.n_dst == 1;
    for (int s = 0; s < inst.n_src; s++) {
      const Operand& source = inst.src[static_cast<size_t>(s)];
      if (source.is_scalar() || (!is_packed && source.dwords != 2)) {
        read(source, state);
        continue;
      }
      const uint8_t select[2] = {inst.op_sel, inst.op_sel_hi};
      for (unsigned half = 0; half < 2; half++) {
        const uint32_t dword = !is_packed ? half : source.dwords == 2 ? select[half] >> s & 1 : 0;
        written[half] = written[half] && is_dword_written(source, dword, state);
      }
    }
    if (!is_packed) {
      // The carry, and the upper half follow from all.
      written[1] = written[0] && written[1];
      write_scalars(inst, isa::effects(inst.row->op), state);
    }
    for (unsigned half = 0; half < 2; half++) {
      const size_t at = place(inst.dst[0]) + half;
      written[half] ? write(at, state) : forget(at, state);
    }
  }
  // It may hold again what nobody has written.
  void forget(size_t at, Written& state) {
    in_parts_.set(at);
    state.active.reset(at);
    state.unwritten.set(at);
    state.lanes.erase(static_cast<uint16_t>(at));
  }

  void read_operands(const isa::Inst& inst, const isa::Effects& effects, Written& state) {
    const Op op = inst.row->op;
    if (op == Op::v_readlane_b32) {
      is_known_ = is_known_ && reads_lane(inst, state);
      return;
    }
    if (effects.kind == Class::opaque || isa::cancels(inst)) return;
    if (effects.reads & isa::kStateScc) is_known_ = is_known_ && state.scc;
    // What is found in the destination stays only where there is nothing to read.
    const bool keeps_old = effects.kind == Class::cross && (inst.row->flags & isa::kTiedDst);
    for (int s = 0; s + keeps_old < inst.n_src; s++) read(inst.src[static_cast<size_t>(s)], state);
    if (effects.result.has(Fn::old)) read(inst.dst[0], state);
  }

  // Which lane; nothing: that is not known.
  std::optional<uint32_t> known_lane(const Operand& operand) const {
    if (!isa::is_inline_integer(operand.code)) return std::nullopt;
    return static_cast<uint32_t>(isa::inline_integer(operand.code)) % (32 * mask_dwords_);
  }
  bool reads_lane(const isa::Inst& inst, const Written& state) const {
    if (!is_scalar_written(inst.src[1], state)) return false;
    const size_t at = place(inst.src[0]);
    if (state.everywhere().test(at)) return true;
    const auto lane = known_lane(inst.src[1]);
    const auto known = state.lanes.find(static_cast<uint16_t>(at));
    return lane && known != state.lanes.end() && (known->second >> *lane & 1);
  }

  // --- Masks ---

  MaskLanes of_operand(const Operand& operand, const Written& state) const {
    if (operand.code == isa::kExecLo && operand.dwords == mask_dwords_) return {state.active, false, true};
    if (operand.code == isa::kInlineZero) return {Vectors().set(), false, true};
    if (operand.code == isa::kInlineMinusOne) return {state.everywhere(), true, false};
    if (!is_mask(operand)) return {state.everywhere(), false, false};
    const auto known = state.masked.find(static_cast<uint8_t>(operand.code));
    if (known == state.masked.end()) return {state.everywhere(), false, false};
    return {(known->second & ~state.unwritten) | state.everywhere(), false, state.in_exec.test(operand.code)};
  }

  MaskLanes lanes_of(const isa::Expression& value, const isa::Inst& inst, const Written& state) const {
    struct Algebra {
      const WrittenFinder& finder;
      const isa::Inst& inst;
      const Written& state;
      MaskLanes unknown() const { return {state.everywhere(), false, false}; }
      MaskLanes leaf(const isa::Term& term) const {
        if (term.fn == Fn::exec) return {state.active, false, true};
        return term.fn == Fn::source ? finder.of_operand(inst.src[static_cast<size_t>(term.value)], state)
                                     : unknown();
      }
      MaskLanes apply(Fn fn, const MaskLanes* v) const {
        const auto either = [](const MaskLanes& a, const MaskLanes& b) -> MaskLanes {
          return {a.written & b.written, a.is_all || b.is_all, a.in_exec && b.in_exec};
        };
        switch (fn) {
          case Fn::bit_and:
            if (v[0].is_all) return v[1];
            if (v[1].is_all) return v[0];
            return {v[0].written | v[1].written, false, v[0].in_exec || v[1].in_exec};
          case Fn::bit_or: return either(v[0], v[1]);
          case Fn::bit_xor: {
            MaskLanes made = either(v[0], v[1]);
            made.is_all = false;
            return made;
          }
          case Fn::select: {
            MaskLanes made = either(v[1], v[2]);
            made.is_all = v[1].is_all && v[2].is_all;
            return made;
          }
          default: return unknown();
        }
      }
    };
    return value.empty() ? MaskLanes{state.everywhere(), false, false}
                         : isa::evaluate<MaskLanes>(value, Algebra{*this, inst, state});
  }

  void forget_masks(uint32_t code, Written& state) const {
    for (uint32_t first = code + 1 - std::min(code + 1, mask_dwords_); first <= code; first++) {
      state.masked.erase(static_cast<uint8_t>(first));
      state.in_exec.reset(first);
    }
  }
  void put_mask(const Operand& to, const MaskLanes& lanes, Written& state) const {
    if (!is_mask(to) || to.code == isa::kNull) return;
    state.masked[static_cast<uint8_t>(to.code)] = lanes.written;
    state.in_exec.set(to.code, lanes.in_exec);
  }

  // `value` is what EXEC becomes, and `lanes` which those are.
  void put_exec(const isa::Expression& value, const isa::Inst& inst, const MaskLanes& lanes,
                Written& state) const {
    const auto is_exec = [&](const isa::Term& term) {
      return term.fn == Fn::exec ||
             (term.fn == Fn::source && inst.src[static_cast<size_t>(term.value)].code == isa::kExecLo);
    };
    state.settle_unwritten();
    if (value.count == 2 && value.is(Fn::invert) && is_exec(value.terms[0])) {
      std::swap(state.active, state.inactive);
      state.in_exec.reset();
    } else {
      // MaskLanes are given to those that EXEC has.
      const bool widens =
          value.count == 3 && value.is(Fn::bit_or) && (is_exec(value.terms[0]) || is_exec(value.terms[1]));
      const Vectors everywhere = state.everywhere();
      if (!widens) state.in_exec.reset();
      if (widens || value.count == 1)
        for (int t = 0; t < value.count; t++)
          if (const isa::Term& term = value.terms[static_cast<size_t>(t)]; term.fn == Fn::source)
            if (const Operand& from = inst.src[static_cast<size_t>(term.value)];
                is_mask(from) && state.masked.contains(static_cast<uint8_t>(from.code)))
              state.in_exec.set(from.code);
      state.active = lanes.written | everywhere;
      state.inactive = lanes.is_all ? Vectors().set() : everywhere;
    }
    state.in_exec.set(isa::kExecLo);
  }

  // --- What is written ---

  void write_scalars(const isa::Inst& inst, const isa::Effects& of_op, Written& state) const {
    const isa::Effects& effects = of_op.kind == Class::scalar && mask_dwords_ == 1
                                      ? isa::effects(isa::of_whole_mask(inst.row->op))
                                      : of_op;
    if (effects.writes & isa::kStateScc) state.scc = true;
    const bool by_lane = of_op.kind != Class::scalar && of_op.kind != Class::opaque;
    MaskLanes results[2];
    for (size_t d = 0; d < inst.n_dst; d++)
      results[d] = by_lane ? MaskLanes{state.active, false, true}
                           : lanes_of(d == 0 ? effects.result : effects.second, inst, state);
    const MaskLanes exec = lanes_of(effects.exec, inst, state);
    bool is_exec_known = false;
    for (size_t d = 0; d < inst.n_dst; d++) {
      const Operand& to = inst.dst[d];
      if (!to.present() || !to.is_scalar()) continue;
      const uint32_t dwords = std::max<uint32_t>(to.dwords, 1);
      for (uint32_t code = to.code; code < to.code + dwords && code < isa::kRegisterEnd; code++) {
        if (code == isa::kNull) continue;
        forget_masks(code, state);
        state.scalars.set(code);
      }
      const bool is_lane_mask = by_lane ? to.type == isa::Type::mask : is_mask(to);
      if (to.code == isa::kExecLo || (to.code == isa::kExecHi && mask_dwords_ == 2)) {
        if (is_lane_mask && !by_lane && !effects.result.empty())
          put_exec(effects.result, inst, results[d], state), is_exec_known = true;
        else if (!by_lane)
          put_exec({}, inst, {state.everywhere(), false, false}, state);
      } else if (is_lane_mask) {
        put_mask(to, results[d], state);
      }
    }
    if (is_exec_known) return;
    // Comparisons take lanes away.
    if (by_lane && (inst.row->flags & isa::kWritesExec))
      put_exec({}, inst, {state.active, false, false}, state);
    else if (!effects.exec.empty())
      put_exec(effects.exec, inst, exec, state);
    else if (inst.row->flags & isa::kWritesExec)
      put_exec({}, inst, {state.everywhere(), false, false}, state);
  }

  void write_vectors(const isa::Inst& inst, const isa::Effects& effects, Written& state) {
    if (inst.row->op == Op::v_writelane_b32) {
      const size_t at = place(inst.dst[0]);
      in_parts_.set(at);
      if (const auto lane = known_lane(inst.src[1]))
        state.lanes[static_cast<uint16_t>(at)] |= uint64_t{1} << *lane;
      return;
    }
    for (size_t d = 0; d < inst.n_dst; d++) {
      const Operand& to = inst.dst[d];
      if (!to.present() || to.is_scalar()) continue;
      const bool is_part = writes_part(inst, effects, to);
      for (uint32_t dword = 0; dword < to.dwords; dword++) {
        const size_t at = place(to) + dword;
        if (is_part)
          in_parts_.set(at);
        else
          write(at, state);
      }
    }
  }

  bool writes_part(const isa::Inst& inst, const isa::Effects& effects, const Operand& to) const {
    if (effects.kind == Class::access) {
      const isa::MemoryAccess& access = effects.access;
      return access.half && access.space != Space::image &&
             !(isa::loads_halves_alone(code_.target) && !access.converts);
    }
    if (inst.sdwa) return inst.dst_sel != 6 && inst.dst_unused == 2;
    return isa::is_16_bit(to.type) && (inst.op_sel & 8);
  }

  const Code& code_;
  const uint32_t acc_base_;
  const uint32_t mask_dwords_;
  Written entry_;
  std::vector<std::optional<Written>> before_;  // by run
  bool is_known_ = true;
  Vectors unproven_;  // that instructions have read
  Vectors in_parts_;  // that some instruction writes in part
};

}  // namespace

WrittenRegisters find_written(const Code& code, const WrittenAtEntry& entry, uint32_t acc_base) {
  WrittenRegisters found;
  found.is_known = WrittenFinder(code, entry, acc_base).find(found);
  return found;
}

}  // namespace morgana::device::lift
