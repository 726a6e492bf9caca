// Packets of one queue that overlap, queues with priorities, and masks of compute units: as a runtime asks
// for them. Run with 2 and with 8 threads.
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "kmt/aql_rig.h"

namespace morgana::kmt::test {
namespace {

using namespace std::chrono_literals;

// Adds one to a counter, then spins until it is as high as the second argument says.
constexpr std::initializer_list<uint32_t> kMeet = {
    0xc0060200, 0x00000000,  // s_load_dwordx2 s[8:9], s[0:1], 0x0
    0xc0020280, 0x00000008,  // s_load_dword s10, s[0:1], 0x8
    0xbefe0181,              // s_mov_b64 exec, 1
    0x7e020280,              // v_mov_b32 v1, 0
    0x7e040281,              // v_mov_b32 v2, 1
    0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
    0xdd088000, 0x00080201,  // global_atomic_add v1, v2, s[8:9]
    0xdc518000, 0x03080001,  // spin: global_load_dword v3, v1, s[8:9] glc
    0xbf8c0f70,              // s_waitcnt vmcnt(0)
    0x7e160503,              // v_readfirstlane_b32 s11, v3
    0xbf0a0a0b,              // s_cmp_lt_u32 s11, s10
    0xbf85fffa,              // s_cbranch_scc1 spin
    0xbf810000};             // s_endpgm

// After a thousand turns of a loop stores HW_ID in the place of its work-group.
constexpr std::initializer_list<uint32_t> kWhere = {
    0xc0060200, 0x00000000,  // s_load_dwordx2 s[8:9], s[0:1], 0x0
    0xb00a03e8,              // s_movk_i32 s10, 0x3e8
    0x808a810a,              // loop: s_sub_u32 s10, s10, 1
    0xbf07800a,              // s_cmp_lg_u32 s10, 0
    0xbf85fffd,              // s_cbranch_scc1 loop
    0xb88bf804,              // s_getreg_b32 s11, hwreg(HW_REG_HW_ID)
    0xbefe0181,              // s_mov_b64 exec, 1
    0x8e0c8202,              // s_lshl_b32 s12, s2, 2
    0x7e02020c,              // v_mov_b32 v1, s12
    0x7e04020b,              // v_mov_b32 v2, s11
    0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
    0xdc708000, 0x00080201,  // global_store_dword v1, v2, s[8:9]
    0xbf810000};             // s_endpgm

// After a thousand turns of a loop adds one to a counter.
constexpr std::initializer_list<uint32_t> kCountGroups = {
    0xc0060200, 0x00000000,  // s_load_dwordx2 s[8:9], s[0:1], 0x0
    0xb00a03e8,              // s_movk_i32 s10, 0x3e8
    0x808a810a,              // loop: s_sub_u32 s10, s10, 1
    0xbf07800a,              // s_cmp_lg_u32 s10, 0
    0xbf85fffd,              // s_cbranch_scc1 loop
    0xbefe0181,              // s_mov_b64 exec, 1
    0x7e020280,              // v_mov_b32 v1, 0
    0x7e040281,              // v_mov_b32 v2, 1
    0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
    0xdd088000, 0x00080201,  // global_atomic_add v1, v2, s[8:9]
    0xbf810000};             // s_endpgm

struct Meeting {
  uint32_t* counter;
  uint64_t count;  // who is to come
};

class Overlap : public Aql {
 protected:
  void SetUp() override {
    Aql::SetUp();
    kernel_ = make_kernel(kMeet);  // before any dispatch, which looks at all code that there is
    counter_ = allocate<uint32_t>(kPage, kGpu);
  }

  uint32_t counter() const { return __atomic_load_n(counter_, __ATOMIC_ACQUIRE); }

  // A dispatch that waits until the counter says `count`.
  DispatchPacket meet(uint64_t count, const AmdSignal* signal, uint32_t groups = 1) {
    auto* meeting = new (allocate<void>(sizeof(Meeting))) Meeting{counter_, count};
    return dispatch(kernel_, meeting, signal, groups);
  }

  template <typename Packet>
  static Packet free_of_barrier(Packet packet) {
    packet.header &= static_cast<uint16_t>(~(1u << 8));
    return packet;
  }

  uint32_t* counter_ = nullptr;
  uint64_t kernel_ = 0;
};

TEST_F(Overlap, TwoKernelsThatWaitForEachOtherEnd) {
  AmdSignal* signal = make_signal(2);
  submit(meet(2, signal));
  submit(free_of_barrier(meet(2, signal)));
  EXPECT_TRUE(soon([&] { return value(signal) == 0; }));
  EXPECT_TRUE(soon([&] { return read_index() == 2; }));
}

TEST_F(Overlap, TheSecondMayComeMuchLater) {
  AmdSignal* signal = make_signal(2);
  submit(meet(2, signal));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(value(signal), 2);
  submit(free_of_barrier(meet(2, signal)));
  EXPECT_TRUE(soon([&] { return value(signal) == 0; }));
}

// Under a mask of one unit too: it is each packet's.
TEST_F(Overlap, KernelsMeetOnOneUnit) {
  const HSAuint32 mask = 1;
  ASSERT_EQ(hsaKmtSetQueueCUMask(resource_.QueueId, 32, const_cast<HSAuint32*>(&mask)),
            HSAKMT_STATUS_SUCCESS);
  AmdSignal* signal = make_signal(3);
  for (int i = 0; i < 3; ++i) submit(free_of_barrier(meet(3, signal)));
  EXPECT_TRUE(soon([&] { return value(signal) == 0; }));
}

// Several groups each, so that helpers are among those that wait.
TEST_F(Overlap, ManyKernelsOfManyGroupsMeet) {
  constexpr int kKernels = 12;
  constexpr uint32_t kGroups = 5;
  AmdSignal* signal = make_signal(kKernels);
  for (int i = 0; i < kKernels; ++i) submit(free_of_barrier(meet(kKernels * kGroups, signal, kGroups)));
  EXPECT_TRUE(soon([&] { return value(signal) == 0; }));
  EXPECT_EQ(counter(), kKernels * kGroups);
  EXPECT_TRUE(soon([&] { return read_index() == kKernels; }));
}

TEST_F(Overlap, ABarrierBitWaitsForAllBefore) {
  AmdSignal *first = make_signal(1), *second = make_signal(1), *third = make_signal(1);
  submit(meet(3, first));                    // until the host comes
  submit(free_of_barrier(meet(1, second)));  // at once
  submit(meet(0, third));
  EXPECT_TRUE(soon([&] { return value(second) == 0; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(value(first), 1);
  EXPECT_EQ(value(third), 1);
  EXPECT_EQ(counter(), 2u);
  EXPECT_EQ(read_index(), 0u) << "slots are given back in order";
  EXPECT_EQ(__atomic_load_n(&ring_[1].header, __ATOMIC_ACQUIRE) & 0xff, uint16_t(PacketType::kernel_dispatch))
      << "its kernel's packet stays";
  __atomic_fetch_add(counter_, 1, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(first) == 0 && value(third) == 0; }));
  EXPECT_TRUE(soon([&] { return read_index() == 3; }));
}

// A queue that is suspended while a packet waits for those before it does not take it.
TEST_F(Overlap, ASuspendedQueueTakesNoPacketThatWaited) {
  const auto give = [&](HSAuint32 percentage) {
    EXPECT_EQ(hsaKmtUpdateQueue(resource_.QueueId, percentage, HSA_QUEUE_PRIORITY_NORMAL, ring_,
                                kPackets * 64, nullptr),
              HSAKMT_STATUS_SUCCESS);
  };
  AmdSignal *first = make_signal(1), *second = make_signal(1), *third = make_signal(1);
  submit(meet(3, first));  // until the host comes
  submit(free_of_barrier(meet(1, second)));
  submit(meet(0, third));
  EXPECT_TRUE(soon([&] { return value(second) == 0; }));
  std::this_thread::sleep_for(5ms);
  give(0);
  __atomic_fetch_add(counter_, 1, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(first) == 0; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(value(third), 1);
  give(100);
  EXPECT_TRUE(soon([&] { return value(third) == 0; }));
}

TEST_F(Overlap, AQueueThatIsResumedAtOnceGoesOn) {
  AmdSignal* signal = make_signal(0);
  const DispatchPacket packet = meet(0, signal);
  const auto give = [&](HSAuint32 percentage) {
    EXPECT_EQ(hsaKmtUpdateQueue(resource_.QueueId, percentage, HSA_QUEUE_PRIORITY_NORMAL, ring_,
                                kPackets * 64, nullptr),
              HSAKMT_STATUS_SUCCESS);
  };
  for (int i = 0; i < 500; ++i) {
    __atomic_store_n(&signal->value, 2, __ATOMIC_RELEASE);
    submit(packet);
    submit(packet);
    give(0);
    if (i % 2 != 0) std::this_thread::sleep_for(std::chrono::microseconds(i % 50));
    give(100);
    ASSERT_TRUE(soon([&] { return value(signal) == 0; })) << i;
  }
}

TEST_F(Overlap, ABarrierPacketWithoutTheBitHoldsBackWhatFollowsOnly) {
  AmdSignal *first = make_signal(1), *gate = make_signal(1), *passed = make_signal(1),
            *second = make_signal(1);
  submit(meet(2, first));
  submit(free_of_barrier(barrier(PacketType::barrier_and, {gate}, passed)));
  submit(free_of_barrier(meet(2, second)));
  EXPECT_TRUE(soon([&] { return counter() == 1; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(counter(), 1u) << "the second is behind the gate";
  __atomic_store_n(&gate->value, 0, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(first) == 0 && value(passed) == 0 && value(second) == 0; }));
}

// Short kernels without barrier bits: all run once, and the ring goes round.
TEST_F(Overlap, ManyShortKernelsGoRoundTheRing) {
  constexpr int kKernels = 3000;
  const uint64_t kernel = make_kernel(kCount);
  auto* counts = allocate<uint32_t>(kPage, kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = counts;
  AmdSignal* signal = make_signal(kKernels);
  for (int i = 0; i < kKernels; ++i) submit(free_of_barrier(dispatch(kernel, kernarg, signal)));
  EXPECT_TRUE(soon([&] { return value(signal) == 0; }));
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(counts[i], uint32_t{kKernels});
}

// Behind a kernel that goes on, the ring is full at last, and goes on with it.
TEST_F(Overlap, AFullRingWaitsForTheOldestPacket) {
  AmdSignal *first = make_signal(1), *others = make_signal(2 * kPackets);
  submit(meet(2 * kPackets, first));
  std::thread producer([&] {
    for (uint32_t i = 0; i < 2 * kPackets; ++i) {
      if (i == kPackets - 1) __atomic_fetch_add(counter_, kPackets, __ATOMIC_RELEASE);
      submit(free_of_barrier(meet(0, others)));
    }
  });
  EXPECT_TRUE(soon([&] { return value(first) == 0 && value(others) == 0; }));
  producer.join();
}

// Slots of a large ring that are given back all at once, one of which is filled when the first is free.
TEST_F(Overlap, ASlotMayBeReusedWhileOthersAreGivenBack) {
  constexpr uint32_t kLarge = 8192;
  auto* ring = allocate<DispatchPacket>(kLarge * 64, 0, true);
  auto* indices = allocate<HSAuint64>(kPage);
  HsaQueueResource large{};
  large.Queue_read_ptr_aql = indices;
  large.Queue_write_ptr_aql = indices + 1;
  ASSERT_EQ(hsaKmtCreateQueue(kGpu, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL, ring, kLarge * 64,
                              nullptr, &large),
            HSAKMT_STATUS_SUCCESS);
  const auto ring_doorbell = [&](uint64_t written) {
    __atomic_store_n(indices + 1, written, __ATOMIC_RELEASE);
    __atomic_store_n(large.Queue_DoorBell_aql, written - 1, __ATOMIC_RELEASE);
  };
  AmdSignal *first = make_signal(1), *last = make_signal(1), *reuse = make_signal(1);
  const auto nothing = free_of_barrier(barrier(PacketType::barrier_and, {}, nullptr));
  ring[0] = meet(2, first);
  for (uint32_t i = 1; i < kLarge; ++i) std::memcpy(static_cast<void*>(ring + i), &nothing, sizeof nothing);
  ring[kLarge - 1].completion_signal = handle(last);
  ring_doorbell(kLarge);
  ASSERT_TRUE(soon([&] { return value(last) == 0; }));
  __atomic_fetch_add(counter_, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(indices, __ATOMIC_ACQUIRE) == 0) continue;
  const auto again = free_of_barrier(barrier(PacketType::barrier_and, {}, reuse));
  std::memcpy(static_cast<void*>(ring), &again, sizeof again);
  ring_doorbell(kLarge + 1);
  EXPECT_TRUE(soon([&] { return value(reuse) == 0; }));
  EXPECT_TRUE(soon([&] { return __atomic_load_n(indices, __ATOMIC_ACQUIRE) == kLarge + 1; }));
  EXPECT_EQ(hsaKmtDestroyQueue(large.QueueId), HSAKMT_STATUS_SUCCESS);
}

TEST_F(Overlap, AFaultOfOneStopsTheQueue) {
  AmdSignal *first = make_signal(1), *third = make_signal(1);
  // Written before a kernel runs: the first dispatch looks at all code that there is.
  const uint64_t abort = make_kernel(kAbort);
  submit(meet(2, first));
  submit(free_of_barrier(dispatch(abort, nullptr, nullptr)));
  ASSERT_EQ(hsaKmtWaitOnEvent(event_, 10'000), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(value(error_), 1);
  submit(free_of_barrier(meet(0, third)));
  __atomic_fetch_add(counter_, 1, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(first) == 0; })) << "what ran beside it ends";
  EXPECT_EQ(value(third), 1);
}

TEST_F(Overlap, AQueueIsDestroyedWithKernelsThatNeverEnd) {
  AmdSignal* last = make_signal(1);
  const uint64_t endless = make_kernel(kForEver);
  for (int i = 0; i < 3; ++i) submit(free_of_barrier(dispatch(endless, nullptr, nullptr, 2)));
  submit(free_of_barrier(meet(1, last)));
  EXPECT_TRUE(soon([&] { return value(last) == 0; }));
}

// A forked child has no thread of a queue that it destroys, here with one that waits for its next packet.
TEST_F(Overlap, AForkedChildDestroysAQueue) {
  AmdSignal* signal = make_signal(2);
  submit(meet(2, signal));
  submit(free_of_barrier(meet(2, signal)));
  ASSERT_TRUE(soon([&] { return value(signal) == 0 && read_index() == 2; }));
  std::this_thread::sleep_for(5ms);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(hsaKmtDestroyQueue(resource_.QueueId) == HSAKMT_STATUS_SUCCESS ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Work-groups on the units of the mask: HW_ID's CU_ID.
TEST_F(Overlap, ACuMaskSaysWhereGroupsRun) {
  constexpr uint32_t kGroups = 2000;
  const uint64_t kernel = make_kernel(kWhere);
  auto* found = allocate<uint32_t>(kGroups * sizeof(uint32_t), kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = found;
  const auto units_with = [&](HSAuint32 mask) {
    EXPECT_EQ(hsaKmtSetQueueCUMask(resource_.QueueId, 32, &mask), HSAKMT_STATUS_SUCCESS);
    AmdSignal* signal = make_signal(1);
    submit(dispatch(kernel, kernarg, signal, kGroups));
    EXPECT_TRUE(soon([&] { return value(signal) == 0; }));
    std::set<uint32_t> units;
    for (uint32_t i = 0; i < kGroups; ++i) units.insert(found[i] >> 8 & 15);
    return units;
  };
  EXPECT_EQ(units_with(1), std::set<uint32_t>{0});
  EXPECT_EQ(units_with(2), std::set<uint32_t>{1});
  EXPECT_EQ(units_with(0x8000'0001), std::set<uint32_t>{0}) << "a unit that is not there";
  HSAuint32 mask = 1;
  EXPECT_EQ(hsaKmtSetQueueCUMask(resource_.QueueId, 31, &mask), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSetQueueCUMask(resource_.QueueId, 0, &mask), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSetQueueCUMask(resource_.QueueId, 32, nullptr), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSetQueueCUMask(12345, 32, &mask), HSAKMT_STATUS_INVALID_HANDLE);
}

// A second queue of high priority: while it works, this one of low priority gets little, but something.
TEST_F(Overlap, PrioritiesShowInTheShareOfGroups) {
  constexpr uint32_t kGroups = 100'000, kMany = 20'000'000;
  ASSERT_EQ(
      hsaKmtUpdateQueue(resource_.QueueId, 100, HSA_QUEUE_PRIORITY_MINIMUM, ring_, kPackets * 64, nullptr),
      HSAKMT_STATUS_SUCCESS);
  const uint64_t kernel = make_kernel(kCountGroups);
  auto* counts = allocate<uint32_t>(2 * kPage, kGpu);
  auto** kernargs = allocate<uint32_t*>(2 * kPage);
  kernargs[0] = counts, kernargs[512] = counts + 1024;
  const auto low = [&] { return __atomic_load_n(counts, __ATOMIC_ACQUIRE); };
  submit(dispatch(kernel, kernargs, make_signal(1), kMany));
  ASSERT_TRUE(soon([&] { return low() > 2000; }));

  auto* ring = allocate<DispatchPacket>(kPackets * 64, 0, true);
  for (uint32_t i = 0; i < kPackets; ++i) ring[i].header = uint16_t(PacketType::invalid);
  auto* indices = allocate<HSAuint64>(kPage);
  HsaQueueResource high{};
  high.Queue_read_ptr_aql = indices;
  high.Queue_write_ptr_aql = indices + 1;
  ASSERT_EQ(hsaKmtCreateQueue(kGpu, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_MAXIMUM, ring,
                              kPackets * 64, nullptr, &high),
            HSAKMT_STATUS_SUCCESS);
  AmdSignal* signal = make_signal(1);
  ring[0] = dispatch(kernel, kernargs + 512, signal, kGroups);
  indices[1] = 1;
  __atomic_store_n(high.Queue_DoorBell_aql, 0, __ATOMIC_RELEASE);
  while (__atomic_load_n(counts + 1024, __ATOMIC_ACQUIRE) == 0) std::this_thread::sleep_for(100us);
  // As far as it was seen before the end: this thread may get no processor just then.
  const uint32_t before = low();
  uint32_t beside = 0, done = 0;
  EXPECT_TRUE(soon([&] {
    const uint32_t now = low() - before, high_now = __atomic_load_n(counts + 1024, __ATOMIC_ACQUIRE);
    if (high_now < kGroups) beside = now, done = high_now;
    return value(signal) == 0;
  }));
  EXPECT_EQ(counts[1024], kGroups);
  EXPECT_LT(beside, done / 10);
  EXPECT_GT(low() - before, 0u);
  EXPECT_EQ(hsaKmtDestroyQueue(high.QueueId), HSAKMT_STATUS_SUCCESS);
}

}  // namespace
}  // namespace morgana::kmt::test
