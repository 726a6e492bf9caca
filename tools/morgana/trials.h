// Trials: replays of capsules in children of this process, and what they show. Single-threaded.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/capsule.h"

namespace morgana::tools {

// What a replay showed: by these a finding is known again.
struct Shown {
  std::string kind;
  std::vector<uint64_t> pcs;  // of each side
  // Or offset in LDS or scratch. Without it another mistake, which zeros have made, would do as well.
  std::string address;
  std::array<uint32_t, 3> work_item{};  // of the first side
  bool operator==(const Shown&) const = default;
};

// This process must not have placed a capsule's memory.
class Trials {
 public:
  // `findings`: a file to which MORGANA_CHECK_REPORT leads the children.
  explicit Trials(int findings) : findings_(findings) {}

  // All that a replay of it shows, the first first; nothing also when it does not end. With `to`, it becomes
  // a file with its result. io: addresses of its memory are not free here.
  Result<std::vector<Shown>> observe(const runtime::Capsule& capsule, const std::string& to = "");
  // No more of them are worth their time.
  bool is_over() const;
  size_t replays() const { return replays_; }

 private:
  int run(const runtime::Capsule& capsule, const std::string& to, int result) const;
  Result<std::vector<Shown>> read_findings() const;

  const int findings_;
  size_t replays_ = 0;
  unsigned limit_ = 0;  // seconds; 0: none
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace morgana::tools
