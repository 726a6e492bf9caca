// OwnRecords: what a process has recorded of itself until it writes it, under a lock. Any thread.
//
// A forked child has a copy of its parent's records, which are not its to write: it begins without any. The
// lock is free in it, whatever the parent's other threads were doing.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "base/fork_safe.h"

namespace morgana {

template <typename Records>
class OwnRecords {
 public:
  // Calls `use` with the records of the calling process, and returns what it does.
  template <typename Use>
  decltype(auto) with(const Use& use) {
    std::lock_guard lock(mutex_);
    if (const pid_t process = getpid(); owner_ != process) {
      owner_ = process;
      records_ = Records{};
    }
    return use(records_);
  }

 private:
  ForkSafe<std::mutex> mutex_;
  pid_t owner_ = getpid();
  Records records_;
};

}  // namespace morgana
