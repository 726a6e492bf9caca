// AqlQueue: the command processor of a user-mode AQL queue.
//
// It takes packets in order and completes each before the next, which honours barrier bits and fences. A
// packet whose header is still INVALID stalls the queue. When `read_index` is the read_dispatch_id of an
// amd_queue_t, that structure is used as AMD's command processor uses it: for the dynamic-scratch handshake,
// for profiling, and as the queue_ptr of kernels. On an error the queue tells its owner and stops.
#pragma once

#include <array>
#include <cstdint>

#include "base/trace.h"
#include "codeobj/kernel_descriptor.h"
#include "runtime/aql.h"
#include "runtime/hsa/packets.h"
#include "runtime/hsa/user_queue.h"

namespace morgana::runtime {

class AqlQueue : public UserQueue {
 public:
  AqlQueue(Agent& agent, const Memory& memory, QueueOwner& owner);
  ~AqlQueue() override;

  // The amd_queue_t around the read index, or nullptr.
  AmdQueue* amd_queue() const { return amd_queue_; }

 protected:
  Progress step() override;

 private:
  union Packet {
    uint16_t header;
    DispatchPacket dispatch;
    BarrierPacket barrier;
    VendorPacket vendor;
    BarrierValuePacket barrier_value;
    Packet() : dispatch() {}
  };

  void find_limit();
  bool execute(const Packet& packet, uint64_t slot);
  bool execute_dispatch(const DispatchPacket& packet, uint64_t slot);
  bool check(const DispatchPacket& packet);
  bool execute_barrier(const BarrierPacket& packet, bool all);
  bool execute_barrier_value(const BarrierValuePacket& packet);
  bool execute_vendor(const Packet& packet, uint64_t slot);
  bool complete(uint64_t signal, const Timestamps& times);
  bool has_property(uint32_t bit) const;
  bool provide_scratch(uint32_t lane_bytes);
  bool reclaim_scratch();
  bool ask_runtime(int64_t what);
  const codeobj::KernelDescriptor* descriptor(uint64_t address);
  void fail_packet(QueueError error, std::string text, uint64_t kernel_object = 0);
  void fail_memory(uint64_t address, std::string text);
  void fail_wave(const device::Fault& fault, const DispatchPacket& packet, uint32_t interrupt,
                 std::vector<device::WavePlace> stopped);

  const uint64_t packets_;  // in the ring
  AmdQueue* amd_queue_ = nullptr;
  uint64_t next_ = 0;  // index of the packet to take
  TraceTrack track_ = make_trace_track("queue");
  uint64_t limit_ = 0;  // the doorbell has announced the packets below it

  std::array<uint8_t, codeobj::kKernelDescriptorSize> descriptor_bytes_{};  // of `descriptor_`
  bool has_descriptor_ = false;
  codeobj::KernelDescriptor descriptor_;
};

}  // namespace morgana::runtime
