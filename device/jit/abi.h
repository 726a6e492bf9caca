// What compiled kernels and the code around them agree on: layouts and entry signature.
//
// Included by device/jit, by device/dispatch (which keeps a WaveFrame for every resident wave) and by the
// bitcode library semantics.cpp. Plain data; a WaveFrame belongs to its wave and is used by the thread that
// executes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/interp/step.h"
#include "device/seen_ranges.h"

namespace morgana::device::jit {

// A private copy of one Step with room for the step behind it, whose handler returns: running it executes
// that instruction alone.
struct SingleStep {
  Step step[5];
};
static_assert(sizeof(SingleStep) == 320);

class Kernel;

inline constexpr uint8_t kNeverStreams = 255;

// In place of the address of lane 16: the lanes follow the first.
inline constexpr uint64_t kRow = ~uint64_t{0};
// Likewise: lanes lie in runs, as WaveFrame::note_runs has been told. No address of x86.
inline constexpr uint64_t kRuns = 0x7ffe'0000'0000'0001;

// One wave's view of the kernel that it executes.
struct WaveFrame {
  const Step* steps = nullptr;    // of the code region
  uint64_t code = 0;              // its address
  SingleStep* singles = nullptr;  // of the kernel, in the order of translation
  uint64_t limit = 0;             // instructions after which a loop gives way
  // Of lanes 0, 16, 32 and 48 in the vector access in execution; or kRow, kRuns.
  uint64_t first_address[4] = {};
  // Of runs (kRuns): where each begins, how many lanes it has, and bytes from a lane to the next.
  uint64_t run_address[kLanes / 4] = {};
  uint32_t run_lanes = 16, run_step = 0;
  uint32_t entry = 0;    // where to go on
  uint32_t gathers = 0;  // accesses by single addresses in this iteration of a loop (serial_loops.h)
  uint32_t clashes =
      0;  // of them, since a strip loop asked last, those whose lanes share few sets of a cache
  uint32_t serial_step = 0;  // 1 + where in `steps` the loop begins that runs lane by lane, or what else is
                             // executed again after a fault: the Wave is as if it were there; 0: nothing is
  bool in_kernel = false;    // compiled code is executing; what the Wave holds of registers is stale
  bool has_stored = false;   // compiled code has written registers into the Wave
  bool in_strip = false;     // a strip loop is at work: some lanes are further than others
  bool gave_way = false;     // it has stopped at the head of a loop after `limit` instructions
  bool has_doubts = true;    // whether loops are better run lane by lane (serial_loops.h)
  uint32_t ahead = 0;        // bytes that loads of rows fetch ahead
  uint8_t streams_from = kNeverStreams;  // rows of so many dwords a lane go past the caches
  const Kernel* kernel = nullptr;        // nullptr: the interpreter executes the wave
  const SeenRanges* seen = nullptr;      // of a kernel that checks its accesses
  uint64_t* counters = nullptr;          // of one that counts (device/counted_code.h)
  uint32_t items = 0;                    // of the wave, likewise
  uint64_t* followed = nullptr;          // of one that checks what it reads (Observer::followed)
  // Of a kernel that loops over waves, in the first one's frame, as is first_address then: which one it
  // executes, and the access that has been noted last.
  Wave* current = nullptr;
  const Step* step = nullptr;
  Wave* writer = nullptr;  // of the group, the last that has begun to store what is no row
  uint32_t group = 0;      // which one, counted from 0

  // `lanes` follow from each run's first one, `step` bytes after another.
  void note_runs(uint32_t lanes, uint32_t step) {
    run_lanes = lanes, run_step = step;
    first_address[1] = kRuns;
  }
  // Where `lane` accesses `bytes`, if it is one of a row.
  uint64_t address(uint32_t lane, uint32_t bytes) const {
    if (first_address[1] == kRow) return first_address[0] + uint64_t{lane} * bytes;
    if (first_address[1] == kRuns)
      return run_address[lane / run_lanes] + uint64_t{lane % run_lanes} * run_step;
    return first_address[lane / 16] + uint64_t{lane % 16} * bytes;
  }
};

// What kernels call by name at the host's level (paths.h); the last has none.
struct NamedPath {
  const char* name;
  const void* address;
};

// WaveFrame::entry of a wave that the interpreter goes on with.
inline constexpr uint32_t kInterpret = ~0u;

// Bytes before and behind LDS that may be read, and written with what they hold: a move of whole rows
// includes the places of inactive lanes, which need not be in LDS.
inline constexpr uint64_t kLdsRoom = 8192;

// A wave and its frame. Kernels that loop over waves go on with those behind it up to `end`, and then with
// the same for the groups that follow in the row, `groups` in all, until a wave does something else than to
// end. Others go from a barrier on with the next one in the direction of `end`, until a wave does something
// else than to wait there, and count in the group those that they leave behind; in the frames of all that
// have begun `in_kernel` is set.
using Entry = void (*)(Wave*, WaveFrame*, Wave* end, uint32_t groups);

// How semantics.cpp describes a function of device/semantics/scalar.h.
enum class ScalarArgument : uint8_t { none, b32, b64, scc, simm, uimm };
struct ScalarResult {
  uint64_t value;
  uint32_t scc;
  uint32_t write;
};
struct ScalarOp {
  isa::Op op;
  void (*run)(const uint64_t* src, uint32_t scc, int32_t imm, ScalarResult* out);
  ScalarArgument argument[4];
  uint8_t count, dst_dwords, writes_scc, conditional;
};

}  // namespace morgana::device::jit
