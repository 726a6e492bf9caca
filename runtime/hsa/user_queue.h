// UserQueue: a queue in a program's memory, and the crew of threads that empties it. Ring, read index, write
// index and doorbell are plain memory, which the program writes directly. Kinds: AqlQueue, SdmaQueue.
//
// Nothing tells us when a program writes to a doorbell. The queue's command processor looks at its own for a
// while after it has worked. Then one watcher thread looks at the doorbells of all queues that sleep; it naps
// the longer the less happens. Who knows that somebody waits wakes it by `look_now`.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "device/fault.h"
#include "device/queue_share.h"
#include "runtime/agent.h"
#include "runtime/hsa/queue_crew.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/wake_hub.h"

namespace morgana::runtime {

class UserQueue;
struct FaultPlace;
struct CodeImage;

// Why a queue stopped, numbered as Linux's driver numbers exceptions (EC_QUEUE_*, EC_DEVICE_* of
// kfd_ioctl.h).
enum class QueueError : uint32_t {
  wave_abort = 1,
  wave_trap = 2,
  wave_math_error = 3,
  wave_illegal_instruction = 4,
  wave_memory_violation = 5,
  wave_aperture_violation = 6,
  packet_dimensions = 16,
  packet_group_segment = 17,
  packet_code = 18,
  packet_unsupported = 20,
  packet_work_group_size = 21,
  packet_vendor_unsupported = 23,
};
const char* name(QueueError error);

// Why a queue stopped. `fault.kind` is `memory` when the MMU refused an access, of a kernel or of the command
// processor itself.
struct QueueFailure {
  QueueError error{};
  device::Fault fault;
  uint64_t kernel_object = 0;              // of the dispatch that failed; 0: it was no dispatch
  std::string text;                        // what is wrong, in words
  std::vector<device::WavePlace> stopped;  // where waves were at the time limit
};

// The driver's side of a queue. The threads of the queue's crew call it, several at a time.
class QueueOwner : public EventSink {
 public:
  // Code at `entry` is about to run. Makes the memory that it lies in known to the agent's device, and keeps
  // it until leave_code. False: no executable memory is there.
  virtual bool enter_code(Agent& agent, uint64_t entry) = 0;
  virtual void leave_code() = 0;
  // Where an engine that copies finds [address, address + bytes) of the devices: the same bytes may not be
  // mapped there yet, but elsewhere.
  virtual uint64_t pages_of(uint64_t address, uint64_t bytes) {
    static_cast<void>(bytes);
    return address;
  }
  // The name of the kernel whose descriptor lies there; empty: not known.
  virtual std::string kernel_name(uint64_t) { return {}; }
  // Adds what is known of the code at `pc` (runtime/report.h).
  virtual void find_place(uint64_t kernel_object, uint64_t pc, FaultPlace& place) {
    static_cast<void>(kernel_object), static_cast<void>(pc), static_cast<void>(place);
  }
  // The code object that holds the kernel (runtime/checking.h).
  virtual CodeImage code_object(uint64_t kernel_object);
  // The queue has stopped and will do nothing more.
  virtual void queue_failed(UserQueue& queue, const QueueFailure& failure) = 0;
};

class UserQueue {
 public:
  struct Memory {
    uint64_t ring = 0, bytes = 0;                            // bytes: a power of two
    uint64_t read_index = 0, write_index = 0, doorbell = 0;  // addresses
  };
  UserQueue(Agent& agent, const Memory& memory, QueueOwner& owner);
  // Stops what is in execution and waits for the crew's threads to end.
  virtual ~UserQueue();
  UserQueue(const UserQueue&) = delete;
  UserQueue& operator=(const UserQueue&) = delete;

  void start();
  // A suspended queue takes no further packet; packets in execution go on.
  void suspend(bool suspended);
  Agent& agent() const { return agent_; }
  const Memory& memory() const { return memory_; }
  // Priority and compute units.
  device::QueueShare& share() { return share_; }

  // Rings the doorbell for a program that does not write it itself.
  void ring();
  // Has the doorbells of all queues looked at without delay.
  static void look_now();
  // To be called before a signal that is 0 gets another value. Waits, for a bounded time, until the barriers
  // whose turn it is have seen the 0.
  static void let_barriers_see(uint64_t signal);
  // Whether a barrier's turn has come that depends on the signal and has not seen that it is 0.
  virtual bool is_to_see_zero(uint64_t) const { return false; }

 protected:
  enum class Progress { worked, idle, stalled };  // stalled: a packet is there that cannot be executed yet
  // Takes a packet, if there is one. Called on the thread that is the queue's command processor.
  virtual Progress step() = 0;
  // Called on that thread when there is nothing for it to execute.
  virtual void rest() {}
  QueueCrew& crew() { return crew_; }
  // To be called first by derived destructors.
  void stop();

  QueueOwner& owner() const { return owner_; }
  bool is_stopping() const { return stopping_.load(std::memory_order_relaxed); }
  const std::atomic<bool>& stopping() const { return stopping_; }
  bool is_suspended() const { return suspended_.load(std::memory_order_relaxed); }
  bool has_failed() const { return failed_.load(std::memory_order_relaxed); }
  // Whether the doorbell has been written, or the queue resumed, since the last call.
  bool rang();
  // Stops the queue for good.
  void fail(QueueFailure failure);
  // Waits until `condition` holds; false when the queue stops or fails first.
  template <typename Condition>
  bool wait_until(const Condition& condition);

 private:
  friend class DoorbellWatch;
  enum class State : uint32_t { running, parked };
  uint64_t doorbell() const;
  bool is_deaf() const { return failed_.load() || suspended_.load(); }
  void serve();
  void park();
  void unpark();

  Agent& agent_;
  const Memory memory_;
  QueueOwner& owner_;
  device::QueueShare share_;
  std::atomic<bool> stopping_{false}, suspended_{false}, failed_{false};
  std::atomic<bool> resumed_{false};  // `rang` tells
  std::atomic<uint64_t> seen_doorbell_;
  std::atomic<State> state_{State::running};
  WakeHub wake_;
  QueueCrew crew_;
};

template <typename Condition>
bool UserQueue::wait_until(const Condition& condition) {
  constexpr uint64_t kLongestNap = 200'000;  // ns
  Patience patience(signal_hub(), kLongestNap);
  while (true) {
    patience.look();
    if (condition()) return true;
    if (is_stopping() || has_failed()) return false;
    patience.wait();
  }
}

}  // namespace morgana::runtime
