// Queue: an AQL queue of an agent and the command processor that empties it.
//
// The command processor is a role that one thread at a time has. It takes packets in order and completes each
// before the next, which honours every packet's barrier bit. The queue has a thread of its own for the role.
// But a thread that waits for the queue takes it (`help`) when the queue's thread has not begun: a short
// kernel is done before another thread would have woken. Kernel dispatches run on the agent's Device; host
// tasks (copies, callbacks) are vendor packets, which call back into the front end. Any thread may call
// `submit`, which blocks only while the ring is full.
#pragma once

#include <cstdint>
#include <memory>

#include "device/fault.h"
#include "runtime/agent.h"
#include "runtime/dispatch.h"

namespace morgana::runtime {

// Executes dispatches for a task that has several, one after the other, on the command processor's thread.
class Launcher {
 public:
  virtual device::Fault launch(Dispatch& dispatch) = 0;

 protected:
  ~Launcher() = default;
};

// One entry of the queue. The front end derives from it and keeps it alive until `finished` has been called.
// The queue calls it on the thread that is its command processor, and holds no lock meanwhile.
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
  // The same of one that launches dispatches itself; it should end with the first fault.
  virtual device::Fault run_with(Launcher& /*launcher*/) {
    run();
    return {};
  }
  // What a trace calls a host task; a literal.
  virtual const char* trace_name() const { return "task"; }
  // False: only the queue's own thread may execute it, not one that waits for it.
  virtual bool allows_helper() const { return true; }
  // Called last. `fault.kind` is none after success. May destroy the task.
  virtual void finished(const device::Fault& fault) = 0;
};

class Queue {
 public:
  // `size` is the number of packets, a power of two.
  static Result<std::unique_ptr<Queue>> create(Agent& agent,
                                               device::Priority priority = device::Priority::normal,
                                               uint32_t size = 1024);
  // Does not wait: the command processor finishes what was submitted, then ends. Callable from a Task.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Agent& agent() const;
  // When the queue's own thread begins with a task. `soon` is for tasks whose submitter will probably wait
  // for them: within a fraction of a millisecond, or at once when many tasks wait or somebody flushes.
  enum class Start { now, soon };
  void submit(Task* task, Start start = Start::now);
  // Has the queue's thread begin now with what was submitted.
  void flush();
  // Executes packets on the calling thread until `done()` is true or no packet is left. Returns at once when
  // another thread is the command processor. Not to be called from a task.
  template <typename Done>
  void help(const Done& done) {
    help({[](const void* d) { return (*static_cast<const Done*>(d))(); }, &done});
  }
  // Stops the dispatch in execution and skips what is queued; tasks finish with FaultKind::cancelled.
  void cancel();
  // True on the thread that is this queue's command processor now.
  bool on_processor_thread() const;
  const AmdQueue& amd_queue() const;

 private:
  struct Condition {
    bool (*is_met)(const void*);
    const void* argument;
  };
  Queue() = default;
  void help(Condition done);
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with the threads that process it
};

}  // namespace morgana::runtime
