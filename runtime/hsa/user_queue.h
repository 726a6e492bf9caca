// UserQueue: a queue in user memory: ring, read and write index and doorbell, all plain memory that a program
// writes directly, and the thread that empties it.
//
// Nothing tells us of a write to a doorbell. The queue's thread looks at its own for a while after it has
// worked, then leaves that to one watcher thread that serves all queues and naps the longer the less happens;
// `look_now` wakes it, for callers that know of somebody waiting. Kinds: AqlQueue, SdmaQueue.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "device/fault.h"
#include "runtime/agent.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/wake_hub.h"

namespace morgana::runtime {

class UserQueue;

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

// A queue that stopped. `fault.kind` is `memory` where the MMU refused an access, also one of the command
// processor's own.
struct QueueFailure {
  QueueError error{};
  device::Fault fault;
  uint64_t kernel_object = 0;  // of the dispatch that failed; 0: something else
  std::string text;            // what is wrong, in words
};

// The driver's side of a queue; called on the queue's thread.
class QueueOwner : public EventSink {
 public:
  // Code at `entry` is about to run: registers the memory it lies in with the agent's device and keeps it
  // until leave_code. False: there is no executable memory.
  virtual bool enter_code(Agent& agent, uint64_t entry) = 0;
  virtual void leave_code() = 0;
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
  // Stops what is in execution and waits for the thread to end.
  virtual ~UserQueue();
  UserQueue(const UserQueue&) = delete;
  UserQueue& operator=(const UserQueue&) = delete;

  void start();
  // A suspended queue takes no further packet; the one in execution goes on.
  void suspend(bool suspended);
  Agent& agent() const { return agent_; }
  const Memory& memory() const { return memory_; }

  // Rings the doorbell for a program that does not write it itself.
  void ring();
  // The doorbells of all queues should be looked at without delay.
  static void look_now();

 protected:
  enum class Progress { worked, idle, stalled };  // stalled: something is there and cannot be done yet
  // One step; on the queue's thread.
  virtual Progress step() = 0;
  // To be called first by derived destructors.
  void stop();

  QueueOwner& owner() const { return owner_; }
  bool is_stopping() const { return stopping_.load(std::memory_order_relaxed); }
  const std::atomic<bool>& stopping() const { return stopping_; }
  // Whether the doorbell was written since the last call.
  bool rang();
  // Stops the queue for good.
  void fail(QueueFailure failure);
  // Waits until `condition` holds; false when the queue stops first.
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
  int process_ = 0;  // that the thread belongs to: it does not exist in a forked child
  std::thread thread_;
  std::atomic<bool> stopping_{false}, suspended_{false}, failed_{false};
  std::atomic<uint64_t> seen_doorbell_;
  std::atomic<State> state_{State::running};
  WakeHub wake_;
};

template <typename Condition>
bool UserQueue::wait_until(const Condition& condition) {
  constexpr uint64_t kLongestNap = 200'000;  // ns
  Patience patience(signal_hub(), kLongestNap);
  while (true) {
    patience.look();
    if (condition()) return true;
    if (is_stopping()) return false;
    patience.wait();
  }
}

}  // namespace morgana::runtime
