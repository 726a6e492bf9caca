#include "device/observe/barrier_check.h"

#include <algorithm>
#include <utility>

#include "device/isa/barrier.h"
#include "device/observe/memory_order.h"

namespace morgana::device {
namespace {

uint32_t first_lane(uint64_t lanes) { return lanes != 0 ? static_cast<uint32_t>(__builtin_ctzll(lanes)) : 0; }

}  // namespace

void BarrierCheck::group_begins(const Group& group, const Wave* waves) {
  GroupState& state = groups_[&group];
  state = {};
  state.first = waves;
  for (uint32_t i = 0; i < group.wave_count; i++) state.waves[i].lanes = waves[i].exec();
}

void BarrierCheck::report(const Wave& wave, uint64_t pc, uint32_t lane, const char* what, const Doer& other,
                          const char* why) {
  Finding finding;
  finding.kind = FindingKind::barrier_divergence;
  finding.detail = why;
  finding.sides.push_back(reporter_.side(wave, pc, lane, what));
  finding.sides.push_back(reporter_.side(wave, other));
  reporter_.report(std::move(finding));
}

void BarrierCheck::before(const Moment& moment) {
  const Wave& wave = moment.wave;
  WaveState& state = groups_[wave.group].waves[wave.index];
  const auto report_missing = [&](uint64_t back, std::string what, bool writes) {
    report(wave, state.pc, first_lane(state.lanes & ~state.missing),
           "barrier that a part of the wave came to",
           {moment.pc, reporter_.items().index_of(wave.group->id), wave.index, first_lane(back),
            std::move(what), writes},
           "work-items of the wave went past the barrier");
    state.missing = 0;
  };
  if (isa::is_group_barrier(moment.inst)) {
    if (const uint64_t back = wave.exec() & state.missing; back != 0)
      report_missing(back, "barrier that the others came to", false);
    state.pc = moment.pc;
    state.waits = true;
    state.missing = state.lanes & ~wave.exec();
    if (is_strict_ && state.missing != 0)
      report(wave, moment.pc, first_lane(wave.exec()), "barrier",
             {moment.pc, reporter_.items().index_of(wave.group->id), wave.index,
              first_lane(std::exchange(state.missing, 0)), "work-item that does not come to it"},
             "not all work-items of the wave come to the barrier");
    return;
  }
  // Where a work-item that skipped the barrier does something that others see. Work-items that have returned
  // never come back; registers are saved to scratch with all lanes on.
  if (state.missing == 0) return;
  const bool is_scalar = isa::is_scalar_memory(moment.inst.row->format);
  for (const Access& access : moment.accesses) {
    const uint64_t back = is_scalar || access.space == Space::scratch ? 0 : access.lanes & state.missing;
    if (back == 0) continue;
    report_missing(back, describe(access), access.writes);
  }
}

void BarrierCheck::barrier(const Group& group) {
  GroupState& state = groups_[&group];
  const uint64_t index = reporter_.items().index_of(group.id);
  const auto waiting = std::find_if(state.waves.begin(), state.waves.begin() + group.wave_count,
                                    [](const WaveState& wave) { return wave.waits; });
  if (waiting == state.waves.begin() + group.wave_count) return;
  const auto one = static_cast<uint32_t>(waiting - state.waves.begin());
  const Wave& wave = state.first[one];
  for (uint32_t i = 0; i < group.wave_count; i++) {
    const WaveState& other = state.waves[i];
    const uint64_t pc = other.waits ? other.pc : wave.code->pc(state.first[i].step);
    if (other.waits && other.pc == waiting->pc) continue;
    const Doer doer{pc, index, i, first_lane(other.lanes),
                    other.waits ? "wave at another barrier" : "wave that has ended"};
    report(wave, waiting->pc, first_lane(waiting->lanes), "barrier", doer,
           other.waits ? "waves of one work-group wait at different barriers"
                       : "waves of the work-group have ended without the barrier");
    break;
  }
  for (WaveState& one_of : state.waves) one_of.waits = false;
}

}  // namespace morgana::device
