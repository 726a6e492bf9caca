// Marks of global memory (device/race_mark.h) that a wave leaves whose lanes access whole lines, one behind
// the other.
#pragma once

#include "device/interp/mark_lds.h"
#include "device/neighbours.h"
#include "device/race_mark.h"

namespace morgana::device::MORGANA_SIMD {

// Level::leave_marks, of global memory. Whether `lanes` lanes of `bytes` each, from `address` on, have left
// their marks: only where nobody else has.
MORGANA_INLINE bool leave_line_marks(const Wave& wave, uint64_t pc, uint64_t address, uint32_t lanes,
                                     uint32_t bytes, bool writes) {
  WaveTimes* const times = wave.times;
  if (times == nullptr || times->lds == nullptr || address % RaceRow::kLineBytes != 0 || bytes % 4 != 0 ||
      RaceRow::kLineBytes % bytes != 0)
    return false;
  LaunchMarks& launch = *times->lds->launch;
  const uint64_t number = address / RacePage::kBytes, end = address % RacePage::kBytes + lanes * bytes;
  const LaunchMarks::Near& near = launch.near[number % launch.near.size()];
  if (!launch.is_open || near.page == nullptr || near.number != number || end > RacePage::kBytes ||
      !(writes ? near.page->store : near.page->load).be)
    return false;
  RaceMark now;
  now.record = lds_marks::record_now(launch, *times, pc);
  if (now.record == 0) return false;
  now.bytes = 0xf;
  now.dwords = static_cast<int8_t>(bytes / 4);
  const auto is_own = [&](const RaceMark& mark) {
    return mark.record == 0 || mark.record == now.record || launch.records[mark.record].wave == times->number;
  };
  for (uint64_t at = end - lanes * bytes; at < end; at += RaceRow::kLineBytes) {
    RaceRow& row = near.page->rows[at / RaceDwords::kBytes];
    const uint64_t line = at / RaceRow::kLineBytes % RaceRow::kLines;
    if (row.is_spread || !is_own(row.write[line]) || !is_own(row.read[line]) || !is_own(row.other[line]))
      return false;
    (writes ? row.write : row.read)[line] = now;
    now.lane = static_cast<uint8_t>(now.lane + RaceRow::kLineBytes / bytes);
  }
  if (writes) {
    times->stores(times->stores_since);
    if (launch.has_many_l2) times->stores(times->dirty_since);
  }
  return true;
}

}  // namespace morgana::device::MORGANA_SIMD
