// The host's clocks: nanoseconds of the system's, and ticks of the processor's time stamp counter.
//
// Reading the counter costs a third of asking the system. It is for spans of one thread that are compared
// with each other or with a limit; how fast it counts is measured once. Callable from any thread.
#pragma once

#include <time.h>

#include <cstdint>

namespace morgana {

uint64_t nanoseconds(clockid_t clock);

// For waits and for profiling: CLOCK_MONOTONIC.
inline uint64_t now_ns() { return nanoseconds(CLOCK_MONOTONIC); }

// The time stamp counter.
inline uint64_t ticks() { return __builtin_ia32_rdtsc(); }

// The first call of a process measures for a fifth of a millisecond.
uint64_t ticks_per_microsecond();

inline uint64_t ticks_of_us(uint64_t microseconds) { return microseconds * ticks_per_microsecond(); }

}  // namespace morgana
