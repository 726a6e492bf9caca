// The dispatcher: geometry, forward progress, barriers, counting, cancellation, fork and exit.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <chrono>
#include <thread>

#include "device/dispatch/job.h"
#include "device/testing/test_kernels.h"

namespace morgana::device {
namespace {

using namespace std::chrono_literals;

uint64_t address(const void* p) { return reinterpret_cast<uint64_t>(p); }

// Runs count_items and checks that every work-item of the grid ran once and nothing else did.
void expect_each_item_once(Device& device, TestKernel& kernel, std::array<uint32_t, 3> grid,
                           std::array<uint32_t, 3> group) {
  const uint32_t rows = 32, items = grid[0] * rows * grid[2];
  std::vector<uint32_t> counts(items + 4096);
  kernel.descriptor.enable_sgpr_workgroup_info = false;  // as compilers leave it: waves begin alike
  kernel.launch.grid = grid;
  kernel.launch.group = group;
  // The kernel takes work-group ids times group size; z groups are one item deep.
  kernel.arguments = {address(counts.data()), group[0] | uint64_t{group[1]} << 32, grid[0]};
  const Fault fault = kernel.run(device);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail << " " << fault.instruction;
  for (uint32_t i = 0; i < counts.size(); i++) {
    const uint32_t y = i / grid[0] % rows, z = i / grid[0] / rows;
    ASSERT_EQ(counts[i], y < grid[1] && z < grid[2] ? 1u : 0u) << "item " << i;
  }
}

void expect_each_item_once(std::array<uint32_t, 3> grid, std::array<uint32_t, 3> group) {
  Device device(Target::gfx950);
  TestKernel kernel("count_items", Target::gfx950);
  expect_each_item_once(device, kernel, grid, group);
}

struct Size {
  std::array<uint32_t, 3> grid, group;
};
constexpr Size kSizes[] = {
    {{64, 1, 1}, {64, 1, 1}},    {{1000, 1, 1}, {256, 1, 1}}, {{1, 1, 1}, {1, 1, 1}},
    {{13, 9, 3}, {8, 8, 1}},     {{100, 32, 2}, {32, 32, 1}}, {{7, 5, 1}, {64, 16, 1}},
    {{256, 32, 1}, {128, 8, 1}}, {{200, 1, 1}, {100, 1, 1}},  {{390, 1, 1}, {130, 1, 1}},
    {{640, 32, 1}, {320, 2, 1}}, {{48, 32, 1}, {24, 16, 1}},  {{40, 32, 1}, {40, 8, 1}},
    {{36, 32, 1}, {12, 32, 1}},  {{768, 1, 1}, {768, 1, 1}}};

TEST(Dispatch, EveryWorkItemRunsOnce) {
  for (const Size& size : kSizes) expect_each_item_once(size.grid, size.group);
}

// Sizes share compiled code, some from the beginning on.
TEST(Dispatch, OneKernelRunsInGroupsOfManySizes) {
  Device device(Target::gfx950);
  TestKernel kernel("count_items", Target::gfx950);
  for (const Size& size : kSizes) expect_each_item_once(device, kernel, size.grid, size.group);
}

// What was compiled of a kernel goes with its code: another may come to the same address.
TEST(Dispatch, OtherCodeAtTheSameAddressIsOtherCode) {
  Device device(Target::gfx1030);
  TestKernel kernel("store_number", Target::gfx1030);
  kernel.descriptor.enable_wavefront_size32 = true;
  kernel.descriptor.vgpr_count = 8;
  kernel.launch.grid = kernel.launch.group = {64, 1, 1};
  std::vector<uint32_t> stored(64);
  kernel.arguments = {address(stored.data())};
  for (uint32_t number = 0x11111; number < 0x11114; kernel.replace_literal(number, number + 1), number++) {
    ASSERT_EQ(kernel.run(device).kind, FaultKind::none);
    ASSERT_EQ(stored, std::vector<uint32_t>(64, number));
  }
}

// The second of three groups in a row asks for an id in an SGPR that its code does not name. Four in a row
// have room.
TEST(Dispatch, WavesKnowTheirGroup) {
  Device device(Target::gfx900);
  TestKernel kernel("find_group", Target::gfx900);
  kernel.descriptor.enable_sgpr_workgroup_info = false;
  constexpr uint32_t kGroups = 3, kLayers = 64, kSize = 128;
  std::vector<uint32_t> found(4 * kLayers * kSize);
  kernel.launch.grid = {kGroups * kSize, 1, kLayers};
  kernel.launch.group = {kSize, 1, 1};
  kernel.arguments = {address(found.data())};
  const Fault fault = kernel.run(device);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail;
  for (uint32_t i = 0; i < found.size(); i++)
    ASSERT_EQ(found[i], i / kSize % 4 == 1 ? 1u : 0u) << "item " << i;
}

TEST(Dispatch, AnEmptyGridSucceeds) {
  Device device(Target::gfx950);
  TestKernel kernel("for_ever", Target::gfx950);
  kernel.launch.grid = {0, 1, 1};
  EXPECT_EQ(kernel.run(device).kind, FaultKind::none);
}

TEST(Dispatch, ImpossibleLaunchesAreRefused) {
  Device device(Target::gfx950);
  TestKernel kernel("for_ever", Target::gfx950);
  kernel.launch.group = {1024, 2, 1};
  EXPECT_EQ(kernel.run(device).kind, FaultKind::unimplemented);
  kernel.launch.group = {64, 1, 1};
  kernel.launch.group_bytes = 200'000;
  EXPECT_EQ(kernel.run(device).kind, FaultKind::aperture);
  kernel.launch.group_bytes = 0;
  kernel.launch.private_bytes = ~0u;
  EXPECT_EQ(kernel.run(device).kind, FaultKind::aperture);
}

// Every group waits for all others: on one thread this ends only if groups give way to groups.
void meet(const char* name, uint32_t groups) {
  Device device(Target::gfx950);
  TestKernel kernel(name, Target::gfx950);
  uint32_t arrived = 0;
  kernel.launch.grid = {groups * 64, 1, 1};
  kernel.launch.group = {64, 1, 1};
  kernel.arguments = {address(&arrived), groups};
  ASSERT_EQ(kernel.run(device).kind, FaultKind::none);
  EXPECT_EQ(arrived, groups);
}

TEST(Dispatch, GroupsThatSpinOnEachOtherMakeProgress) { meet("meet", 40); }
TEST(Dispatch, GroupsThatSleepForEachOtherMakeProgress) { meet("meet_asleep", 500); }

// Decoupled look-back: group i spins until its neighbour has published, then publishes in turn.
void look_back(uint32_t groups, uint32_t from, uint32_t to) {
  Device device(Target::gfx950);
  TestKernel kernel("look_back", Target::gfx950);
  std::vector<uint32_t> published(groups + 1);
  published[from < to ? 0 : groups] = 1;
  kernel.launch.grid = {groups * 64, 1, 1};
  kernel.launch.group = {64, 1, 1};
  kernel.arguments = {address(published.data() + from), address(published.data() + to)};
  ASSERT_EQ(kernel.run(device).kind, FaultKind::none);
  for (uint32_t i = 0; i <= groups; i++)
    EXPECT_EQ(published[i], 1 + (from < to ? i : groups - i)) << "group " << i;
}

TEST(Dispatch, GroupsThatLookBackMakeProgress) { look_back(3000, 0, 1); }
TEST(Dispatch, GroupsThatWaitForLaterOnesMakeProgress) { look_back(12, 1, 0); }

// The whole chain waits until many groups are parked, in whatever order; then it must run off.
TEST(Dispatch, GroupsThatLookBackMakeProgressAfterAStandstill) {
  constexpr uint32_t kGroups = 400;
  Device device(Target::gfx950);
  TestKernel kernel("look_back", Target::gfx950);
  std::vector<uint32_t> published(kGroups + 1);
  kernel.launch.grid = {kGroups * 64, 1, 1};
  kernel.launch.group = {64, 1, 1};
  kernel.arguments = {address(published.data()), address(published.data() + 1)};
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::atomic_ref(published[0]).store(1);
  });
  const Fault fault = kernel.run(device);
  late.join();
  ASSERT_EQ(fault.kind, FaultKind::none);
  EXPECT_EQ(published[kGroups], kGroups + 1);
}

// A software grid barrier: all groups have to be resident, and each round needs every one of them.
TEST(Dispatch, ASoftwareGridBarrierIsPassedAgainAndAgain) {
  constexpr uint32_t kGroups = 8, kRounds = 12;
  Device device(Target::gfx950);
  TestKernel kernel("grid_barrier", Target::gfx950);
  uint32_t arrived = 0;
  kernel.launch.grid = {kGroups * 64, 1, 1};
  kernel.launch.group = {64, 1, 1};
  kernel.arguments = {address(&arrived), kGroups | uint64_t{kRounds} << 32};
  ASSERT_EQ(kernel.run(device).kind, FaultKind::none);
  EXPECT_EQ(arrived, kGroups * kRounds);
}

TEST(Dispatch, WavesThatEndedCountAsArrivedAtTheBarrier) {
  Device device(Target::gfx950);
  TestKernel kernel("barrier", Target::gfx950);
  uint32_t seen[4] = {1, 1, 1, 1};
  kernel.launch.grid = kernel.launch.group = {256, 1, 1};
  kernel.launch.group_bytes = 4;
  kernel.arguments = {address(seen)};
  const Fault fault = kernel.run(device);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail << " " << fault.instruction;
  EXPECT_EQ(seen[0], 42u);
  EXPECT_EQ(seen[1], 1u);
  EXPECT_EQ(seen[2], 42u);
  EXPECT_EQ(seen[3], 1u);
}

// A thread executes group after group with the same waves. "pairs" gives the Wave a pair of SGPRs at its
// barrier, of which one holds another number than at the beginning and is not needed any more; "dead_load"
// has v0, overwritten, there for a load that nobody reads.
TEST(Dispatch, GroupsThatFollowBeginWithTheirOwnRegisters) {
  constexpr uint32_t kItems = 128, kGroups = 64;
  for (const char* name : {"pairs", "dead_load"}) {
    Device device(Target::gfx950);
    TestKernel kernel(name, Target::gfx950);
    std::vector<uint32_t> found(kItems * kGroups);
    kernel.launch.grid = {kItems * kGroups, 1, 1};
    kernel.launch.group = {kItems, 1, 1};
    kernel.arguments = {address(found.data()), address(found.data())};
    const Fault fault = kernel.run(device);
    ASSERT_EQ(fault.kind, FaultKind::none) << name << fault.detail << " " << fault.instruction;
    EXPECT_EQ(found, std::vector<uint32_t>(found.size(), 7)) << name;
  }
}

// No barrier keeps a wave from writing where the next one is still to read: on hardware they run side by
// side.
TEST(Dispatch, WavesReadBeforeOthersWriteThereAfterTheirWait) {
  constexpr uint32_t kItems = 256, kTurns = 3;
  Device device(Target::gfx950);
  TestKernel kernel("in_step", Target::gfx950);
  std::vector<uint32_t> found(kItems);
  kernel.launch.grid = kernel.launch.group = {kItems, 1, 1};
  kernel.launch.group_bytes = 4 * kItems;
  kernel.arguments = {address(found.data())};
  const Fault fault = kernel.run(device);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail << " " << fault.instruction;
  for (uint32_t i = 0; i < kItems; i++) EXPECT_EQ(found[i], (i + 64 * kTurns) % kItems + kTurns) << i;
}

// The same where a load that goes to LDS fills the tile anew.
TEST(Dispatch, WavesReadBeforeOthersRefillTheTile) {
  constexpr uint32_t kItems = 128;
  Device device(Target::gfx950);
  TestKernel kernel("refill", Target::gfx950);
  std::vector<uint32_t> found(2 * kItems), tiles(2 * kItems);
  for (uint32_t i = 0; i < tiles.size(); i++) tiles[i] = i * i;
  kernel.launch.grid = kernel.launch.group = {kItems, 1, 1};
  kernel.launch.group_bytes = 4 * kItems;
  kernel.arguments = {address(found.data()), address(tiles.data())};
  const Fault fault = kernel.run(device);
  ASSERT_EQ(fault.kind, FaultKind::none) << fault.detail << " " << fault.instruction;
  for (uint32_t i = 0; i < kItems; i++) {
    const uint32_t from = i ^ 64;
    EXPECT_EQ(found[i], from * from) << i;
    EXPECT_EQ(found[i + kItems], (from + kItems) * (from + kItems)) << i;
  }
}

TEST(Dispatch, CountsInstructionsExactly) {
  Device device(Target::gfx950);
  TestKernel kernel("arithmetic", Target::gfx950);
  kernel.launch.grid = {64 * 37, 1, 1};
  kernel.launch.group = {128, 1, 1};
  ASSERT_EQ(kernel.run(device).kind, FaultKind::none);
  EXPECT_EQ(device.instructions(), 37u * (1 + 1000 * 23 + 1));
}

TEST(Dispatch, LeavesTheCallersFloatEnvironmentAlone) {
  Device device(Target::gfx950);
  TestKernel kernel("arithmetic", Target::gfx950);
  kernel.descriptor.compute_pgm_rsrc1 = 0x0fu << 12;
  const uint32_t before = _mm_getcsr();
  ASSERT_EQ(kernel.run(device).kind, FaultKind::none);
  EXPECT_EQ(_mm_getcsr(), before);
}

TEST(Dispatch, TimeLimitEndsAKernelAndTellsWhereItsWavesAre) {
  struct Watch final : LaunchWatch {
    void still_running() override { told++; }
    void was_stopped(std::vector<WavePlace> stopped) override { places = std::move(stopped); }
    std::atomic<int> told{0};
    std::vector<WavePlace> places;
  } watch;
  Device device(Target::gfx950);
  TestKernel kernel("for_ever", Target::gfx950);
  kernel.launch.grid = {64 * 7, 1, 1};
  kernel.launch.group = {64, 1, 1};
  kernel.launch.watch = &watch;
  kernel.launch.notice_after = 100'000'000;
  kernel.launch.time_limit = 500'000'000;
  const Fault fault = kernel.run(device);
  EXPECT_EQ(fault.kind, FaultKind::cancelled);
  EXPECT_EQ(watch.told, 1);
  ASSERT_FALSE(watch.places.empty());
  EXPECT_EQ(fault.pc, watch.places[0].pc);
  uint64_t waves = 0;
  for (const WavePlace& place : watch.places) {
    EXPECT_GE(place.pc, kernel.launch.entry);
    EXPECT_FALSE(place.is_at_barrier);
    waves += place.count;
  }
  EXPECT_GE(waves, 1u);
  EXPECT_LE(waves, 7u);
}

TEST(Dispatch, CancelStopsAnEndlessKernelWhileOthersRun) {
  Device device(Target::gfx950);
  std::atomic<bool> cancel{false};
  Fault fault;
  std::thread endless([&] {
    TestKernel kernel("for_ever", Target::gfx950);
    kernel.launch.grid = {64 * 100, 1, 1};
    kernel.launch.group = {64, 1, 1};
    kernel.launch.cancel = &cancel;
    fault = kernel.run(device);
  });
  std::this_thread::sleep_for(50ms);
  expect_each_item_once({1000, 1, 1}, {256, 1, 1});
  cancel = true;
  endless.join();
  EXPECT_EQ(fault.kind, FaultKind::cancelled);
}

TEST(Dispatch, SeveralCallersAtOnce) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; i++)
    callers.emplace_back([] {
      for (int n = 0; n < 5; n++) expect_each_item_once({5000, 1, 1}, {256, 1, 1});
    });
  for (std::thread& caller : callers) caller.join();
}

TEST(Dispatch, WorksInAForkedChild) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a threaded process";
#endif
  expect_each_item_once({20000, 1, 1}, {64, 1, 1});
  const pid_t child = fork();
  if (child == 0) {
    expect_each_item_once({20000, 1, 1}, {64, 1, 1});
    meet("meet", 4);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(DispatchDeathTest, TheProcessExitsWithAnEndlessKernelRunning) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        // Neither is destroyed: the thread that uses them outlives main.
        static Device& device = *new Device(Target::gfx950);
        Device::prepare_compiler();
        std::thread([] {
          static TestKernel& kernel = *new TestKernel("for_ever", Target::gfx950);
          kernel.launch.grid = {64 * 100, 1, 1};
          kernel.launch.group = {64, 1, 1};
          kernel.run(device);
        }).detach();
        std::this_thread::sleep_for(50ms);
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(DispatchDeathTest, WithoutHelperThreadsTheCallerDoesItAll) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("MORGANA_THREADS", "4", 1);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, size_t{1} << 46);
        pthread_setattr_default_np(&attributes);
        expect_each_item_once({20000, 1, 1}, {64, 1, 1});
        std::exit(testing::Test::HasFailure() ? 1 : 7);
      },
      testing::ExitedWithCode(7), "0 of 3 helper threads");
}

}  // namespace
}  // namespace morgana::device
