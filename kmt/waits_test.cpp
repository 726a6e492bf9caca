// The wait functions that OnLoad puts into the runtime's table.
#include <atomic>
#include <cstdlib>
#include <string>

#include "kmt/aql_rig.h"

extern "C" bool OnLoad(void* table, uint64_t version, uint64_t failed, const char* const* names);

namespace morgana::kmt::test {
namespace {

enum Condition : uint32_t { equal, unequal, less, not_less };
constexpr uint32_t kActive = 1;
constexpr uint64_t kForever = ~uint64_t{0};

std::atomic<int> asked;
int64_t runtimes_wait(uint64_t, uint32_t, int64_t, uint64_t, uint32_t) {
  asked++;
  return -77;
}

void runtimes_store(uint64_t signal, int64_t to) {
  __atomic_store_n(&reinterpret_cast<AmdSignal*>(signal)->value, to, __ATOMIC_RELAXED);
}

// HsaApiTable and CoreApiTable of hsa_api_trace.h, as far as they matter.
struct Table {
  struct Core {
    uint32_t major = 1, bytes = sizeof(Core), step = 0, reserved = 0;
    void* others[43] = {};
    decltype(&runtimes_wait) relaxed = runtimes_wait, acquire = runtimes_wait;
    void* behind[57] = {};
    decltype(&runtimes_store) silent_relaxed = runtimes_store, silent_release = runtimes_store;
    void* rest[21] = {};
  } core;
  struct {
    uint32_t version[4] = {1, 64, 0, 0};
    Core* core;
  } api{.core = &core};
};

class Waits : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    asked = 0;
    ASSERT_TRUE(OnLoad(&table_.api, 1, 0, nullptr));
  }
  int64_t wait(const runtime::AmdSignal* signal, Condition condition, int64_t value,
               uint64_t timeout = kForever) {
    return table_.core.acquire(reinterpret_cast<uint64_t>(signal), condition, value, timeout, kActive);
  }
  Table table_;
};

TEST_F(Waits, TheLibraryNamesItselfFirst) {
  const char* tools = std::getenv("HSA_TOOLS_LIB");
  ASSERT_NE(tools, nullptr);
  EXPECT_EQ(std::string(tools).find("libhsakmt.so.1"), 0u);
}

TEST_F(Waits, AConditionThatHoldsIsSeenAtOnce) {
  const runtime::AmdSignal* signal = make_signal(-5);
  EXPECT_EQ(wait(signal, equal, -5), -5);
  EXPECT_EQ(wait(signal, unequal, 0), -5);
  EXPECT_EQ(wait(signal, less, -4), -5);
  EXPECT_EQ(wait(signal, not_less, -5), -5);
  EXPECT_EQ(asked, 0);
}

TEST_F(Waits, EndsInVainWhenTheTimeIsOver) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(wait(make_signal(1), less, 1, 3'000'000), 1);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(3));
  EXPECT_EQ(asked, 0);
}

// Several threads sleep on one signal. A write wakes all of them, whether the signal has an event or not.
TEST_F(Waits, EverySleeperIsWoken) {
  for (HsaEvent* event : {make_event(), static_cast<HsaEvent*>(nullptr)}) {
    runtime::AmdSignal* signal = make_signal(2, event);
    std::atomic<int> woken{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
      threads.emplace_back([&] {
        if (wait(signal, less, 1) == 0) woken++;
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (int left = 1; left >= 0; left--) {
      __atomic_store_n(&signal->value, left, __ATOMIC_RELEASE);
      if (event != nullptr) EXPECT_EQ(hsaKmtSetEvent(event), HSAKMT_STATUS_SUCCESS);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(woken, 3);
  }
  EXPECT_EQ(asked, 0);
}

TEST_F(Waits, WhatIsNoSignalIsTheRuntimes) {
  runtime::AmdSignal* doorbell = make_signal(0);
  doorbell->kind = -2;
  EXPECT_EQ(wait(doorbell, less, 1), -77);
  EXPECT_EQ(wait(nullptr, less, 1), -77);
  EXPECT_EQ(table_.core.relaxed(64, less, 1, kForever, kActive), -77);
  EXPECT_EQ(asked, 3);
}

TEST_F(Waits, AShorterTableIsLeftAlone) {
  Table table;
  table.core.bytes = 360;
  EXPECT_TRUE(OnLoad(&table.api, 1, 0, nullptr));
  EXPECT_EQ(table.core.acquire, runtimes_wait);
  table.core.bytes = 832;
  EXPECT_TRUE(OnLoad(&table.api, 1, 0, nullptr));
  EXPECT_NE(table.core.acquire, runtimes_wait);
  EXPECT_EQ(table.core.silent_relaxed, runtimes_store);
}

// A signal that became 0 gets another value at once, as HIP does it after a callback. The barrier that waited
// for the 0 still ends.
class SignalsUsedAgain : public Aql {
 protected:
  void SetUp() override {
    Aql::SetUp();
    ASSERT_TRUE(OnLoad(&table_.api, 1, 0, nullptr));
  }
  void use_again(AmdSignal* signal) {
    __atomic_store_n(&signal->value, 0, __ATOMIC_RELEASE);
    table_.core.silent_relaxed(handle(signal), 1);
  }
  Table table_;
};

TEST_F(SignalsUsedAgain, AWaitingBarrierSeesTheZero) {
  AmdSignal *dependency = make_signal(1), *done = make_signal(0), *unrelated = make_signal(1);
  for (int i = 0; i < 100; ++i) {
    done->value = 1;
    submit(barrier(PacketType::barrier_and, {dependency}, done));
    std::this_thread::sleep_for(std::chrono::microseconds(20 * (i % 20)));
    use_again(unrelated);
    use_again(dependency);
    ASSERT_TRUE(soon([&] { return value(done) == 0; })) << i;
    EXPECT_EQ(value(dependency), 1);
  }
}

TEST_F(SignalsUsedAgain, ABarrierBehindThePacketThatSetItSeesTheZero) {
  AmdSignal *first = make_signal(1), *dependency = make_signal(1), *done = make_signal(0);
  for (int i = 0; i < 100; ++i) {
    done->value = first->value = 1;
    submit(barrier(PacketType::barrier_and, {first}, dependency));
    submit(barrier(PacketType::barrier_and, {dependency}, done));
    use_again(first);
    while (value(dependency) != 0) std::this_thread::yield();
    use_again(dependency);
    ASSERT_TRUE(soon([&] { return value(done) == 0; })) << i;
  }
}

// What depends on something else besides does not hold up whoever uses the signal again, once it has seen it.
TEST_F(SignalsUsedAgain, DependenciesNeedNotBeZeroTogether) {
  AmdSignal *early = make_signal(1), *late = make_signal(1), *done = make_signal(1);
  submit(barrier(PacketType::barrier_and, {late, early}, done));
  use_again(early);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(value(done), 1);
  use_again(late);
  EXPECT_TRUE(soon([&] { return value(done) == 0; }));
  EXPECT_EQ(value(early), 1);
}

}  // namespace
}  // namespace morgana::kmt::test
