// Short waits without sleeping, for what another thread will probably do within microseconds: being woken
// would cost more than the wait. Callable from any thread.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace morgana {

// Tells the processor that the thread spins.
inline void spin_pause(int times = 1) {
  for (int i = 0; i < times; ++i) __builtin_ia32_pause();
}

// Whether the process has more than one processor, so that a thread that spins may see another's progress.
bool may_spin();

// About the time that it takes to sleep and be woken.
inline constexpr uint64_t kSpinUs = 20;

// Spins until done() for at most kSpinUs. False: it has not happened.
template <typename Done>
bool spin_until(const Done& done) {
  if (done()) return true;
  if (!may_spin()) return false;
  const uint64_t limit = ticks_of_us(kSpinUs);
  for (const uint64_t begin = ticks(); ticks() - begin < limit;) {
    spin_pause();
    if (done()) return true;
  }
  return false;
}

// Takes a mutex whose sections last nanoseconds: tries for about a microsecond before the thread sleeps.
inline std::unique_lock<std::mutex> lock_briefly(std::mutex& mutex) {
  constexpr int kTries = 30;
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 0; i < kTries && !lock.owns_lock(); ++i) {
    spin_pause();
    lock.try_lock();
  }
  if (!lock.owns_lock()) lock.lock();
  return lock;
}

}  // namespace morgana
