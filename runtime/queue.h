// Queue: an AQL queue of an agent and the command processor that empties it.
//
// The command processor is one thread per queue. It takes packets in order; a packet with the barrier bit
// starts when everything before it has completed, which is always so here, since packets complete in order.
// Kernel dispatches run on the agent's Device; host tasks (copies, callbacks, waits on other queues) are
// vendor packets that call back into the front end. `submit` may be called from any thread and blocks only
// while the ring is full.
#pragma once

#include <cstdint>
#include <memory>

#include "device/fault.h"
#include "runtime/agent.h"
#include "runtime/dispatch.h"

namespace morgana::runtime {

// One entry of the queue. The front end derives from it; the queue calls it on the command processor's
// thread. The front end keeps the task alive until `finished` has been called.
class Task {
 public:
  virtual ~Task() = default;
  // Called first, when the packet is taken from the ring. May block (wait lists). Returning false skips the
  // work: `finished` is called at once with a Fault of kind `none`.
  virtual bool begin() { return true; }
  // The dispatch to execute, or nullptr for a host task.
  virtual Dispatch* dispatch() { return nullptr; }
  // The work of a host task.
  virtual void run() {}
  // Called last. `fault.kind` is none after success. May destroy the task.
  virtual void finished(const device::Fault& fault) = 0;
};

class Queue {
 public:
  // `size` is the number of packets, a power of two.
  static Result<std::unique_ptr<Queue>> create(Agent& agent, uint32_t size = 1024);
  // Does not wait: the command processor finishes what was submitted, then ends. Callable from a Task.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Agent& agent() const;
  void submit(Task* task);
  // Stops the dispatch in execution and skips what is queued; tasks finish with FaultKind::cancelled.
  void cancel();
  // True on the thread of this queue's command processor.
  bool on_processor_thread() const;
  const AmdQueue& amd_queue() const;

 private:
  Queue() = default;
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with the command processor
};

// Host time in nanoseconds, the clock of profiling and of s_memrealtime (CLOCK_MONOTONIC).
uint64_t now_ns();

}  // namespace morgana::runtime
