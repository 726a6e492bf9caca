#include "device/observe/checker.h"

namespace morgana::device {

Checker::Checker(const Launch& launch) : reporter_(launch, *launch.checks) {
  const auto wants = [wanted = launch.checks->checks()](Check check) {
    return (wanted & static_cast<CheckBits>(check)) != 0;
  };
  if (wants(Check::memory)) memory_.emplace(launch, reporter_, wants(Check::aligned));
  if (wants(Check::race)) race_.emplace(launch, reporter_);
  if (race_ && memory_) race_->bound_lds(launch.group_bytes);
  if (wants(Check::barrier)) barrier_.emplace(reporter_, wants(Check::strict));
  if (wants(Check::init)) init_.emplace(launch, reporter_);
  if (wants(Check::hazard)) hazard_.emplace(reporter_);
}

void Checker::group_begins(const Group& group, Wave* waves) {
  if (race_) race_->group_begins(group, waves);
  if (barrier_) barrier_->group_begins(group, waves);
  if (init_) init_->group_begins(group, waves);
  if (hazard_) hazard_->group_begins(group, waves);
}

bool Checker::before(const Moment& moment) {
  if (memory_) memory_->before(moment);
  if (race_) race_->before(moment);
  if (barrier_) barrier_->before(moment);
  if (init_) init_->before(moment);
  if (hazard_) hazard_->before(moment);
  return !reporter_.wants_stop();
}

void Checker::before_end(const Moment& moment) {
  if (hazard_ && !reporter_.wants_stop()) hazard_->before(moment);
}

// Where `wants` says accesses: no other check looks, but for that of memory.
bool Checker::passes(const Wave& wave, const isa::Inst& inst, uint64_t pc, const Neighbours& lanes) {
  if (!race_ || reporter_.wants_stop()) return false;
  if (memory_ && !memory_->allows(wave, lanes)) return false;
  return race_->reads_only(wave, inst, pc, lanes) || race_->passes(wave, inst, pc, lanes);
}

void Checker::barrier(const Group& group) {
  if (race_) race_->barrier(group);
  if (barrier_) barrier_->barrier(group);
}

void Checker::group_ends(const Group& group) {
  if (race_) race_->group_ends(group);
  if (barrier_) barrier_->group_ends(group);
  if (init_) init_->group_ends(group);
  if (hazard_) hazard_->group_ends(group);
}

Observer::Wants Checker::wants() const {
  if (interprets()) return Wants::all;
  if (init_ && !init_->looks_at_loads()) return Wants::all;
  return race_ ? Wants::accesses : memory_ ? Wants::unseen : init_ || barrier_ ? Wants::nothing : Wants::all;
}

bool Checker::allows(const isa::Inst& inst, std::span<const Access> accesses, uint32_t slot) {
  return memory_->allows(inst, accesses, slot);
}

}  // namespace morgana::device
