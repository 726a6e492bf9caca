#include "base/fork_safe.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace morgana {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ForkSafeLock*> locks;
};

// Takes all locks in whatever order works: it waits for one only while it holds no other.
void hold_all(const std::vector<ForkSafeLock*>& locks) {
  for (size_t first = 0;;) {
    if (locks.empty()) return;
    locks[first]->hold();
    size_t held = 1;
    const auto at = [&](size_t i) { return locks[(first + i) % locks.size()]; };
    while (held < locks.size() && at(held)->try_to_hold()) held++;
    if (held == locks.size()) return;
    const size_t busy = (first + held) % locks.size();
    while (held > 0) at(--held)->let_go();
    first = busy;
  }
}

// Never destroyed: other threads may use locks while the process exits.
Registry& registry() {
  static Registry& made = []() -> Registry& {
    pthread_atfork(
        [] {
          registry().mutex.lock();
          hold_all(registry().locks);
        },
        [] {
          for (ForkSafeLock* lock : registry().locks) lock->let_go();
          registry().mutex.unlock();
        },
        [] {
          for (ForkSafeLock* lock : registry().locks) {
            lock->let_go();
            lock->make_new();
          }
          registry().mutex.unlock();
          new (&registry().mutex) std::mutex;
        });
    return *new Registry;
  }();
  return made;
}

}  // namespace

void ForkSafeLock::enter() {
  std::lock_guard lock(registry().mutex);
  registry().locks.push_back(this);
}

void ForkSafeLock::leave() {
  std::lock_guard lock(registry().mutex);
  std::erase(registry().locks, this);
}

}  // namespace morgana
