// Random kernels for tests that run one kernel on both tiers: instructions of all encodings, in branches,
// loops and calls, with memory in a sandbox and barriers.
//
// A kernel is a tree, so that a test can take parts away and emit it again. What must hold for it to end and
// to touch nothing else is kept in registers that no random instruction names: s64 and up, v24 and up. Pure
// functions of the seed; for tests only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/target.h"

namespace morgana::device {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(next() >> 32) % limit; }
  bool one_in(uint32_t count) { return below(count) == 0; }

 private:
  uint64_t state_;
};

// Registers of random instructions: VGPRs, AccVGPRs and SGPRs below these, VCC, M0 and EXEC.
inline constexpr uint32_t kRandomVgprs = 24, kRandomAgprs = 16, kRandomSgprs = 64;
// What a test sets before the kernel begins. The sandbox's address is a multiple of its size.
inline constexpr uint32_t kSandboxPair = 96;        // s[96:97]: its address
inline constexpr uint32_t kSandboxResource = 92;    // s[92:95]: the same as a buffer
inline constexpr uint32_t kSandboxBytes = 1 << 16;  // of which random accesses touch the first 40 KiB
inline constexpr uint32_t kSandboxLds = 8192, kSandboxPrivate = 1024;

struct Piece {
  enum class Kind : uint8_t {
    code,            // `words`
    branch,          // on SCC, VCC or EXEC (`variant`); `other` is the way of those that branch
    divergent,       // EXEC saved and narrowed to VCC; with `other`, the rest of the lanes takes that way
    loop,            // `count` times
    divergent_loop,  // every lane as often as its counter says
    call,            // of `body` as a function
  };
  Kind kind = Kind::code;
  uint8_t variant = 0, depth = 0, count = 0;
  std::vector<uint32_t> words;  // code: whole instructions; divergent: what sets VCC
  std::vector<Piece> body, other;
};

struct RandomKernel {
  Target target{};
  WaveSize wave = WaveSize::wave64;
  std::vector<Piece> pieces;
  bool stores_registers = false;  // at the end, into the sandbox, under the EXEC of that point
  bool exact = false;             // as in KernelKind
};

struct KernelKind {
  uint32_t pieces = 40;
  bool structured = true;         // else a straight line
  bool stores_registers = false;  // at the end; structured kernels may in any case
  // No instruction with a float result: which of two NaNs an operation passes on, the host's compiler
  // chooses.
  bool exact = false;
  // Every third of the short vector instructions as DPP.
  bool crosses_lanes = false;
};

// Of gfx10 and later, mostly for waves of 32.
RandomKernel random_kernel(Target target, uint64_t seed, const KernelKind& kind);

// Machine code without the final s_endpgm, unless functions follow it.
std::vector<uint32_t> emit(const RandomKernel& kernel);
// How many instructions `code` has, and its assembly.
size_t count_instructions(Target target, WaveSize wave, const std::vector<uint32_t>& code);
std::string listing(Target target, WaveSize wave, const std::vector<uint32_t>& code);

}  // namespace morgana::device
