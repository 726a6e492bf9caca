// What queues get of the threads: priorities, equal shares, compute units. Run with 2 and with 8 threads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "base/call_at_load.h"
#include "device/queue_share.h"
#include "device/testing/test_kernels.h"

namespace morgana::device {
namespace {

using namespace std::chrono_literals;

uint64_t address(const void* p) { return reinterpret_cast<uint64_t>(p); }

// A queue that executes one launch of `count_groups` again and again: each group adds one to `groups`.
class CountingQueue {
 public:
  CountingQueue(Device& device, const TestKernel& kernel, Priority priority)
      : device_(device), kernel_(kernel), share_(priority), arguments_{address(&groups_)} {}

  QueueShare& share() { return share_; }
  uint32_t groups() const { return std::atomic_ref(const_cast<uint32_t&>(groups_)).load(); }
  // Executes so many groups, or as many as there is time for until `stop`.
  FaultKind run(uint32_t count, const std::atomic<bool>* stop = nullptr) {
    WorkPeriod work;
    work.begin(share_);
    Launch launch = kernel_.launch;
    launch.kernarg = address(arguments_);
    launch.grid = {count * 64, 1, 1};
    launch.group = {64, 1, 1};
    launch.share = &share_;
    launch.cancel = stop;
    return device_.run(launch).kind;
  }

 private:
  Device& device_;
  const TestKernel& kernel_;
  QueueShare share_;
  uint32_t groups_ = 0;
  uint64_t arguments_[1];
};

constexpr uint32_t kNoUnit = 0x7f00;     // what no HW_ID is
constexpr uint32_t kMany = 100'000'000;  // groups: more than there is time for

class Queues : public ::testing::Test {
 protected:
  void SetUp() override { kernel_.load(device_); }
  void TearDown() override { kernel_.unload(device_); }

  // How many groups the other executes while the first one executes `count`, which came when the other was
  // busy.
  uint32_t groups_beside(Priority first, uint32_t count, Priority other, bool& has_ended,
                         const UnitMask& units_of_first = {}) {
    CountingQueue a(device_, kernel_, first), b(device_, kernel_, other);
    a.share().set_units(units_of_first);
    std::atomic<bool> stop{false};
    std::thread beside([&] { b.run(kMany, &stop); });
    while (b.groups() < 2000) std::this_thread::sleep_for(1ms);
    uint32_t after = 0;
    std::thread run([&] {
      has_ended = a.run(count) == FaultKind::none && a.groups() == count;
      after = b.groups();
      stop = true;
    });
    while (a.groups() == 0) std::this_thread::sleep_for(100us);
    const uint32_t before = b.groups();
    run.join();
    beside.join();
    return after - before;
  }

  Device device_{Target::gfx950};
  TestKernel kernel_{"count_groups", Target::gfx950};
};

// The groups that the lower one has begun when the higher one comes are its own. So many take about a second:
// what other programs take of the processors meanwhile averages out.
constexpr uint32_t kGroups = 300'000;

void expect_little(uint32_t groups) {
  EXPECT_LT(groups, kGroups / 10);
  EXPECT_GT(groups, 0u);
}

TEST_F(Queues, OfLowPriorityGetLittleWhileThoseOfHighHaveWork) {
  bool has_ended = false;
  expect_little(groups_beside(Priority::high, kGroups, Priority::low, has_ended));
  EXPECT_TRUE(has_ended);
}

TEST_F(Queues, OfLowPriorityGetLittleWhileThoseOfNormalHaveWork) {
  bool has_ended = false;
  expect_little(groups_beside(Priority::normal, kGroups, Priority::low, has_ended));
  EXPECT_TRUE(has_ended);
}

TEST_F(Queues, OfNormalPriorityGetLittleWhileThoseOfHighHaveWork) {
  bool has_ended = false;
  expect_little(groups_beside(Priority::high, kGroups, Priority::normal, has_ended));
  EXPECT_TRUE(has_ended);
}

TEST_F(Queues, OfOnePriorityShareAlike) {
  for (const Priority priority : {Priority::low, Priority::normal, Priority::high}) {
    bool has_ended = false;
    const uint32_t groups = groups_beside(priority, kGroups, priority, has_ended);
    EXPECT_TRUE(has_ended);
    EXPECT_GT(groups, kGroups / 4);
    EXPECT_LT(groups, kGroups * 4);
  }
}

// High queues without work are in nobody's way, and those that have it in that of all threads.
TEST_F(Queues, OfLowPriorityHaveAllWhenOthersRest) {
  CountingQueue low(device_, kernel_, Priority::low);
  const auto count = [&] {
    const uint32_t before = low.groups();
    std::atomic<bool> stop{false};
    std::thread timer([&] {
      std::this_thread::sleep_for(300ms);
      stop = true;
    });
    low.run(kMany, &stop);
    timer.join();
    return low.groups() - before;
  };
  std::vector<std::unique_ptr<QueueShare>> queues;
  for (int i = 0; i < Device::threads(); ++i) queues.push_back(std::make_unique<QueueShare>(Priority::high));
  const uint32_t at_first = count();
  std::vector<WorkPeriod> periods(queues.size());
  for (size_t i = 0; i < queues.size(); ++i) periods[i].begin(*queues[i]);
  const uint32_t beside = count();
  periods.clear();
  const uint32_t then = count();
  EXPECT_GT(beside, 0u);
  EXPECT_LT(beside, at_first / 4);
  EXPECT_GT(then, beside * 3);
}

// Memory whose first page is there only once somebody has filled it.
struct SlowPage {
  SlowPage() : file(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY))) {
    uffdio_api api{UFFD_API, 0, 0};
    uffdio_register pages{{address(start), kPage}, UFFDIO_REGISTER_MODE_MISSING, 0};
    is_slow = ioctl(file, UFFDIO_API, &api) == 0 && ioctl(file, UFFDIO_REGISTER, &pages) == 0;
  }
  ~SlowPage() {
    close(file);
    munmap(start, 2 * kPage);
  }
  void fill() {
    uffdio_zeropage zeros{{address(start), kPage}, 0, 0};
    EXPECT_EQ(ioctl(file, UFFDIO_ZEROPAGE, &zeros), 0);
  }
  static constexpr size_t kPage = 4096;
  int file;
  char* start = static_cast<char*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  bool is_slow;
};

// The first group stands in a page fault: nobody knows how long those of the launch take, and it may not be
// the lower priority that has the threads meanwhile.
TEST_F(Queues, OfHighPriorityWhoseFirstGroupIsStuckGetThreads) {
  SlowPage page;
  if (!page.is_slow) GTEST_SKIP() << "no userfaultfd";
  CountingQueue low(device_, kernel_, Priority::low);
  std::atomic<bool> stop{false};
  std::thread beside([&] { low.run(kMany, &stop); });
  while (low.groups() < 2000) std::this_thread::sleep_for(1ms);
  constexpr uint32_t kCount = 500;
  auto* const found = reinterpret_cast<uint32_t*>(page.start + SlowPage::kPage) - 1;
  std::fill_n(found + 1, kCount - 1, kNoUnit);
  std::thread high([&] {
    QueueShare share(Priority::high);
    WorkPeriod work;
    work.begin(share);
    TestKernel kernel("find_unit", Target::gfx950);
    kernel.launch.share = &share;
    kernel.load(device_);
    std::vector<uint32_t> elsewhere(kCount);
    // Where this thread has everything ready, the first group begins at once.
    for (uint32_t* const out : {elsewhere.data(), elsewhere.data(), found})
      EXPECT_EQ(kernel.launch_with(device_, {address(out)}, kCount, 64).kind, FaultKind::none);
    kernel.unload(device_);
  });
  const auto missing = [&] {
    return std::count_if(found + 1, found + kCount,
                         [](uint32_t& id) { return std::atomic_ref(id).load() == kNoUnit; });
  };
  for (int i = 0; i < 2000 && missing() != 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(missing(), 0);
  page.fill();
  high.join();
  stop = true;
  beside.join();
}

// Groups that no further thread may begin are in no thread's way.
TEST_F(Queues, OfHighPriorityWithTwoUnitsLeaveTheOthers) {
  if (Device::threads() < 4) GTEST_SKIP() << "too few compute units";
  const UnitMask two = UnitMask{}.set(0).set(1);
  bool has_ended = false;
  EXPECT_GT(groups_beside(Priority::high, kGroups, Priority::low, has_ended, two), kGroups / 4);
  EXPECT_TRUE(has_ended);
}

// The high kernel waits for what the low one does.
TEST_F(Queues, OfHighPriorityMayWaitForThoseOfLow) {
  TestKernel meet("meet", Target::gfx950);
  meet.load(device_);
  uint32_t arrived = 0;
  const uint64_t arguments[] = {address(&arrived), 8};
  const auto run = [&](Priority priority, uint32_t groups) {
    QueueShare share(priority);
    WorkPeriod work;
    work.begin(share);
    Launch launch = meet.launch;
    launch.kernarg = address(arguments);
    launch.grid = {groups * 64, 1, 1};
    launch.group = {64, 1, 1};
    launch.share = &share;
    EXPECT_EQ(device_.run(launch).kind, FaultKind::none);
  };
  std::thread high([&] { run(Priority::high, 4); });
  run(Priority::low, 4);
  high.join();
  meet.unload(device_);
  EXPECT_EQ(arrived, 8u);
}

// A queue does not take a packet behind one that has stopped with groups that never begin.
TEST_F(Queues, AreNotToldThatAllHaveBegunOnceALaunchHasStopped) {
  struct Watch final : LaunchWatch {
    void still_running() override {}
    void was_stopped(std::vector<WavePlace>) override {}
    bool all_begun() override { return ++told, true; }
    int told = 0;
  } watch;
  constexpr uint32_t kMost = 50'000'000;
  for (int i = 0; i < 40; ++i) {
    uint32_t groups = 0;
    const uint64_t arguments[] = {address(&groups)};
    std::atomic<bool> stop{false};
    Launch launch = kernel_.launch;
    launch.kernarg = address(arguments);
    launch.grid = {kMost * 64, 1, 1};
    launch.group = {64, 1, 1};
    launch.cancel = &stop;
    launch.watch = &watch;
    std::thread timer([&] {
      std::this_thread::sleep_for(5ms);
      stop = true;
    });
    EXPECT_EQ(device_.run(launch).kind, FaultKind::cancelled);
    timer.join();
  }
  EXPECT_EQ(watch.told, 0);
}

// HW_ID's CU_ID, SH_ID and SE_ID.
uint32_t unit_of(uint32_t hardware_id) { return hardware_id >> 8 & 127; }

std::set<uint32_t> units_of_launch(const QueueShare* share, uint32_t count = 20'000) {
  Device device(Target::gfx950);
  TestKernel kernel("find_unit", Target::gfx950);
  std::vector<uint32_t> found(count, kNoUnit);
  kernel.launch.grid = {count * 64, 1, 1};
  kernel.launch.group = {64, 1, 1};
  kernel.launch.share = share;
  kernel.arguments = {address(found.data())};
  EXPECT_EQ(kernel.run(device).kind, FaultKind::none);
  std::set<uint32_t> units;
  for (const uint32_t id : found) units.insert(unit_of(id));
  return units;
}

TEST(Units, GroupsRunOnThoseOfTheMask) {
  const auto count = static_cast<uint32_t>(Device::threads());
  ASSERT_GE(count, 2u);
  QueueShare share;
  for (uint32_t unit = 0; unit < count; ++unit) {
    UnitMask mask;
    mask.set(unit);
    share.set_units(mask);
    EXPECT_EQ(units_of_launch(&share), std::set{unit});
  }
  UnitMask two;
  two.set(1).set(count - 1);
  share.set_units(two);
  for (const uint32_t unit : units_of_launch(&share)) EXPECT_TRUE(two[unit]) << unit;
}

TEST(Units, AreAllThereWithoutAMask) {
  QueueShare share;
  UnitMask mask;
  mask.set(1);
  share.set_units(mask);
  EXPECT_TRUE(share.is_limited());
  share.set_units(UnitMask{}.set());
  EXPECT_FALSE(share.is_limited());
  // Another thread comes when the processors are not busy.
  std::set<uint32_t> seen;
  for (int i = 0; i < 200 && seen.size() < 2; ++i) seen.merge(units_of_launch(&share));
  EXPECT_GE(seen.size(), 2u);
  for (const uint32_t unit : seen) EXPECT_LT(unit, static_cast<uint32_t>(Device::threads()));
  // Units that are not there count for nothing.
  share.set_units(UnitMask{}.set(kMaxUnits - 1));
  EXPECT_FALSE(share.is_limited());
}

TEST(Units, OverlappingMasksOfTwoQueuesAreKept) {
  const auto last = static_cast<uint32_t>(Device::threads()) - 1;
  std::vector<std::thread> queues;
  for (const uint32_t unit : {uint32_t{0}, last, last})
    queues.emplace_back([unit] {
      QueueShare share;
      share.set_units(UnitMask{}.set(unit));
      EXPECT_EQ(units_of_launch(&share), std::set{unit});
    });
  for (std::thread& queue : queues) queue.join();
}

// Queues that have work get a lower priority: helpers that they kept out come to a launch that goes on.
TEST(Units, AreAllThereOnceOthersHaveLowerPriorities) {
  std::set<uint32_t> seen;
  for (int i = 0; i < 20 && seen.size() < 2; ++i) {
    std::vector<std::unique_ptr<QueueShare>> queues;
    std::vector<WorkPeriod> periods(static_cast<size_t>(Device::threads()));
    for (WorkPeriod& period : periods)
      period.begin(*queues.emplace_back(std::make_unique<QueueShare>(Priority::high)));
    QueueShare share;
    std::thread launch([&] { seen.merge(units_of_launch(&share, 100'000)); });
    std::this_thread::sleep_for(20ms);
    for (const auto& queue : queues) queue->set_priority(Priority::low);
    launch.join();
  }
  EXPECT_GE(seen.size(), 2u);
}

TEST_F(Queues, ALibrarysConstructorMayWaitForALaunch) {
  static CountingQueue* queue;
  CountingQueue one(device_, kernel_, Priority::normal);
  queue = &one;
  EXPECT_TRUE(call_at_load([] { std::thread([] { queue->run(100); }).join(); }));
  EXPECT_EQ(one.groups(), 100u);
}

}  // namespace
}  // namespace morgana::device
