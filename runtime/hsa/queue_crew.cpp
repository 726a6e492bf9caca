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
    threads_->all.emplace_back([this] { work(); });
    pthread_setname_np(threads_->all.back().native_handle(), "morgana-queue");
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void QueueCrew::start(std::function<void()> serve) {
  serve_ = std::move(serve);
  process_ = getpid();
  threads_ = std::make_unique<Threads>();
  is_free_ = true;
  add_thread();
}

void QueueCrew::work() {
  std::unique_lock lock(threads_->mutex);
  while (true) {
    ++idle_;
    threads_->role_is_free.wait(lock, [this] { return is_free_ || stops_; });
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
    std::lock_guard lock(threads_->mutex);
    if (stops_) return false;
    if (idle_ == 0) {
      if (threads_->all.size() == kMost) return false;
      try {
        add_thread();
      } catch (const std::system_error&) {
        return false;
      }
    }
    processor_.store({}, std::memory_order_relaxed);
    is_free_ = true;
  }
  threads_->role_is_free.notify_one();
  return true;
}

bool QueueCrew::is_of_this_process() const { return process_ == getpid(); }

void QueueCrew::stop() {
  if (!is_of_this_process()) {
    // Reachable for ever.
    static auto* const left = new std::vector<std::unique_ptr<Threads>>;
    left->push_back(std::move(threads_));
    return;
  }
  {
    std::lock_guard lock(threads_->mutex);
    stops_ = true;
  }
  threads_->role_is_free.notify_all();
  // Nobody adds a thread now.
  for (std::thread& thread : threads_->all) thread.join();
  threads_.reset();
}

}  // namespace morgana::runtime
