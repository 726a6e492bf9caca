// AlikeAccesses: what compiled code counts of an instruction whose lanes lie to each other as they did
// before, for a profile (device/counted_code.h). Such accesses touch as many lines, or take as many phases,
// wherever they are, if their first active lanes are as far into a line: they are only counted, and looked at
// once.
//
// Words of a launch's counters, all 0 to begin with; the launch's thread alone uses them.
#pragma once

#include <cstdint>

#include "device/limits.h"

namespace morgana::device {

struct AlikeAccesses {
  static constexpr uint32_t kWays = 8, kLine = 64;  // kLine: kLineBytes

  struct Way {
    uint64_t distance[kLanes];  // of active lanes to the first of them
    uint64_t times[kLine];      // by where that one lies in its line
  };
  uint64_t lanes[kWays];  // EXEC; 0: nothing yet
  uint64_t span[kWays];   // the last active lane's distance
  uint64_t now;           // EXEC of the access that is about to be counted
  uint64_t next;          // the way that is replaced next, modulo their number
  uint64_t lost;          // how many in a row came once and never again
  uint64_t skips;         // so many are not looked for, since they seem to be different each time
  Way ways[kWays];
};

}  // namespace morgana::device
