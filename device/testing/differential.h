// One kernel on the interpreter and compiled, and whether they leave the same state: registers, LDS, scratch,
// memory, and how it ended.
//
// For tests only; one thread at a time (the sandbox is the process's).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/testing/random_kernel.h"

namespace morgana::device {

struct Comparison {
  enum class Verdict : uint8_t {
    same,
    // Only NaNs differ in their bits: which of two an operation passes on, the host's compiler chooses.
    same_but_nans,
    differs,
  };
  Verdict verdict = Verdict::same;
  bool was_compiled = false;
  bool loops = false;  // over the waves
  std::string why_interpreted;
  bool is_refused = false;  // some word of the kernel looks like a read of TRAPSTS: it is never compiled
  bool has_nans = false;    // some register differs as NaNs do, whatever else does
  std::string what;         // differs: the first difference
  uint64_t seed = 0;        // and of the state that shows it
};

// How a kernel is run; follows from the seed of its state.
struct Setting {
  WaveSize wave = WaveSize::wave64;
  uint64_t seed = 0;  // of registers and memory
  uint32_t waves = 1;
  uint32_t items = 0;               // of one wave that not all lanes execute in; 0: they do
  bool registers_are_lost = false;  // only memory is compared
  bool begins_full = false;
  bool exact = false;         // NaNs, too, are the same bit by bit
  bool without_nans = false;  // in what registers and memory hold at first
  bool quick = false;         // compiled with LLVM's passes left out (Specialisation::quick)
  bool ieee = true, dx10_clamp = true;
  // FLOAT_MODE: which denormals stay: all, none, those of f32 (0x30), or of f16 and f64 (0xc0).
  uint32_t float_mode = 0xf0;
  uint32_t branches = 0;  // taken before compiled code goes on; 0: it is there from the beginning
  bool loops = false;     // over the waves, where the kernel can
  // Some memory is forbidden: the Observer is shown the same accesses to it by both, none of which is
  // missing.
  bool is_checked = false;
  bool is_shown = false;    // the same, and it is shown all of them
  bool is_counted = false;  // both give the same profile
  bool operator==(const Setting&) const = default;
};
Setting setting_of(const RandomKernel& kernel, uint64_t seed);

// Compiles once, runs on `states` states, the first of them `setting.seed`. Stops at the first difference.
Comparison compare_tiers(Target target, const std::vector<uint32_t>& code, const Setting& setting,
                         uint32_t states = 1);

// The smallest kernel that still differs, on the state of `setting` alone (Comparison::seed): pieces are
// taken away one after another. Empty when the difference comes from a NaN's bits.
std::string minimised(RandomKernel kernel, const Setting& setting);

}  // namespace morgana::device
