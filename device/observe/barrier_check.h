// BarrierCheck: the waves of a group that go on together came from different barriers, or some have ended
// without one; lanes that a barrier left out go on behind it.
#pragma once

#include <unordered_map>

#include "device/observe/reporter.h"

namespace morgana::device {

class BarrierCheck {
 public:
  // `is_strict`: also lanes that do nothing behind a barrier that they do not come to.
  BarrierCheck(Reporter& reporter, bool is_strict) : reporter_(reporter), is_strict_(is_strict) {}
  void group_begins(const Group& group, const Wave* waves);
  void before(const Moment& moment);
  void barrier(const Group& group);
  void group_ends(const Group& group) { groups_.erase(&group); }

 private:
  struct WaveState {
    uint64_t pc = 0;       // of the barrier that it came to last
    uint64_t lanes = 0;    // that it began with
    uint64_t missing = 0;  // of them, those that its last barrier left out
    bool waits = false;
  };
  struct GroupState {
    std::array<WaveState, kMaxWaves> waves;
    const Wave* first = nullptr;
  };
  void report(const Wave& wave, uint64_t pc, uint32_t lane, const char* what, const Doer& other,
              const char* why);

  Reporter& reporter_;
  const bool is_strict_;
  std::unordered_map<const Group*, GroupState> groups_;
};

}  // namespace morgana::device
