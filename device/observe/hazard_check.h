// HazardCheck: what hardware demands between instructions and does not look for itself: waits for memory
// (wait_check.h), wait states (hazards.def), and that VCCZ is what VCC says.
//
// It follows the instructions that a wave executes, so that distances are exact whatever was jumped over.
#pragma once

#include <unordered_map>
#include <vector>

#include "device/observe/hazard_rows.h"
#include "device/observe/wait_check.h"

namespace morgana::device {

class HazardCheck {
 public:
  explicit HazardCheck(Reporter& reporter);
  void group_begins(const Group& group, const Wave* waves);
  void before(const Moment& moment);
  void group_ends(const Group& group);

 private:
  // An instruction that was executed.
  struct Entry {
    const isa::Inst* inst = nullptr;
    uint64_t pc = 0, events = 0;
    uint64_t end = 0;  // in wait states since the wave began
    UsedRegisters used;
  };
  static constexpr size_t kRemembered = 24;  // more than any row asks for
  struct WaveState {
    std::array<Entry, kRemembered> entries;
    uint64_t count = 0, time = 0;
    uint64_t stale_vccz = 0;  // the instruction since which VCCZ may be wrong
    // i = 0: the last one. Null: there is none.
    const Entry* back(size_t i) const {
      return i < count && i < kRemembered ? &entries[(count - 1 - i) % kRemembered] : nullptr;
    }
  };

  void look_at(const Moment& moment, const HazardRow& row, const Entry& now, const WaveState& state);
  bool look_for(const Moment& moment, const HazardRow& row, uint32_t code, const Entry& now,
                const WaveState& state);
  void report(const Moment& moment, const HazardRow& row, RegisterRange range, const Entry& before,
              uint64_t found, uint64_t needed);
  void follow_vccz(const Moment& moment, const UsedRegisters& used, WaveState& state);

  Reporter& reporter_;
  const TargetInfo* target_ = nullptr;
  std::vector<HazardRow> rows_;
  WaitCheck waits_;
  std::unordered_map<const Group*, std::vector<WaveState>> groups_;
};

}  // namespace morgana::device
