#include "runtime/hsa/queue_crew.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace morgana::runtime {

// The mutex is held, or there is no other thread yet.
void QueueCrew::add_thread() {
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    threads_.emplace_back([this] { work(); });
    pthread_setname_np(threads_.back().native_handle(), "morgana-queue");
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void QueueCrew::start(std::function<void()> serve) {
  serve_ = std::move(serve);
  process_ = getpid();
  is_free_ = true;
  add_thread();
}

void QueueCrew::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    role_is_free_.wait(lock, [this] { return is_free_ || stops_; });
    --idle_;
    if (stops_) return;
    is_free_ = false;
    processor_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    lock.unlock();
    serve_();
    lock.lock();
  }
}

bool QueueCrew::hand_over() {
  {
    std::lock_guard lock(mutex_);
    if (stops_) return false;
    if (idle_ == 0) {
      if (threads_.size() == kMost) return false;
      try {
        add_thread();
      } catch (const std::system_error&) {
        return false;
      }
    }
    processor_.store({}, std::memory_order_relaxed);
    is_free_ = true;
  }
  role_is_free_.notify_one();
  return true;
}

bool QueueCrew::is_of_this_process() const { return process_ == getpid(); }

void QueueCrew::stop() {
  if (!is_of_this_process()) {
    for (std::thread& thread : threads_) thread.detach();
    threads_.clear();
    process_ = 0;
    return;
  }
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  role_is_free_.notify_all();
  // Nobody adds a thread now.
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  process_ = 0;
}

}  // namespace morgana::runtime
