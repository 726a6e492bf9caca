#include "base/own_records.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

namespace morgana {
namespace {

// A thread is in there most of the time; every child comes in, and finds nothing.
TEST(OwnRecords, AChildBeginsWithoutItsParents) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer does not follow locks that a fork handler takes";
#endif
  OwnRecords<std::vector<int>> records;
  std::atomic<bool> is_over{false};
  std::thread adds([&] {
    while (!is_over) records.with([](std::vector<int>& list) { list.resize(list.size() % 1000 + 1, 7); });
  });
  while (records.with([](std::vector<int>& list) { return list.empty(); })) std::this_thread::yield();
  for (int i = 0; i < 50; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const bool was_empty = records.with([](std::vector<int>& list) { return list.empty(); });
      records.with([](std::vector<int>& list) { list.push_back(1); });
      const bool has_own = records.with([](std::vector<int>& list) { return list.size() == 1; });
      _exit(was_empty && has_own ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "child " << i;
  }
  is_over = true;
  adds.join();
  EXPECT_FALSE(records.with([](std::vector<int>& list) { return list.empty(); }));
}

}  // namespace
}  // namespace morgana
