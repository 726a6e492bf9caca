// SignalLock: a lock that handlers of signals take, too.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>

namespace morgana::device {

// A handler owns it with all signals of its thread blocked, so that no other handler waits for it there.
class SignalLock {
 public:
  explicit SignalLock(std::atomic<bool>& flag) : flag_(flag) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    while (flag_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  ~SignalLock() {
    flag_.store(false, std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalLock(const SignalLock&) = delete;
  SignalLock& operator=(const SignalLock&) = delete;

 private:
  std::atomic<bool>& flag_;
  sigset_t before_;
};

}  // namespace morgana::device
