// Counting: the Observer that profiles, begun anew for each run of a rig.
#pragma once

#include <optional>

#include "device/observe/profiler.h"

namespace morgana::device {

class Counting final : public Observer {
 public:
  void begin(const Launch& launch) {
    profile_ = {};
    profiler_.emplace(launch, profile_);
  }
  LaunchProfile finish() {
    profiler_->finish();
    return std::move(profile_);
  }

  void group_begins(const Group& group, Wave* waves) override {
    if (profiler_) profiler_->group_begins(group, waves);
  }
  bool before(const Moment& moment) override { return profiler_->before(moment); }
  void barrier(const Group&) override {}
  void group_ends(const Group&) override {}
  Wants wants() const override { return Wants::counts; }
  uint64_t* counters(const CountedCode& code) override { return profiler_->counters(code); }
  void accesses(const Moment& moment) override { profiler_->accesses(moment); }

 private:
  LaunchProfile profile_;
  std::optional<Profiler> profiler_;
};

}  // namespace morgana::device
