// ReadOnly: allocations that a launch is not expected to store to, whose plain reads race with nothing and
// need no marks.
//
// Expected is what the kernel's stores follow: the allocations that its arguments point to which go into
// their addresses. Used by the thread that executes the launch.
#pragma once

#include <optional>
#include <vector>

#include "device/checks.h"
#include "device/device.h"
#include "device/kernel_accesses.h"
#include "device/seen_ranges.h"

namespace morgana::device {

class ReadOnly {
 public:
  explicit ReadOnly(CheckHost& host) : host_(host) {}
  void begin(const Launch& launch, const KernelAccesses& code);

  // The allocation that [begin, end) lies in, if there is one and it is one of those.
  std::optional<SeenRange> around(uint64_t begin, uint64_t end) {
    if (!is_expecting_) return std::nullopt;
    for (const SeenRange& one : unstored_)
      if (begin >= one.begin && end <= one.end) return one;
    return find(begin, end);
  }
  void stop() { is_expecting_ = false; }
  // Notes a store. False: it was not expected where `around` has said something.
  bool expects(uint64_t begin, uint64_t end) {
    if (!is_expecting_ || (begin >= last_stored_.begin && end <= last_stored_.end)) return true;
    return note_store(begin, end);
  }

 private:
  std::optional<SeenRange> find(uint64_t begin, uint64_t end);
  bool note_store(uint64_t begin, uint64_t end);

  CheckHost& host_;
  bool is_expecting_ = false;
  bool takes_more_ = true;                    // allocations into unstored_: what is stored to is known
  std::vector<SeenRange> unstored_, stored_;  // each ends before others begin
  SeenRange last_stored_, last_refused_;
};

}  // namespace morgana::device
