#include "runtime/watchdog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace morgana::runtime {
namespace {

TEST(Watchdog, ReadsItsOption) {
  EXPECT_EQ(parse_time_limits("")->notice, 30'000'000'000u);
  EXPECT_EQ(parse_time_limits("")->end, 0u);
  EXPECT_EQ(parse_time_limits("0")->notice, 0u);
  EXPECT_EQ(parse_time_limits("0")->end, 0u);
  EXPECT_EQ(parse_time_limits("2.5")->end, 2'500'000'000u);
  EXPECT_EQ(parse_time_limits("100")->notice, 30'000'000'000u);
  for (const char* bad : {"-1", "x", "1s", "nan", "1e300"}) EXPECT_FALSE(parse_time_limits(bad).ok()) << bad;
}

TEST(Watchdog, SaysOnceThatAKernelStillRuns) {
  testing::internal::CaptureStderr();
  print_running_notice("slow", "gfx90a");
  print_running_notice("slow", "gfx90a");
  print_running_notice("slower", "gfx90a");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("morgana: kernel 'slow' on gfx90a has been running for")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(Watchdog, SaysOnceThatAKernelIsInterpreted) {
  testing::internal::CaptureStderr();
  print_interpreted_notice("slow", "gfx90a", 2.1, "its code reads TRAPSTS");
  print_interpreted_notice("slow", "gfx90a", 2.1, "it is being compiled");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text,
            "morgana: kernel 'slow' on gfx90a has been interpreted for 2 seconds of processor time: its code "
            "reads TRAPSTS (MORGANA_LOG=info says more)\n");
}

}  // namespace
}  // namespace morgana::runtime
