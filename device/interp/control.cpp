// Branches, calls, forks, barriers, and the instructions that only matter to hardware.
#include "device/interp/control.h"

#include "device/semantics/scalar.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// --- Branches: `imm` is the distance in steps from this step ---

struct Scc0 {
  MORGANA_INLINE static bool taken(const Wave& wave) { return wave.scc == 0; }
};
struct Scc1 {
  MORGANA_INLINE static bool taken(const Wave& wave) { return wave.scc != 0; }
};
struct Vccz {
  MORGANA_INLINE static bool taken(const Wave& wave) { return wave.vcc() == 0; }
};
struct Vccnz {
  MORGANA_INLINE static bool taken(const Wave& wave) { return wave.vcc() != 0; }
};
struct Execz {
  MORGANA_INLINE static bool taken(const Wave& wave) { return wave.exec() == 0; }
};
struct Execnz {
  MORGANA_INLINE static bool taken(const Wave& wave) { return wave.exec() != 0; }
};
struct CdbgSys {
  static bool taken(const Wave& wave) { return wave.status & kStatusCondDbgSys; }
};
struct CdbgUser {
  static bool taken(const Wave& wave) { return wave.status & kStatusCondDbgUser; }
};
struct CdbgOr {
  static bool taken(const Wave& wave) { return wave.status & (kStatusCondDbgUser | kStatusCondDbgSys); }
};
struct CdbgAnd {
  static bool taken(const Wave& wave) { return CdbgSys::taken(wave) && CdbgUser::taken(wave); }
};

template <typename Condition>
void s_cbranch(Wave& wave, const Step* step) {
  if (Condition::taken(wave)) MORGANA_JUMP(wave, step, step + step->imm);
  MORGANA_NEXT(wave, step);
}

void s_branch(Wave& wave, const Step* step) { MORGANA_JUMP(wave, step, step + step->imm); }

void s_call_b64(Wave& wave, const Step* step) {
  write_scalar64(wave, static_cast<uint32_t>(step->dst), pc_of(wave, step) + 4);
  MORGANA_JUMP(wave, step, step + step->imm);
}

void s_getpc_b64(Wave& wave, const Step* step) {
  write_scalar64(wave, static_cast<uint32_t>(step->dst), pc_of(wave, step) + 4);
  MORGANA_NEXT(wave, step);
}

void s_setpc_b64(Wave& wave, const Step* step) { MORGANA_JUMP_TO_PC(wave, step, scalar64(wave, step, 0)); }

void s_swappc_b64(Wave& wave, const Step* step) {
  const uint64_t target = scalar64(wave, step, 0);
  write_scalar64(wave, static_cast<uint32_t>(step->dst), pc_of(wave, step) + 4);
  MORGANA_JUMP_TO_PC(wave, step, target);
}

// --- Fork and join: a stack of {EXEC, PC} in SGPRs 4 * CSP, CSP in MODE[31:29] (CDNA4 guide 4.6) ---

uint32_t csp(const Wave& wave) { return wave.mode.bits >> 29; }
void set_csp(Wave& wave, uint32_t value) { wave.mode.bits = (wave.mode.bits & 0x1fff'ffff) | value << 29; }

// Decides a fork. The side with fewer lanes runs first; the other is pushed. True: PC becomes `target`.
bool fork(Wave& wave, uint64_t mask, uint64_t target, uint64_t next) {
  const uint64_t exec = wave.exec();
  const uint64_t pass = mask & exec, fail = ~mask & exec;
  if (pass == exec) return true;
  if (fail == exec) return false;
  const bool fail_first = __builtin_popcountll(fail) < __builtin_popcountll(pass);
  const uint64_t pushed_pc = fail_first ? target : next, pushed_exec = fail_first ? pass : fail;
  uint32_t* entry = &wave.s[csp(wave) * 4];
  entry[0] = static_cast<uint32_t>(pushed_exec);
  entry[1] = static_cast<uint32_t>(pushed_exec >> 32);
  entry[2] = static_cast<uint32_t>(pushed_pc);
  entry[3] = static_cast<uint32_t>(pushed_pc >> 32);
  set_csp(wave, csp(wave) + 1);
  wave.set_exec(fail_first ? fail : pass);
  return !fail_first;
}

void s_cbranch_i_fork(Wave& wave, const Step* step) {
  const uint64_t pc = pc_of(wave, step);
  const uint64_t target = pc + static_cast<uint64_t>(int64_t{step->imm} * 4);
  if (fork(wave, scalar64(wave, step, 0), target, pc + 4)) MORGANA_JUMP(wave, step, step + step->imm);
  MORGANA_NEXT(wave, step);
}

void s_cbranch_g_fork(Wave& wave, const Step* step) {
  const uint64_t target = scalar64(wave, step, 1);
  if (fork(wave, scalar64(wave, step, 0), target, pc_of(wave, step) + 4))
    MORGANA_JUMP_TO_PC(wave, step, target);
  MORGANA_NEXT(wave, step);
}

void s_cbranch_join(Wave& wave, const Step* step) {
  if (csp(wave) == scalar32(wave, step, 0)) MORGANA_NEXT(wave, step);
  set_csp(wave, csp(wave) - 1);
  const uint32_t* entry = &wave.s[csp(wave) * 4];
  wave.set_exec(entry[0] | uint64_t{entry[1]} << 32);
  MORGANA_JUMP_TO_PC(wave, step, entry[2] | uint64_t{entry[3]} << 32);
}

// --- Ends, barriers, sleep ---

void s_endpgm(Wave& wave, const Step* step) { stop(wave, step, step, Exit::ended); }

void s_barrier(Wave& wave, const Step* step) {
  if (wave.group->wave_count == 1) MORGANA_NEXT(wave, step);
  stop(wave, step, step + step->dwords, Exit::barrier);
}

void s_sleep(Wave& wave, const Step* step) {
  if ((step->imm & 0x7f) == 0) MORGANA_NEXT(wave, step);
  stop(wave, step, step + step->dwords, Exit::quantum);
}

void s_setkill(Wave& wave, const Step* step) {
  if (!(step->imm & 1)) MORGANA_NEXT(wave, step);
  stop(wave, step, step, Exit::ended);
}

// --- GPR indexing: MODE.GPR_IDX_EN, index in M0[7:0], enables in M0[15:12] (CDNA4 guide 6.6) ---

void s_set_gpr_idx_on(Wave& wave, const Step* step) {
  wave.mode.bits |= kModeGprIdxEn;
  wave.m0() = (wave.m0() & ~0xf0ffu) | (scalar32(wave, step, 0) & 0xff) | (step->extra & 0xf) << 12;
  MORGANA_NEXT_AFTER_MODE(wave, step);
}
void s_set_gpr_idx_off(Wave& wave, const Step* step) {
  wave.mode.bits &= ~kModeGprIdxEn;
  MORGANA_NEXT(wave, step);
}
void s_set_gpr_idx_idx(Wave& wave, const Step* step) {
  wave.m0() = (wave.m0() & ~0xffu) | (scalar32(wave, step, 0) & 0xff);
  MORGANA_NEXT(wave, step);
}
void s_set_gpr_idx_mode(Wave& wave, const Step* step) {
  wave.m0() = (wave.m0() & ~0xf000u) | (static_cast<uint32_t>(step->imm) & 0xf) << 12;
  MORGANA_NEXT(wave, step);
}
void s_setvskip(Wave& wave, const Step* step) {
  const bool skip = scalar32(wave, step, 0) >> (scalar32(wave, step, 1) & 31) & 1;
  wave.mode.bits = (wave.mode.bits & ~kModeVskip) | (skip ? kModeVskip : 0);
  MORGANA_NEXT_AFTER_MODE(wave, step);
}

void s_setprio(Wave& wave, const Step* step) {
  wave.status = (wave.status & ~0x18u) | (static_cast<uint32_t>(step->imm) & 3) << 3;
  MORGANA_NEXT(wave, step);
}

}  // namespace

void nothing(Wave& wave, const Step* step) { MORGANA_NEXT(wave, step); }

void turn(Wave& wave, const Step* step) {
  if (wave.group->wave_count == 1) MORGANA_NEXT(wave, step);
  stop(wave, step, step + step->dwords, Exit::turn);
}

Handler select_control(Target target, const isa::Inst& inst, Step& step) {
  using isa::Op;
  const isa::Op op = inst.row->op;
  if ((inst.row->flags & isa::kBranch) &&
      (inst.format == isa::Format::SOPP || inst.format == isa::Format::SOPK))
    step.imm = static_cast<int16_t>(inst.simm16) + 1;
  switch (op) {
    case Op::s_branch: return s_branch;
    case Op::s_cbranch_scc0: return s_cbranch<Scc0>;
    case Op::s_cbranch_scc1: return s_cbranch<Scc1>;
    case Op::s_cbranch_vccz: return s_cbranch<Vccz>;
    case Op::s_cbranch_vccnz: return s_cbranch<Vccnz>;
    case Op::s_cbranch_execz: return s_cbranch<Execz>;
    case Op::s_cbranch_execnz: return s_cbranch<Execnz>;
    case Op::s_cbranch_cdbgsys: return s_cbranch<CdbgSys>;
    case Op::s_cbranch_cdbguser: return s_cbranch<CdbgUser>;
    case Op::s_cbranch_cdbgsys_or_user: return s_cbranch<CdbgOr>;
    case Op::s_cbranch_cdbgsys_and_user: return s_cbranch<CdbgAnd>;
    case Op::s_call_b64: return s_call_b64;
    case Op::s_getpc_b64: return s_getpc_b64;
    case Op::s_setpc_b64: return s_setpc_b64;
    case Op::s_swappc_b64: return s_swappc_b64;
    case Op::s_cbranch_i_fork: return s_cbranch_i_fork;
    case Op::s_cbranch_g_fork: return s_cbranch_g_fork;
    case Op::s_cbranch_join: return s_cbranch_join;
    case Op::s_endpgm:
    case Op::s_endpgm_saved:
    case Op::s_endpgm_ordered_ps_done: return s_endpgm;
    case Op::s_barrier: return s_barrier;
    case Op::s_sleep: return s_sleep;
    case Op::s_setkill: return s_setkill;
    case Op::s_set_gpr_idx_on: step.extra = inst.simm16; return s_set_gpr_idx_on;
    case Op::s_set_gpr_idx_off: return s_set_gpr_idx_off;
    case Op::s_set_gpr_idx_idx: return s_set_gpr_idx_idx;
    case Op::s_set_gpr_idx_mode: return s_set_gpr_idx_mode;
    case Op::s_setvskip: return s_setvskip;
    case Op::s_setprio: return s_setprio;
    case Op::s_nop:
    case Op::s_waitcnt:
    case Op::s_wakeup:
    case Op::s_icache_inv:
    case Op::s_incperflevel:
    case Op::s_decperflevel:
    case Op::s_ttracedata: return nothing;
    default:
      if (Handler handler = select_modern_control(inst, step)) return handler;
      return select_trap(inst, step);
  }
}

}  // namespace morgana::device::MORGANA_SIMD
