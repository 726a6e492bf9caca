// Control of gfx10 to gfx12: sub-vector loops, float modes, messages that return a value, split barriers, and
// the waits and hints that an interpreter in order has no use for.
//
// Spec: RDNA guides, "Program Flow Control" and the SOPP and SOP1 chapters; hwreg and message numbers as LLVM
// 22 has them.
#include "device/interp/control.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// --- Sub-vector loops: a wave64 executes a body once for each half of EXEC. The destination keeps the half
// that waits, or that is done. `imm` is the distance in steps from this step ---

void s_subvector_loop_begin(Wave& wave, const Step* step) {
  uint32_t &low = wave.s[isa::kExecLo], &high = wave.s[isa::kExecHi];
  const auto saved = static_cast<uint32_t>(step->dst);
  if ((low | high) == 0) MORGANA_JUMP(wave, step, step + step->imm);
  if (low == 0) {  // only the upper half
    write_scalar32(wave, saved, 0);
  } else {
    write_scalar32(wave, saved, high);
    high = 0;
  }
  MORGANA_NEXT(wave, step);
}

void s_subvector_loop_end(Wave& wave, const Step* step) {
  uint32_t &low = wave.s[isa::kExecLo], &high = wave.s[isa::kExecHi];
  const auto saved = static_cast<uint32_t>(step->dst);
  if (high != 0) {
    low = wave.s[saved];
  } else if (wave.s[saved] != 0) {
    high = wave.s[saved];
    write_scalar32(wave, saved, low);
    low = 0;
    MORGANA_JUMP(wave, step, step + step->imm);
  }
  MORGANA_NEXT(wave, step);
}

// --- MODE's round and denormal fields ---

template <int Shift>
void write_float_mode(Wave& wave, const Step* step) {
  wave.mode.bits = (wave.mode.bits & ~(0xfu << Shift)) | (static_cast<uint32_t>(step->imm) & 0xf) << Shift;
  apply_mode(wave);
  MORGANA_NEXT(wave, step);
}

// --- S_SENDMSG_RTN: no doorbell and no draw; the trap handler's addresses; the clock ---

template <int Registers>
void s_sendmsg_rtn(Wave& wave, const Step* step) {
  enum : uint32_t { kDoorbell = 128, kDrawId, kTma, kRealTime, kSaveWave, kTba };
  uint64_t value = 0;
  switch (static_cast<uint32_t>(step->imm) & 0xff) {
    case kDoorbell:
    case kDrawId:
    case kSaveWave: break;
    case kTma: value = wave.tma; break;
    case kTba: value = wave.tba; break;
    case kRealTime: value = service::real_time(); break;
    default: return raise(wave, step, FaultKind::illegal_instruction, "a message that does not exist");
  }
  if constexpr (Registers == 2)
    write_scalar64(wave, static_cast<uint32_t>(step->dst), value);
  else
    write_scalar32(wave, static_cast<uint32_t>(step->dst), static_cast<uint32_t>(value));
  MORGANA_NEXT(wave, step);
}

// --- Split barriers (gfx12): -1 is the group's own, -2 the trap handler's, 1 to 16 are named; M0 gives a
// named one in [4:0] and its members in [22:16] ---

using isa::kGroupBarrier;
constexpr uint32_t kTrapBarrier = ~1u;

bool is_named(uint32_t id) { return id >= 1 && id <= kNamedBarriers; }

// The barrier of an instruction with a scalar operand.
uint32_t barrier_of(const Wave& wave, const Step* step) {
  const uint32_t value = scalar32(wave, step, 0);
  return step->inst->src[0].code == isa::kM0 ? value & 0x1f : value;
}

bool is_complete(const Wave& wave, const SplitBarrier& barrier, bool of_group) {
  // Waves that ended count as arrived.
  return of_group ? barrier.signals + wave.group->waves_ended >= wave.group->wave_count
                  : barrier.signals >= barrier.members;
}

// One more signal. Waves that wait for the group's own barrier go on when it is complete; those at a named
// one look again by themselves. False: there is no such barrier.
bool signal(Wave& wave, uint32_t id, bool& is_first) {
  const bool of_group = id == kGroupBarrier;
  if (!of_group && !is_named(id)) return false;
  SplitBarrier& barrier = wave.group->barriers[of_group ? 0 : id];
  is_first = barrier.signals == 0;
  barrier.signals++;
  if (of_group || wave.joined_barrier == id) wave.signalled_at[!of_group] = barrier.completions;
  if (!is_complete(wave, barrier, of_group)) return true;
  barrier.complete();
  if (of_group && wave.group->waves_at_barrier != 0) service::release_barrier(wave);
  return true;
}

template <bool IsFirst>
void s_barrier_signal(Wave& wave, const Step* step) {
  const uint32_t id = barrier_of(wave, step);
  bool is_first = false;
  if (id != kTrapBarrier && !signal(wave, id, is_first))
    return raise(wave, step, FaultKind::illegal_instruction, "a barrier that does not exist");
  if (IsFirst) wave.scc = is_first;
  MORGANA_NEXT(wave, step);
}

void s_barrier_wait(Wave& wave, const Step* step) {
  const auto id = static_cast<uint32_t>(step->imm);
  if (id == kTrapBarrier) MORGANA_NEXT(wave, step);
  const bool of_group = id == kGroupBarrier;
  const uint32_t at = of_group ? 0 : wave.joined_barrier;
  // A wave that has joined none waits for nothing.
  if ((!of_group && at == 0) || wave.group->barriers[at].completions != wave.signalled_at[!of_group])
    MORGANA_NEXT(wave, step);
  if (of_group) return stop(wave, step, step + step->dwords, Exit::barrier);
  wave.instructions--;  // executed again
  stop(wave, step, step, Exit::quantum);
}

void s_barrier_init(Wave& wave, const Step* step) {
  const uint32_t id = barrier_of(wave, step);
  if (!is_named(id))
    return raise(wave, step, FaultKind::illegal_instruction, "a barrier that does not exist");
  SplitBarrier& barrier = wave.group->barriers[id];
  barrier.members = wave.m0() >> 16 & 0x7f;
  barrier.signals = 0;
  MORGANA_NEXT(wave, step);
}

void s_barrier_join(Wave& wave, const Step* step) {
  const uint32_t id = barrier_of(wave, step);
  if (!is_named(id))
    return raise(wave, step, FaultKind::illegal_instruction, "a barrier that does not exist");
  wave.joined_barrier = id;
  wave.signalled_at[1] = ~0u;
  MORGANA_NEXT(wave, step);
}

// Leaves the named barrier that the wave has joined, which may complete it. SCC: whether there was one.
void s_barrier_leave(Wave& wave, const Step* step) {
  wave.scc = wave.joined_barrier != 0;
  if (wave.scc) {
    SplitBarrier& barrier = wave.group->barriers[wave.joined_barrier];
    if (barrier.members != 0) barrier.members--;
    if (barrier.signals != 0 && is_complete(wave, barrier, false)) barrier.complete();
    wave.joined_barrier = 0;
  }
  MORGANA_NEXT(wave, step);
}

// Valid [0], signals [10:4], members [22:16].
void s_get_barrier_state(Wave& wave, const Step* step) {
  const uint32_t id = barrier_of(wave, step);
  uint32_t state = 0;
  if (id == kGroupBarrier || is_named(id)) {
    const bool of_group = id == kGroupBarrier;
    const SplitBarrier& barrier = wave.group->barriers[of_group ? 0 : id];
    const uint32_t members = of_group ? wave.group->wave_count : barrier.members;
    state = (members != 0) | (barrier.signals & 0x7f) << 4 | (members & 0x7f) << 16;
  }
  write_scalar32(wave, static_cast<uint32_t>(step->dst), state);
  MORGANA_NEXT(wave, step);
}

// --- Ends and pauses ---

// Pads code behind its last instruction.
void s_code_end(Wave& wave, const Step* step) {
  return raise(wave, step, FaultKind::illegal_instruction, "s_code_end: execution ran past the program");
}

void s_sleep_var(Wave& wave, const Step* step) {
  if ((scalar32(wave, step, 0) & 0x7f) == 0) MORGANA_NEXT(wave, step);
  stop(wave, step, step + step->dwords, Exit::quantum);
}

// VGPRs are allocated for good here: any number that the registers have is granted.
void s_alloc_vgpr(Wave& wave, const Step* step) {
  wave.scc = scalar32(wave, step, 0) <= wave.vgpr_count;
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_modern_control(const isa::Inst& inst, Step& step) {
  using isa::Op;
  switch (inst.row->op) {
    case Op::s_subvector_loop_begin: return s_subvector_loop_begin;
    case Op::s_subvector_loop_end: return s_subvector_loop_end;
    case Op::s_round_mode: return write_float_mode<0>;
    case Op::s_denorm_mode: return write_float_mode<4>;
    case Op::s_sendmsg_rtn_b32: step.imm = inst.simm16; return s_sendmsg_rtn<1>;
    case Op::s_sendmsg_rtn_b64: step.imm = inst.simm16; return s_sendmsg_rtn<2>;
    case Op::s_barrier_signal: return s_barrier_signal<false>;
    case Op::s_barrier_signal_isfirst: return s_barrier_signal<true>;
    case Op::s_barrier_wait: step.imm = static_cast<int16_t>(inst.simm16); return s_barrier_wait;
    case Op::s_barrier_init: return s_barrier_init;
    case Op::s_barrier_join: return s_barrier_join;
    case Op::s_barrier_leave: return s_barrier_leave;
    case Op::s_get_barrier_state: return s_get_barrier_state;
    case Op::s_code_end: return s_code_end;
    case Op::s_sleep_var: return s_sleep_var;
    case Op::s_alloc_vgpr: return s_alloc_vgpr;
    case Op::s_version:
    case Op::s_clause:
    case Op::s_delay_alu:
    case Op::s_inst_prefetch:
    case Op::s_set_inst_prefetch_distance:
    case Op::s_ttracedata_imm:
    case Op::s_waitcnt_vscnt:
    case Op::s_waitcnt_vmcnt:
    case Op::s_waitcnt_expcnt:
    case Op::s_waitcnt_lgkmcnt:
    case Op::s_waitcnt_depctr:
    case Op::s_wait_alu:
    case Op::s_wait_idle:
    case Op::s_wait_event:
    case Op::s_wait_loadcnt:
    case Op::s_wait_storecnt:
    case Op::s_wait_samplecnt:
    case Op::s_wait_bvhcnt:
    case Op::s_wait_expcnt:
    case Op::s_wait_dscnt:
    case Op::s_wait_kmcnt:
    case Op::s_wait_loadcnt_dscnt:
    case Op::s_wait_storecnt_dscnt: return nothing;
    default: return nullptr;
  }
}

}  // namespace morgana::device::MORGANA_SIMD
