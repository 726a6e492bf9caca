#include "base/fork_safe.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace morgana {
namespace {

// Forks so many children, one after the other, that do `in_child`.
template <class InChild>
void expect_children_end(int children, const InChild& in_child) {
  for (int i = 0; i < children; i++) {
    const pid_t child = fork();
    if (child == 0) {
      in_child();
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "child " << i;
  }
}

// Threads hold the locks most of the time; every child finds them free.
TEST(ForkSafe, LocksAreFreeInAChild) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer does not follow locks that a fork handler takes";
#endif
  ForkSafe<std::mutex> mutex;
  ForkSafe<std::shared_mutex> shared;
  std::atomic<bool> is_over{false};
  const auto keep = [&](auto& lock) {
    while (!is_over) {
      {
        std::scoped_lock held(lock);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  };
  std::thread holder([&] { keep(mutex); }), other([&] { keep(shared); });
  expect_children_end(50, [&] {
    alarm(20);
    std::scoped_lock both(mutex, shared);
  });
  is_over = true;
  holder.join();
  other.join();
}

// A fork meets only locks that are whole.
TEST(ForkSafe, LocksComeAndGoWhileOthersFork) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer does not follow locks that a fork handler takes";
#endif
  std::atomic<bool> is_over{false};
  const auto make_locks = [&] {
    while (!is_over) {
      const ForkSafe<std::mutex> lock;
    }
  };
  std::thread one(make_locks), other(make_locks);
  expect_children_end(300, [] {});
  is_over = true;
  one.join();
  other.join();
}

}  // namespace
}  // namespace morgana
