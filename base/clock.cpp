#include "base/clock.h"

#include <algorithm>

namespace morgana {
namespace {

struct Reading {
  uint64_t ticks, ns;
};

// Both clocks at one moment: of a few tries the one that was interrupted least.
Reading read_both() {
  constexpr int kTries = 5;
  Reading best{};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < kTries; i++) {
    const uint64_t before = ticks(), ns = nanoseconds(CLOCK_MONOTONIC_RAW), after = ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, ns};
  }
  return best;
}

uint64_t measure() {
  constexpr uint64_t kFor = 200'000;  // ns
  const Reading begin = read_both();
  Reading end = read_both();
  while (end.ns - begin.ns < kFor) end = read_both();
  return std::max<uint64_t>((end.ticks - begin.ticks) * 1000 / (end.ns - begin.ns), 1);
}

}  // namespace

uint64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t ticks_per_microsecond() {
  static const uint64_t rate = measure();
  return rate;
}

}  // namespace morgana
