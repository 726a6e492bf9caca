// An AQL queue that a test writes by hand, as ROCR writes it.
#pragma once

#include <atomic>
#include <cstddef>

#include "kmt/test_rig.h"

namespace morgana::kmt::test {

using runtime::AmdQueue;
using runtime::AmdSignal;
using runtime::DispatchPacket;
using runtime::packet_header;
using runtime::PacketType;

inline uint64_t handle(const void* p) { return reinterpret_cast<uint64_t>(p); }
inline int64_t value(const AmdSignal* signal) { return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE); }

class Aql : public Driver {
 protected:
  static constexpr uint32_t kPackets = 64;

  void SetUp() override {
    Driver::SetUp();
    ring_ = allocate<DispatchPacket>(kPackets * 64, 0, true);
    for (uint32_t i = 0; i < kPackets; ++i) ring_[i].header = uint16_t(PacketType::invalid);
    queue_ = new (allocate<void>(sizeof(AmdQueue))) AmdQueue;
    queue_->base_address = handle(ring_);
    queue_->size = kPackets;
    queue_->read_dispatch_id_field_base_byte_offset = offsetof(AmdQueue, read_dispatch_id);
    error_ = make_signal(0);
    event_ = make_event();
    resource_.Queue_read_ptr_aql = reinterpret_cast<HSAuint64*>(&queue_->read_dispatch_id);
    resource_.Queue_write_ptr_aql = reinterpret_cast<HSAuint64*>(&queue_->write_dispatch_id);
    resource_.ErrorReason = &error_->value;
    ASSERT_EQ(hsaKmtCreateQueue(kGpu, HSA_QUEUE_COMPUTE_AQL, 100, HSA_QUEUE_PRIORITY_NORMAL, ring_,
                                kPackets * 64, event_, &resource_),
              HSAKMT_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(hsaKmtDestroyQueue(resource_.QueueId), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(hsaKmtDestroyQueue(resource_.QueueId), HSAKMT_STATUS_INVALID_HANDLE);
    Driver::TearDown();
  }

  uint64_t read_index() const { return __atomic_load_n(&queue_->read_dispatch_id, __ATOMIC_ACQUIRE); }

  // Writes a packet; its header last, then the doorbell.
  template <typename Packet>
  void submit(Packet packet, bool ring = true) {
    static_assert(sizeof(Packet) == 64);
    const uint64_t index = __atomic_fetch_add(&queue_->write_dispatch_id, 1, __ATOMIC_RELAXED);
    ASSERT_TRUE(soon([&] { return index - read_index() < kPackets; }));
    DispatchPacket* slot = ring_ + index % kPackets;
    std::memcpy(reinterpret_cast<uint8_t*>(slot) + 4, reinterpret_cast<const uint8_t*>(&packet) + 4, 60);
    uint32_t first;
    std::memcpy(&first, &packet, 4);
    __atomic_store_n(reinterpret_cast<uint32_t*>(slot), first, __ATOMIC_RELEASE);
    if (ring) __atomic_store_n(resource_.Queue_DoorBell_aql, index, __ATOMIC_RELEASE);
  }

  DispatchPacket dispatch(uint64_t kernel, const void* kernarg, const AmdSignal* signal,
                          uint32_t groups = 1) {
    DispatchPacket packet;
    packet.header = packet_header(PacketType::kernel_dispatch, true);
    packet.setup = 1;
    packet.workgroup_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = 64 * groups;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = kernel;
    packet.kernarg_address = handle(kernarg);
    packet.completion_signal = handle(signal);
    return packet;
  }

  runtime::BarrierPacket barrier(PacketType type, std::initializer_list<const AmdSignal*> dependencies,
                                 const AmdSignal* signal) {
    runtime::BarrierPacket packet{};
    packet.header = packet_header(type, true);
    size_t i = 0;
    for (const AmdSignal* dependency : dependencies) packet.dependency[i++] = handle(dependency);
    packet.completion_signal = handle(signal);
    return packet;
  }

  // Submits what must fail and expects the exception `code` (EC_* of kfd_ioctl.h).
  template <typename Packet>
  void expect_error(const Packet& packet, unsigned code) {
    submit(packet);
    ASSERT_EQ(hsaKmtWaitOnEvent(event_, 10'000), HSAKMT_STATUS_SUCCESS);
    EXPECT_EQ(value(error_), int64_t{1} << (code - 1));
    EXPECT_EQ(read_index(), 0u);  // the packet is not done
  }

  DispatchPacket* ring_ = nullptr;
  AmdQueue* queue_ = nullptr;
  AmdSignal* error_ = nullptr;
  HsaEvent* event_ = nullptr;
  HsaQueueResource resource_{};
};

}  // namespace morgana::kmt::test
