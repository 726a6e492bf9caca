// A kernel's instructions and blocks: what can be reached from where it begins, decoded.
//
// Owned by one lifting. Bytes are hostile: what is no instruction, or lies outside, ends its block.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/target.h"
#include "device/isa/inst.h"

namespace morgana::device::lift {

struct Decoded {
  uint32_t pc = 0;  // bytes from the beginning of the code
  isa::Inst inst;
  uint32_t next() const { return pc + inst.size; }
};

// A straight run, left at its end only.
struct Run {
  uint32_t pc = 0;
  uint32_t first = 0, count = 0;  // of Code::instructions
  // Where it goes: to `target` if its last instruction branches, and to what follows.
  uint32_t target = kNowhere, next = kNowhere;
  static constexpr uint32_t kNowhere = ~0u;  // otherwise a number in Code::runs
};

struct Code {
  Target target{};
  WaveSize wave = WaveSize::wave64;
  std::vector<Decoded> instructions;
  std::vector<Run> runs;  // by address
  uint32_t entry = 0;     // in runs
};

// Instructions that follow each other, as code of one run.
Code straight_run(Target target, WaveSize wave, std::vector<Decoded> instructions);

// `wave`: how wide lane masks are. `entry`: bytes from the beginning of `code`. `beyond_leaves`: also what
// lies behind instructions where somebody else goes on (isa::Control::leave). An error when nothing can be
// decoded there, or too much.
Result<Code> read_code(Target target, WaveSize wave, Bytes code, uint32_t entry, bool beyond_leaves = false);

}  // namespace morgana::device::lift
