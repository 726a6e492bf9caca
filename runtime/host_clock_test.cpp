#include "runtime/host_clock.h"

#include <gtest/gtest.h>

namespace morgana::runtime {
namespace {

TEST(HostClock, IsTheHighestThatTheSystemNames) {
  EXPECT_EQ(clock_mhz_in("processor\t: 0\ncpu MHz\t\t: 2096.017\n\nprocessor\t: 1\ncpu MHz\t\t: 3100.5\n"),
            3100u);
  EXPECT_EQ(clock_mhz_in("cpu MHz\t\t: 800.000"), 800u);
}

TEST(HostClock, IsNoneWhereTheSystemNamesNone) {
  for (const char* text : {"", "processor\t: 0\n", "cpu MHz", "cpu MHz\t\t: ", "cpu MHz\t\t: unknown\n"})
    EXPECT_EQ(clock_mhz_in(text), 0u) << text;
}

}  // namespace
}  // namespace morgana::runtime
