#include "device/queue_share.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "device/device.h"
#include "device/dispatch/contention.h"

namespace morgana::device {
namespace {

// Queues that have work: of high priority in the upper half, of normal in the lower. Those of normal priority
// are counted while there are queues of low priority only: then nobody pays who has none.
std::atomic<uint64_t> with_work{0};
std::atomic<uint32_t> low_queues{0};
std::atomic<uint32_t> next_home{0};

constexpr uint64_t kHigh = uint64_t{1} << 32;
constexpr uint64_t kNormal = 1;

uint64_t weight(Priority priority) {
  switch (priority) {
    case Priority::high: return kHigh;
    case Priority::normal: return kNormal;
    case Priority::low: break;
  }
  return 0;
}

// In a forked child it may not be counted: forget_queues.
void uncount(Priority priority) {
  const uint64_t own = weight(priority),
                 half = priority == Priority::high ? ~uint64_t{0} << 32 : ~uint32_t{0};
  uint64_t now = with_work.load(std::memory_order_relaxed);
  while ((now & half) >= own && !with_work.compare_exchange_weak(now, now - own)) continue;
}

// So much longer than it has executed a lower priority waits.
constexpr uint64_t kHoldBack = 31;
// What a thread that lost its processor in between is charged for at most, in microseconds.
constexpr uint64_t kMostChargedUs = 5'000;

// When a priority may execute again, in ticks.
std::atomic<uint64_t> held_until[2];

}  // namespace

uint32_t superior_queues(Priority priority) {
  const uint64_t now = priority == Priority::high ? 0 : with_work.load(std::memory_order_relaxed);
  const auto high = static_cast<uint32_t>(now >> 32);
  return priority == Priority::normal ? high : high + static_cast<uint32_t>(now);
}

void forget_queues() { with_work.store(0); }

uint64_t charge(Priority priority, uint64_t executed) {
  std::atomic<uint64_t>& until = held_until[priority == Priority::low ? 0 : 1];
  const uint64_t now = ticks();
  const uint64_t wait = kHoldBack * std::min(executed, ticks_of_us(kMostChargedUs));
  uint64_t before = until.load(std::memory_order_relaxed), after;
  do {
    after = std::max(before, now) + wait;
  } while (!until.compare_exchange_weak(before, after, std::memory_order_relaxed));
  return after;
}

QueueShare::QueueShare(Priority priority) : priority_(priority) {
  home_.store(next_home.fetch_add(1, std::memory_order_relaxed) % static_cast<uint32_t>(Device::threads()),
              std::memory_order_relaxed);
  if (priority == Priority::low) low_queues.fetch_add(1);
}

QueueShare::~QueueShare() {
  if (priority() == Priority::low) low_queues.fetch_sub(1);
}

void QueueShare::set_priority(Priority priority) {
  Priority before;
  {
    std::lock_guard lock(mutex_);
    before = priority_.exchange(priority);
    low_queues.fetch_add(priority == Priority::low ? 1 : 0);
    low_queues.fetch_sub(before == Priority::low ? 1 : 0);
    if (periods_ == 0) return;
    with_work.fetch_add(weight(priority));
    uncount(std::exchange(begun_with_, priority));
  }
  if (priority < before) look_for_work();
}

void QueueShare::set_units(const UnitMask& units) {
  const auto count = static_cast<uint32_t>(Device::threads());
  UnitMask known;
  for (uint32_t i = 0; i < count; ++i) known[i] = units[i];
  std::lock_guard lock(mutex_);
  units_ = known;
  const bool is_limited = known.any() && known.count() < count;
  if (is_limited) {
    uint32_t home = home_.load(std::memory_order_relaxed);
    while (!known[home]) home = (home + 1) % count;
    home_.store(home, std::memory_order_relaxed);
  }
  is_limited_.store(is_limited, std::memory_order_release);
}

UnitMask QueueShare::units() const {
  std::lock_guard lock(mutex_);
  return units_;
}

bool QueueShare::has_rivals() const {
  switch (priority()) {
    case Priority::high: return true;
    case Priority::normal: return low_queues.load(std::memory_order_relaxed) != 0;
    case Priority::low: break;
  }
  return false;
}

void QueueShare::begin_work() {
  std::lock_guard lock(mutex_);
  if (periods_++ != 0) return;
  begun_with_ = priority();
  with_work.fetch_add(weight(begun_with_));
}

void QueueShare::end_work() {
  {
    std::lock_guard lock(mutex_);
    if (--periods_ != 0) return;
    uncount(begun_with_);
  }
  look_for_work();
}

WorkPeriod& WorkPeriod::operator=(WorkPeriod&& other) noexcept {
  if (this == &other) return *this;
  end();
  share_ = std::exchange(other.share_, nullptr);
  return *this;
}

void WorkPeriod::start(QueueShare& share) {
  share.begin_work();
  share_ = &share;
}

void WorkPeriod::stop() { std::exchange(share_, nullptr)->end_work(); }

}  // namespace morgana::device
