// lock_briefly: takes a mutex whose sections last nanoseconds. A thread that finds it taken tries for about a
// microsecond before it sleeps: being woken would cost more than the whole section.
#pragma once

#include <mutex>

namespace morgana {

inline std::unique_lock<std::mutex> lock_briefly(std::mutex& mutex) {
  constexpr int kTries = 30;
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 0; i < kTries && !lock.owns_lock(); ++i) {
    __builtin_ia32_pause();
    lock.try_lock();
  }
  if (!lock.owns_lock()) lock.lock();
  return lock;
}

}  // namespace morgana
