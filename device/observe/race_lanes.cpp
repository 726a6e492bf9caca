// RaceCheck: plain accesses of neighbours, if what was there before is known to their wave.
//
// Of those that compiled code makes (Observer::passes) the marks are left that `before` would leave. What is
// not passed is shown to it, and leaves them again: that changes nothing.
#include <algorithm>
#include <bit>
#include <utility>

#include "device/interp/code.h"
#include "device/observe/access.h"
#include "device/observe/race_check.h"

namespace morgana::device {
inline bool RaceCheck::lies_behind(const RaceMark& mark, uint32_t& known, const Clock& clock) const {
  if (mark.record == 0 || mark.record == known) return true;
  const RaceRecord& before = rows_.record(mark);
  if (before.wave != current_->number && clock.of(before.wave) < before.time) return false;
  known = mark.record;
  return true;
}

// Lines that neighbours access as a whole.
inline bool RaceCheck::touch_lines(Row& row, const Run& run, uint32_t first, uint32_t count, Known& known) {
  for (uint32_t done = 0; done < count; done += RaceMarks::kLineDwords) {
    const uint32_t line = (first + done) / RaceMarks::kLineDwords;
    RaceMark &write = row.write[line], &read = row.read[line], &other = row.other[line];
    if (!lies_behind(write, known.write, known.clock)) return false;
    if (run.writes &&
        !(lies_behind(read, known.read, known.clock) && lies_behind(other, known.other, known.clock)))
      return false;
    RaceMark& last = run.writes ? write : read;
    if (!run.writes && last.record != 0 && rows_.record(last).wave != current_->number) other = last;
    last = run.now;
    last.lane = static_cast<uint8_t>(run.first_lane(done));
  }
  return true;
}

template <class LaneOf>
inline bool RaceCheck::read_dwords(RaceMarks::Dwords& all, RaceMark now, uint32_t first, uint32_t count,
                                   Known& known, const LaneOf& lane_of) {
  for (uint32_t i = 0; i < count; i++) {
    RaceMarks::Dwords::Last& last = all.last[first + i];
    if (!lies_behind(last.write, known.write, known.clock)) return false;
    const uint32_t record = last.read.record;
    if (record != 0 && record != now.record && record != known.own) {
      if (record != known.others)
        (rows_.record(last.read).wave == current_->number ? known.own : known.others) = record;
      if (record == known.others) all.make_other(first + i) = last.read;
    }
    now.lane = static_cast<uint8_t>(lane_of(i));
    last.read = now;
  }
  return true;
}

template <class LaneOf>
inline bool RaceCheck::write_dwords(RaceMarks::Dwords& all, RaceMark now, uint32_t first, uint32_t count,
                                    Known& known, const LaneOf& lane_of) {
  for (uint32_t i = 0; i < count; i++) {
    RaceMarks::Dwords::Last& last = all.last[first + i];
    if (!lies_behind(last.write, known.write, known.clock) ||
        !lies_behind(last.read, known.read, known.clock))
      return false;
    if (all.has_other && !lies_behind(all.other[first + i], known.other, known.clock)) return false;
    if (all.has_hidden) all.hidden[first + i] = {};
    now.lane = static_cast<uint8_t>(lane_of(i));
    last.write = now;
  }
  return true;
}

inline bool RaceCheck::touch_dwords(RaceMarks::Dwords& all, const Run& run, uint32_t first, uint32_t count,
                                    Known& known) {
  const RaceMark now = run.now;
  const auto touch = [&](const auto& lane_of) {
    return run.writes ? write_dwords(all, now, first, count, known, lane_of)
                      : read_dwords(all, now, first, count, known, lane_of);
  };
  const uint32_t lane = now.lane;
  if (now.dwords == 0) return touch([lane](uint32_t) { return lane; });
  if (now.dwords == 1) return touch([lane, done = run.done](uint32_t i) { return lane + done + i; });
  return touch([&](uint32_t i) { return lane_at(lane, run.done + i, now.dwords); });
}

// A plain access of whole dwords by neighbours, if all that was there before is known to their wave. False
// where that is not so: the marks that they may have left are those that they leave then.
bool RaceCheck::touch_run(Space space, Run& run, uint64_t address, uint32_t dwords, GroupState& group,
                          Known& known) {
  if (run.writes && space == Space::global) note_store(address, address + uint64_t{4} * dwords);
  for (run.done = 0; run.done < dwords;) {
    Row* const row = row_at(space, address, group);
    if (row == nullptr) return false;
    const auto first = static_cast<uint32_t>(address % RaceMarks::kRowBytes / 4);
    const uint32_t count = std::min(RaceMarks::kRowDwords - first, dwords - run.done);
    if (!row->is_spread && run.has_lines() && (first | count) % RaceMarks::kLineDwords == 0) {
      if (!touch_lines(*row, run, first, count, known)) return false;
    } else {
      RaceMarks::Dwords* const all = spread(*row);
      if (all == nullptr || all->has_parts || !touch_dwords(*all, run, first, count, known)) return false;
      known.row = address / RaceMarks::kRowBytes, known.dwords = all;
    }
    run.done += count, address += 4 * count;
  }
  return true;
}

// What lies `apart` from the lanes' addresses. Of neighbours that access what those before them did the marks
// of the last remain.
bool RaceCheck::touch_neighbours(const Wave& wave, const Neighbours& lanes, uint32_t apart, RaceMark now,
                                 GroupState& group) {
  const PlainUse& use = lanes.use;
  const Space space = use.is_lds ? Space::lds : Space::global;
  Known known{use.is_lds ? current_->known_lds : current_->known};
  Run run{now, use.writes};
  const auto touch = [&](uint64_t address, uint32_t dwords) {
    // Most that have no neighbours lie in the row of those before them.
    const auto at = static_cast<uint32_t>(address % RaceMarks::kRowBytes / 4);
    if (known.dwords == nullptr || known.row != address / RaceMarks::kRowBytes ||
        at + dwords > RaceMarks::kRowDwords)
      return touch_run(space, run, address, dwords, group, known);
    if (run.writes && space == Space::global) note_store(address, address + uint64_t{4} * dwords);
    run.done = 0;
    return touch_dwords(*known.dwords, run, at, dwords, known);
  };
  uint64_t address = 0;
  uint32_t bytes = 0;  // of `run`, which is still to be touched; 0: none is
  for (uint64_t left = lanes.lanes; left != 0;) {
    auto begin = static_cast<uint32_t>(std::countr_zero(left));
    // Neighbours that read one place leave the mark of the last of them.
    if (!use.writes) begin += static_cast<uint32_t>(std::countr_one(lanes.same >> begin));
    const uint32_t last = begin + static_cast<uint32_t>(std::countr_one(lanes.rises >> begin));
    left = last + 1 < kLanes ? left & ~uint64_t{0} << (last + 1) : 0;
    uint64_t own_address = lanes.address(begin);
    if (use.is_lds) own_address = static_cast<uint32_t>(own_address + apart);
    const uint32_t own_bytes = (last - begin + 1) * use.bytes;
    if ((own_address | own_bytes) % 4 != 0) return false;
    if (own_address != address || own_bytes != bytes) {
      if (bytes != 0 && !touch(address, bytes / 4)) return false;
      address = own_address, bytes = own_bytes;
      if (!use.is_lds && may_lie_elsewhere(wave, address, address + bytes)) return false;
    }
    run.now.lane = static_cast<uint8_t>(begin);
    run.now.dwords = mark_dwords(begin == last, use.bytes);
  }
  return touch(address, bytes / 4);
}

// Whether plain lanes read what nobody stores to; or may access LDS unseen.
bool RaceCheck::reads_only(const Wave& wave, const isa::Inst& inst, uint64_t pc, const Neighbours& lanes) {
  const PlainUse& use = lanes.use;
  if (lanes.lanes == 0) return false;
  const auto at = static_cast<uint32_t>((pc - wave.code->address) / 4);
  if (use.is_lds) {
    if (is_quiet(wave, inst, pc)) return true;
    seen_.range[SeenRanges::slot(at, use.writes)].begin = SeenRanges::loud(at);
    return false;
  }
  if (use.writes) return false;
  const auto range = read_only_.around(lanes.lowest, lanes.highest + use.bytes);
  if (!range || may_lie_elsewhere(wave, range->begin, range->end)) return false;
  seen_.range[SeenRanges::slot(at, false)] = *range;
  return true;
}

bool RaceCheck::reads_only(const Access& access) {
  if (access.writes || access.is_coherent || access.lanes == 0) return false;
  const auto [lowest, highest] = span_of(access);
  return read_only_.around(lowest, highest + access.bytes).has_value();
}

// In LDS: as soon as lanes are no neighbours all of its dwords have marks of their own. From then on native
// code leaves them where it can, before it asks.
bool RaceCheck::spreads(const Wave& wave, uint64_t pc, const Neighbours& lanes, GroupState& group) {
  if (group.marks.is_spread || lanes.are_one_run()) return false;
  for (Row& row : group.lds) rows_.spread(row);
  group.marks.is_spread = true;
  return level().leave_marks(wave, pc, lanes);
}

// Whether accesses like this one may leave their marks natively where it lies: once for a page, of which all
// is memory that they may access.
void RaceCheck::open_page(const Wave& wave, const Neighbours& lanes) {
  RaceMarks::Page* const page = rows_.page(lanes.lowest);
  if (page == nullptr) return;
  auto& [is_known, may_be] = lanes.use.writes ? page->store : page->load;
  if (std::exchange(is_known, true)) return;
  const uint64_t begin = lanes.lowest / page->kBytes * page->kBytes, end = begin + page->kBytes;
  const KnownMemory memory = reporter_.host().memory_at(lanes.lowest);
  may_be = memory.state == KnownMemory::State::known && memory.begin <= begin && end <= memory.end &&
           !may_lie_elsewhere(wave, begin, end) &&
           (lanes.use.writes ? memory.may_write && read_only_.expects(begin, end) : memory.may_read);
}

// Whether there are rows for all of it, since rows do not move while a run is touched. Notes where it lies.
bool RaceCheck::lies_in_lds(const Wave& wave, const Neighbours& lanes, GroupState& group) {
  for (uint32_t place = 0; place < (lanes.use.has_two ? 2 : 1); place++) {
    const auto first = static_cast<uint32_t>(lanes.lowest + place * lanes.use.apart),
               last = static_cast<uint32_t>(lanes.highest + place * lanes.use.apart);
    if (last < first || uint64_t{last} + lanes.use.bytes > group.lds_bytes) return false;
    group.marks.touches(wave.index, first, last + lanes.use.bytes);
  }
  return true;
}

bool RaceCheck::passes(const Wave& wave, const isa::Inst& inst, uint64_t pc, const Neighbours& lanes) {
  if (by_lane_ || lanes.lanes == 0 || !doubts_.empty() || rows_.is_crowded()) return false;
  GroupState& group = state_of(*wave.group);
  current_ = &group.waves[wave.index];
  if (lanes.use.is_lds && !lies_in_lds(wave, lanes, group)) return false;
  if (lanes.use.is_lds && spreads(wave, pc, lanes, group)) return true;
  Access access;
  access.space = lanes.use.is_lds ? Space::lds : Space::global;
  access.writes = lanes.use.writes;
  for (uint32_t place = 0; place < (lanes.use.has_two ? 2 : 1); place++) {
    RaceMark now;
    now.record = rows_.number_of(record_at(rows_.launch(), *current_, pc));
    now.bytes = 0xf;
    now.access = static_cast<uint8_t>(place);
    if (!touch_neighbours(wave, lanes, place * lanes.use.apart, now, group)) return false;
    has_accessed(*wave.target, inst, access, *current_);
  }
  if (!lanes.use.is_lds) open_page(wave, lanes);
  return true;
}

}  // namespace morgana::device
