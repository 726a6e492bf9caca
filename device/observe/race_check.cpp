#include "device/observe/race_check.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "device/guest_access.h"
#include "device/observe/memory_order.h"

namespace morgana::device {
namespace {

using std::string_literals::operator""s;

// Rows of a launch: 256 bytes of memory each, for which sixteen times as much is kept.
constexpr size_t kMostRows = 400'000;
// Waves that an atomic's clock knows.
constexpr size_t kMostKnown = 4096;

bool has_result(const isa::Inst& inst) { return inst.n_dst > 0 && inst.dst[0].present(); }

// The dword of the lane, `at` registers behind the operand's first.
uint32_t dword_of(const Wave& wave, const isa::Operand& operand, uint64_t at, uint32_t lane) {
  return operand.is_agpr() ? wave.a[(operand.code - isa::kAgprBase + at) * kLanes + lane]
                           : wave.v[(operand.code - isa::kVgprBase + at) * kLanes + lane];
}

// What a store takes from its register for the dword that lies `offset` bytes behind its first.
uint32_t value_of(const Moment& moment, const Access& access, uint32_t lane, uint64_t offset) {
  if (access.data < 0) return 0;
  const isa::Operand& data = moment.inst.src[static_cast<size_t>(access.data)];
  if (!data.present() || data.is_scalar()) return 0;
  const uint64_t place = access.first + offset / 4, at = place < data.dwords ? place : 0;
  const uint32_t dword = dword_of(moment.wave, data, at, lane);
  if (access.bytes >= 4) return dword;
  const bool is_upper = std::string_view(moment.inst.row->mnemonic).ends_with("_d16_hi");
  return (is_upper ? dword >> 16 : dword) & ((1u << 8 * access.bytes) - 1);
}

// What memory holds now. False where it cannot be read.
bool read_bytes(const Moment& moment, const Access& access, uint64_t address, size_t bytes, void* out) {
  const Group& group = *moment.wave.group;
  if (access.space != Space::lds) return read_guest(out, address, bytes);
  if (address + bytes > group.lds_size) return false;
  std::memcpy(out, group.lds + address, bytes);
  return true;
}

// Whether the lane's store leaves memory as it is.
bool changes_nothing(const Moment& moment, const Access& access, uint32_t lane) {
  uint8_t held[16];
  if (access.data < 0 || access.bytes > sizeof held) return false;
  const isa::Operand& data = moment.inst.src[static_cast<size_t>(access.data)];
  if (!data.present() || data.is_scalar() ||
      !read_bytes(moment, access, access.address[lane], access.bytes, held))
    return false;
  for (uint32_t at = 0; at < access.bytes; at += 4) {
    const uint32_t value = value_of(moment, access, lane, at);
    if (std::memcmp(&value, held + at, std::min(access.bytes - at, 4u)) != 0) return false;
  }
  return true;
}

}  // namespace

RaceCheck::GroupState& RaceCheck::state_of(const Group& group) {
  if (last_group_.first != &group) last_group_ = {&group, &groups_[&group]};
  return *last_group_.second;
}

void RaceCheck::group_begins(const Group& group) {
  GroupState& state = state_of(group);
  state.lds.assign(group.lds_size / 4 + 1, {});
  state.next_orders.fill(kOrdersAll);
  const uint64_t index = reporter_.items().index_of(group.id);
  for (uint32_t i = 0; i < kGroupWaves; i++) {
    state.waves[i] = {};
    state.waves[i].number = static_cast<uint32_t>(index * kGroupWaves + i + 1);
  }
}

// All know what all have done, in the memory that the barrier orders.
void RaceCheck::barrier(const Group& group) {
  GroupState& state = state_of(group);
  uint8_t ordered = kOrdersAll;
  for (uint32_t i = 0; i < group.wave_count; i++) ordered &= std::exchange(state.next_orders[i], kOrdersAll);
  state.count_barrier(ordered);
  Clock all, all_lds;
  for (uint32_t i = 0; i < group.wave_count; i++) {
    const WaveClock& wave = state.waves[i];
    all.learn(wave.known);
    all.learn(wave.number, wave.time);
    all_lds.learn(wave.known_lds);
    all_lds.learn(wave.number, wave.time);
  }
  for (uint32_t i = 0; i < group.wave_count; i++) {
    WaveClock& wave = state.waves[i];
    if (ordered & kOrdersGlobal) wave.known = all;
    if (ordered & kOrdersLds) wave.known_lds = all_lds;
    wave.time++;
    if (ordered == kOrdersAll) wave.stores_since = wave.lds_since = 0;
  }
}

inline RaceCheck::Cell* RaceCheck::cell_at(Space space, uint64_t address, GroupState& group) {
  if (space == Space::lds) return address / 4 < group.lds.size() ? &group.lds[address / 4] : nullptr;
  Row* row = last_row_.second;
  if (row == nullptr || last_row_.first != address / kRowBytes) row = row_at(address / kRowBytes);
  return row == nullptr ? nullptr : &(*row)[address % kRowBytes / 4];
}

RaceCheck::Row* RaceCheck::row_at(uint64_t row) {
  std::unique_ptr<Row>& cells = rows_[row];
  if (cells == nullptr) {
    if (rows_.size() > kMostRows) {
      rows_.erase(row);
      if (!is_full_) reporter_.host().unchecked("it touches more memory than races are looked for in");
      is_full_ = true;
      return nullptr;
    }
    cells = std::make_unique<Row>();
  }
  last_row_ = {row, cells.get()};
  return cells.get();
}

bool RaceCheck::is_ordered(const WaveClock& wave, Space space, const Mark& now, const Mark& before) const {
  if (by_lane_ && before.wave == wave.number && before.lane != now.lane)
    // Lanes that store one value at once do not race.
    return before.barriers != now.barriers || (before.step == now.step && before.value == now.value);
  if (before.wave == 0 || before.wave == wave.number) return true;
  // What goes past the caches need not drop them.
  if (space == Space::global && now.is_coherent && wave.has_loaded(before.wave, before.time)) return true;
  return (space == Space::lds ? wave.known_lds : wave.known).of(before.wave) >= before.time;
}

void RaceCheck::compare(const Moment& moment, const Access& access, const Mark& now, const Mark& before,
                        bool wrote, uint64_t address, const Cell& cell) {
  if ((now.bytes & before.bytes) == 0 || is_ordered(*current_, access.space, now, before)) return;
  const uint64_t group = (before.wave - 1) / kGroupWaves;
  const bool is_of_group = group == (now.wave - 1) / kGroupWaves;
  const bool are_atomic = now.is_atomic && before.is_atomic;
  const bool reach_each_other = is_of_group || (now.reaches_all && before.reaches_all);
  if (are_atomic && reach_each_other) return;
  // A value that one has stored and another stores again. Of lanes of one instruction is_ordered tells.
  if (wrote && access.writes && !now.is_atomic && !before.is_atomic && before.step != now.step &&
      changes_nothing(moment, access, now.lane))
    return;
  // A load past the caches and a store are how flags are polled; atomic stores look like others.
  if (!are_atomic && now.is_coherent && before.is_coherent) return;
  if (wrote != access.writes && (wrote ? now.is_coherent : before.is_coherent && !before.is_failed_swap))
    return;
  const uint64_t other = launch_.entry + static_cast<uint64_t>(int64_t{before.at} * 4);
  if (!reporter_.is_new(FindingKind::race, moment.pc, other)) return;
  // A wave that has ended comes back to nothing.
  const bool is_doubt = wrote ? before.is_atomic && !access.writes : now.is_atomic && is_running(before.wave);
  if (is_doubt &&
      (swapped_.contains({moment.pc, other}) || std::ranges::any_of(doubts_, [&](const Doubt& one) {
         return one.finding.sides[0].pc == moment.pc && one.finding.sides[1].pc == other;
       })))
    return;
  const Wave& wave = moment.wave;
  Finding finding;
  finding.kind = FindingKind::race;
  finding.space = access.space;
  finding.has_address = true;
  finding.address = address;
  finding.sides.push_back(reporter_.side(wave, moment.pc, now.lane, describe(access), access.writes));
  finding.sides.push_back(reporter_.side(wave, {other, group, (before.wave - 1) % kGroupWaves, before.lane,
                                                before.is_atomic ? "atomic access"
                                                : wrote          ? "write"
                                                                 : "read",
                                                wrote}));
  const char* const barrier = marks_.empty()               ? "no barrier"
                              : access.space == Space::lds ? "no barrier with CLK_LOCAL_MEM_FENCE"
                                                           : "no barrier with CLK_GLOBAL_MEM_FENCE";
  finding.detail =
      before.wave == now.wave ? barrier + " lies between the accesses of two work-items of one wave"s
      : are_atomic            ? "the scope of an atomic is its work-group, for others it is none"
      : is_of_group           ? barrier + " lies between the two waves' accesses"s
                    : "nothing orders accesses of different work-groups but atomics and the kernel's end";
  if (is_doubt)
    doubts_.push_back({wrote ? now.wave : before.wave, &cell, step_, std::move(finding)});
  else
    reporter_.report(std::move(finding));
}

// The doubts about what the wave has read in the cell that it comes back to.
void RaceCheck::settle(const Moment& moment, Cell& cell) {
  const bool swaps = moment.inst.row->flags & isa::kCmpswap;
  std::erase_if(doubts_, [&](Doubt& one) {
    if (one.cell != &cell || one.wave != current_->number || one.step == step_) return false;
    if (swaps)
      swapped_.emplace(one.finding.sides[0].pc, one.finding.sides[1].pc);
    else
      reporter_.report(std::move(one.finding));
    return true;
  });
  if (!swaps) return;
  for (Mark* const read : {&cell.read, &cell.other})
    if (read->wave == current_->number) *read = {};
}

bool RaceCheck::is_running(uint32_t wave) const {
  return std::ranges::any_of(
      groups_, [wave](const auto& one) { return wave - one.second.waves[0].number < kGroupWaves; });
}

void RaceCheck::group_ends(const Group& group) {
  const uint32_t begin = state_of(group).waves[0].number;
  std::erase_if(doubts_, [&](Doubt& one) {
    if (one.wave - begin >= kGroupWaves) return false;
    reporter_.report(std::move(one.finding));
    return true;
  });
  groups_.erase(&group);
  last_group_ = {};
}

// Atomics and accesses past the caches learn from who wrote there, and tell those who will read.
void RaceCheck::synchronize(const Moment& moment, const Access& access, uint64_t address, const Cell& cell,
                            GroupState& group) {
  WaveClock& wave = *current_;
  const bool is_global = access.space == Space::global;
  const bool reaches_others = is_global && reaches_all(moment.inst, *moment.wave.target);
  const bool has_group = moment.wave.group->wave_count > 1;
  const uint64_t key = is_global ? address : ~address;
  if (access.reads && has_result(moment.inst)) {
    Clock of_group;
    if (const Mark& write = cell.write; write.wave - wave.group_begin() < kGroupWaves)
      of_group.learn(write.wave, write.time - 1);
    else if (write.wave != 0 && is_global)
      wave.loaded.learn(write.wave, write.ordered);
    if (const auto released = group.released.find(key); released != group.released.end())
      of_group.learn(released->second);
    wave.known_lds.learn(of_group, wave.group_begin());
    (shares_cache_ ? wave.known : wave.loaded_of_group).learn(of_group);
    if (const auto released = released_.find(address); reaches_others && released != released_.end())
      wave.loaded.learn(released->second);
  }
  if (!access.writes) return;
  const auto release = [&](Clock& to, uint32_t until) {
    to.learn(wave.number, until);
    to.learn(wave.known);
  };
  if (has_group) release(group.released[key], wave.released_to_group(shares_cache_));
  if (!reaches_others) return;
  Clock& released = released_[address];
  if (released.size() < kMostKnown) return release(released, wave.released());
  if (!is_full_) reporter_.host().unchecked("more waves meet at one atomic than are kept in mind");
  is_full_ = true;
}

// Whether the compare-and-swap of the lane will find what it asks for. Those of lower lanes have been.
bool RaceCheck::swaps(const Moment& moment, const Access& access, uint32_t lane) {
  const isa::Inst& inst = moment.inst;
  const bool is_ds = inst.format == isa::Format::DS;
  const std::string_view mnemonic = inst.row->mnemonic;
  const bool is_float = mnemonic.find("_f") != mnemonic.npos;
  const bool is_cmpst = is_ds && mnemonic.starts_with("ds_cmpst");
  if (is_float || !(is_cmpst || inst.row->flags & isa::kCmpswap)) return true;
  const uint64_t at = access.address[lane];
  uint64_t held = 0;
  if (const auto found = swapped_now_.find(at); found != swapped_now_.end())
    held = found->second;
  else if (!read_bytes(moment, access, at, access.bytes, &held))
    return true;
  const uint32_t dwords = access.bytes / 4;
  const auto value = [&](const isa::Operand& operand, uint32_t first) {
    uint64_t of_lane = 0;
    for (uint32_t i = 0; i < dwords; i++)
      of_lane |= uint64_t{dword_of(moment.wave, operand, first + i, lane)} << 32 * i;
    return of_lane;
  };
  // The new value comes before the other, but for ds_cmpst of gfx10 and earlier.
  const uint64_t first = value(inst.src[1], 0);
  const uint64_t second = is_ds ? value(inst.src[2], 0) : value(inst.src[1], dwords);
  const bool is_new_first = !is_ds || mnemonic.starts_with("ds_cmpstore");
  if (held != (is_new_first ? second : first)) return false;
  swapped_now_[at] = is_new_first ? first : second;
  return true;
}

inline void RaceCheck::leave_mark(Cell& cell, const Mark& now, bool writes) const {
  Mark& last = writes ? cell.write : cell.read;
  uint8_t bytes = now.bytes;
  // Bytes of one dword that one wave accesses one by one.
  if (is_same(last, now)) {
    if (last.time == now.time) bytes |= last.bytes;
  } else if (!writes && last.wave != 0) {
    cell.other = last;
  }
  if (writes && !now.is_atomic)
    cell.hidden = {};
  else if (writes && last.wave == now.wave && !last.is_atomic)
    cell.hidden = last;
  last = now;
  last.bytes = bytes;
}

inline bool RaceCheck::lies_behind(const Mark& before, Known& known) const {
  if (before.wave == 0 || before.wave == current_->number) return true;
  if (known.wave != before.wave) known.wave = before.wave, known.time = known.clock.of(before.wave);
  return known.time >= before.time;
}

// The lane's plain access of whole dwords, if all that was there before is known to its wave. False where
// that is not so, or more is to be asked: the marks that it may have left are those that it leaves then.
inline bool RaceCheck::touch_ordered(const Access& access, Mark& now, uint32_t lane, GroupState& group,
                                     Known& known) {
  now.lane = static_cast<uint8_t>(lane), now.bytes = 0xf;
  for (uint64_t at = access.address[lane], end = at + access.bytes; at < end; at += 4) {
    Cell* const cell = cell_at(access.space, at, group);
    if (cell == nullptr || !lies_behind(cell->write, known)) return false;
    if (access.writes && !(lies_behind(cell->read, known) && lies_behind(cell->other, known))) return false;
    leave_mark(*cell, now, access.writes);
  }
  return true;
}

void RaceCheck::touch(const Moment& moment, const Access& access, Mark now, uint32_t lane,
                      GroupState& group) {
  // A compare-and-swap that finds something else only reads.
  const bool writes = access.writes && (!access.is_atomic || swaps(moment, access, lane));
  const uint64_t begin = access.address[lane], end = begin + access.bytes;
  now.lane = static_cast<uint8_t>(lane), now.is_failed_swap = access.writes && !writes;
  for (uint64_t at = begin & ~uint64_t{3}; at < end; at += 4) {
    Cell* const cell = cell_at(access.space, at, group);
    if (cell == nullptr) return;
    now.value = by_lane_ ? value_of(moment, access, lane, at - (begin & ~uint64_t{3})) : 0;
    now.bytes = 0;
    for (uint64_t i = 0; i < 4; i++)
      if (at + i >= begin && at + i < end) now.bytes |= static_cast<uint8_t>(1 << i);
    if (access.is_coherent) synchronize(moment, access, at, *cell, group);
    settle(moment, *cell);
    compare(moment, access, now, cell->write, true, begin, *cell);
    if (now.is_atomic) compare(moment, access, now, cell->hidden, true, begin, *cell);
    if (writes) {
      compare(moment, access, now, cell->read, false, begin, *cell);
      compare(moment, access, now, cell->other, false, begin, *cell);
    }
    leave_mark(*cell, now, writes);
  }
}

void RaceCheck::touch_all(const Moment& moment, const Access& access, GroupState& group) {
  Mark now;
  now.wave = current_->number, now.time = current_->time;
  now.at = static_cast<int32_t>(static_cast<int64_t>(moment.pc - launch_.entry) / 4);
  now.ordered = std::min(current_->time - 1, current_->released());
  now.step = step_;
  now.is_atomic = access.is_atomic, now.is_coherent = access.is_coherent;
  now.reaches_all = reaches_all(moment.inst, *moment.wave.target);
  now.barriers = access.space == Space::lds ? group.lds_barriers : group.barriers;
  const bool is_plain = !access.is_atomic && !access.is_coherent && !by_lane_ && access.bytes % 4 == 0;
  Known known{access.space == Space::lds ? current_->known_lds : current_->known};
  for (uint64_t left = access.lanes; left != 0;) {
    // Neighbours that read one place leave the mark of the last of them.
    auto lane = static_cast<uint32_t>(__builtin_ctzll(left));
    const auto first = lane;
    while (is_plain && !access.writes && lane + 1 < kLanes && left >> (lane + 1) & 1 &&
           access.address[lane + 1] == access.address[first])
      lane++;
    const bool is_done = is_plain && access.address[lane] % 4 == 0 && doubts_.empty() &&
                         touch_ordered(access, now, lane, group, known);
    for (uint32_t each = first; !is_done && each <= lane; each++) touch(moment, access, now, each, group);
    left = lane + 1 < kLanes ? left & ~uint64_t{0} << (lane + 1) : 0;
  }
}

// The grid's barrier: who comes there tells all and is told by all. A wave that waits comes again, the last
// time when all have come.
void RaceCheck::meet(WaveClock& wave) {
  grid_.learn(wave.known);
  grid_.learn(wave.number, wave.time++);
  wave.known.learn(grid_);
}

// What the wave waits for and forgets.
void RaceCheck::follow(const Moment& moment, WaveClock& wave) {
  const TargetInfo& target = *moment.wave.target;
  const uint8_t waited = waits_for(moment.inst, target.generation), dropped = drops(moment.inst, target);
  if (waited & kWaitsForStores) wave.has_waited(wave.stores_since);
  if (waited & kWaitsForLds) wave.has_waited(wave.lds_since);
  if (writes_back(moment.inst)) wave.writes_back();
  if (dropped & kDropsOfOthers) wave.drops_of_others();
  if (dropped & kDropsOfGroup) wave.drops_of_group();
}

// What it has written, and when others may see it.
void RaceCheck::has_accessed(const Moment& moment, const Access& access, WaveClock& wave) {
  if (!access.writes) return;
  const TargetInfo& target = *moment.wave.target;
  const isa::Format format = moment.inst.row->format;
  if (access.space == Space::lds || format == isa::Format::SMEM)
    wave.stores(wave.lds_since);
  else if (!access.is_atomic || target.generation < Generation::gfx10 || !has_result(moment.inst))
    wave.stores(wave.stores_since);
  if (has_many_l2(target) && access.space == Space::global && !access.is_atomic && !moment.inst.sc1)
    wave.stores(wave.dirty_since);
  // What comes later is not told.
  if (access.is_coherent) wave.time++;
}

void RaceCheck::before(const Moment& moment) {
  const Wave& wave = moment.wave;
  GroupState& group = state_of(*wave.group);
  current_ = &group.waves[wave.index];
  step_++;
  if (const auto mark = marks_.find(moment.pc); mark != marks_.end())
    group.next_orders[wave.index] = mark->second;
  // A wave that is alone does not wait.
  if (is_group_barrier(moment.inst) && wave.group->waves_ended + 1 == wave.group->wave_count)
    group.count_barrier(std::exchange(group.next_orders[wave.index], kOrdersAll));
  if (moment.inst.row->op == isa::Op::ds_gws_barrier) meet(*current_);
  swapped_now_.clear();
  follow(moment, *current_);
  for (const Access& access : moment.accesses) {
    if (access.space == Space::scratch) continue;
    touch_all(moment, access, group);
    has_accessed(moment, access, *current_);
  }
}

}  // namespace morgana::device
