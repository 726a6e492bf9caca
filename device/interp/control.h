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
#define MORGANA_JUMP(wave, step, target)                                \
  do {                                                                  \
    const ::morgana::device::Step* target_ = (target);                  \
    count_run(wave, step);                                              \
    (wave).block = target_;                                             \
    if (--(wave).budget == 0) [[unlikely]] {                            \
      (wave).step = target_;                                            \
      (wave).exit = ::morgana::device::Exit::quantum;                   \
      return;                                                           \
    }                                                                   \
    MORGANA_GO(wave, target_);                                          \
  } while (false)

// The guest address of `step`.
MORGANA_INLINE uint64_t pc_of(const Wave& wave, const Step* step) {
  return wave.code->address + static_cast<uint64_t>(step - wave.code->steps) * 4;
}

}  // namespace morgana::device::MORGANA_SIMD
