#include "runtime/hsa/wake_hub.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/spin.h"

namespace morgana::runtime {
namespace {

constexpr uint64_t kSpinFor = 10'000;  // ns
constexpr uint64_t kFirstNap = 5'000;

}  // namespace

void WakeHub::sleep(uint32_t ticket, uint64_t nanoseconds) {
  // Notifiers increment the epoch before they look for sleepers, sleepers announce themselves before the
  // kernel compares the epoch: one of the two sees the other.
  sleepers_.fetch_add(1);
  timespec timeout{static_cast<time_t>(nanoseconds / 1'000'000'000),
                   static_cast<long>(nanoseconds % 1'000'000'000)};
  syscall(SYS_futex, &epoch_, FUTEX_WAIT_PRIVATE, ticket, &timeout, nullptr, 0);
  sleepers_.fetch_sub(1);
}

void WakeHub::notify() {
  epoch_.fetch_add(1);
  if (sleepers_.load() != 0) syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

WakeHub& signal_hub() {
  static auto* hub = new WakeHub;  // outlives every static destructor: queues may still run at exit
  return *hub;
}

void Patience::wait(uint64_t at_most) {
  if (spun_ < kSpinFor && may_spin()) {
    const uint64_t start = now_ns();
    spin_pause(16);
    spun_ += std::max<uint64_t>(now_ns() - start, 1);
    return;
  }
  nap_ = nap_ == 0 ? kFirstNap : std::min(nap_ * 2, longest_);
  hub_.sleep(ticket_, std::min(nap_, at_most));
}

}  // namespace morgana::runtime
