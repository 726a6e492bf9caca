#include "device/observe/race_check.h"

#include <algorithm>
#include <utility>

#include "device/isa/barrier.h"
#include "device/isa/waits.h"
#include "device/observe/memory_order.h"

namespace morgana::device {

RaceCheck::GroupState& RaceCheck::state_of(const Group& group) {
  if (last_group_.first != &group) last_group_ = {&group, &groups_[&group]};
  return *last_group_.second;
}

void RaceCheck::knows(const std::shared_ptr<KernelAccesses>& code) {
  if (code->has_failed.load(std::memory_order_relaxed)) return;
  code_ = code;
  read_only_.begin(launch_, *code_);
  skips_lds_ = std::ranges::all_of(marks_, [](const auto& mark) { return (mark.second & kOrdersLds) != 0; });
}

// What was noted of the kernel's code does not hold, nor will it for later launches.
void RaceCheck::expect_nothing(const char* why) {
  read_only_.stop();
  look_at_all_lds();
  code_->has_failed.store(true, std::memory_order_relaxed);
  reporter_.host().unchecked(why);
}

void RaceCheck::look_at_all_lds() {
  skips_lds_ = false;
  std::ranges::fill(seen_.range, SeenRange{});
}

// Whether an access to LDS can meet none that it races with. Notes it for compiled code.
bool RaceCheck::is_quiet(const Wave& wave, const isa::Inst& inst, uint64_t pc) {
  if (!skips_lds_) return false;
  const auto at = static_cast<uint32_t>((pc - wave.code->address) / 4);
  if (!has_one_wave_ && (at >= code_->quiet_lds.size() || !code_->quiet_lds[at])) return false;
  seen_.range[SeenRanges::slot(at, inst.row->flags & (isa::kStore | isa::kAtomic))].begin =
      SeenRanges::quiet(at);
  return true;
}

void RaceCheck::group_begins(const Group& group, Wave* waves) {
  GroupState& state = state_of(group);
  state.is_running = true;
  rows_.launch().has_many_l2 = has_many_l2(*waves[0].target);
  state.first = waves;
  state.barriers = state.lds_barriers = 0;
  state.released.clear();
  state.lds_parts.clear();
  std::ranges::for_each(state.lds, RaceMarks::clear);
  state.lds.resize(group.lds_size / RaceMarks::kRowBytes + 1);
  RaceMarks::place(state.lds, state.lds_dwords);
  state.marks = {.launch = &rows_.launch(),
                 .rows = state.lds_dwords.data(),
                 .bytes = std::min(group.lds_size, lds_limit_)};
  state.marks.all_know(1);
  state.lds_bytes = group.lds_size;
  const uint64_t index = reporter_.items().index_of(group.id);
  for (uint32_t i = 0; i < std::max(group.wave_count, 1u); i++) {
    state.waves[i].begin(static_cast<uint32_t>(index * kGroupWaves + i + 1));
    state.waves[i].lds = &state.marks;
    waves[i].times = &state.waves[i];
  }
}

// All know what all have done, in the memory that the barrier orders.
void RaceCheck::barrier(const Group& group) {
  GroupState& state = state_of(group);
  if (skips_lds_) {
    const Step* next = nullptr;
    for (uint32_t i = 0; i < group.wave_count; i++) {
      const Wave& wave = state.first[i];
      if (wave.exit == Exit::ended) continue;
      if (next != nullptr && wave.step != next) look_at_all_lds();
      next = wave.step;
    }
  }
  uint8_t ordered = kOrdersAll;
  for (uint32_t i = 0; i < group.wave_count; i++) ordered &= orders(state.waves[i]);
  state.count_barrier(ordered);
  all_.clear();
  all_lds_.clear();
  for (uint32_t i = 0; i < group.wave_count; i++) {
    const WaveClock& wave = state.waves[i];
    for (const auto& [clock, known] :
         {std::pair{&all_, &wave.known}, std::pair{&all_lds_, &wave.known_lds}}) {
      clock->learn(*known);
      clock->learn(wave.number, wave.time);
    }
  }
  if (ordered & kOrdersLds) {
    state.marks.all_know(rows_.launch().count);
    forget_parts(state);
  }
  for (uint32_t i = 0; i < group.wave_count; i++) {
    WaveClock& wave = state.waves[i];
    if (ordered & kOrdersGlobal) wave.known = all_;
    if (ordered & kOrdersLds) wave.known_lds = all_lds_;
    wave.time++;
    if (ordered == kOrdersAll) wave.stores_since = wave.lds_since = 0;
  }
}

bool RaceCheck::is_running(uint32_t wave) const {
  return std::ranges::any_of(groups_, [wave](const auto& one) {
    return one.second.is_running && wave - one.second.waves[0].number < kGroupWaves;
  });
}

void RaceCheck::group_ends(const Group& group) {
  const uint32_t begin = state_of(group).waves[0].number;
  std::erase_if(doubts_, [&](Doubt& one) {
    if (one.wave - begin >= kGroupWaves) return false;
    reporter_.report(std::move(one.finding));
    return true;
  });
  open();
  std::ranges::for_each(state_of(group).lds, RaceMarks::clear);
  state_of(group).lds_parts.clear();
  state_of(group).is_running = false;
}

// The grid's barrier: who comes there tells all and is told by all. A wave that waits comes again, the last
// time when all have come.
void RaceCheck::meet(WaveClock& wave) {
  grid_.learn(wave.known);
  grid_.learn(wave.number, wave.time++);
  wave.known.learn(grid_);
}

// What the barrier orders that the wave has come to.
uint8_t RaceCheck::orders(WaveClock& wave) const {
  const uint64_t at = std::exchange(wave.mark, 0);
  const auto mark = at != 0 ? marks_.find(at) : marks_.end();
  return mark != marks_.end() ? mark->second : kOrdersAll;
}

// What the wave waits for and forgets.
void RaceCheck::follow(const Wave& wave, const isa::Inst& inst, WaveClock& clock) {
  const TargetInfo& target = *wave.target;
  const uint8_t waited = isa::waits_for(inst, target.generation), dropped = drops(inst, target);
  clock.waits(waited & isa::kWaitsForStores, waited & isa::kWaitsForLds);
  if (writes_back(inst)) clock.writes_back();
  if (dropped & kDropsOfOthers) clock.drops_of_others();
  if (dropped & kDropsOfGroup) clock.drops_of_group();
}

// What it has written, and when others may see it.
void RaceCheck::has_accessed(const TargetInfo& target, const isa::Inst& inst, const Access& access,
                             WaveClock& wave) {
  if (!access.writes) return;
  const isa::Format format = inst.row->format;
  // Up to gfx9 what waits for stores waits for loads, too, of which some go to LDS past the registers.
  const bool is_load = inst.lds || (access.is_atomic && has_result(inst));
  if (!inst.lds && (access.space == Space::lds || format == isa::Format::SMEM))
    wave.stores(wave.lds_since);
  else if (target.generation < Generation::gfx10 || !is_load)
    wave.stores(wave.stores_since);
  if (has_many_l2(target) && access.space == Space::global && !access.is_atomic && !inst.sc1)
    wave.stores(wave.dirty_since);
  // What comes later is not told.
  if (access.is_coherent) wave.time++;
}

// As long as all marks say what they stand for.
void RaceCheck::open() { rows_.launch().is_open = !by_lane_ && doubts_.empty() && !reporter_.wants_stop(); }

void RaceCheck::sweep() {
  std::vector<std::vector<Row>*> all_lds;
  std::vector<RaceParts*> all_parts{&parts_};
  for (auto& [group, state] : groups_) {
    all_lds.push_back(&state.lds);
    all_parts.push_back(&state.lds_parts);
    state.marks.known = 1;
    for (WaveClock& wave : state.waves) std::ranges::fill(wave.own, 0);
  }
  rows_.sweep(all_lds, all_parts);
}

void RaceCheck::before(const Moment& moment) {
  const Wave& wave = moment.wave;
  GroupState& group = state_of(*wave.group);
  current_ = &group.waves[wave.index];
  step_++;
  if (rows_.is_crowded()) sweep();
  if (is_barrier_mark(moment.inst)) current_->mark = moment.pc;
  // A wave that is alone does not wait.
  if (isa::is_group_barrier(moment.inst) && wave.group->waves_ended + 1 == wave.group->wave_count)
    group.count_barrier(orders(*current_));
  if (moment.inst.row->op == isa::Op::ds_gws_barrier) meet(*current_);
  swapped_now_.clear();
  follow(wave, moment.inst, *current_);
  for (const Access& access : moment.accesses) {
    if (access.space == Space::scratch) continue;
    if (access.space == Space::lds) {
      if (is_quiet(wave, moment.inst, moment.pc)) continue;
    } else if (!by_lane_ && reads_only(access)) {
      continue;
    }
    touch_all(moment, access, group);
    has_accessed(*wave.target, moment.inst, access, *current_);
  }
  open();
}

}  // namespace morgana::device
