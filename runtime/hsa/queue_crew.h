// QueueCrew: the threads of a user queue. One at a time is the command processor; while it executes a packet
// that others may overlap with, it hands that role to another, which takes the packets that follow.
//
// The first thread begins with the role, others are made when they are needed. Whoever has ended its packet
// and lost the role waits until it is handed on. Belongs to its queue, whose `serve` the threads call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace morgana::runtime {

class QueueCrew {
 public:
  // Packets of a queue in execution at one time, at most.
  static constexpr size_t kMost = 64;

  // `serve`: takes packets; returns when the calling thread has lost the role, or the queue stops.
  void start(std::function<void()> serve);
  bool is_started() const { return threads_ != nullptr; }
  // False in a process that was forked: it has no thread of the crew.
  bool is_of_this_process() const;

  // For the command processor. False: there is no further thread; it keeps the role.
  bool hand_over();
  // Whether the calling thread is the command processor.
  bool is_processor() const {
    return processor_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  // Waits for all threads, whose `serve` returns now. In a process that was forked: leaves them behind.
  void stop();

 private:
  void work();
  void add_thread();

  // What cannot be destroyed in a forked child: it waits for threads that are not there.
  struct Threads {
    std::mutex mutex;  // leaf
    std::condition_variable role_is_free;
    std::vector<std::thread> all;
  };

  std::function<void()> serve_;
  std::atomic<std::thread::id> processor_{};
  std::unique_ptr<Threads> threads_;  // null: not started
  // Under the mutex.
  bool is_free_ = false;  // nobody has the role
  bool stops_ = false;
  size_t idle_ = 0;  // threads that wait for the role
  int process_ = 0;  // the one that has the threads
};

}  // namespace morgana::runtime
