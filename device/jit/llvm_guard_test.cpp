#include "device/jit/llvm_guard.h"

#include <gtest/gtest.h>
#include <llvm/ADT/APInt.h>
#include <llvm/Support/ErrorHandling.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/leavable.h"

namespace morgana::device::jit {
namespace {

constexpr double kShort = 0.05;  // seconds

// Allocates in every round, as LLVM's back end would.
void never_end() {
  llvm::APInt number(4096, 3);
  while (number != 0) {
    number = number.udiv(llvm::APInt(4096, 7)) + 1;
    number = number * number + 5;
  }
}

TEST(LlvmGuard, WorkIsDone) {
  bool done = false;
  EXPECT_EQ(within_limits(kShort, [&] { done = true; }), std::nullopt);
  EXPECT_TRUE(done);
}

TEST(LlvmGuard, WhatDoesNotEndIsLeft) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  for (int round = 0; round < 3; round++)
    EXPECT_EQ(within_limits(kShort, never_end), "it did not end in time");
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal <= SIGRTMAX; signal++)
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  // What was left does not come back later.
  EXPECT_EQ(within_limits(10, [] { (void)llvm::APInt(4096, 3).udiv(llvm::APInt(4096, 7)); }), std::nullopt);
}

TEST(LlvmGuard, AFatalErrorIsOne) {
  for (int round = 0; round < 3; round++)
    EXPECT_EQ(within_limits(kShort, [] { llvm::report_fatal_error("cannot select"); }), "cannot select");
}

TEST(LlvmGuard, AnExceptionGoesThrough) {
  EXPECT_THROW(within_limits(kShort, [] { throw 1; }), int);
  EXPECT_FALSE(may_leave());
}

TEST(LlvmGuard, TheProgramsSignalsAreItsOwn) {
  // Blocked on all threads and waited for, which the guard takes for not used.
  sigset_t all, before;
  sigemptyset(&all);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) sigaddset(&all, signal);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const auto why = within_limits(10, [] {
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) kill(getpid(), signal);
    (void)llvm::APInt(4096, 3).udiv(llvm::APInt(4096, 7));
  });
  EXPECT_EQ(why, std::nullopt);
  const timespec at_once{};
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) {
    siginfo_t info{};
    EXPECT_GT(sigtimedwait(&all, &info, &at_once), 0) << signal;
    EXPECT_EQ(info.si_pid, getpid());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// At the end of the process threads leave LLVM at once, and stay outside.
TEST(LlvmGuardDeathTest, ClosedLlvmIsLeft) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::atomic<int> inside{0};
        std::vector<std::thread> threads;
        bool was_told[3] = {};
        for (bool& told : was_told)
          threads.emplace_back([&] {
            told = within_limits(600, [&] {
                     inside++;
                     never_end();
                   }) == "the process ends";
          });
        while (inside < 3) std::this_thread::yield();
        close_llvm();
        for (std::thread& thread : threads) thread.join();
        bool entered = false;
        const auto why = within_limits(600, [&] { entered = true; });
        std::_Exit(was_told[0] && was_told[1] && was_told[2] && why && !entered ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

// Each thread by its own time, with all signals blocked as the pool's threads have them.
TEST(LlvmGuard, ThreadsAreLeftOneByOne) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++)
    threads.emplace_back([t] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
      for (int round = 0; round < 4; round++) {
        if (t % 2)
          EXPECT_EQ(within_limits(kShort, never_end), "it did not end in time");
        else
          EXPECT_EQ(within_limits(10, [] { (void)llvm::APInt(4096, 3).udiv(llvm::APInt(4096, 7)); }),
                    std::nullopt);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace morgana::device::jit
