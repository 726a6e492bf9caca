// Recorder: where this process's recordings go (MORGANA_RECORD=DIR[:REGEX]), and which kernels it wants. Any
// thread.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <unordered_map>

#include "base/fork_safe.h"
#include "base/result.h"
#include "device/touched_pages.h"
#include "runtime/capsule.h"

namespace morgana::runtime {

class Recorder {
 public:
  static Recorder& get();

  bool is_wanted() const { return !folder_.empty(); }
  bool wants(const std::string& kernel);
  // Once: nothing more is recorded.
  void fail(const std::string& why);
  // Under `mutex`.
  Status write(const Capsule& capsule);

  // What a launch of this kernel, size and arguments (launch_key) touched last time, if it is remembered.
  // Nothing each eighth time: what is expected counts as touched, and would never be forgotten. Under
  // `mutex`.
  std::span<const device::TouchedPages::Run> expected(uint64_t launch_key);
  void remember(uint64_t launch_key, std::vector<device::TouchedPages::Run> runs);

  std::timed_mutex mutex;  // one dispatch at a time; new in a forked child, which does not record it
  std::atomic<bool> has_skipped{false}, has_overflown{false};

 private:
  Recorder();

  std::string folder_;  // empty: nobody asked, or it cannot be
  std::optional<std::regex> kernels_;
  std::atomic<bool> has_failed_{false};
  uint32_t number_ = 0;  // of the last file
  struct Touched {
    std::vector<device::TouchedPages::Run> runs;
    uint32_t launches = 0;
  };
  std::unordered_map<uint64_t, Touched> touched_;
  ForkSafe<std::mutex> names_mutex_;
  std::unordered_map<std::string, bool> matched_;  // by the beginning of a name; under names_mutex_
};

}  // namespace morgana::runtime
