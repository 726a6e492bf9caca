// GPR indexing and VSKIP: the two modes in which an instruction means something else than it says.
//
// They are rare (a handful of instructions around an indexed move), so they cost the ordinary path nothing:
// while one is in force every step is run from a changed copy whose successor is a step that returns here.
#include <cstring>

#include "device/interp/control.h"

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
    case isa::Format::VOP3PX2: return true;
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

// Applies M0's index to the VGPR operands of `copy`. False: the destination lies outside the wave's
// registers, and the instruction does nothing. Sources outside read VGPR0 (CDNA4 guide 3.6.1).
bool apply_index(const Wave& wave, Step& copy) {
  constexpr int kRegisterBytes = kLanes * 4;
  const isa::Inst& inst = *copy.inst;
  const int index = static_cast<int>(wave.s[isa::kM0] & 0xff);
  const uint32_t enable = wave.s[isa::kM0] >> 12 & 0xf;
  const auto shifted = [&](int32_t offset, int dwords) {
    const int32_t at = offset + index * kRegisterBytes;
    return at / kRegisterBytes + (dwords ? dwords : 1) <= static_cast<int32_t>(wave.vgpr_count) ? at : -1;
  };
  for (int i = 0; i < inst.n_src && i < 4; i++) {
    const bool tied = (inst.row->flags & isa::kTiedDst) && i == inst.n_src - 1;
    const bool on = tied ? enable & 8 : enable >> i & 1;
    if (!on || copy.kind[i] != Source::vgpr) continue;
    const int32_t at = shifted(copy.src[i], inst.src[i].dwords);
    copy.src[i] = at < 0 ? 0 : at;
  }
  if ((enable & 8) && inst.n_dst > 0 && inst.dst[0].is_vgpr()) {
    copy.dst = shifted(copy.dst, inst.dst[0].dwords);
    return copy.dst >= 0;
  }
  return true;
}

bool is_relative_branch(const Step* step) {
  return step->inst != nullptr && step->inst->row != nullptr && (step->inst->row->flags & isa::kBranch) &&
         (step->inst->format == isa::Format::SOPP || step->inst->format == isa::Format::SOPK);
}

// Runs one step and sets wave.step to its successor. False: the wave has stopped.
bool run_one(Wave& wave, const Step* step) {
  wave.step = wave.stepping = step;
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
  if ((wave.mode.bits & kModeGprIdxEn) && is_valu(step) && !apply_index(wave, local[0])) {
    wave.step = step + dwords;
    return true;
  }
  // A jump stops at its target: it must not go on there with the modes ignored.
  const uint32_t budget = wave.budget;
  const bool jumps = !relative && step->inst != nullptr && step->inst->row != nullptr &&
                     (step->inst->row->flags & isa::kBranch);
  wave.budget = jumps ? 1 : budget + 1;
  local[0].run.load(std::memory_order_relaxed)(wave, local);
  const bool was_last = budget <= 1;
  wave.budget = budget;

  if (wave.exit == Exit::none) {
    const bool taken = wave.step == nullptr;
    wave.step = step + (taken ? step->imm : dwords);
    if (!taken) return true;
    wave.block = wave.step;
  } else if (wave.exit == Exit::quantum && jumps) {
    wave.exit = Exit::none;  // wave.step and wave.block are the target
  } else {
    // Stopped by the instruction itself: a copy's address means nothing outside.
    if (wave.step >= local && wave.step <= local + kMaxDwords) wave.step = step + (wave.step - local);
    wave.block = wave.step;
    return false;
  }
  if (was_last) {
    wave.exit = Exit::quantum;
    return false;
  }
  wave.budget--;
  return true;
}

}  // namespace

void run_stepping(Wave& wave, const Step* step) {
  while (wave.mode.bits & (kModeGprIdxEn | kModeVskip)) {
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

}  // namespace morgana::device::MORGANA_SIMD
