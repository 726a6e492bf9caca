#include "base/clock.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/spin.h"

namespace morgana {
namespace {

TEST(Clock, TicksFollowTheSystemsClock) {
  const uint64_t per_us = ticks_per_microsecond();
  EXPECT_EQ(ticks_per_microsecond(), per_us);
  // The thread may lose its processor between two readings: the best of a few spans counts.
  double best = 1e9;
  for (int i = 0; i < 20; i++) {
    const uint64_t ns = nanoseconds(CLOCK_MONOTONIC_RAW), begin = ticks();
    while (ticks() - begin < ticks_of_us(1000)) spin_pause();
    const double took = static_cast<double>(nanoseconds(CLOCK_MONOTONIC_RAW) - ns) / 1e6;
    if (std::abs(took - 1) < std::abs(best - 1)) best = took;
  }
  EXPECT_NEAR(best, 1, 0.02);
}

TEST(Spin, EndsWhenDoneOrAfterItsTime) {
  EXPECT_TRUE(spin_until([] { return true; }));
  int looks = 0;
  const uint64_t begin = now_ns();
  EXPECT_FALSE(spin_until([&] { return ++looks < 0; }));
  EXPECT_GE(looks, 1);
  if (may_spin()) {
    EXPECT_GE(now_ns() - begin, kSpinUs * 1000 / 2);
    looks = 0;
    EXPECT_TRUE(spin_until([&] { return ++looks == 3; }));
    EXPECT_EQ(looks, 3);
  }
}

}  // namespace
}  // namespace morgana
