// CountedCode: what the code of a compiled kernel counts for a profile, and what its counters mean.
//
// Of one kernel, immutable. Its counters are a launch's, whose thread alone uses them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/target.h"
#include "device/limits.h"

namespace morgana::device {

struct Code;

// Instructions that are executed one after another, by one EXEC.
struct CountedRun {
  std::vector<uint32_t> dwords;  // of the code region, where they begin
  uint32_t counter = 0;          // of executions; the next two count lanes and idle lanes if `lanes` is 0
  uint32_t lanes = 0;            // of each execution
  bool takes_back = false;       // it was counted, and has not been executed
};

// Accesses of an instruction that compiled code makes, by all lanes of the wave. What others touch is shown
// to the Observer.
struct CountedAccess {
  enum class Form : uint8_t {
    scalar,  // global memory, once
    row,     // global memory without gaps: the next counter counts lines
    place,   // one place of global memory, likewise
    apart,   // LDS, at known distances
    own,     // scratch: the counter counts lanes
    alike,   // any: the counters are AlikeAccesses
  };
  Form form{};
  uint32_t dword = 0;
  uint32_t counter = 0;  // of executions
  uint32_t lanes = 0;
  std::array<uint32_t, kLanes> distance{};  // of LDS
  bool takes_back = false;
};

struct CountedCode {
  const Code* code = nullptr;
  Target target{};
  std::vector<CountedRun> runs;
  std::vector<CountedAccess> accesses;
  uint32_t counters = 0;
};

}  // namespace morgana::device
