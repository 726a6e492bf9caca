#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "base/options.h"
#include "base/spin.h"
#include "device/dispatch/job.h"

namespace morgana::device {
namespace {

std::atomic<bool> exiting{false};
std::atomic<int> running{0};
std::atomic<Pool*> instance{nullptr};
std::mutex instance_mutex;

// Threads do not survive fork: the child starts with a new pool, and the old one's memory is given up.
void after_fork() {
  instance.store(nullptr);
  running.store(0);
  new (&instance_mutex) std::mutex;
}

void before_exit() {
  exiting.store(true);
  // Guest code stops at its next yield. A thread that calls exit from inside a launch (a signal handler)
  // waits in vain.
  for (int i = 0; i < 200 && running.load() > 0; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

int thread_count() {
  constexpr int64_t kMax = 1024;
  static const int count =
      options().threads > 0 ? static_cast<int>(std::min(options().threads, kMax)) : available_processors();
  return count;
}

Running::Running() { running.fetch_add(1); }
Running::~Running() { running.fetch_sub(1); }

bool process_is_exiting() { return exiting.load(std::memory_order_relaxed); }

// Never destroyed: helpers may still run while the process exits. They own nothing but memory, and leave
// guest code when `exiting` is set.
Pool& Pool::get() {
  if (Pool* pool = instance.load(std::memory_order_acquire)) return *pool;
  std::lock_guard lock(instance_mutex);
  if (Pool* pool = instance.load(std::memory_order_acquire)) return *pool;
  static const bool registered = [] {
    pthread_atfork(nullptr, nullptr, after_fork);
    std::atexit(before_exit);
    return true;
  }();
  (void)registered;
  Pool* pool = new Pool;
  instance.store(pool, std::memory_order_release);
  return *pool;
}

Pool::Pool() {
  // Signals that are meant for the program go to its own threads.
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (; threads_ < thread_count() - 1; threads_++) std::thread([this] { help(); }).detach();
  } catch (const std::system_error& refused) {
    log(LogLevel::warn, "{} of {} helper threads: {}", threads_, thread_count() - 1, refused.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::list(Job& job) {
  if (threads_ == 0) return;
  {
    std::lock_guard lock(mutex_);
    job.is_listed_ = true;
    jobs_.push_back(&job);
    listed_.fetch_add(1, std::memory_order_relaxed);
  }
  has_jobs_.notify_all();
}

void Pool::wake() {
  {
    std::lock_guard lock(mutex_);
  }
  has_jobs_.notify_one();
  job_left_.notify_all();
}

bool Pool::leave(Job& job) {
  if (!job.is_listed_) return false;  // only the caller lists it
  const auto is_over = [&] { return job.helpers_.load(std::memory_order_relaxed) == 0 || job.has_work(); };
  spin_until(is_over);
  std::unique_lock lock(mutex_);
  job_left_.wait(lock, is_over);
  if (job.has_work()) return true;
  std::erase(jobs_, &job);
  return false;
}

// The next job that has work. The launches in execution take turns.
Job* Pool::pick() {
  for (size_t i = 0; i < jobs_.size(); i++) {
    Job* job = jobs_.front();
    jobs_.pop_front();
    jobs_.push_back(job);
    if (job->has_work()) return job;
  }
  return nullptr;
}

void Pool::help() {
  pthread_setname_np(pthread_self(), "morgana");
  std::unique_lock lock(mutex_);
  while (true) {
    Job* job = nullptr;
    has_jobs_.wait(lock, [&] { return !process_is_exiting() && (job = pick()) != nullptr; });
    job->helpers_++;
    lock.unlock();
    {
      Running scope;
      job->work();
    }
    lock.lock();
    if (--job->helpers_ == 0) job_left_.notify_all();
    if (std::any_of(jobs_.begin(), jobs_.end(), [](const Job* other) { return other->has_work(); })) continue;
    lock.unlock();
    // The next launch often follows at once.
    spin_until([&, seen = listed_.load(std::memory_order_relaxed)] {
      return listed_.load(std::memory_order_relaxed) != seen;
    });
    lock.lock();
  }
}

}  // namespace morgana::device
