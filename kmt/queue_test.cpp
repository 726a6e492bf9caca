// The hardware's side: AQL and SDMA queues written by hand, as ROCR writes them.
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "kmt/aql_rig.h"

namespace morgana::kmt::test {
namespace {

TEST_F(Aql, ADispatchRunsAndItsSignalWakesASleeper) {
  const uint64_t kernel = make_kernel(kCount);
  auto* counts = allocate<uint32_t>(kPage, kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = counts;
  HsaEvent* event = make_event();
  AmdSignal* signal = make_signal(1, event);
  submit(dispatch(kernel, kernarg, signal, 4));
  EXPECT_EQ(hsaKmtWaitOnEvent(event, 10'000), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(value(signal), 0);
  for (uint32_t i = 0; i < 300; ++i) ASSERT_EQ(counts[i], i < 256 ? 1u : 0u) << i;
  ASSERT_TRUE(soon([&] { return read_index() == 1; }));
  EXPECT_EQ(ring_[0].header & 0xff, uint16_t(PacketType::invalid));
}

TEST_F(Aql, AnAddressWatchIsSeenByTheDispatchesThatFollow) {
  // Stores 1 at byte 1024 and up, then what TRAPSTS says.
  const uint64_t kernel = make_kernel({
      0xc0060080,
      0x00000000,  // s_load_dwordx2 s[2:3], s[0:1], 0x0
      0x24020082,  // v_lshlrev_b32 v1, 2, v0
      0x7e040281,  // v_mov_b32 v2, 1
      0xbf8cc07f,  // s_waitcnt lgkmcnt(0)
      0xdc708400,
      0x00020201,  // global_store_dword v1, v2, s[2:3] offset:1024
      0xb884f803,  // s_getreg_b32 s4, hwreg(HW_REG_TRAPSTS)
      0x7e040204,  // v_mov_b32 v2, s4
      0xdc708000,
      0x00020201,  // global_store_dword v1, v2, s[2:3]
      0xbf810000,  // s_endpgm
  });
  auto* buffer = allocate<uint32_t>(kPage, kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = buffer;
  const auto seen = [&] {
    AmdSignal* signal = make_signal(1);
    submit(dispatch(kernel, kernarg, signal));
    EXPECT_TRUE(soon([&] { return value(signal) == 0; }));
    return buffer[63];
  };
  HSA_DBG_WATCH_MODE modes[5] = {HSA_DBG_WATCH_READ, HSA_DBG_WATCH_NONREAD};
  void* addresses[5] = {buffer + 256, buffer + 256};
  HSAuint64 masks[5] = {~HSAuint64{0}, ~HSAuint64{0}};
  HsaEvent* events[5] = {event_};
  EXPECT_EQ(hsaKmtDbgRegister(99), HSAKMT_STATUS_INVALID_NODE_UNIT);
  EXPECT_EQ(hsaKmtDbgAddressWatch(kGpu, 2, modes, addresses, masks, nullptr), HSAKMT_STATUS_ERROR);
  ASSERT_EQ(hsaKmtDbgRegister(kGpu), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtDbgRegister(kGpu), HSAKMT_STATUS_ERROR) << "one debugger";
  for (const HSAuint32 count : {0u, 5u})
    EXPECT_EQ(hsaKmtDbgAddressWatch(kGpu, count, modes, addresses, masks, nullptr),
              HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtDbgAddressWatch(kGpu, 1, modes, addresses, masks, events), HSAKMT_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(seen(), 0u);
  ASSERT_EQ(hsaKmtDbgAddressWatch(kGpu, 2, modes, addresses, masks, nullptr), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(seen(), 1u << 12) << "the second watch is for stores";
  ASSERT_EQ(hsaKmtDbgUnregister(kGpu), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(seen(), 0u);
  EXPECT_EQ(hsaKmtDbgUnregister(kGpu), HSAKMT_STATUS_ERROR);
}

TEST_F(Aql, PacketsOfSeveralProducersGoRoundTheRing) {
  const uint64_t kernel = make_kernel(kCount);
  auto* counts = allocate<uint32_t>(kPage, kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = counts;
  constexpr int kEach = 500, kThreads = 3;
  AmdSignal* signal = make_signal(kEach * kThreads);
  std::vector<std::thread> producers;
  for (int t = 0; t < kThreads; ++t)
    producers.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) submit(dispatch(kernel, kernarg, signal));
    });
  for (std::thread& producer : producers) producer.join();
  EXPECT_TRUE(soon([&] { return value(signal) == 0; })) << value(signal);
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(counts[i], uint32_t{kEach * kThreads});
}

TEST_F(Aql, NothingStartsBeforeTheDoorbellAndTheHeader) {
  const uint64_t kernel = make_kernel(kCount);
  auto* counts = allocate<uint32_t>(kPage, kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = counts;
  AmdSignal* signal = make_signal(1);
  submit(dispatch(kernel, kernarg, signal), false);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(value(signal), 1);
  // A packet is announced whose header is still invalid, behind the first.
  const uint64_t index = __atomic_fetch_add(&queue_->write_dispatch_id, 1, __ATOMIC_RELAXED);
  __atomic_store_n(resource_.Queue_DoorBell_aql, index, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(signal) == 0; }));
  AmdSignal* second = make_signal(1);
  const DispatchPacket packet = dispatch(kernel, kernarg, second);
  std::memcpy(reinterpret_cast<uint8_t*>(ring_ + 1) + 4, reinterpret_cast<const uint8_t*>(&packet) + 4, 60);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(read_index(), 1u);
  uint32_t first;
  std::memcpy(&first, &packet, 4);
  __atomic_store_n(reinterpret_cast<uint32_t*>(ring_ + 1), first, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(second) == 0; }));
}

TEST_F(Aql, BarriersWaitForAllOrAny) {
  AmdSignal* a = make_signal(1);
  AmdSignal* b = make_signal(1);
  AmdSignal* done = make_signal(3);
  submit(barrier(PacketType::barrier_and, {a, nullptr, b}, done));
  submit(barrier(PacketType::barrier_or, {nullptr, a, b}, done));
  submit(barrier(PacketType::barrier_and, {}, done));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(value(done), 3);
  __atomic_store_n(&a->value, 0, __ATOMIC_RELEASE);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(value(done), 3);
  __atomic_store_n(&b->value, 0, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(done) == 0; }));

  a->value = b->value = 1;
  AmdSignal* any = make_signal(1);
  submit(barrier(PacketType::barrier_or, {nullptr, a, b}, any));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(value(any), 1);
  __atomic_store_n(&b->value, 0, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(any) == 0; }));
}

TEST_F(Aql, VendorPacketsCompareValuesAndFlushCaches) {
  AmdSignal* watched = make_signal(0x105);
  AmdSignal* done = make_signal(2);
  runtime::BarrierValuePacket wait{};
  wait.format = runtime::VendorFormat::barrier_value;
  wait.signal = handle(watched);
  wait.mask = 0xff;
  wait.value = 9;
  wait.condition = 3;  // greater or equal
  wait.completion_signal = handle(done);
  submit(wait);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(value(done), 2);
  __atomic_store_n(&watched->value, 0x109, __ATOMIC_RELEASE);
  EXPECT_TRUE(soon([&] { return value(done) == 1; }));

  auto* commands = allocate<uint32_t>(kPage);
  commands[0] = 0xc0055800;  // ACQUIRE_MEM, 7 dwords
  runtime::VendorPacket jump{};
  jump.format = runtime::VendorFormat::pm4_indirect_buffer;
  jump.body[0] = 0xc0023f00;  // INDIRECT_BUFFER
  jump.body[1] = static_cast<uint32_t>(handle(commands));
  jump.body[2] = static_cast<uint32_t>(handle(commands) >> 32);
  jump.body[3] = 7 | 1 << 23;
  jump.completion_signal = handle(done);
  submit(jump);
  EXPECT_TRUE(soon([&] { return value(done) == 0; }));
}

// Global wave sync: one kernel sets a resource to eight waves, groups of the other count themselves and meet
// there.
constexpr std::initializer_list<uint32_t> kInitGfx9 = {0xbefc0080,              // s_mov_b32 m0, 0
                                                       0x7e040287,              // v_mov_b32 v2, 7
                                                       0xd9330000, 0x00000002,  // ds_gws_init v2 gds
                                                       0xbf810000};
constexpr std::initializer_list<uint32_t> kMeetGfx9 = {
    0xbe840002,              // s_mov_b32 s4, s2
    0xc0060080, 0x00000000,  // s_load_dwordx2 s[2:3], s[0:1], 0x0
    0xbefc0080,              // s_mov_b32 m0, 0
    0x7d940080, 0x86fe6a7e,  // exec &= lane 0
    0x7e020280, 0x7e040281,  // v1 = 0, v2 = 1
    0x7e080287,              // v4 = 7: groups but one
    0x8e048204, 0x7e060204,  // v3 = s4 * 4
    0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
    0xdd088000, 0x00020201,  // global_atomic_add v1, v2, s[2:3]
    0xbf8c0f70,              // s_waitcnt vmcnt(0)
    0xd93b0000, 0x00000004,  // ds_gws_barrier v4 gds
    0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
    0xdc518000, 0x02020001,  // global_load_dword v2, v1, s[2:3] glc
    0xbf8c0f70,              // s_waitcnt vmcnt(0)
    0xdc708040, 0x00020203,  // global_store_dword v3, v2, s[2:3] offset:64
    0xbf810000};
constexpr std::initializer_list<uint32_t> kInitGfx10 = {0xbefc0380, 0x7e040287,  // m0 = 0, v2 = 7
                                                        0xd8660000, 0x00000002,  // ds_gws_init v2 gds
                                                        0xbf810000};
constexpr std::initializer_list<uint32_t> kMeetGfx10 = {
    0xbe840302,                          // s_mov_b32 s4, s2
    0xf4040080, 0xfa000000,              // s_load_dwordx2 s[2:3], s[0:1], null
    0xbefc0380,                          // s_mov_b32 m0, 0
    0x7da40080,                          // v_cmpx_eq_u32 0, v0
    0x7e020280, 0x7e040281, 0x7e080287,  // v1 = 0, v2 = 1, v4 = 7
    0x8f048204, 0x7e060204,              // v3 = s4 * 4
    0xbf8cc07f,                          // s_waitcnt lgkmcnt(0)
    0xdcc88000, 0x00020201,              // global_atomic_add v1, v2, s[2:3]
    0xbbfd0000,                          // s_waitcnt_vscnt null, 0x0
    0xd8760000, 0x00000004,              // ds_gws_barrier v4 gds
    0xbf8cc07f,                          // s_waitcnt lgkmcnt(0)
    0xdc319000, 0x02020001,              // global_load_dword v2, v1, s[2:3] glc dlc
    0xbf8c3f70,                          // s_waitcnt vmcnt(0)
    0xdc708040, 0x00020203,              // global_store_dword v3, v2, s[2:3] offset:64
    0xbf810000};

// Eight groups count themselves, meet at the device's barrier, and all read the full count.
TEST_F(Aql, GroupsMeetAtGlobalWaveSync) {
  HsaNodeProperties node{};
  ASSERT_EQ(hsaKmtGetNodeProperties(kGpu, &node), HSAKMT_STATUS_SUCCESS);
  const bool is_rdna = node.EngineId.ui32.Major >= 10;
  const uint64_t init = make_kernel(is_rdna ? kInitGfx10 : kInitGfx9);
  const uint64_t meet = make_kernel(is_rdna ? kMeetGfx10 : kMeetGfx9);
  auto* counts = allocate<uint32_t>(kPage, kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = counts;
  AmdSignal* done = make_signal(21);
  for (uint32_t round = 1; round <= 20; ++round) {
    if (round == 1 || round == 11) submit(dispatch(init, nullptr, round == 1 ? done : nullptr));
    submit(dispatch(meet, kernarg, done, 8));
    ASSERT_TRUE(soon([&] { return value(done) == int64_t{20} - round; })) << round;
    for (int group = 0; group < 8; ++group) ASSERT_EQ(counts[16 + group], 8 * round) << group;
  }
}

TEST_F(Aql, ProfilingPutsTimesIntoTheSignal) {
  const uint64_t kernel = make_kernel(kCount);
  auto* counts = allocate<uint32_t>(kPage, kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = counts;
  AmdSignal* plain = make_signal(1);
  submit(dispatch(kernel, kernarg, plain));
  ASSERT_TRUE(soon([&] { return value(plain) == 0; }));
  EXPECT_EQ(plain->start_ts, 0u);
  __atomic_fetch_or(&queue_->queue_properties, runtime::kQueueProfiling, __ATOMIC_RELAXED);
  HsaClockCounters before{}, after{};
  hsaKmtGetClockCounters(kGpu, &before);
  AmdSignal* timed = make_signal(1);
  submit(dispatch(kernel, kernarg, timed));
  ASSERT_TRUE(soon([&] { return value(timed) == 0; }));
  hsaKmtGetClockCounters(kGpu, &after);
  EXPECT_GE(timed->start_ts, before.GPUClockCounter);
  EXPECT_LE(timed->start_ts, timed->end_ts);
  EXPECT_LE(timed->end_ts, after.GPUClockCounter);
}

TEST_F(Aql, ScratchIsAskedForOnce) {
  const uint64_t kernel = make_kernel(kCount);
  auto* counts = allocate<uint32_t>(kPage, kGpu);
  auto** kernarg = allocate<uint32_t*>(64);
  *kernarg = counts;
  AmdSignal* inactive = make_signal(0);
  queue_->queue_inactive_signal = handle(inactive);
  AmdSignal* done = make_signal(2);
  DispatchPacket packet = dispatch(kernel, kernarg, done);
  packet.private_segment_size = 64;
  submit(packet);
  ASSERT_TRUE(soon([&] { return value(inactive) == 1; }));
  EXPECT_EQ(value(done), 2);
  queue_->scratch_wave64_lane_byte_size = 64;
  __atomic_store_n(&inactive->value, 0, __ATOMIC_RELEASE);
  ASSERT_TRUE(soon([&] { return value(done) == 1; }));
  submit(packet);
  ASSERT_TRUE(soon([&] { return value(done) == 0; }));
  EXPECT_EQ(value(inactive), 0);
}

TEST_F(Aql, SuspendedQueuesWait) {
  AmdSignal* done = make_signal(1);
  ASSERT_EQ(hsaKmtUpdateQueue(resource_.QueueId, 0, HSA_QUEUE_PRIORITY_NORMAL, ring_, kPackets * 64, nullptr),
            HSAKMT_STATUS_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  submit(barrier(PacketType::barrier_and, {}, done));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(value(done), 1);
  ASSERT_EQ(hsaKmtUpdateQueue(resource_.QueueId, 100, HSA_QUEUE_PRIORITY_HIGH, ring_, kPackets * 64, nullptr),
            HSAKMT_STATUS_SUCCESS);
  EXPECT_TRUE(soon([&] { return value(done) == 0; }));
}

TEST_F(Aql, DestroyingEndsWhatNeverEnds) {
  submit(dispatch(make_kernel(kForEver), nullptr, make_signal(1), 100));
  submit(barrier(PacketType::barrier_and, {make_signal(1)}, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(read_index(), 0u);  // TearDown destroys the queue
}

// Who exits may wait for what it has submitted (HIP of 2026 does), even if that would never end.
class AqlDeathTest : public Aql {
 protected:
  void exit_before_the_end() {
    static const AmdSignal* const signal = make_signal(2);
    // Registered before the first launch: goes after what the driver has for exit.
    std::atexit([] { _exit(soon([] { return value(signal) == 0; }) ? 7 : 1); });
    // On a busy host the queue's thread may begin long after the doorbell.
    AmdSignal* const first = make_signal(1);
    submit(dispatch(make_kernel({0xbf810000}), nullptr, first));
    if (!soon([&] { return value(first) == 0; })) _exit(2);
    const uint64_t endless = make_kernel(kForEver);
    for (int i = 0; i < 2; ++i) submit(dispatch(endless, nullptr, signal, 100));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::exit(0);
  }
};

TEST_F(AqlDeathTest, WhatNeverEndsIsOverWhenTheProcessExits) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(exit_before_the_end(), testing::ExitedWithCode(7), "");
}

TEST_F(Aql, FreedCodeLivesWhileItRuns) {
  HsaMemFlags flags{};
  flags.ui32.ExecuteAccess = flags.ui32.HostAccess = 1;
  void* code = nullptr;
  ASSERT_EQ(hsaKmtAllocMemory(kGpu, kPage, flags, &code), HSAKMT_STATUS_SUCCESS);
  std::memcpy(code, reinterpret_cast<const void*>(make_kernel(kForEver)), kPage);
  submit(dispatch(handle(code), nullptr, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(hsaKmtFreeMemory(code, kPage), HSAKMT_STATUS_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(read_index(), 0u);
}

TEST_F(Aql, AbortIsAnException) { expect_error(dispatch(make_kernel(kAbort), nullptr, nullptr), 1); }
// It is guest code: what it tells the host is what the runtime hears.
TEST_F(Aql, ABoundTrapHandlerNamesTheException) {
  auto* code = allocate<uint32_t>(kPage, kGpu, true);
  const uint32_t words[] = {0xbefc00ff, 0x1000,  // m0 = a math error of doorbell 0
                            0xbf800000,          // s_nop 0
                            0xbf900001,          // s_sendmsg sendmsg(MSG_INTERRUPT)
                            0xbf8d0001,          // s_sethalt 1
                            0xbe801f6c};         // s_rfe_b64 ttmp[0:1]
  std::memcpy(code, words, sizeof words);
  EXPECT_EQ(hsaKmtSetTrapHandler(kGpu, code + 1, sizeof words, nullptr, 0), HSAKMT_STATUS_INVALID_PARAMETER);
  ASSERT_EQ(hsaKmtSetTrapHandler(kGpu, code, sizeof words, nullptr, 0), HSAKMT_STATUS_SUCCESS);
  expect_error(dispatch(make_kernel(kAbort), nullptr, nullptr), 3);
  ASSERT_EQ(hsaKmtSetTrapHandler(kGpu, nullptr, 0, nullptr, 0), HSAKMT_STATUS_SUCCESS);
}
TEST_F(Aql, IllegalInstruction) { expect_error(dispatch(make_kernel({0xffff'ffff}), nullptr, nullptr), 4); }
TEST_F(Aql, CodeThatIsNotExecutable) {
  expect_error(dispatch(handle(allocate<void>(kPage)), nullptr, nullptr), 18);
}
TEST_F(Aql, NoCode) { expect_error(dispatch(0, nullptr, nullptr), 18); }
TEST_F(Aql, NoDimensions) {
  DispatchPacket packet = dispatch(make_kernel(kCount), nullptr, nullptr);
  packet.setup = 0;
  expect_error(packet, 16);
}
TEST_F(Aql, TooMuchGroupMemory) {
  DispatchPacket packet = dispatch(make_kernel(kCount), nullptr, nullptr);
  packet.group_segment_size = 1 << 20;
  expect_error(packet, 17);
}
TEST_F(Aql, TooLargeAGroup) {
  DispatchPacket packet = dispatch(make_kernel(kCount), nullptr, nullptr);
  packet.workgroup_size_x = 1025;
  expect_error(packet, 21);
}
TEST_F(Aql, UnknownPackets) {
  runtime::BarrierPacket packet{};
  packet.header = 77;
  expect_error(packet, 20);
}
TEST_F(Aql, UnknownVendorPackets) {
  runtime::VendorPacket packet{};
  packet.format = static_cast<runtime::VendorFormat>(9);
  expect_error(packet, 23);
}

TEST_F(Aql, AMemoryFaultIsTheNodes) {
  HsaEvent* fault = make_event(HSA_EVENTTYPE_MEMORY, true);
  submit(dispatch(make_kernel(kWild), nullptr, nullptr));
  ASSERT_EQ(hsaKmtWaitOnEvent(fault, 10'000), HSAKMT_STATUS_SUCCESS);
  const HsaMemoryAccessFault& report = fault->EventData.EventData.MemoryAccessFault;  // packed: read by value
  EXPECT_EQ(report.NodeId, kGpu);
  EXPECT_EQ(+report.VirtualAddress, 0u);
  EXPECT_EQ(report.Failure.NotPresent, 1u);
  EXPECT_EQ(report.Flags, HSA_EVENTID_MEMORY_FATAL_PROCESS);
  EXPECT_EQ(value(error_), 0);
}

// A runtime that works without interrupts has no memory event.
TEST_F(Aql, AMemoryFaultWithoutItsEventIsTheQueues) {
  submit(dispatch(make_kernel(kWild), nullptr, nullptr));
  constexpr int64_t kApertureViolation = 1 << 5;  // ROCR passes this one on, and not the memory violation's
  EXPECT_TRUE(soon([&] { return value(error_) == kApertureViolation; })) << value(error_);
}

TEST_F(Aql, WildSignalsAreFaultsToo) {
  HsaEvent* fault = make_event(HSA_EVENTTYPE_MEMORY, true);
  submit(barrier(PacketType::barrier_and, {reinterpret_cast<AmdSignal*>(0x40)}, nullptr));
  ASSERT_EQ(hsaKmtWaitOnEvent(fault, 10'000), HSAKMT_STATUS_SUCCESS);
}

TEST_F(Aql, QueueCallsCheckWhatTheyGet) {
  HSAuint32 mask = 1, first = 9;
  EXPECT_EQ(hsaKmtSetQueueCUMask(resource_.QueueId, 32, &mask), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtSetQueueCUMask(resource_.QueueId, 31, &mask), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtSetQueueCUMask(12345, 32, &mask), HSAKMT_STATUS_INVALID_HANDLE);
  EXPECT_EQ(hsaKmtAllocQueueGWS(resource_.QueueId, 1, &first), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtUpdateQueue(12345, 100, HSA_QUEUE_PRIORITY_NORMAL, ring_, 64, nullptr),
            HSAKMT_STATUS_INVALID_HANDLE);
  HsaQueueResource other{};
  EXPECT_EQ(hsaKmtCreateQueue(kGpu, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL, ring_, 4096,
                              nullptr, &other),
            HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtCreateQueue(kGpu, HSA_QUEUE_COMPUTE, 100, HSA_QUEUE_PRIORITY_NORMAL, ring_, 4096, nullptr,
                              &other),
            HSAKMT_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(
      hsaKmtCreateQueue(0, HSA_QUEUE_SDMA, 100, HSA_QUEUE_PRIORITY_NORMAL, ring_, 4096, nullptr, &other),
      HSAKMT_STATUS_INVALID_NODE_UNIT);
}

class Sdma : public Driver {
 protected:
  static constexpr uint64_t kBytes = 4096;
  void SetUp() override {
    Driver::SetUp();
    ring_ = allocate<uint8_t>(kBytes, 0, true);
    ASSERT_EQ(hsaKmtCreateQueue(kGpu, HSA_QUEUE_SDMA, 100, HSA_QUEUE_PRIORITY_MAXIMUM, ring_, kBytes, nullptr,
                                &resource_),
              HSAKMT_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(hsaKmtDestroyQueue(resource_.QueueId), HSAKMT_STATUS_SUCCESS);
    Driver::TearDown();
  }
  void submit(const std::vector<uint32_t>& dwords) {
    const uint64_t bytes = dwords.size() * 4;
    if (written_ % kBytes + bytes > kBytes) {  // a packet does not wrap: zeros are NOPs
      const uint64_t rest = kBytes - written_ % kBytes;
      std::memset(ring_ + written_ % kBytes, 0, rest);
      written_ += rest;
    }
    ASSERT_TRUE(soon([&] {
      return written_ + bytes - __atomic_load_n(resource_.Queue_read_ptr_aql, __ATOMIC_ACQUIRE) < kBytes;
    }));
    std::memcpy(ring_ + written_ % kBytes, dwords.data(), bytes);
    written_ += bytes;
    __atomic_store_n(resource_.Queue_write_ptr_aql, written_, __ATOMIC_RELEASE);
    __atomic_store_n(resource_.Queue_DoorBell_aql, written_, __ATOMIC_RELEASE);
  }
  bool finish() {
    return soon([&] { return __atomic_load_n(resource_.Queue_read_ptr_aql, __ATOMIC_ACQUIRE) == written_; });
  }
  static uint32_t low(const void* p) { return static_cast<uint32_t>(handle(p)); }
  static uint32_t high(const void* p) { return static_cast<uint32_t>(handle(p) >> 32); }

  uint8_t* ring_ = nullptr;
  uint64_t written_ = 0;
  HsaQueueResource resource_{};
};

TEST_F(Sdma, CopiesFillsAndWritesGoRoundTheRing) {
  auto* from = allocate<uint8_t>(kPage);
  auto* to = allocate<uint8_t>(kPage, kGpu);
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 100; ++i) from[i] = static_cast<uint8_t>(i * 3 + round);
    submit({1, 99 - 1, 0, low(from), high(from), low(to + 5), high(to + 5)});
    submit({11 | 2u << 30, low(to + 200), high(to + 200), 0xabcd1234u + static_cast<uint32_t>(round), 7 * 4});
    submit({2, low(to + 300), high(to + 300), 1, 77, 78});
    ASSERT_TRUE(finish());
    ASSERT_EQ(std::memcmp(to + 5, from, 99), 0) << round;
    ASSERT_EQ(to[104], 0);
    uint32_t words[9];
    std::memcpy(words, to + 200, sizeof words);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(words[i], 0xabcd1234u + static_cast<uint32_t>(round));
    ASSERT_EQ(words[8], 0u);
    std::memcpy(words, to + 300, 8);
    ASSERT_EQ(words[0], 77u);
    ASSERT_EQ(words[1], 78u);
  }
}

TEST_F(Sdma, SubWindowsKeepPitchAndSlice) {
  // 3 x 2 x 2 elements of 4 bytes out of a 5 x 4 volume at (1, 1, 0) into a 7 x 3 volume at (2, 0, 1).
  auto* from = allocate<uint32_t>(kPage);
  auto* to = allocate<uint32_t>(kPage);
  for (uint32_t i = 0; i < 5 * 4 * 3; ++i) from[i] = i + 1;
  submit({1 | 4 << 8 | 2u << 29, low(from), high(from), 1 | 1 << 16, 0 | (5 - 1) << 13, 5 * 4 - 1,  //
          low(to), high(to), 2 | 0 << 16, 1 | (7 - 1) << 13, 7 * 3 - 1,                             //
          (3 - 1) | (2 - 1) << 16, 2 - 1});
  ASSERT_TRUE(finish());
  std::vector<uint32_t> expected(7 * 3 * 3);
  for (uint32_t z = 0; z < 2; ++z)
    for (uint32_t y = 0; y < 2; ++y)
      for (uint32_t x = 0; x < 3; ++x)
        expected[2 + x + y * 7 + (z + 1) * 21] = from[1 + x + (1 + y) * 5 + z * 20];
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(to[i], expected[i]) << i;
}

TEST_F(Sdma, ACopyAsRocrSubmitsIt) {
  HsaEvent* event = make_event();
  AmdSignal* before = make_signal(1);
  AmdSignal* done = make_signal(1, event);
  auto* from = allocate<uint32_t>(kPage);
  auto* to = allocate<uint32_t>(kPage);
  auto* times = allocate<uint64_t>(kPage);
  from[0] = 4711;
  const uint32_t poll = 8 | 3u << 28 | 1u << 31;
  const auto* words = reinterpret_cast<const uint32_t*>(&before->value);
  submit({
      poll,
      low(words + 1),
      high(words + 1),
      0,
      ~0u,
      0xfff0004,
      poll,
      low(words),
      high(words),
      0,
      ~0u,
      0xfff0004,
      13 | 2 << 8,
      low(times),
      high(times),  // timestamp
      8,
      0,
      0x80000000,
      0,
      0,
      0,  // flush of the host data path
      1,
      3,
      0,
      low(from),
      high(from),
      low(to),
      high(to),  // copy
      13 | 2 << 8,
      low(times + 4),
      high(times + 4),  // timestamp
      10 | 47u << 25,
      low(&done->value),
      high(&done->value),
      ~0u,
      ~0u,
      0,
      0,
      0,  // atomic add of -1
      5,
      low(reinterpret_cast<void*>(done->event_mailbox)),
      high(reinterpret_cast<void*>(done->event_mailbox)),
      done->event_id,  // fence
      6,
      done->event_id  // trap
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(to[0], 0u);
  __atomic_store_n(&before->value, 0, __ATOMIC_RELEASE);
  ASSERT_EQ(hsaKmtWaitOnEvent(event, 10'000), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(value(done), 0);
  EXPECT_EQ(to[0], 4711u);
  EXPECT_GT(times[0], 0u);
  EXPECT_GE(times[4], times[0]);
}

TEST_F(Sdma, AtomicsOfEveryKind) {
  auto* p = allocate<uint32_t>(kPage);
  const auto atomic = [&](uint32_t operation, void* at, uint64_t value, uint64_t compare = 0) {
    submit({10 | operation << 25, low(at), high(at), static_cast<uint32_t>(value),
            static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(compare),
            static_cast<uint32_t>(compare >> 32), 0});
  };
  p[0] = 10;
  atomic(0x0f, p, 5);
  atomic(0x10, p, 3);
  atomic(0x16, p, 0x10);
  atomic(0x13, p, static_cast<uint32_t>(-1));
  p[1] = 7;
  atomic(0x14, p + 1, 0xffff'fff0);
  p[2] = 1;
  atomic(0x08, p + 2, 99, 1);
  atomic(0x08, p + 2, 100, 1);
  atomic(0x2f, p + 4, 0x1'0000'0000);
  ASSERT_TRUE(finish());
  EXPECT_EQ(p[0], 28u);
  EXPECT_EQ(p[1], 0xffff'fff0u);
  EXPECT_EQ(p[2], 99u);
  EXPECT_EQ(p[4], 0u);
  EXPECT_EQ(p[5], 1u);
}

TEST_F(Sdma, WildCopiesAndUnknownPacketsEndInTheMemoryEvent) {
  HsaEvent* fault = make_event(HSA_EVENTTYPE_MEMORY, true);
  auto* to = allocate<uint8_t>(kPage);
  submit({1, 63, 0, 0x40, 0, low(to), high(to)});
  ASSERT_EQ(hsaKmtWaitOnEvent(fault, 10'000), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(+fault->EventData.EventData.MemoryAccessFault.VirtualAddress, 0x40u);
  EXPECT_EQ(fault->EventData.EventData.MemoryAccessFault.Failure.NotPresent, 1u);
}

TEST_F(Sdma, UnknownPacketsAreAHang) {
  HsaEvent* fault = make_event(HSA_EVENTTYPE_MEMORY, true);
  submit({0xee});
  ASSERT_EQ(hsaKmtWaitOnEvent(fault, 10'000), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(fault->EventData.EventData.MemoryAccessFault.Failure.ErrorType, 3u);
}

}  // namespace
}  // namespace morgana::kmt::test
