#include "base/leavable.h"

#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/thread_pointer.h"

namespace morgana {
namespace {

struct Landing {
  sigjmp_buf place;
  bool at_faults;
  unsigned mxcsr;
  int depth;
  char reason[512];  // written in a signal handler: no allocation
};
ThreadPointer<Landing> landing;

std::atomic<int> inside{0};  // threads, in a call that has neither returned nor been left
std::atomic<int> forks{0};   // that wait for them, or are under way

// Until `is_so`, but not for long: both sides may hold what the other one waits for.
template <class Predicate>
void wait_a_while(const Predicate& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (!is_so() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

thread_local int depth = 0;  // of this thread
int this_thread() { return depth > 0 ? 1 : 0; }

// How long the exit of a process may take in which foreign code was cut off.
constexpr std::chrono::seconds kPatience{10};

// Without a thread the exit takes its chance.
void end_after_patience(int status) {
  pthread_t thread;
  const auto end = [](void* own_status) -> void* {
    std::this_thread::sleep_for(kPatience);
    std::fflush(nullptr);
    _exit(static_cast<int>(reinterpret_cast<intptr_t>(own_status)));
  };
  if (pthread_create(&thread, nullptr, end, reinterpret_cast<void*>(intptr_t{status})) == 0)
    pthread_detach(thread);
}

// Whether foreign code was cut off in this process, which may have held a lock that the destructors of its
// library take.
std::atomic<bool> was_cut_off{false};

// Anew each time: what a library registers in between would come first.
void watch_exit() {
  on_exit(
      [](int status, void*) {
        if (was_cut_off.exchange(false)) end_after_patience(status);
      },
      nullptr);
}

// A child could not call on_exit: another thread may hold its lock, too.
void before_fork() {
  forks.fetch_add(1);
  wait_a_while([] { return inside.load() <= this_thread(); });
  if (inside.load() > this_thread()) watch_exit();
}

void after_fork_in_parent() { forks.fetch_sub(1); }

// The threads inside are not in the child, the locks that they hold are.
void after_fork_in_child() {
  forks.store(0);
  if (inside.exchange(this_thread()) > this_thread()) was_cut_off.store(true);
}

}  // namespace

ForeignCode::ForeignCode() {
  static const int is_told = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)is_told;
  if (depth++ > 0) return;
  inside.fetch_add(1);
  if (forks.load() == 0) return;
  inside.fetch_sub(1);
  wait_a_while([] { return forks.load() == 0; });
  inside.fetch_add(1);
}

ForeignCode::~ForeignCode() {
  if (--depth == 0) inside.fetch_sub(1);
}

std::optional<std::string> leavable(const std::function<void()>& function, bool at_faults) {
  Landing own;
  own.at_faults = at_faults;
  own.mxcsr = _mm_getcsr();
  const ForeignCode inside_now;
  own.depth = depth;
  // Also when an exception goes through.
  const struct Scope {
    Landing* outer = landing.get();
    ~Scope() { landing.set(outer); }
  } scope;
  if (sigsetjmp(own.place, 1) == 0) {
    landing.set(&own);
    function();
    return std::nullopt;
  }
  _mm_setcsr(own.mxcsr);
  depth = own.depth;
  was_cut_off.store(true);
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
