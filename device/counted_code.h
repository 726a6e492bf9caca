// CountedCode: what the code of a compiled kernel counts for a profile, and what its counters mean.
//
// Of one kernel, immutable. Its counters are a launch's, whose thread alone uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/target.h"

namespace morgana::device {

struct Code;

// Instructions that are executed one after another, by one EXEC.
struct CountedRun {
  std::vector<uint32_t> dwords;  // of the code region, where they begin
  uint32_t counter = 0;          // of executions; the next counts lanes if `lanes` is 0, and idle ones the
                                 // one behind it if there is such a counter
  uint32_t lanes = 0;            // of each execution
  uint32_t items = 0;            // of the wave, if that is known: the others are idle
  bool takes_back = false;       // it was counted, and has not been executed
};

// Accesses of an instruction that compiled code makes: what one counter says of them. What others touch is
// shown to the Observer.
struct CountedAccess {
  enum class What : uint8_t {
    global_bytes,
    lds_bytes,
    scratch_bytes,
    lines,
    least_lines,
    phases,
    least_phases,
  };
  What what{};
  uint32_t dword = 0;
  uint32_t counter = 0;
  uint64_t each = 1;  // for every one that the counter counts
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
