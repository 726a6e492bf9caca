// InitCheck: values that nobody has written decide where the kernel goes, which memory it touches, or what
// others see.
//
// Every bit of registers, LDS and scratch has a shadow: open, until something is written there. What is
// computed of open bits is open, too, as exactly as rules.def says what instructions compute; of functions
// that are not written down the result is open where a whole operand is. Copies say nothing: registers of
// callers are saved, padding is copied, lanes that a branch left out are merged.
#pragma once

#include <unordered_map>
#include <vector>

#include "device/observe/reporter.h"

namespace morgana::device {

inline constexpr uint32_t kAllBits = ~uint32_t{0};  // the bits of a register

// What is open, a bit each.
struct OpenWave {
  std::vector<uint32_t> vector;  // by register, AccVGPRs as they lie behind the VGPRs, and lane
  std::array<uint32_t, isa::kRegisterEnd + 2> scalar{};
  std::vector<uint8_t> scratch;  // by byte and lane
  bool scc = false;
  bool is_indexed = false;  // vector operands are not those that instructions name
};
struct OpenGroup {
  std::vector<OpenWave> waves;
  std::vector<uint8_t> lds;
};

class InitCheck {
 public:
  InitCheck(const Launch& launch, Reporter& reporter) : launch_(launch), reporter_(reporter) {}
  void group_begins(const Group& group, const Wave* waves);
  void before(const Moment& moment);
  void group_ends(const Group& group) { groups_.erase(&group); }

 private:
  const Launch& launch_;
  Reporter& reporter_;
  std::unordered_map<const Group*, OpenGroup> groups_;
};

}  // namespace morgana::device
