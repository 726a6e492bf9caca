// Control flow of handlers: taken branches, the budget, PC arithmetic, stopping.
//
// Exact instruction counts cost nothing per instruction: Step::ordinal numbers a straight run (the chain of
// fall-throughs up to a terminator), so the instructions between two steps of a run are a difference, and
// only taken branches and stops add it up.
#pragma once

#include "device/interp/code.h"
#include "device/interp/operands.h"

namespace morgana::device::MORGANA_SIMD {

// Adds the instructions from the beginning of the run to `step` inclusive.
MORGANA_INLINE void count_run(Wave& wave, const Step* step) {
  wave.instructions += static_cast<uint32_t>(step->ordinal - wave.block->ordinal) + 1;
}

// Stops the wave; it goes on at `next` if at all. The caller returns.
MORGANA_INLINE void stop(Wave& wave, const Step* step, const Step* next, Exit why) {
  count_run(wave, step);
  wave.block = next;
  wave.step = next;
  wave.exit = why;
}

// Ends `step` by a jump to `target`, a step of the same program.
#define MORGANA_JUMP(wave, step, target)                                                 \
  do {                                                                                   \
    const ::morgana::device::Step* target_ = (target);                                   \
    count_run(wave, step);                                                               \
    (wave).block = target_;                                                              \
    if (--(wave).budget == 0) [[unlikely]] {                                             \
      if (!(wave).waits_to_go_back || target_ <= (step) || (wave).stepping != nullptr) { \
        (wave).step = target_;                                                           \
        (wave).exit = ::morgana::device::Exit::quantum;                                  \
        return;                                                                          \
      }                                                                                  \
      (wave).budget = 1;                                                                 \
    }                                                                                    \
    MORGANA_GO(wave, target_);                                                           \
  } while (false)

// The guest address of `step`.
MORGANA_INLINE uint64_t pc_of(const Wave& wave, const Step* step) {
  return wave.code->pc(wave.stepping ? wave.stepping : step);
}

// Ends `step` by a jump to guest address `pc` in any code region.
#define MORGANA_JUMP_TO_PC(wave, step, pc)                                                              \
  do {                                                                                                  \
    const uint64_t pc_ = (pc) & ~uint64_t{3};                                                           \
    const ::morgana::device::Step* to_ = nullptr;                                                       \
    if ((wave).code->contains(pc_)) [[likely]]                                                          \
      to_ = (wave).code->steps + (pc_ - (wave).code->address) / 4;                                      \
    if (to_ == nullptr || to_->run.load(std::memory_order_acquire) == nullptr) [[unlikely]]             \
      to_ = ::morgana::device::service::find_step(wave, pc_);                                           \
    if (to_ == nullptr) [[unlikely]]                                                                    \
      return raise(wave, step, FaultKind::bad_jump, "jump to an address where no code is loaded", pc_); \
    MORGANA_JUMP(wave, step, to_);                                                                      \
  } while (false)

// Handlers of control and system instructions (control.cpp, hwreg.cpp, trap.cpp); nullptr for any other op.
Handler select_control(Target target, const isa::Inst& inst, Step& step);
Handler select_modern_control(const isa::Inst& inst, Step& step);  // what gfx10 to gfx12 added
Handler select_hwreg(Target target, const isa::Inst& inst, Step& step);
Handler select_trap(const isa::Inst& inst, Step& step);

// Handlers of scalar instructions on floats (scalar_float.cpp); nullptr for any other op.
Handler select_scalar_float(const isa::Inst& inst, Step& step);

// MODE bits that make the wave execute step by step (interp/stepping.cpp). DEBUG and the enabled arithmetic
// exceptions count outside the trap handler only.
inline constexpr uint32_t kModeGprIdxEn = 1u << 27, kModeVskip = 1u << 28;
inline constexpr uint32_t kModeIndexing = kModeGprIdxEn | kModeVskip;
inline constexpr uint32_t kModeDebug = 1u << 11;
inline constexpr uint32_t kModeWatching = kExcpArithmetic << 12 | kModeDebug;

// Whether the wave's next instructions mean more than they say.
MORGANA_INLINE bool is_stepped(const Wave& wave) {
  if (wave.mode.bits & kModeIndexing) return true;
  return ((wave.mode.bits & kModeWatching) || wave.tracks_exceptions || wave.watches != nullptr) &&
         !(wave.status & kStatusPriv);
}

// Goes on at `step`, instruction by instruction, until nothing asks for it any more.
void run_stepping(Wave& wave, const Step* step);

// Whether `code` names an SGPR of those that a wave is allocated (not FLAT_SCRATCH, XNACK_MASK, VCC, ...).
MORGANA_INLINE bool is_sgpr(const Wave& wave, uint32_t code) {
  return code < isa::sgpr_end(wave.target->generation);
}

// An instruction without effect here: waits, hints, cache controls and counters. Memory operations complete
// in order, one after the other, and there are no caches.
void nothing(Wave& wave, const Step* step);

// An instruction that names registers which the wave does not have (CDNA4 guide 3.6.1).
void bounded(Wave& wave, const Step* step);

// A wait for LDS at which the waves of a group take turns (lift/turns.h).
void turn(Wave& wave, const Step* step);

// Ends `step`, which has set TRAPSTS.SAVECTX: the wave goes to its trap handler.
void enter_save_context(Wave& wave, const Step* step);

// Ends a handler that has moved wave.step into or out of the trap handler.
MORGANA_INLINE void resume(Wave& wave) {
  wave.block = wave.step;
  wave.exit = Exit::resume;
}

// Goes on after `step`, which has written MODE.
#define MORGANA_NEXT_AFTER_MODE(wave, step)                       \
  do {                                                            \
    if (is_stepped(wave) && !(wave).stepping) [[clang::musttail]] \
      return run_stepping(wave, (step) + (step)->dwords);         \
    MORGANA_NEXT(wave, step);                                     \
  } while (false)

}  // namespace morgana::device::MORGANA_SIMD
