// KnownPhases: the last access of an LDS instruction that compiled code counted for a profile
// (device/counted_code.h). One whose lanes lie to each other as they did then takes as many phases, if the
// first of them is as far into a dword.
//
// Words of a launch's counters, all 0 to begin with; the launch's thread alone uses them.
#pragma once

#include <cstdint>

#include "device/limits.h"

namespace morgana::device {

struct KnownPhases {
  uint32_t distance[kLanes];  // of active lanes to the first of them
  uint64_t lanes;             // EXEC; 0: nothing yet
  uint64_t into;              // where the first lay in its dword
  uint64_t phases;            // taken, and in the upper half the fewest
};

// How an instruction uses LDS, as one number: what a phase depends on.
struct LdsUse {
  uint32_t bytes = 0, banks = 0;  // of a lane's access; of LDS
  bool is_atomic = false, writes = false;

  constexpr uint64_t packed() const {
    return bytes | banks << 8 | uint32_t{is_atomic} << 16 | uint32_t{writes} << 17;
  }
  static constexpr LdsUse of(uint64_t packed) {
    return {static_cast<uint32_t>(packed & 0xff), static_cast<uint32_t>(packed >> 8 & 0xff),
            (packed >> 16 & 1) != 0, (packed >> 17 & 1) != 0};
  }
};

}  // namespace morgana::device
