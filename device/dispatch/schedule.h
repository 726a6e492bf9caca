// Schedule: another order of work-groups and waves than the usual one (MORGANA_SCHEDULE), to find what
// depends on it. One thread and the interpreter execute the launch then; the same schedule gives the same
// order.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace morgana::device {

struct Schedule {
  enum class Kind : uint8_t {
    none,
    seed,      // waves of all resident groups at random
    reverse,   // the last group first, in each the last wave first
    pct,       // the wave of highest random priority, which falls at `value` - 1 random moments
    resident,  // groups in order, never more than `value` at once
  };
  Kind kind = Kind::none;
  uint64_t value = 0;  // seed, changes of priority, or groups
  uint64_t seed = 1;
};

// "seed:7", "reverse", "pct:3" and "pct:3:7" (with a seed), "resident:2"; empty: none.
Result<Schedule> parse_schedule(std::string_view text);
// Of this process; one that does not parse is reported once, and is none.
const Schedule& schedule();

}  // namespace morgana::device
