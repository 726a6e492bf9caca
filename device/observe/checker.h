// Checker: the Observer that makes findings; one launch's.
#pragma once

#include <memory>
#include <optional>

#include "device/observe/barrier_check.h"
#include "device/observe/hazard_check.h"
#include "device/observe/init_check.h"
#include "device/observe/memory_check.h"
#include "device/observe/race_check.h"

namespace morgana::device {

class Checker final : public Observer {
 public:
  // `launch` and its check host outlive it.
  explicit Checker(const Launch& launch);
  void group_begins(const Group& group, Wave* waves) override;
  bool before(const Moment& moment) override;
  void before_end(const Moment& moment) override;
  bool passes(const Wave& wave, const isa::Inst& inst, uint64_t pc, const Neighbours& lanes) override;
  void barrier(const Group& group) override;
  void group_ends(const Group& group) override;
  Wants wants() const override;
  bool bounds_lds() const override { return memory_.has_value(); }
  bool wants_written() const override { return init_.has_value() && !interprets(); }
  void knows(const std::shared_ptr<const WrittenRegisters>& written) override { init_->knows(written); }
  bool looks_at_barriers() const override { return barrier_.has_value(); }
  bool looks_at_loads() const override { return init_ && init_->looks_at_loads(); }
  uint64_t* followed(const Wave& wave) override { return init_->followed(wave); }
  bool reads_unwritten(const Wave& wave, std::span<const Access> accesses) override {
    return init_->reads_unwritten(wave, accesses);
  }
  void loaded_unwritten(const Wave& wave, const isa::Inst& inst) override {
    init_->loaded_unwritten(wave, inst);
  }
  bool wants_code() const override { return race_.has_value() && !race_->is_by_lane(); }
  void knows(const std::shared_ptr<KernelAccesses>& code) override { race_->knows(code); }
  SeenRanges* seen() override { return race_ ? &race_->seen() : memory_ ? &memory_->seen() : nullptr; }
  bool allows(const isa::Inst& inst, std::span<const Access> accesses, uint32_t slot) override;

 private:
  // Whether one of them sees to it that no code is compiled.
  bool interprets() const {
    return hazard_ || (race_ && race_->is_by_lane()) || (memory_ && memory_->wants_aligned()) ||
           (init_ && init_->sees_parts());
  }

  Reporter reporter_;
  std::optional<MemoryCheck> memory_;
  std::optional<RaceCheck> race_;
  std::optional<BarrierCheck> barrier_;
  std::optional<InitCheck> init_;
  std::optional<HazardCheck> hazard_;
};

}  // namespace morgana::device
