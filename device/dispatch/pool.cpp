#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "base/options.h"
#include "base/processors.h"
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
  forget_queues();
}

void before_exit() {
  exiting.store(true);
  // Guest code stops at its next yield. A thread that calls exit from inside a launch (a signal handler)
  // waits in vain.
  for (int i = 0; i < 200 && running.load() > 0; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// How long a helper stays in one of several launches, in microseconds.
constexpr uint64_t kStayUs = 1'000;
// How often the queue of a launch that waits for its last groups looks whether the next packet may begin.
constexpr std::chrono::microseconds kLookForNext{200};

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
    for (; threads_ < thread_count() - 1; threads_++)
      std::thread([this, home = static_cast<uint32_t>(threads_) + 1] { help(home); }).detach();
  } catch (const std::system_error& refused) {
    log(LogLevel::warn, "{} of {} helper threads: {}", threads_, thread_count() - 1, refused.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::list(Job& job) {
  if (threads_ == 0) return;
  const QueueShare* const share = job.plan_.launch.share;
  {
    std::lock_guard lock(mutex_);
    job.is_listed_ = true;
    UnitMask& free = job.free_units_.emplace();
    if (share != nullptr && share->is_limited())
      free = share->units();
    else
      for (int i = 0; i < thread_count(); i++) free.set(static_cast<size_t>(i));
    free.reset(job.caller_unit_);
    jobs_.push_back(&job);
    open_[level(job)]++;
    callers_[level(job)]++;
    listed_.fetch_add(1, std::memory_order_relaxed);
  }
  has_jobs_.notify_all();
}

int Pool::sum_from(const Counts& counts, size_t priority) {
  int sum = 0;
  for (; priority < kPriorities; priority++) sum += counts[priority].load(std::memory_order_relaxed);
  return sum;
}

// The threads at work on launches of this priority and above.
int Pool::threads_for(Priority priority) const {
  const auto from = static_cast<size_t>(priority);
  return sum_from(callers_, from) + sum_from(helpers_, from);
}

// Whether work-groups that go before those of this priority wait for a thread. The mutex is held.
bool Pool::has_waiting(Priority above) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [above](const Job* job) {
    return job->priority_ > above && job->has_work() && job->free_units_->any();
  });
}

// Whether queues of higher priorities and their helpers are as many as there are compute units.
bool Pool::is_filled_from_above(Priority priority) const {
  const auto queues = static_cast<int>(superior_queues(priority));
  return queues + sum_from(helpers_, static_cast<size_t>(priority) + 1) >= thread_count();
}

bool Pool::leaves_no_room(Priority priority) {
  if (superior_queues(priority) == 0) return false;
  if (is_filled_from_above(priority)) return true;
  if (sum_from(open_, static_cast<size_t>(priority) + 1) == 0) return false;
  std::lock_guard lock(mutex_);
  return has_waiting(priority);
}

bool Pool::wants_back(const Job& job, uint64_t since) {
  if (superior_queues(job.priority_) != 0 && is_filled_from_above(job.priority_)) return true;
  if (sum_from(open_, 0) <= 1) return false;
  if (threads_for(job.priority_) > thread_count() || ticks() - since > ticks_of_us(kStayUs)) return true;
  if (superior_queues(job.priority_) == 0) return false;
  std::lock_guard lock(mutex_);
  return has_waiting(job.priority_);
}

void look_for_work() {
  if (Pool* pool = instance.load(std::memory_order_acquire)) pool->look_again();
}

void Pool::look_again() {
  if (sum_from(open_, 0) == 0) return;
  {
    std::lock_guard lock(mutex_);
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
  // Asked once and kept: a helper may take what there was between two questions, and is in the job still.
  bool has_more = job.has_work();
  const auto helpers_work = [&] { return !has_more && job.helpers_.load(std::memory_order_relaxed) != 0; };
  if (helpers_work()) {
    callers_[level(job)]--;
    if (sum_from(open_, 0) > 1) has_jobs_.notify_one();
    do {
      lock.unlock();
      const bool asks_again = job.tell_all_begun();
      lock.lock();
      if (!asks_again)
        job_left_.wait(lock, is_over);
      else
        job_left_.wait_for(lock, kLookForNext, is_over);
      has_more = job.has_work();
    } while (helpers_work());
    callers_[level(job)]++;
  }
  if (has_more) return true;
  std::erase(jobs_, &job);
  open_[level(job)]--;
  callers_[level(job)]--;
  if (!jobs_.empty()) has_jobs_.notify_one();
  return false;
}

// The compute unit for one more thread in the job.
bool Pool::find_unit(const Job& job, uint32_t home, uint32_t& unit) {
  const UnitMask& free = *job.free_units_;
  unit = free[home] ? home : static_cast<uint32_t>(free._Find_first());
  return unit < kMaxUnits;
}

// The next job that has work for one more thread, of the highest priority. Launches of one priority take
// turns.
bool Pool::pick(uint32_t home, Place& place) {
  auto best = jobs_.end();
  for (auto i = jobs_.begin(); i != jobs_.end(); ++i) {
    const Job& job = **i;
    if (best != jobs_.end() && (*best)->priority_ >= job.priority_) continue;
    uint32_t unit;
    if (!job.has_work() || threads_for(job.priority_) >= thread_count() ||
        is_filled_from_above(job.priority_) || has_waiting(job.priority_) || !find_unit(job, home, unit))
      continue;
    best = i;
    place = {*i, unit};
  }
  if (best == jobs_.end()) return false;
  jobs_.erase(best);
  jobs_.push_back(place.job);
  return true;
}

void Pool::help(uint32_t home) {
  pthread_setname_np(pthread_self(), "morgana");
  std::unique_lock lock(mutex_);
  while (true) {
    Place place;
    has_jobs_.wait(lock, [&] { return !process_is_exiting() && pick(home, place); });
    Job& job = *place.job;
    job.helpers_++;
    job.free_units_->reset(place.unit);
    helpers_[level(job)]++;
    lock.unlock();
    {
      Running scope;
      job.help(place.unit);
    }
    lock.lock();
    helpers_[level(job)]--;
    job.free_units_->set(place.unit);
    if (--job.helpers_ == 0) job_left_.notify_all();
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
