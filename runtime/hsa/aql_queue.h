// AqlQueue: the command processor of a user-mode AQL queue.
//
// It takes packets in order. One with the barrier bit begins when all before it are done. One without may
// begin when those before it have begun all their work-groups: another thread of the crew takes it then. A
// packet's slot is given back when it and all before it are done, since kernels read their packet. A
// packet whose header is still INVALID stalls the queue. When `read_index` is the read_dispatch_id of an
// amd_queue_t, that structure is used as AMD's command processor uses it: for the dynamic-scratch handshake,
// for profiling, and as the queue_ptr of kernels. On an error the queue tells its owner and stops.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

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

  bool is_to_see_zero(uint64_t signal) const override;

 protected:
  Progress step() override;
  void rest() override { work_.end(); }

 private:
  // A kernel descriptor, and the bytes that it was read from.
  struct Decoded {
    std::array<uint8_t, codeobj::kKernelDescriptorSize> bytes{};
    codeobj::KernelDescriptor descriptor;
  };
  // A dispatch in execution.
  struct Flight {
    uint64_t index = 0;
    bool is_handed_over = false;        // another thread takes packets meanwhile
    std::unique_ptr<Decoded> kernel{};  // its own then
    device::WorkPeriod work{};
  };
  class RunningNotice;

  union Packet {
    uint16_t header;
    DispatchPacket dispatch;
    BarrierPacket barrier;
    VendorPacket vendor;
    BarrierValuePacket barrier_value;
    Packet() : dispatch() {}
  };

  uint64_t slot_of(uint64_t index) const;
  void find_limit();
  bool is_barred(const Packet& packet) const;
  bool are_all_done_before(uint64_t index) const;
  bool wait_for_all_before(uint64_t index);
  bool let_next_overlap(Flight& flight);
  void retire(uint64_t index);
  void give_back(uint64_t index);
  bool execute(const Packet& packet, uint64_t index);
  bool execute_dispatch(const DispatchPacket& packet, uint64_t index);
  bool check(const DispatchPacket& packet);
  bool execute_barrier(const BarrierPacket& packet, uint64_t index, bool all);
  bool execute_barrier_value(const BarrierValuePacket& packet, uint64_t index);
  bool execute_vendor(const Packet& packet, uint64_t index);
  bool complete(uint64_t index, uint64_t signal, const Timestamps& times);
  bool has_property(uint32_t bit) const;
  bool provide_scratch(uint32_t lane_bytes, uint64_t index);
  bool reclaim_scratch();
  bool ask_runtime(int64_t what);
  const codeobj::KernelDescriptor* descriptor(uint64_t address);
  void fail_packet(QueueError error, std::string text, uint64_t kernel_object = 0);
  void fail_memory(uint64_t address, std::string text);
  void fail_wave(const device::Fault& fault, const DispatchPacket& packet, uint32_t interrupt,
                 std::vector<device::WavePlace> stopped);

  const uint64_t packets_;  // in the ring
  AmdQueue* amd_queue_ = nullptr;
  TraceTrack track_ = make_trace_track("queue");

  // The command processor's, whichever thread that is.
  uint64_t next_ = 0;   // index of the packet to take
  uint64_t limit_ = 0;  // the doorbell has announced the packets below it
  device::WorkPeriod work_;
  std::unique_ptr<Decoded> decoded_;  // the last kernel's

  std::atomic<uint64_t> retired_{0};     // the packets below it are done, and their slots given back
  std::atomic<uint64_t> free_below_{0};  // at least what the read index says, at any time
  std::mutex ended_mutex_;               // leaf
  std::vector<bool> ended_;              // by slot: its packet is done, behind one that is not
  // Of the barrier in execution: its index, and a bit for each dependency that was seen to be 0.
  std::atomic<uint64_t> seen_zero_{~uint64_t{0}};
  std::atomic<uint64_t> completing_{~uint64_t{0}};  // the packet that last had nothing to do but to say so
};

}  // namespace morgana::runtime
