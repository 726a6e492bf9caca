// WakeHub: where threads sleep until a signal, an event or a doorbell may have changed.
//
// Signals are plain memory. The host program, guest code and command processors write them, and only some of
// them tell anybody. So who waits looks at its condition, sleeps here until somebody notifies or a moment has
// passed, and looks again. One hub serves all signals and events of the process. Callable from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace morgana::runtime {

class WakeHub {
 public:
  // To be taken before the condition is looked at: `sleep` returns at once when somebody has notified since.
  uint32_t ticket() const { return epoch_.load(std::memory_order_acquire); }
  // Sleeps until a notification, or for `nanoseconds`.
  void sleep(uint32_t ticket, uint64_t nanoseconds);
  // Wakes every sleeper. Costs an atomic increment when nobody sleeps.
  void notify();

 private:
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> sleepers_{0};
};

// The hub of completion signals and events.
WakeHub& signal_hub();

// Looks at a condition ever less often: pauses, then naps that double up to a limit.
class Patience {
 public:
  explicit Patience(WakeHub& hub, uint64_t longest_nap) : hub_(hub), longest_(longest_nap) {}
  // To be called before the condition is looked at.
  void look() { ticket_ = hub_.ticket(); }
  // Waits a little. `at_most` nanoseconds.
  void wait(uint64_t at_most = ~uint64_t{0});

 private:
  WakeHub& hub_;
  uint64_t longest_, nap_ = 0, spun_ = 0;
  uint32_t ticket_ = 0;
};

}  // namespace morgana::runtime
