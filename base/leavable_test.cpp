#include "base/leavable.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>

namespace morgana {
namespace {

// A library whose destructor takes the lock of its functions.
struct Library {
  std::mutex mutex;
  ~Library() { mutex.lock(); }
};
Library& library() {
  static Library made;
  return made;
}

int status_of(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status);
}

TEST(Leavable, AChildThatIsForkedMeanwhileEnds) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer ends a child of a process with threads that begins a thread itself";
#endif
  std::promise<void> is_inside, may_end;
  library();
  std::thread other([&] {
    const auto why = leavable([&] {
      std::lock_guard lock(library().mutex);
      is_inside.set_value();
      may_end.get_future().wait();
    });
    EXPECT_FALSE(why);
  });
  is_inside.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::exit(3);
  }
  EXPECT_EQ(status_of(child), 3);
  may_end.set_value();
  other.join();
}

TEST(Leavable, AProcessEndsWhoseLibraryWasLeft) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::thread([] {
      leavable([] {
        library().mutex.lock();
        leave("in the middle");
      });
    }).join();
    std::exit(4);
  }
  EXPECT_EQ(status_of(child), 4);
}

}  // namespace
}  // namespace morgana
