// DoorbellWatch: one thread that looks at the doorbells of all queues whose own threads sleep.
//
// Its naps grow with the time since a doorbell last rang. The first queue starts it; it lives until the
// process ends; a forked child has a new one, without the queues of its parent. Callable from any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/hsa/wake_hub.h"

namespace morgana::runtime {

class UserQueue;

class DoorbellWatch {
 public:
  static DoorbellWatch& get();
  void add(UserQueue& queue);
  void remove(UserQueue& queue);
  void look_now();
  // Whether any queue's is_to_see_zero says so.
  bool is_to_see_zero(uint64_t signal);

 private:
  static void after_fork();
  void serve();
  bool look();
  std::mutex mutex_;
  std::vector<UserQueue*> queues_;
  bool running_ = false;
  const DoorbellWatch* parents_ = nullptr;  // of the process that this one was forked from: never destroyed
  std::atomic<bool> asked_{false};
  WakeHub wake_;
};

}  // namespace morgana::runtime
