// Queue: order, helpers, the queue's own thread, cancellation and the end, with host tasks.
#include "runtime/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace morgana::runtime {
namespace {

Agent& agent() { return *agents().front(); }

// Deletes itself when finished.
class Step final : public Task {
 public:
  explicit Step(std::function<void()> work, bool helped = true) : work_(std::move(work)), helped_(helped) {}
  void run() override { work_(); }
  bool allows_helper() const override { return helped_; }
  void finished(const device::Fault& fault) override {
    EXPECT_EQ(fault.kind, device::FaultKind::none);
    delete this;
  }

 private:
  std::function<void()> work_;
  bool helped_;
};

void wait_for(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

std::unique_ptr<Queue> make_queue(uint32_t size = 1024) {
  return Queue::create(agent(), device::Priority::normal, size).value();
}

TEST(Queue, ManyThreadsSubmitAndHelpAndEveryTaskRunsOnceInItsOrder) {
  constexpr int kThreads = 4, kTasks = 3000;
  auto queue = make_queue(64);
  std::atomic<int> running{0}, done{0};
  std::vector<int> last(kThreads, -1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::atomic<int> mine{0};
      for (int i = 0; i < kTasks; ++i) {
        auto work = [&, t, i] {
          EXPECT_EQ(running.fetch_add(1), 0);
          EXPECT_EQ(last[static_cast<size_t>(t)], i - 1);
          last[static_cast<size_t>(t)] = i;
          running.fetch_sub(1);
          done.fetch_add(1);
          mine.fetch_add(1);
        };
        queue->submit(new Step(work, i % 5 != 0), i % 2 == 0 ? Queue::Start::soon : Queue::Start::now);
        if (i % 7 == t) queue->help([&] { return mine.load() > i; });
        if (i % 11 == t) queue->flush();
      }
      wait_for([&] { return mine.load() == kTasks; });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done.load(), kThreads * kTasks);
}

TEST(Queue, TasksStartWithoutAnybodyWaiting) {
  auto queue = make_queue();
  for (int round = 0; round < 30; ++round) {
    std::atomic<bool> done{false};
    queue->submit(new Step([&] { done = true; }), Queue::Start::soon);
    wait_for([&] { return done.load(); });
    // Both when the queue's thread naps and when it sleeps.
    if (round % 10 == 9) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(Queue, AHelperStopsWhenItsConditionIsMetAndTheRestGoesOn) {
  auto queue = make_queue();
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> done{0};
    std::atomic<bool> late_helped{false};
    const std::thread::id me = std::this_thread::get_id();
    for (int i = 0; i < 8; ++i)
      queue->submit(new Step([&, i] {
                      if (i >= 3 && std::this_thread::get_id() == me) late_helped = true;
                      done.fetch_add(1);
                    }),
                    Queue::Start::soon);
    queue->help([&] { return done.load() >= 3; });
    EXPECT_FALSE(late_helped.load());
    wait_for([&] { return done.load() == 8; });
  }
}

TEST(Queue, WhatAllowsNoHelperRunsOnTheQueuesOwnThread) {
  auto queue = make_queue();
  std::atomic<bool> done{false}, own{false};
  const std::thread::id me = std::this_thread::get_id();
  queue->submit(new Step(
                    [&] {
                      own = std::this_thread::get_id() != me && queue->on_processor_thread();
                      done = true;
                    },
                    false),
                Queue::Start::soon);
  queue->help([&] { return done.load(); });
  wait_for([&] { return done.load(); });
  EXPECT_TRUE(own.load());
  EXPECT_FALSE(queue->on_processor_thread());
}

TEST(Queue, ATaskMaySubmitMoreThanTheRingHolds) {
  auto queue = make_queue(4);
  std::atomic<int> done{0};
  queue->submit(new Step([&] {
    for (int i = 0; i < 50; ++i) queue->submit(new Step([&] { done.fetch_add(1); }));
  }));
  wait_for([&] { return done.load() == 50; });
}

TEST(Queue, CancellingAnIdleQueueHarmsNothingThatFollows) {
  auto queue = make_queue();
  for (int i = 0; i < 3; ++i) {
    queue->cancel();
    std::atomic<bool> done{false};
    queue->submit(new Step([&] { done = true; }));
    wait_for([&] { return done.load(); });
  }
}

TEST(Queue, TheLastTaskMayDestroyTheQueueEvenOnAHelper) {
  for (int round = 0; round < 100; ++round) {
    auto queue = make_queue();
    Queue* raw = queue.get();
    std::atomic<int> done{0};
    std::atomic<bool> helped{round % 2 != 0};  // nobody is about to enter help() any more
    for (int i = 0; i < 20; ++i) raw->submit(new Step([&] { done.fetch_add(1); }), Queue::Start::soon);
    raw->submit(new Step([&] {
                  wait_for([&] { return helped.load(); });
                  queue.reset();
                  done.fetch_add(1);
                }),
                Queue::Start::soon);
    if (round % 2 == 0) {
      raw->help([&] {
        helped = true;
        return false;
      });
      helped = true;
    }
    wait_for([&] { return done.load() == 21; });
  }
}

}  // namespace
}  // namespace morgana::runtime
