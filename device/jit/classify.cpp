#include "device/jit/classify.h"

#include <algorithm>

#include "device/interp/code.h"
#include "device/interp/other_lanes.h"
#include "device/isa/effects.h"
#include "device/isa/scalar_float.h"
#include "device/jit/library.h"

namespace morgana::device::jit {
namespace {

using isa::Control;
using isa::Format;
using isa::Op;

// Of those that are no function of the vector tables: single lanes, and moves (AccVGPRs).
bool is_lane_move(const isa::Inst& inst) {
  const isa::Effects& effects = isa::effects(inst.row->op);
  if (inst.row->dst[1] != isa::Type::none || (inst.row->flags & (isa::kMfma | isa::kSmfmac))) return false;
  switch (inst.row->op) {
    case Op::v_readfirstlane_b32:
    case Op::v_readlane_b32:
    case Op::v_writelane_b32: return true;
    default: return effects.result.is_leaf(isa::Fn::source);
  }
}
bool exchanges_lanes(Op op) {
  return op == Op::v_swap_b32 || op == Op::v_permlane16_swap_b32 || op == Op::v_permlane32_swap_b32 ||
         op == Op::v_pk_mov_b32 || op == Op::ds_bpermute_b32 || op == Op::ds_swizzle_b32;
}
// Of s_set_gpr_idx_on's enables.
constexpr uint16_t kIndexSource = 1, kIndexDestination = 8;

// Whether `on` switches GPR indexing on for the source or the destination of one move, behind which it is
// switched off. Compilers write no other (the pseudo-instructions V_INDIRECT_REG_READ_GPR_IDX and _WRITE_ of
// LLVM).
bool indexes_one_move(const Step* on) {
  const isa::Inst* const first = on->inst;
  if (first == nullptr || first->row->op != Op::s_set_gpr_idx_on) return false;
  const Step* const move = on + on->dwords;
  const isa::Inst* const inst = move->inst;
  if (inst == nullptr || inst->row->op != Op::v_mov_b32 || inst->format != Format::VOP1) return false;
  if (inst->sdwa || inst->dpp) return false;
  const Handler handler = move->run.load(std::memory_order_relaxed);
  if (handler == level().fault || handler == level().bounded) return false;
  const isa::Inst* const last = move[move->dwords].inst;
  if (last == nullptr || last->row->op != Op::s_set_gpr_idx_off) return false;
  return first->simm16 == kIndexDestination || (first->simm16 == kIndexSource && inst->src[0].is_vgpr());
}
// The s_set_gpr_idx_on of such three, of which `step` is the second or the third.
const Step* indexing_before(const Step* step, uint32_t at) {
  for (uint32_t back = 1; back <= std::min(at, 4u); back++) {
    const Step* const on = step - back;
    if (!indexes_one_move(on)) continue;
    const Step* const move = on + on->dwords;
    if (step == move || step == move + move->dwords) return on;
  }
  return nullptr;
}

bool is_scalar_format(Format format) {
  return format == Format::SOP2 || format == Format::SOPK || format == Format::SOP1 ||
         format == Format::SOPC || format == Format::SOPP;
}

// s_sendmsg(MSG_DEALLOC_VGPRS) of gfx11 and later, before the end: the registers are kept.
bool gives_registers_away(const isa::Inst& inst, Generation generation) {
  constexpr uint16_t kDeallocVgprs = 3;
  return inst.row->op == Op::s_sendmsg && inst.simm16 == kDeallocVgprs && generation >= Generation::gfx11;
}

class Classifier {
 public:
  Classifier(const Library& library, const FlowOptions& options, Target target)
      : library_(library), options_(options), target_(target) {}

  Instruction classify(const Step* step, uint32_t at) const {
    Instruction i;
    i.step = step;
    i.at = at;
    const isa::Inst* inst = step->inst;
    const Handler handler = step->run.load(std::memory_order_relaxed);
    if (inst == nullptr || handler == level().fault || handler == level().bounded) {
      i.reads_all = true;
      return i;
    }
    if (handler == level().turn)
      i.how = options_.one_wave ? How::nothing : How::turn;
    else
      i.how = how(*inst, *step, i);
    operands(*inst, i);
    return i;
  }

 private:
  How how(const isa::Inst& inst, const Step& step, Instruction& i) const {
    const Format format = inst.row->format;
    if (is_scalar_format(format)) return scalar(inst, step, i);
    if (isa::accesses_memory(format)) return memory(inst);
    return vector(inst, step, i);
  }

  How scalar(const isa::Inst& inst, const Step& step, Instruction& i) const {
    if (indexes_one_move(&step)) return How::index_on;
    if (gives_registers_away(inst, info(target_).generation)) return How::nothing;
    if (inst.row->op == Op::s_set_gpr_idx_off && indexing_before(&step, i.at)) return How::nothing;
    const isa::Effects& effects = isa::effects(inst.row->op);
    switch (effects.control) {
      case Control::none: break;
      case Control::jump: i.target = i.at + static_cast<uint32_t>(step.imm); return How::jump;
      case Control::branch: i.target = i.at + static_cast<uint32_t>(step.imm); return How::branch;
      case Control::call: i.target = i.at + static_cast<uint32_t>(step.imm); return How::subroutine;
      case Control::set_pc: return How::ret;
      case Control::end: return How::end;
      case Control::barrier:
        if (inst.row->op == Op::s_barrier_wait && static_cast<uint32_t>(step.imm) != isa::kGroupBarrier)
          return How::leave;
        return options_.one_wave ? How::nothing : How::barrier;
      case Control::sleep: return (step.imm & 0x7f) == 0 ? How::nothing : How::sleep;
      case Control::swap_pc:
      case Control::leave: return How::leave;
    }
    if (effects.kind == isa::Class::nothing) return How::nothing;
    if (effects.kind == isa::Class::opaque)
      return effects.writes & (isa::kStateAny | isa::kStateFloat) ? How::call_all : How::call;
    if (effects.result.is_leaf(isa::Fn::next_pc)) return How::get_pc;
    if (const std::optional<Op> vector = isa::vector_of(inst.row->op)) {
      i.of_lane = library_.vector(*vector, target_);
      return i.of_lane && !needs_other_environment(*i.of_lane) ? How::scalar_float : How::call;
    }
    i.scalar = library_.scalar(isa::of_whole_mask(inst.row->op));
    if (i.scalar == nullptr) return How::call;
    if (!(inst.row->flags & isa::kWritesExec)) return How::scalar;
    // A half of EXEC, or a mask that the wave has not: no compiler writes that.
    return inst.src[0].dwords == options_.lanes / 32 ? How::exec_op : How::call_all;
  }

  How vector(const isa::Inst& inst, const Step& step, Instruction& i) const {
    if (inst.n_src > 0 && inst.src[0].code == isa::kSrcLdsDirect) return How::call;
    if (inst.second != nullptr || (inst.row->flags & isa::kScalarDst && !is_lane_move(inst)))
      return How::call;
    const bool may_be_indexed = inst.format != Format::VOPD && !inst.dpp && !inst.sdwa;
    if (may_be_indexed && is_indexed(inst, step, i.at)) return How::indexed;
    const isa::Effects& effects = isa::effects(inst.row->op);
    if (effects.kind == isa::Class::nothing) return How::nothing;
    if (effects.writes & isa::kStateAny) return How::call_all;
    i.vector = library_.vector(inst.row->op, target_);
    if (i.vector == nullptr && (is_lane_move(inst) || exchanges_lanes(inst.row->op)))
      return inst.dpp || inst.sdwa ? How::call : How::lane;
    if (i.vector == nullptr) return How::call;
    if (needs_other_environment(*i.vector) && !computes_in_halves(*inst.row)) return How::call;
    for (int s = 0; s < i.vector->n_src; s++) {
      const isa::Operand& operand = inst.src[s];
      if (i.vector->src_registers[s] == 0) continue;
      if (!operand.present()) return How::call;
      if (i.vector->src_registers[s] > 2 && operand.is_scalar()) return How::call;
    }
    const isa::Type result = inst.row->dst[0];
    if ((inst.omod || inst.clamp) && (result == isa::Type::f16 || result == isa::Type::pk_f16))
      return How::call;
    (void)step;
    return How::vector;
  }

  static bool is_indexed(const isa::Inst& inst, const Step& step, uint32_t at) {
    switch (inst.row->op) {
      case Op::v_movreld_b32: return inst.format == Format::VOP1;
      case Op::v_movrels_b32: return inst.format == Format::VOP1 && inst.src[0].is_vgpr();
      case Op::v_mov_b32: return indexing_before(&step, at) != nullptr;
      default: return false;
    }
  }

  // All environments round to nearest even here; they differ in denormals. Of a kernel that computes wide
  // nothing depends on what MODE does with those of f32.
  bool needs_other_environment(const VectorFunction& f) const {
    if (f.environment == 0) return false;
    const unsigned host = options_.computes_wide ? options_.mode.denorm16_64() : options_.mode.denorm32();
    return host != (f.environment == 1 ? options_.mode.denorm16_64() : 3);
  }

  // What f32 holds of f16 values, their sums and products is never denormal, and what is denormal of their
  // functions is 0 as an f16, rounded to nearest. An operand that is not there has no type.
  static bool computes_in_halves(const isa::Row& row) {
    const auto is_half = [](isa::Type type) {
      return type == isa::Type::none || type == isa::Type::f16 || type == isa::Type::pk_f16;
    };
    return std::ranges::all_of(row.src, is_half) &&
           ((row.flags & isa::kLaneMaskDst) != 0 || std::ranges::all_of(row.dst, is_half));
  }

  How memory(const isa::Inst& inst) const {
    const isa::Effects& effects = isa::effects(inst.row->op);
    if (effects.kind == isa::Class::nothing) return How::nothing;  // of caches
    if (inst.row->flags & isa::kGws) return How::leave;            // waits, and is then executed again
    if (inst.tfe || inst.n_nsa > 0 || isa::moves_block(inst.row->op)) return How::call_all;
    if (exchanges_lanes(inst.row->op) && !inst.gds) return How::lane;
    if (inst.lds || inst.gds || (inst.row->flags & (isa::kLdsDst | isa::kLdsSrc))) return How::call;
    const isa::MemoryAccess& access = effects.access;
    if (access.space == isa::Space::constant && access.direction == isa::Direction::load &&
        access.element == isa::Type::b32)
      return inst.dst[0].code + inst.dst[0].dwords <= isa::kVccLo ? How::scalar_load : How::call;
    if (is_private(inst, access) || moves_by_addr64(inst, access)) return How::memory;
    return access.is_plain || inst.row->op == Op::ds_add_u32 ? How::memory : How::call;
  }

  static bool moves_whole_values(const isa::MemoryAccess& access) {
    return access.direction != isa::Direction::atomic && !access.converts && !access.half;
  }
  static bool moves_by_addr64(const isa::Inst& inst, const isa::MemoryAccess& access) {
    return is_addr64(inst) && moves_whole_values(access) && access.count != 0;
  }

  // By the resource of private memory.
  bool is_private(const isa::Inst& inst, const isa::MemoryAccess& access) const {
    // The functions that a kernel calls use s[0:3], wherever it keeps its own.
    const uint16_t resource = inst.src[2].code;
    return inst.row->format == Format::MUBUF && options_.private_buffer != kNoSgpr &&
           (resource == 0 || resource == options_.private_buffer) && moves_whole_values(access) &&
           !inst.idxen && !inst.addr64 && (access.element != isa::Type::b32 || inst.offset % 4 == 0);
  }

  // --- Registers ---

  int place(const isa::Operand& operand) const {
    return operand.is_agpr() ? static_cast<int>(options_.acc_base) + operand.code - isa::kAgprBase
                             : operand.code - isa::kVgprBase;
  }
  Span span(const isa::Operand& operand) const {
    return {static_cast<uint16_t>(place(operand)), operand.dwords};
  }
  // How many registers an image address has is for the resource to say; the instruction names the first. At
  // most coordinates, slice, sample and level; with a sampler offsets, bias, reference, gradients,
  // coordinates, clamp.
  Span address_span(const isa::Inst& inst) const {
    Span all = span(inst.src[0]);
    const int most = inst.row->flags & isa::kSampler ? 13 : 5;
    all.count = static_cast<decltype(all.count)>(std::min(most, 256 - all.first));
    return all;
  }
  static void scalar_operand(const isa::Operand& operand, ScalarSet& set) {
    if (operand.code == isa::kNull) return;
    if (operand.code < isa::kRegisterEnd) {
      for (unsigned d = 0; d < operand.dwords && operand.code + d < isa::kRegisterEnd; d++)
        set.set(operand.code + d);
    } else if (operand.code == isa::kSrcVccz) {
      set.set(isa::kVccLo), set.set(isa::kVccHi);
    } else if (operand.code == isa::kSrcScc) {
      set.set(kScc);
    } else if (operand.code == isa::kSrcLdsDirect) {
      set.set(isa::kM0);
    }
  }

  void operands(const isa::Inst& inst, Instruction& i) const {
    for (int s = 0; s < inst.n_src; s++) {
      if (!inst.src[s].present()) continue;
      if (inst.src[s].is_scalar())
        scalar_operand(inst.src[s], i.s_reads);
      else
        i.v_reads[i.n_v_reads++] =
            inst.row->format == Format::MIMG && s == 0 ? address_span(inst) : span(inst.src[s]);
    }
    for (int d = 0; d < inst.n_dst; d++) {
      if (!inst.dst[d].present()) continue;
      if (inst.dst[d].is_scalar())
        scalar_operand(inst.dst[d], i.s_writes);
      else
        i.v_writes[i.n_v_writes++] = span(inst.dst[d]);
    }
    const uint32_t flags = inst.row->flags;
    const Op op = inst.row->op;
    const isa::Effects& effects = isa::effects(op);
    if (flags & isa::kWritesExec) i.writes_exec = true;
    if (i.scalar) {
      for (const ScalarArgument argument : i.scalar->argument)
        if (argument == ScalarArgument::scc) i.s_reads.set(kScc);
      if (i.scalar->writes_scc || i.how == How::exec_op) i.s_writes.set(kScc);
      if (i.scalar->conditional) i.s_reads |= i.s_writes;
    }
    if (i.how == How::branch || i.how == How::scalar_float ||
        (i.how == How::call && is_scalar_format(inst.row->format))) {
      if (effects.reads & isa::kStateScc) i.s_reads.set(kScc);
      if (effects.writes & isa::kStateScc) i.s_writes.set(kScc);
      if (effects.reads & isa::kStateVcc) i.s_reads.set(isa::kVccLo), i.s_reads.set(isa::kVccHi);
    }
    if (i.s_writes.test(isa::kExecLo) || i.s_writes.test(isa::kExecHi)) i.writes_exec = true;
    if (i.writes_exec) {
      i.widens = may_widen(inst, i);
      i.keeps_full = isa::fills(exec_rule(i), true, [&](int s) { return is_exec(inst.src[s]); });
    }
    if (isa::accesses_memory(inst.row->format)) i.s_reads.set(isa::kM0);
    const bool swaps = inst.n_dst > 1 && inst.dst[1].present() && !inst.dst[1].is_scalar();
    if (swaps || (inst.sdwa && inst.dst_unused == 2 && inst.dst_sel != 6) ||
        (is_mix(op) && inst.row->dst[0] == isa::Type::f16) || (flags & (isa::kD16 | isa::kD16Hi)) ||
        (inst.op_sel & 8) || op == Op::v_writelane_b32 || isa::keeps_half(info(target_).generation, inst))
      i.merges = true;
    switch (i.how) {
      case How::index_on: i.s_reads.set(isa::kM0), i.s_writes.set(isa::kM0); break;
      case How::indexed: indexed_operands(inst, i); break;
      case How::call:
        i.crosses_lanes = !isa::accesses_memory(inst.row->format) || inst.row->format == Format::DS;
        i.merges = true;
        break;
      case How::lane:
        i.crosses_lanes = op == Op::v_readfirstlane_b32 || op == Op::v_readlane_b32 ||
                          op == Op::v_writelane_b32 || op == Op::v_permlane16_swap_b32 ||
                          op == Op::v_permlane32_swap_b32;
        i.writes_all_lanes = op == Op::v_writelane_b32;
        break;
      case How::vector:
        if (!inst.dpp) break;
        i.moves_lanes = true;
        i.crosses_lanes = (i.vector->writes_mask && !dpp_zeroes(inst)) || inst.fetch_inactive;
        if (!dpp_zeroes(inst) || inst.row_mask != 0xf || inst.bank_mask != 0xf) i.merges = true;
        break;
      case How::subroutine:
      case How::ret: i.reads_all = true; break;  // the interpreter may have to go on
      case How::call_all:
      case How::leave:
        i.reads_all = true;
        i.widens = i.writes_exec = i.how == How::call_all;
        break;
      default: break;
    }
  }

  // As many registers as compilers keep an array in, from the one that is named.
  void indexed_operands(const isa::Inst& inst, Instruction& i) const {
    constexpr unsigned kMostIndexed = 32;
    i.s_reads.set(isa::kM0);
    const Step* const on = indexing_before(i.step, i.at);
    const bool reads = on ? on->inst->simm16 == kIndexSource : inst.row->op == Op::v_movrels_b32;
    i.indexed = reads ? i.v_reads[0] : i.v_writes[0];
    const unsigned left = options_.have.vgprs - std::min<unsigned>(options_.have.vgprs, i.indexed.first);
    i.indexed.count = static_cast<uint8_t>(std::min(kMostIndexed, left));
    (reads ? i.v_reads[0] : i.v_writes[0]) = i.indexed;
    if (!reads) i.merges = true;
  }

  static bool is_exec(const isa::Operand& operand) { return operand.code == isa::kExecLo; }
  static bool may_widen(const isa::Inst& inst, const Instruction& i) {
    if (inst.row->format == Format::VOPC || i.vector) return false;  // v_cmpx
    return !isa::narrows(exec_rule(i), [&](int s) { return is_exec(inst.src[s]); });
  }

  const Library& library_;
  const FlowOptions& options_;
  Target target_;
};

}  // namespace

Instruction classify(const Step* step, uint32_t at, const Library& library, const FlowOptions& options,
                     Target target) {
  return Classifier(library, options, target).classify(step, at);
}

bool computes_in_single(const Instruction& i) {
  if (i.step->inst == nullptr) return false;  // none that is legal
  const isa::Inst& inst = *i.step->inst;
  if (isa::accesses_memory(inst.row->format)) return false;
  if (isa::effects(inst.row->op).writes & isa::kStateFloat) return true;
  if (i.vector && i.vector->environment != 0) return false;
  if (i.of_lane && i.of_lane->environment != 0) return false;
  switch (inst.row->op) {
    case Op::v_cvt_f32_i32:
    case Op::v_cvt_f32_u32:
    case Op::v_cvt_f32_ubyte0:
    case Op::v_cvt_f32_ubyte1:
    case Op::v_cvt_f32_ubyte2:
    case Op::v_cvt_f32_ubyte3:
    case Op::v_cvt_i32_f32:
    case Op::v_cvt_u32_f32: return false;  // what is denormal is 0 as a whole number
    default: break;
  }
  const auto is_single = [](isa::Type type) {
    return isa::is_float(type) && type != isa::Type::f64 && type != isa::Type::f16 &&
           type != isa::Type::pk_f16;
  };
  return std::ranges::any_of(inst.row->src, is_single) || std::ranges::any_of(inst.row->dst, is_single) ||
         inst.second != nullptr;
}

}  // namespace morgana::device::jit
