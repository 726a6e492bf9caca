// Instructions that mean something else than they say, or that are watched: GPR indexing, VSKIP, registers
// that the wave does not have, arithmetic exceptions, single-stepping, turns that end at an access of memory.
//
// All of it is rare, so it costs the ordinary path nothing: while one is in force every step is run from a
// changed copy whose successor is a step that returns here.
#include <immintrin.h>

#include <cstring>

#include "device/interp/memory.h"
#include "device/interp/observed_step.h"
#include "device/interp/vector_tables.h"
#include "device/isa/effects.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

constexpr int kMaxDwords = 4;

void fell_through(Wave&, const Step*) {}
void branched(Wave& wave, const Step*) { wave.step = nullptr; }

bool is_valu(const Step* step) {
  if (step->inst == nullptr || step->inst->row == nullptr) return false;
  switch (step->inst->row->format) {
    case isa::Format::VOP1:
    case isa::Format::VOP2:
    case isa::Format::VOPC:
    case isa::Format::VOP3:
    case isa::Format::VOP3P:
    case isa::Format::VOP3PX2:
    case isa::Format::VOPD: return true;
    default: return false;
  }
}

bool is_vector(const Step* step) {
  if (is_valu(step)) return true;
  if (step->inst == nullptr || step->inst->row == nullptr) return false;
  switch (step->inst->row->format) {
    case isa::Format::DS:
    case isa::Format::FLAT:
    case isa::Format::GLOBAL:
    case isa::Format::SCRATCH:
    case isa::Format::MUBUF:
    case isa::Format::MTBUF:
    case isa::Format::MIMG: return true;
    default: return false;
  }
}

// Applies M0's index to the VGPR and AccVGPR operands of `copy`. False: the destination lies outside the
// wave's registers, and the instruction does nothing. Sources outside read register 0 (CDNA4 guide 3.6.1).
bool apply_index(const Wave& wave, Step& copy) {
  constexpr int kRegisterBytes = kLanes * 4;
  const isa::Inst& inst = *copy.inst;
  const int index = static_cast<int>(wave.s[isa::kM0] & 0xff);
  const uint32_t enable = wave.s[isa::kM0] >> 12 & 0xf;
  const auto shifted = [&](int32_t offset, const isa::Operand& operand) {
    const int32_t at = offset + index * kRegisterBytes;
    const uint32_t end = static_cast<uint32_t>(at / kRegisterBytes) + (operand.dwords ? operand.dwords : 1u);
    return end <= (operand.is_agpr() ? wave.agpr_count : wave.vgpr_count) ? at : -1;
  };
  for (int i = 0; i < inst.n_src && i < 4; i++) {
    const bool tied = (inst.row->flags & isa::kTiedDst) && i == inst.n_src - 1;
    const bool on = tied ? enable & 8 : enable >> i & 1;
    if (!on || (copy.kind[i] != Source::vgpr && copy.kind[i] != Source::agpr)) continue;
    const int32_t at = shifted(copy.src[i], inst.src[i]);
    copy.src[i] = at < 0 ? 0 : at;
  }
  if ((enable & 8) && inst.n_dst > 0 && (inst.dst[0].is_vgpr() || inst.dst[0].is_agpr())) {
    copy.dst = shifted(copy.dst, inst.dst[0]);
    return copy.dst >= 0;
  }
  return true;
}

bool is_relative_branch(const Step* step) {
  return step->inst != nullptr && step->inst->row != nullptr && (step->inst->row->flags & isa::kBranch) &&
         (step->inst->format == isa::Format::SOPP || step->inst->format == isa::Format::SOPK);
}

// Gives `copy` operands that the wave has: sources outside read register 0, a scalar result outside goes
// nowhere (SCC and EXEC are still written). False: the instruction does nothing (CDNA4 guide 3.6.1, 5.2).
bool apply_bounds(const Wave& wave, Step& copy) {
  constexpr int32_t kNowhere = 209;  // reserved operand codes
  const isa::Inst& inst = *copy.inst;
  const auto is_outside = [&](const isa::Operand& operand) {
    const uint32_t dwords = operand.dwords ? operand.dwords : 1u, code = operand.code;
    if (operand.is_vgpr()) return code - isa::kVgprBase + dwords > wave.vgpr_count;
    if (operand.is_agpr()) return code - isa::kAgprBase + dwords > wave.agpr_count;
    return is_sgpr(wave, code) && code + dwords > wave.sgpr_count;
  };
  if (inst.second != nullptr) return true;  // vector_dual.cpp looks at each of the two
  for (int i = 0; i < inst.n_src && i < 4; i++)
    if (inst.src[i].present() && is_outside(inst.src[i])) copy.src[i] = 0;
  for (int i = 0; i < inst.n_dst; i++) {
    if (!inst.dst[i].present() || !is_outside(inst.dst[i])) continue;
    if (!inst.dst[i].is_scalar() || inst.n_dst > 1) return false;
    copy.dst = kNowhere;
  }
  return true;
}

// What an instruction may raise and whose operands are seen on the way (general frame), or which computes as
// the host does (DGEMM, CDNA4 guide 7.4).
enum class Watch { none, operands, host_flags };

Watch watch(const Wave& wave, Step& copy) {
  if (!((wave.mode.bits & kModeWatching) || wave.tracks_exceptions) || !is_valu(&copy)) return Watch::none;
  const isa::Inst& inst = *copy.inst;
  if ((inst.row->flags & isa::kMfma) && inst.row->dst[0] == isa::Type::f64) return Watch::host_flags;
  if (!service::is_observable(inst)) return Watch::none;
  const Handler handler = observed_handler(wave.target->target, inst, copy);
  if (handler == nullptr) return Watch::none;
  copy.run.store(handler, std::memory_order_relaxed);
  return Watch::operands;
}

// What the wave is about to do is shown to who watches: address watches, which see accesses through the L1
// cache (CDNA4 guide 3.10) before registers change, and the launch's observer. False: the wave is to stop.
bool watch_step(Wave& wave, const Step* step, const Step* local) {
  const isa::Inst* inst = local->inst;
  if (inst == nullptr || inst->row == nullptr) return true;
  wave.step = local;
  if (locate_access(wave)) service::observe_access(wave, *inst);
  const bool goes_on = service::observe_step(wave, step);
  wave.access = {};
  return goes_on;
}

const char* name_of_exception(uint32_t raised) {
  constexpr const char* kNames[] = {
      "invalid operation", "denormal operand", "division by zero",         "overflow",
      "underflow",         "inexact result",   "integer division by zero", "address watch"};
  return kNames[__builtin_ctz(raised)];
}

// After an instruction that went its course; wave.step is the next one. False: the wave has stopped, or goes
// on in its trap handler.
bool after_watched(Wave& wave, const Step* step, Watch watched, bool debugs, bool is_counted) {
  if (watched == Watch::host_flags) wave.observed = _mm_getcsr() & 0x3f;
  uint32_t enabled = wave.observed & wave.mode.excp_en() & kExcpArithmetic;
  if (wave.observed & kTrapstsWatches) enabled |= wave.mode.excp_en() & kExcpAddressWatch;
  const uint32_t before = wave.trapsts & wave.mode.excp_en() & kExcpArithmetic;
  wave.trapsts |= wave.observed;
  const bool handles = wave.status & kStatusTrapEn;
  if (enabled == 0 && !(handles && debugs)) return true;
  // EXCP_CYCLE: the phase, 16 lanes each, of the first enabled exception.
  if ((enabled & kExcpArithmetic) && before == 0)
    wave.trapsts = (wave.trapsts & ~kTrapstsCycle) | (wave.observed_lane / 16) << 16;
  if (!is_counted) count_run(wave, step);
  wave.block = wave.step;
  wave.stepping = nullptr;
  const uint64_t next = wave.code->pc(wave.step);
  if (handles && debugs && wave.target->generation >= Generation::gfx11)
    wave.trapsts |= kTrapstsAfterInstruction;
  if (handles && service::enter_trap(wave, wave.step, next, enabled != 0 ? step->dwords : 0, 0, false)) {
    resume(wave);
    return false;
  }
  if (!handles)
    service::record_fault(wave, step,
                          enabled & kExcpArithmetic ? FaultKind::float_exception : FaultKind::trap,
                          name_of_exception(enabled), 0, static_cast<int>(wave.observed_lane), false);
  wave.step = wave.block = step;
  wave.exit = Exit::fault;
  return false;
}

// Whether others can see what it does, or it what they do.
bool accesses_shared_memory(const Step* step) {
  if (step->inst == nullptr || step->inst->row == nullptr) return false;
  const isa::MemoryAccess& access = isa::effects(step->inst->row->op).access;
  return access.direction != isa::Direction::none && access.space != isa::Space::scratch;
}

// Runs one step and sets wave.step to its successor. False: the wave has stopped.
bool run_one(Wave& wave, const Step* step) {
  wave.step = wave.stepping = step;
  wave.observes = false;
  wave.observed = 0;
  if ((wave.mode.bits & kModeVskip) && is_vector(step)) {
    wave.step = step + step->dwords;
    return true;
  }
  alignas(64) unsigned char storage[(kMaxDwords + 1) * sizeof(Step)];
  std::memset(storage, 0, sizeof storage);
  Step* local = reinterpret_cast<Step*>(storage);
  std::memcpy(storage, static_cast<const void*>(step), sizeof(Step));
  const int dwords = step->dwords;
  local[dwords].run.store(fell_through, std::memory_order_relaxed);
  local[dwords].ordinal = step->ordinal + 1;
  const bool relative = is_relative_branch(step);
  if (relative) {
    local[0].imm = 2;
    local[2].run.store(branched, std::memory_order_relaxed);
  }
  const bool is_bounded = step->run.load(std::memory_order_relaxed) == bounded;
  if (is_bounded)
    local[0].run.store(level().select(wave.target->target, *step->inst, local[0]), std::memory_order_relaxed);
  if ((is_bounded && !apply_bounds(wave, local[0])) ||
      ((wave.mode.bits & kModeGprIdxEn) && is_valu(step) && !apply_index(wave, local[0]))) {
    wave.step = step + dwords;
    return true;
  }
  const bool is_watched = is_stepped(wave) && !(wave.status & kStatusPriv);
  const bool debugs = is_watched && wave.mode.debug();  // as it is when the instruction begins
  const Watch watched = is_watched ? watch(wave, local[0]) : Watch::none;
  wave.observes = watched == Watch::operands;
  if (is_watched && wave.watches != nullptr && !watch_step(wave, step, local)) {
    count_run(wave, step);
    wave.step = wave.block = step;
    wave.exit = Exit::fault;
    return false;
  }
  if (watched == Watch::host_flags) _mm_setcsr(_mm_getcsr() & ~0x3fu);
  // A jump stops at its target: it must not go on there with the modes ignored.
  const uint32_t budget = wave.budget;
  const bool jumps = !relative && step->inst != nullptr && step->inst->row != nullptr &&
                     (step->inst->row->flags & isa::kBranch);
  wave.budget = jumps ? 1 : budget + 1;
  local[0].run.load(std::memory_order_relaxed)(wave, local);
  const bool was_last = budget <= 1;
  wave.budget = budget;
  wave.observes = false;

  bool has_jumped = true;
  if (wave.exit == Exit::none) {
    has_jumped = wave.step == nullptr;
    wave.step = step + (has_jumped ? step->imm : dwords);
    if (has_jumped) wave.block = wave.step;
  } else if (wave.exit == Exit::quantum && jumps) {
    wave.exit = Exit::none;  // wave.step and wave.block are the target
  } else {
    // Stopped by the instruction itself: a copy's address means nothing outside.
    if (wave.step >= local && wave.step <= local + kMaxDwords) {
      wave.step = step + (wave.step - local);
      wave.block = wave.step;
    }
    if (wave.exit != Exit::quantum || !debugs) return false;
    wave.exit = Exit::none;  // s_sleep: the handler comes first
  }
  if (is_watched && (wave.observed != 0 || watched == Watch::host_flags || debugs)) {
    if (!after_watched(wave, step, watched, debugs, has_jumped)) return false;
  }
  if (!has_jumped) {
    if (!is_watched || wave.watches == nullptr || !accesses_shared_memory(step) || !service::ends_turn(wave))
      return true;
    count_run(wave, step);
    wave.block = wave.step;
    wave.exit = Exit::turn;
    return false;
  }
  if (was_last) {
    wave.budget = 0;  // by which it is known from a wave that sleeps
    wave.exit = Exit::quantum;
    return false;
  }
  wave.budget--;
  return true;
}

}  // namespace

void run_stepping(Wave& wave, const Step* step) {
  while (is_stepped(wave)) {
    if (step->run.load(std::memory_order_acquire) == level().undecoded) service::decode(wave, step);
    if (!run_one(wave, step)) {
      wave.stepping = nullptr;
      return;
    }
    step = wave.step;
  }
  wave.stepping = nullptr;
  MORGANA_GO(wave, step);
}

void bounded(Wave& wave, const Step* step) {
  const bool goes_on = run_one(wave, step);
  wave.stepping = nullptr;
  if (!goes_on) return;
  const Step* const next = wave.step;
  MORGANA_GO(wave, next);
}

}  // namespace morgana::device::MORGANA_SIMD
