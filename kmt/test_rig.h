// What the tests of the thunk share: an opened driver, memory, kernels as bytes, and AQL and SDMA queues that
// they write by hand, as a runtime does.
#pragma once

#include <gtest/gtest.h>
#include <hsakmt.h>

#include <chrono>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <vector>

#include "runtime/aql.h"
#include "runtime/hsa/packets.h"
#include "runtime/hsa/signal.h"

namespace morgana::kmt::test {

inline constexpr HSAuint32 kGpu = 1;
inline constexpr uint64_t kPage = 4096;

// Polls until the condition holds, for a bounded time: a minute and more, since a sanitizer on a busy host
// needs ten seconds for what takes half of one.
template <typename Condition>
bool soon(const Condition& condition) {
  for (int i = 0; i < 120'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return false;
}

class Driver : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS); }
  void TearDown() override {
    for (const auto& [address, size] : memory_)
      EXPECT_EQ(hsaKmtFreeMemory(address, size), HSAKMT_STATUS_SUCCESS);
    for (HsaEvent* event : events_) EXPECT_EQ(hsaKmtDestroyEvent(event), HSAKMT_STATUS_SUCCESS);
    ASSERT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS);
  }

  template <typename T>
  T* allocate(uint64_t bytes, HSAuint32 node = 0, bool executable = false) {
    HsaMemFlags flags{};
    flags.ui32.HostAccess = 1;
    flags.ui32.ExecuteAccess = executable;
    const uint64_t size = (bytes + kPage - 1) / kPage * kPage;
    void* address = nullptr;
    EXPECT_EQ(hsaKmtAllocMemory(node, size, flags, &address), HSAKMT_STATUS_SUCCESS);
    HSAuint64 alternate = 1;
    EXPECT_EQ(hsaKmtMapMemoryToGPU(address, size, &alternate), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(alternate, 0u);
    memory_.emplace_back(address, size);
    return static_cast<T*>(address);
  }

  HsaEvent* make_event(HSA_EVENTTYPE type = HSA_EVENTTYPE_SIGNAL, bool manual = false) {
    HsaEventDescriptor descriptor{};
    descriptor.EventType = type;
    HsaEvent* event = nullptr;
    EXPECT_EQ(hsaKmtCreateEvent(&descriptor, manual, false, &event), HSAKMT_STATUS_SUCCESS);
    if (event != nullptr) events_.push_back(event);
    return event;
  }

  // A signal with the value `value`; with an event it wakes sleepers.
  runtime::AmdSignal* make_signal(int64_t value, HsaEvent* event = nullptr) {
    auto* signal = new (allocate<void>(sizeof(runtime::AmdSignal))) runtime::AmdSignal;
    signal->kind = 1;
    signal->value = value;
    if (event != nullptr) {
      signal->event_mailbox = event->EventData.HWData2;
      signal->event_id = event->EventId;
    }
    return signal;
  }

  // Code for gfx90a behind a kernel descriptor that asks for the kernarg pointer in s[0:1] and the work-group
  // id in s2.
  uint64_t make_kernel(std::initializer_list<uint32_t> code) {
    auto* bytes = allocate<uint8_t>(kPage, 0, true);
    constexpr int64_t kEntry = 256;
    constexpr uint32_t kRsrc1 = 3 << 18 | 1 << 6 | 1, kRsrc2 = 2 << 1 | 1 << 7, kRsrc3 = 1;
    constexpr uint16_t kProperties = 1 << 3;
    std::memcpy(bytes + 16, &kEntry, 8);
    std::memcpy(bytes + 44, &kRsrc3, 4);
    std::memcpy(bytes + 48, &kRsrc1, 4);
    std::memcpy(bytes + 52, &kRsrc2, 4);
    std::memcpy(bytes + 56, &kProperties, 2);
    std::memcpy(bytes + kEntry, code.begin(), code.size() * 4);
    return reinterpret_cast<uint64_t>(bytes);
  }

 private:
  std::vector<std::pair<void*, uint64_t>> memory_;
  std::vector<HsaEvent*> events_;
};

// buffer[work-item id] += 1, by work-items of groups of 64; kernarg: the buffer.
inline constexpr std::initializer_list<uint32_t> kCount = {
    0xbe840002,              // s_mov_b32 s4, s2
    0xc0060080, 0x00000000,  // s_load_dwordx2 s[2:3], s[0:1], 0x0
    0xd1fd0001, 0x04010c04,  // v_lshl_add_u32 v1, s4, 6, v0
    0x24020282,              // v_lshlrev_b32 v1, 2, v1
    0x7e040281,              // v_mov_b32 v2, 1
    0xbf8cc07f,              // s_waitcnt lgkmcnt(0)
    0xdd088000, 0x00020201,  // global_atomic_add v1, v2, s[2:3]
    0xbf8c0f70,              // s_waitcnt vmcnt(0)
    0xbf810000};             // s_endpgm
inline constexpr std::initializer_list<uint32_t> kForEver = {0xbf82ffff, 0xbf810000};  // s_branch to itself
inline constexpr std::initializer_list<uint32_t> kAbort = {0xbf920002, 0xbf810000};    // s_trap 2
inline constexpr std::initializer_list<uint32_t> kWild = {0x7e000280, 0x7e020280,      // v[0:1] = 0
                                                          0xdc708000,
                                                          0x007f0000,  // global_store_dword v[0:1], v0, off
                                                          0xbf810000};

}  // namespace morgana::kmt::test
