// RaceCheck: what accesses meet, and the marks that they leave.
#include <algorithm>
#include <string_view>
#include <utility>

#include "device/observe/access.h"
#include "device/observe/memory_order.h"
#include "device/observe/race_check.h"

namespace morgana::device {
namespace {

bool is_compare_swap(const isa::Inst& inst) {
  const std::string_view mnemonic = inst.row->mnemonic;
  const bool is_float = mnemonic.find("_f") != mnemonic.npos;
  return !is_float && (inst.row->flags & isa::kCmpswap || mnemonic.starts_with("ds_cmpst"));
}

// Dwords: in others what there is no room for is lost.
constexpr size_t kMostParts = size_t{1} << 20;

// Of writes, or of reads.
void drop_bytes(std::vector<RacePart>& parts, bool wrote, int bytes) {
  std::erase_if(parts, [&](RacePart& part) {
    if (part.wrote == wrote) part.mark.bytes &= ~bytes & 0xf;
    return part.mark.bytes == 0;
  });
}

}  // namespace

// LDS behind what the kernel has asked for. Hardware may have some there, and who forgets to ask for it is to
// be told of races all the same. Rows move.
bool RaceCheck::grow_lds(uint64_t address, GroupState& group) {
  constexpr uint64_t kMost = 160 << 10;
  if (address >= kMost) return false;
  const size_t rows = address / RaceMarks::kRowBytes + 1;
  group.lds.resize(rows);
  group.lds_dwords.resize(std::max(group.lds_dwords.size(), rows));
  RaceMarks::place(group.lds, group.lds_dwords);
  group.marks.rows = group.lds_dwords.data();
  group.lds_bytes = static_cast<uint32_t>(rows * RaceMarks::kRowBytes);
  return true;
}

RaceCheck::Row* RaceCheck::row_at(Space space, uint64_t address, GroupState& group) {
  const uint64_t number = address / RaceMarks::kRowBytes;
  if (space == Space::lds)
    return address < group.lds_bytes || grow_lds(address, group) ? &group.lds[number] : nullptr;
  Row* const row = rows_.row(address);
  if (row == nullptr) say_full("it touches more memory than races are looked for in");
  return row;
}

inline RaceMarks::Dwords* RaceCheck::spread(Row& row) {
  RaceMarks::Dwords* const dwords = rows_.spread(row);
  if (dwords == nullptr) say_full("it touches more memory than races are looked for in");
  return dwords;
}

void RaceCheck::say_full(const char* why) {
  if (!std::exchange(is_full_, true)) reporter_.host().unchecked(why);
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
    if (const RaceRecord& write = rows_.record(cell.write()); write.wave - wave.group_begin() < kGroupWaves)
      of_group.learn(write.wave, write.time - 1);
    else if (write.wave != 0 && is_global)
      wave.loaded.learn(write.wave, write.ordered);
    if (const Clock* const told = group.released.at(key)) of_group.learn(*told);
    const bool learns_lds = wave.known_lds.learn(of_group, wave.group_begin());
    const bool learns = (shares_cache_ ? wave.known : wave.loaded_of_group).learn(of_group);
    wave.version += learns_lds || (learns && shares_cache_) ? 1 : 0;
    const Clock* const told = reaches_others ? released_.at(address) : nullptr;
    if (told != nullptr) wave.loaded.learn(*told);
  }
  if (access.writes && has_group)
    group.released.add(key, wave.release(wave.released_to_group(shares_cache_)));
  if (access.writes && reaches_others) released_.add(address, wave.release(wave.released()));
  if (!released_.is_complete()) say_full("more waves meet at one atomic than are kept in mind");
}

void RaceCheck::leave_mark(const Cell& cell, RaceMark now, bool writes) const {
  RaceMark& last = writes ? cell.write() : cell.read();
  const RaceRecord &record = rows_.record(now), &before = rows_.record(last);
  // Bytes of one dword that one wave accesses one by one; told apart by lanes, one work-item.
  const bool is_same = before.wave == record.wave && (!by_lane_ || last.lane == now.lane);
  if (is_same) {
    if (before.time == record.time) now.bytes |= last.bytes;
  } else if (!writes && before.wave != 0) {
    cell.dwords.make_other(cell.at) = last;
  }
  if (writes && !record.is_atomic) {
    if (cell.dwords.has_hidden) cell.dwords.hidden[cell.at] = {};
  } else if (writes && before.wave == record.wave && !before.is_atomic) {
    cell.dwords.make_hidden(cell.at) = last;
  }
  last = now;
}

// What the wave, or work-item, of the mark has done to its bytes before: who knows the mark knows that.
void RaceCheck::drop_older(std::vector<RacePart>& parts, const RaceMark& mark, bool wrote) const {
  std::erase_if(parts, [&](RacePart& part) {
    if (part.wrote == wrote && rows_.record(part.mark).wave == rows_.record(mark).wave &&
        (!by_lane_ || part.mark.lane == mark.lane))
      part.mark.bytes &= ~mark.bytes & 0xf;
    return part.mark.bytes == 0;
  });
}

// Of some bytes of a dword.
void RaceCheck::keep_part(std::vector<RacePart>& parts, RaceMark mark, int bytes, bool wrote) const {
  if (mark.record == 0 || bytes == 0) return;
  constexpr size_t kMost = 8;  // then the oldest
  mark.bytes = static_cast<uint8_t>(bytes) & 0xf;
  drop_older(parts, mark, wrote);
  if (parts.size() == kMost) parts.erase(parts.begin());
  parts.push_back({mark, wrote});
}

// Of the marks that are about to be overwritten what is of other bytes.
void RaceCheck::keep_rest(std::vector<RacePart>& parts, const Cell& cell, const RaceMark& now,
                          bool writes) const {
  const RaceMark& last = writes ? cell.write() : cell.read();
  const RaceRecord &record = rows_.record(now), &before = rows_.record(last);
  const bool is_same = before.wave == record.wave && (!by_lane_ || last.lane == now.lane);
  writes ? drop_bytes(parts, true, now.bytes) : drop_older(parts, now, false);
  if (is_same && before.time == record.time) return;
  if (writes || is_same)
    keep_part(parts, last, last.bytes & ~now.bytes, writes);
  else if (cell.dwords.has_other)
    keep_part(parts, cell.dwords.other[cell.at], cell.dwords.other[cell.at].bytes & ~(now.bytes & last.bytes),
              false);
}

// Where all know what all have done.
void RaceCheck::forget_parts(GroupState& group) {
  if (!std::exchange(group.marks.has_parts, false)) return;
  group.lds_parts.clear();
  for (RaceMarks::Dwords& dwords : group.lds_dwords) dwords.has_parts = false;
}

// An atomic that others' atomics alone may have come before, which it does not ask.
bool RaceCheck::touch_atomic(const Moment& moment, const Access& access, RaceMark now, GroupState& group) {
  const RaceRecord& record = rows_.record(now);
  const auto is_own = [this](const RaceMark& mark) {
    return mark.record == 0 || rows_.record(mark).wave == current_->number;
  };
  const auto meets = [&](const RaceRecord& before) {
    const bool is_of_group = before.wave - current_->group_begin() < kGroupWaves;
    return before.is_atomic && (is_of_group || (before.reaches_all && record.reaches_all));
  };
  const uint64_t begin = access.address[now.lane], end = begin + access.bytes;
  if (access.space == Space::global) note_store(begin, end);
  for (uint64_t at = begin; at < end; at += 4) {
    Row* const row = row_at(access.space, at, group);
    if (row == nullptr || !row->is_spread || row->dwords->has_parts) return false;
    const Cell cell{*row->dwords, static_cast<uint32_t>(at % RaceMarks::kRowBytes / 4)};
    const RaceMark& write = cell.write();
    if (!is_own(cell.read()) || !(is_own(write) || meets(rows_.record(write)))) return false;
    if (cell.dwords.has_other && !is_own(cell.dwords.other[cell.at])) return false;
    if (cell.dwords.has_hidden && !is_own(cell.dwords.hidden[cell.at])) return false;
    // What other lanes of the instruction have told there, this one tells, too.
    if (write.record != now.record) synchronize(moment, access, at, cell, group);
    leave_mark(cell, now, true);
  }
  return true;
}

void RaceCheck::touch(const Moment& moment, const Access& access, RaceMark now, uint32_t lane,
                      GroupState& group) {
  // A compare-and-swap that finds something else only reads.
  const bool writes = access.writes && (!may_fail_ || swaps(moment, access, lane));
  const uint64_t begin = access.address[lane], end = begin + access.bytes;
  if (writes && access.space == Space::global) note_store(begin, end);
  now.lane = static_cast<uint8_t>(lane), now.is_failed_swap = access.writes && !writes;
  for (uint64_t at = begin & ~uint64_t{3}; at < end; at += 4) {
    Row* const row = row_at(access.space, at, group);
    RaceMarks::Dwords* const all = row != nullptr ? spread(*row) : nullptr;
    if (all == nullptr) return;
    const Cell cell{*all, static_cast<uint32_t>(at % RaceMarks::kRowBytes / 4)};
    now.bytes = 0;
    for (uint64_t i = 0; i < 4; i++)
      if (at + i >= begin && at + i < end) now.bytes |= static_cast<uint8_t>(1 << i);
    if (access.is_coherent) synchronize(moment, access, at, cell, group);
    settle(moment, cell);
    compare(moment, access, now, cell.write(), true, begin, cell);
    if (access.is_atomic && all->has_hidden)
      compare(moment, access, now, all->hidden[cell.at], true, begin, cell);
    if (writes) {
      compare(moment, access, now, cell.read(), false, begin, cell);
      if (all->has_other) compare(moment, access, now, all->other[cell.at], false, begin, cell);
    }
    if (now.bytes != 0xf) {
      all->has_parts = true;
      group.marks.has_parts |= access.space == Space::lds;
    }
    if (!all->has_parts) {
      leave_mark(cell, now, writes);
      continue;
    }
    RaceParts& known = access.space == Space::lds ? group.lds_parts : parts_;
    const auto found = known.find(at);
    std::vector<RacePart> of_none;
    std::vector<RacePart>& parts = found != known.end() ? found->second : of_none;
    for (const RacePart& part : parts)
      if (part.wrote || writes) compare(moment, access, now, part.mark, part.wrote, begin, cell);
    keep_rest(parts, cell, now, writes);
    leave_mark(cell, now, writes);
    if (!writes && all->has_other) drop_bytes(parts, false, cell.read().bytes & all->other[cell.at].bytes);
    if (found != known.end() && parts.empty()) known.erase(found);
    if (!of_none.empty() && known.size() < kMostParts) known.emplace(at, std::move(of_none));
  }
}

RaceMark RaceCheck::mark_of(const Moment& moment, const Access& access, const GroupState& group) {
  RaceRecord record = record_at(rows_.launch(), *current_, moment.pc);
  record.step = access.is_atomic ? current_->version : 0;
  record.is_atomic = access.is_atomic, record.is_coherent = access.is_coherent;
  record.reaches_all = access.is_atomic && reaches_all(moment.inst, *moment.wave.target);
  if (by_lane_) {
    record.step = step_;
    record.barriers = access.space == Space::lds ? group.lds_barriers : group.barriers;
  }
  RaceMark mark;
  mark.record = rows_.number_of(record);
  mark.bytes = 0xf;
  mark.access = static_cast<uint8_t>(&access - moment.accesses.data());
  return mark;
}

// The last of the active lanes from `lane` on of which each lies `by` bytes behind the one before.
inline uint32_t last_of_run(const Access& access, uint64_t active, uint32_t lane, uint64_t by) {
  const uint64_t* const at = access.address.data();
  constexpr uint32_t kSteps = 15;
  while (lane + 1 < kLanes) {
    uint64_t differs = lane + kSteps >= kLanes || ~(active >> lane) & ((uint64_t{2} << kSteps) - 1);
    for (uint32_t i = 0; i < kSteps && differs == 0; i++) differs |= (at[lane + i + 1] - at[lane + i]) ^ by;
    if (differs == 0)
      lane += kSteps;
    else if (active >> (lane + 1) & 1 && at[lane + 1] - at[lane] == by)
      lane++;
    else
      break;
  }
  return lane;
}

void RaceCheck::touch_all(const Moment& moment, const Access& access, GroupState& group) {
  if (access.space == Space::lds && access.lanes != 0) {
    const auto [lowest, highest] = span_of(access);  // of lanes that may lie anywhere
    constexpr uint64_t kEnd = ~uint32_t{0};
    group.marks.touches(moment.wave.index, static_cast<uint32_t>(std::min(lowest, kEnd)),
                        static_cast<uint32_t>(std::min(std::min(highest, kEnd) + access.bytes, kEnd)));
    group.marks.has_atomics |= access.is_atomic;
  }
  RaceMark now = mark_of(moment, access, group);
  const bool may_pass = !by_lane_ && doubts_.empty();
  const bool is_plain = may_pass && !access.is_atomic && !access.is_coherent;
  may_fail_ = access.is_atomic && is_compare_swap(moment.inst);
  const bool is_told = may_pass && access.is_atomic && access.bytes % 4 == 0 && !may_fail_;
  Known known{access.space == Space::lds ? current_->known_lds : current_->known};
  for (uint64_t left = access.lanes; left != 0;) {
    auto lane = static_cast<uint32_t>(__builtin_ctzll(left));
    const uint32_t first = lane;
    bool is_done = false;
    if (is_plain && access.address[lane] % 4 == 0) {
      // Neighbours that read one place leave the mark of the last of them.
      const uint32_t begin = access.writes ? lane : last_of_run(access, left, lane, 0);
      lane = last_of_run(access, left, begin, access.bytes);
      const uint32_t bytes = (lane - begin + 1) * access.bytes;
      Run run{now, access.writes};
      run.now.lane = static_cast<uint8_t>(begin);
      run.now.dwords = mark_dwords(begin == lane, access.bytes);
      is_done =
          bytes % 4 == 0 && touch_run(access.space, run, access.address[begin], bytes / 4, group, known);
    } else if (is_told && access.address[lane] % 4 == 0) {
      now.lane = static_cast<uint8_t>(lane);
      is_done = touch_atomic(moment, access, now, group);
    }
    for (uint32_t each = first; !is_done && each <= lane; each++) touch(moment, access, now, each, group);
    left = lane + 1 < kLanes ? left & ~uint64_t{0} << (lane + 1) : 0;
  }
}

}  // namespace morgana::device
