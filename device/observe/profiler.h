// Profiler: the Observer that counts; one launch's.
#pragma once

#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/interp/code.h"
#include "device/observe/observer.h"
#include "device/observe/reporter.h"
#include "device/profile.h"

namespace morgana::device {

class Profiler final : public Observer {
 public:
  // Both outlive it.
  Profiler(const Launch& launch, LaunchProfile& profile);
  void group_begins(const Group& group, Wave* waves) override;
  bool before(const Moment& moment) override;
  void barrier(const Group&) override {}
  void group_ends(const Group&) override {}
  Wants wants() const override { return Wants::counts; }
  uint64_t* counters(const CountedCode& code) override;
  void accesses(const Moment& moment) override;
  // Hands the counts over. The code is still loaded.
  void finish();

 private:
  struct Slot {
    const isa::Inst* inst;
    uint64_t pc;
    uint32_t lane_flop = 0, wave_flop = 0;
    InstructionCounts counts;
  };
  struct Region {
    Code code;
    Target target;
    std::vector<uint32_t> numbers;  // by dword: 1 + which slot; 0: not executed yet
    std::vector<Slot> slots;
  };
  Slot& slot(const Code& code, Target target, uint64_t pc, const isa::Inst& inst);
  Slot& slot(const Moment& moment) {
    return slot(*moment.wave.code, moment.wave.target->target, moment.pc, moment.inst);
  }
  void fold(const CountedCode& code, const std::vector<uint64_t>& counters);
  uint32_t items_of(const Wave& wave) const;
  static void count(const Access& access, const Slot& slot, Target target, InstructionCounts& counts);

  const Launch& launch_;
  LaunchProfile& profile_;
  const bool is_even_;
  std::vector<Region> regions_;
  size_t last_ = 0;  // the region of the last instruction
  std::unordered_map<const CountedCode*, std::vector<uint64_t>> counters_;
};

// What an instruction is, and the floating-point operations of a lane, or of a wave (matrix instructions).
InstructionKind kind_of(const isa::Inst& inst);
uint32_t lane_flop(const isa::Inst& inst);
uint32_t wave_flop(const isa::Inst& inst);

}  // namespace morgana::device
