// Reporter: makes Findings of one launch, each pair of instructions once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "device/device.h"
#include "device/interp/code.h"
#include "device/observe/observer.h"

namespace morgana::device {

// The work-items of a launch by number.
class Items {
 public:
  explicit Items(const Launch& launch);
  // Of a work-group's id: its place in the grid.
  uint64_t index_of(const std::array<uint32_t, 3>& group) const {
    return group[0] + groups_[0] * (group[1] + groups_[1] * uint64_t{group[2]});
  }
  std::array<uint32_t, 3> group_of(uint64_t index) const;
  std::array<uint32_t, 3> item_of(const std::array<uint32_t, 3>& group, uint32_t wave, uint32_t lane) const;

 private:
  std::array<uint32_t, 3> grid_, group_;
  uint32_t wave_lanes_;
  std::array<uint64_t, 3> groups_{};
};

// The bytes of a launch's arguments, hidden ones with them: descriptors of old code objects say less.
inline uint64_t argument_bytes(const Launch& launch) {
  return std::max<uint64_t>(launch.descriptor->kernarg_size, 256);
}

// Who did something: the wave's work-group by its index.
struct Doer {
  uint64_t pc = 0, group = 0;
  uint32_t wave = 0, lane = 0;
  std::string what;
  bool writes = false;
};

class Reporter {
 public:
  Reporter(const Launch& launch, CheckHost& host) : items_(launch), host_(host) {}

  // Whether that was not reported yet by this launch.
  bool is_new(FindingKind kind, uint64_t pc, uint64_t other = 0) const {
    return !known_.contains({kind, pc, other});
  }
  FindingSide side(const Wave& wave, const Doer& doer) const;
  // The same of the wave itself, at `pc`.
  FindingSide side(const Wave& wave, uint64_t pc, uint32_t lane, std::string what,
                   bool writes = false) const {
    return side(wave, {pc, items_.index_of(wave.group->id), wave.index, lane, std::move(what), writes});
  }
  void report(Finding finding);
  // To be called by what one instruction leads to.
  bool wants_stop() const { return stop_; }
  const Items& items() const { return items_; }
  CheckHost& host() const { return host_; }

 private:
  Items items_;
  CheckHost& host_;
  std::set<std::tuple<FindingKind, uint64_t, uint64_t>> known_;
  bool stop_ = false;
};

// "write of 4 bytes".
std::string describe(const Access& access);

}  // namespace morgana::device
