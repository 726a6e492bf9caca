#include "runtime/run_summary.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "device/fault.h"

namespace morgana::runtime {
namespace {

RunSummary made() {
  auto summary = RunSummary::create();
  EXPECT_TRUE(summary.ok());
  return std::move(summary).value();
}

TEST(RunSummary, CountsOfAProcessThatDiedAreThere) {
  RunSummary summary = made();
  const std::string path = summary.path();
  const pid_t child = fork();
  if (child == 0) {
    auto own = RunSummary::open(path);
    if (!own.ok()) _exit(1);
    own->count_process();
    own->count_build(RunSummary::Build::made);
    own->count_build(RunSummary::Build::cached);
    own->count_build(RunSummary::Build::failed);
    for (int i = 0; i < 3; ++i) RunSummary::count_launch(&own->kernel("twice"));
    RunSummary::count_launch(&own->kernel("once"));
    RunSummary::count_end(&own->kernel("once"), device::Fault{.kind = device::FaultKind::memory});
    RunSummary::count_end(&own->kernel("twice"), device::Fault{.kind = device::FaultKind::none});
    RunSummary::count_end(nullptr, device::Fault{.kind = device::FaultKind::memory});
    own->begin_checked();
    own->end_checked();
    own->begin_checked();
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const RunSummary::Counts counts = summary.counts();
  EXPECT_EQ(counts.processes, 1u);
  EXPECT_EQ(counts.builds, 3u);
  EXPECT_EQ(counts.cached_builds, 1u);
  EXPECT_EQ(counts.failed_builds, 1u);
  EXPECT_EQ(counts.checked, 2u);
  EXPECT_EQ(counts.unchecked, 1u);  // it had not ended
  ASSERT_EQ(counts.kernels.size(), 2u);
  EXPECT_EQ(counts.kernels[0].name, "twice");
  EXPECT_EQ(counts.kernels[0].launches, 3u);
  EXPECT_EQ(counts.kernels[0].faults, 0u);
  EXPECT_EQ(counts.kernels[1].name, "once");
  EXPECT_EQ(counts.kernels[1].faults, 1u);

  RunSummary outer = made();
  RunSummary::count_launch(&outer.kernel("once"));
  outer.add(counts);
  EXPECT_EQ(outer.counts().kernels[1].launches, 2u);
}

TEST(RunSummary, ThreadsMeetInOneRow) {
  RunSummary summary = made();
  constexpr int kThreads = 4, kNames = 50, kRounds = 20;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds * kNames; ++i)
        RunSummary::count_launch(&summary.kernel(fmt::format("kernel {}", i % kNames)));
    });
  for (std::thread& thread : threads) thread.join();
  const auto counts = summary.counts();
  ASSERT_EQ(counts.kernels.size(), size_t{kNames});
  for (const auto& kernel : counts.kernels) EXPECT_EQ(kernel.launches, uint64_t{kThreads * kRounds});
}

TEST(RunSummary, MoreNamesThanRoomAreCountedTogether) {
  RunSummary summary = made();
  constexpr int kNames = 5000;
  for (int i = 0; i < kNames; ++i) RunSummary::count_launch(&summary.kernel(fmt::format("kernel {}", i)));
  const auto counts = summary.counts();
  EXPECT_EQ(counts.kernels.front().name, "(further kernels)");
  EXPECT_EQ(counts.kernels.size() - 1 + counts.kernels.front().launches, uint64_t{kNames});
}

TEST(RunSummary, LongNamesAreCutAndStayDistinct) {
  RunSummary summary = made();
  const std::string stem(5000, 'k');
  RunSummary::count_launch(&summary.kernel(stem + "1"));
  RunSummary::count_launch(&summary.kernel(stem + "2"));
  const auto counts = summary.counts();
  ASSERT_EQ(counts.kernels.size(), 2u);
  EXPECT_TRUE(stem.starts_with(counts.kernels[0].name));
}

TEST(RunSummary, CodeOfAMDsRuntimeIsNotTheProgramsOwn) {
  EXPECT_TRUE((RunSummary::KernelCounts{"saxpy", 1, 0}.is_of_program()));
  EXPECT_FALSE((RunSummary::KernelCounts{"__amd_rocclr_fillBufferAligned", 1, 0}.is_of_program()));
  EXPECT_FALSE((RunSummary::KernelCounts{"", 1, 0}.is_of_program()));
}

TEST(RunSummary, OtherFilesAreRefused) {
  EXPECT_FALSE(RunSummary::open("/proc/self/exe").ok());
  EXPECT_FALSE(RunSummary::open("/dev/null").ok());
  EXPECT_FALSE(RunSummary::open("/nowhere").ok());
}

}  // namespace
}  // namespace morgana::runtime
