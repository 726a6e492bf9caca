// What semaphores signal: inside the process, or through a file descriptor that other processes share.
//
// Signals and waits meet in the order in which they were enqueued. A wait takes an event (claim) that ends
// when its signal has been executed; queue threads never block. Any thread.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "icd/event.h"

namespace morgana::icd {

class SemaphorePayload {
 public:
  // A signal that has been enqueued, until it is executed or will never be.
  class Signal {
   public:
    virtual ~Signal() = default;
    virtual void happen() = 0;
    // The command that would have executed it failed.
    virtual void fail() = 0;
  };

  SemaphorePayload() = default;
  SemaphorePayload(const SemaphorePayload&) = delete;
  SemaphorePayload& operator=(const SemaphorePayload&) = delete;
  virtual ~SemaphorePayload() = default;

  virtual std::unique_ptr<Signal> announce(Context& context) = 0;
  virtual Ref<Event> claim(Context& context) = 0;
  // Whether a signal has been executed that no wait has claimed.
  virtual bool is_signaled() = 0;
  // A descriptor of its own for another process or semaphore; -1 where there is none.
  virtual int export_descriptor() { return -1; }
};

// Of a semaphore that stays in the process.
std::shared_ptr<SemaphorePayload> make_local_payload();
// Of one that may be exported: an eventfd, which counts signals. Null if the system has no descriptor.
std::shared_ptr<SemaphorePayload> make_shared_payload();
// From a descriptor that was exported, which it takes over; null, and not taken over, if it is none.
std::shared_ptr<SemaphorePayload> import_payload(int descriptor);

// A context was terminated: its waits take no signal of a shared semaphore any more.
void forget_dead_waits();

}  // namespace morgana::icd
