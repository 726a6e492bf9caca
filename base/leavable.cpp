#include "base/leavable.h"

#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/thread_pointer.h"

namespace morgana {
namespace {

struct Landing {
  sigjmp_buf place;
  bool at_faults;
  unsigned mxcsr;
  char reason[512];  // written in a signal handler: no allocation
};
ThreadPointer<Landing> landing;

std::atomic<int> inside{0};  // threads, in a call that has neither returned nor been left
std::atomic<int> forks{0};   // that wait for them, or are under way

// Until `is_so`, but not for long: both sides may hold what the other one waits for.
template <class Predicate>
void wait_a_while(const Predicate& is_so) {
  constexpr int kTries = 1'000;
  for (int i = 0; i < kTries && !is_so(); i++) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

void enter() {
  inside.fetch_add(1);
  if (forks.load() == 0) return;
  inside.fetch_sub(1);
  wait_a_while([] { return forks.load() == 0; });
  inside.fetch_add(1);
}

int this_thread() { return landing.get() != nullptr ? 1 : 0; }

// How long the exit of a process may take in which foreign code was cut off.
constexpr std::chrono::seconds kPatience{10};

void end_after_patience(int status, void*) {
  try {
    std::thread([status] {
      std::this_thread::sleep_for(kPatience);
      std::fflush(nullptr);
      _exit(status);
    }).detach();
  } catch (const std::system_error&) {
    // Without a thread the exit takes its chance.
  }
}

// What was cut off may have held a lock that the destructors of its library take.
void watch_exit() {
  static std::atomic<bool> is_watched{false};
  if (!is_watched.exchange(true)) on_exit(end_after_patience, nullptr);
}

void before_fork() {
  forks.fetch_add(1);
  wait_a_while([] { return inside.load() <= this_thread(); });
}

void after_fork_in_parent() { forks.fetch_sub(1); }

// The threads inside are not in the child, the locks that they hold are.
void after_fork_in_child() {
  forks.store(0);
  if (inside.exchange(this_thread()) > this_thread()) watch_exit();
}

}  // namespace

std::optional<std::string> leavable(const std::function<void()>& function, bool at_faults) {
  Landing own;
  own.at_faults = at_faults;
  own.mxcsr = _mm_getcsr();
  static const int is_told = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)is_told;
  // Also when an exception goes through.
  const struct Scope {
    Landing* outer = landing.get();
    Scope() {
      if (outer == nullptr) enter();
    }
    ~Scope() {
      if (outer == nullptr) inside.fetch_sub(1);
      landing.set(outer);
    }
  } scope;
  if (sigsetjmp(own.place, 1) == 0) {
    landing.set(&own);
    function();
    return std::nullopt;
  }
  _mm_setcsr(own.mxcsr);
  watch_exit();
  return own.reason;
}

bool may_leave(bool at_fault) {
  const Landing* const own = landing.get();
  return own != nullptr && (own->at_faults || !at_fault);
}

void leave(const char* reason) {
  Landing* const own = landing.get();
  std::strncpy(own->reason, reason, sizeof own->reason - 1);
  own->reason[sizeof own->reason - 1] = 0;
  siglongjmp(own->place, 1);
}

}  // namespace morgana
