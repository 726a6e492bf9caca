// Watchdog: how long kernels may run (MORGANA_WATCHDOG), and the notices that one takes long. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace morgana::runtime {

// Nanoseconds; 0: never.
struct TimeLimits {
  uint64_t notice = 0;  // from when on it is said that a kernel still runs
  uint64_t end = 0;     // when it is ended
};
// Of the option's text: seconds, also fractions.
Result<TimeLimits> parse_time_limits(std::string_view text);
const TimeLimits& time_limits();

// On standard error, once a kernel.
void print_running_notice(std::string_view kernel, std::string_view processor);
// Likewise: it is interpreted, not compiled, and why.
void print_interpreted_notice(std::string_view kernel, std::string_view processor, double seconds,
                              std::string_view why);

}  // namespace morgana::runtime
