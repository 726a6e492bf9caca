#include "runtime/hsa/doorbell_watch.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "runtime/hsa/user_queue.h"

namespace morgana::runtime {
namespace {

// How long to nap after so much silence (both in ns).
uint64_t nap_after(uint64_t silence) {
  if (silence < 1'000'000) return 20'000;
  if (silence < 20'000'000) return 100'000;
  if (silence < 1'000'000'000) return 500'000;
  return 1'000'000;
}

constexpr uint64_t kNoQueues = 1'000'000'000;

std::atomic<DoorbellWatch*> instance{nullptr};

}  // namespace

// Its thread is not in the child, and may have held the mutex.
void DoorbellWatch::after_fork() {
  auto* watch = new DoorbellWatch;
  watch->parents_ = instance.exchange(watch);
}

DoorbellWatch& DoorbellWatch::get() {
  static const bool made = [] {
    instance.store(new DoorbellWatch);  // outlives every static destructor
    pthread_atfork(nullptr, nullptr, after_fork);
    return true;
  }();
  static_cast<void>(made);
  return *instance.load(std::memory_order_acquire);
}

void DoorbellWatch::add(UserQueue& queue) {
  std::lock_guard lock(mutex_);
  queues_.push_back(&queue);
  if (running_) return look_now();
  running_ = true;
  std::thread thread([this] { serve(); });
  pthread_setname_np(thread.native_handle(), "morgana-bells");
  thread.detach();
}

void DoorbellWatch::remove(UserQueue& queue) {
  std::lock_guard lock(mutex_);
  std::erase(queues_, &queue);
}

void DoorbellWatch::look_now() {
  asked_.store(true, std::memory_order_relaxed);
  wake_.notify();
}

bool DoorbellWatch::is_to_see_zero(uint64_t signal) {
  std::lock_guard lock(mutex_);
  return std::any_of(queues_.begin(), queues_.end(), [signal](const UserQueue* queue) {
    return !queue->is_deaf() && queue->is_to_see_zero(signal);
  });
}

// Wakes the queues whose doorbells rang. True: there was one.
bool DoorbellWatch::look() {
  bool any = false;
  std::lock_guard lock(mutex_);
  for (UserQueue* queue : queues_) {
    if (queue->state_.load() != UserQueue::State::parked || queue->is_deaf()) continue;
    if (queue->doorbell() == queue->seen_doorbell_.load(std::memory_order_relaxed)) continue;
    queue->unpark();
    any = true;
  }
  return any;
}

void DoorbellWatch::serve() {
  prctl(PR_SET_TIMERSLACK, 1'000);  // naps of 20 us would otherwise last 70
  uint64_t last = now_ns();
  while (true) {
    const uint32_t ticket = wake_.ticket();
    if (look() || asked_.exchange(false, std::memory_order_relaxed)) last = now_ns();
    bool none;
    {
      std::lock_guard lock(mutex_);
      none = queues_.empty();
    }
    wake_.sleep(ticket, none ? kNoQueues : nap_after(now_ns() - last));
  }
}

}  // namespace morgana::runtime
