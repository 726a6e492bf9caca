// Marks of LDS (device/race_mark.h) that the lanes of an access leave, sixteen at once.
#pragma once

#include <cstddef>
#include <cstring>

#include "device/interp/code.h"
#include "device/interp/memory.h"
#include "device/neighbours.h"
#include "device/race_mark.h"
#include "device/seen_ranges.h"

namespace morgana::device::MORGANA_SIMD {

namespace lds_marks {

// Places count in dwords from LdsMarks::rows.
inline constexpr uint32_t kRow = sizeof(RaceDwords) / 4, kRead = offsetof(RaceDwords::Last, read) / 4,
                          kOther = offsetof(RaceDwords, other) / 4,
                          kFlags = offsetof(RaceDwords, has_other) / 4, kRecord = sizeof(RaceRecord) / 4;
static_assert(offsetof(RaceDwords, last) == 0 && sizeof(RaceDwords::Last) == 16);
static_assert(offsetof(RaceMark, record) == 0 && offsetof(RaceRecord, wave) == 0);
static_assert(offsetof(RaceDwords, has_other) % 4 == 0 &&
              offsetof(RaceDwords, has_hidden) == offsetof(RaceDwords, has_other) + 1);
inline constexpr uint32_t kHasOther = 0x1, kHasHidden = 0x100;

// 0 where `lanes` has none.
MORGANA_INLINE Chunk dwords_at(const void* from, Chunk at, uint32_t lanes) {
#ifdef __AVX512F__
  using Sixteen = int __attribute__((vector_size(64)));
  return __builtin_bit_cast(Chunk,
                            __builtin_ia32_gathersiv16si(Sixteen{}, from, __builtin_bit_cast(Sixteen, at),
                                                         static_cast<uint16_t>(lanes), 4));
#else
  Chunk all = Chunk(0);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int l = __builtin_ctz(lanes);
    all[l] = static_cast<const uint32_t*>(from)[at[l]];
  }
  return all;
#endif
}

// The lanes that find a mark of another wave there which not all of the group know.
MORGANA_INLINE uint32_t foreign_at(const LdsMarks& marks, const WaveTimes& times, Chunk at, uint32_t lanes) {
  const Chunk records = dwords_at(marks.rows, at, lanes);
  auto is_known = records < marks.known;
#pragma clang loop unroll(full)
  for (const uint32_t own : times.own) is_known |= records == own;
  const auto recent = ~static_cast<uint32_t>(bits_of_condition(is_known)) & lanes;
  if (recent == 0) return 0;
  const Chunk waves = dwords_at(marks.launch->records, records * kRecord, recent);
  return static_cast<uint32_t>(bits_of_condition(waves != times.number)) & recent;
}

MORGANA_INLINE Chunk place_of(Chunk address) { return (address >> 8) * kRow + (address & 0xfc); }

// Whether the wave knows all readers before it, and nothing has been stored there that an atomic hides.
MORGANA_INLINE bool may_write(const LdsMarks& marks, const WaveTimes& times, Chunk address, uint32_t lanes) {
  if (foreign_at(marks, times, place_of(address) + kRead, lanes) != 0) return false;
  const Chunk row = (address >> 8) * kRow;
  const Chunk flags = dwords_at(marks.rows, row + kFlags, lanes);
  if (bits_of_condition((flags & kHasHidden) != 0) != 0) return false;
  const auto others = static_cast<uint32_t>(bits_of_condition((flags & kHasOther) != 0)) & lanes;
  return others == 0 || foreign_at(marks, times, row + kOther + ((address & 0xfc) >> 1), others) == 0;
}

// The record of what the wave accesses now. 0: no room is left.
MORGANA_INLINE uint32_t record_now(LaunchMarks& launch, WaveTimes& times, uint64_t pc) {
  const uint32_t number = launch.number_of(record_at(launch, times, pc), launch.most);
  if (number == 0 || times.own[0] == number) return number;
#pragma clang loop unroll(full)
  for (uint32_t i = WaveTimes::kOwn - 1; i > 0; i--) times.own[i] = times.own[i - 1];
  return times.own[0] = number;
}

// Whether no other wave has left a mark in [from, to) that the wave may not know.
MORGANA_INLINE bool is_alone(const LdsMarks& marks, uint32_t wave, uint32_t from, uint32_t to) {
  uint32_t others = 0;
#pragma clang loop unroll(full)
  for (uint32_t i = 0; i < kMaxWaves; i += 16) {
    Chunk begin, end;
    std::memcpy(&begin, &marks.begin[i], sizeof begin);
    std::memcpy(&end, &marks.end[i], sizeof end);
    others |= static_cast<uint32_t>(bits_of_condition(begin < to) & bits_of_condition(end > from)) << i;
  }
  return (others & ~(1u << wave)) == 0;
}

// Each lane leaves its mark on the dwords that it accesses, `apart` from its address, if the wave knows all
// that it could race with there. Otherwise none does.
MORGANA_INLINE bool mark(LdsMarks& marks, const WaveTimes& times, uint32_t wave, const Neighbours& lanes,
                         uint32_t apart, RaceMark now) {
  const uint32_t bytes = lanes.use.bytes, add = static_cast<uint32_t>(lanes.base) + apart;
  if (marks.bytes < bytes) return false;
  alignas(64) uint32_t addresses[kLanes];
  Chunk lowest = Chunk(~0u), highest = Chunk(0), all = Chunk(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    Chunk address;
    std::memcpy(&address, lanes.low + 16 * i, sizeof address);
    address += add;
    set_chunk(addresses, i, address);
    const ChunkMask is_active = as_bools(chunk_mask(lanes.lanes, i));
    lowest = __builtin_elementwise_min(lowest, is_active ? address : lowest);
    highest = __builtin_elementwise_max(highest, is_active ? address : highest);
    all |= is_active ? address : Chunk(0);
  }
  const uint32_t first = __builtin_reduce_min(lowest), last = __builtin_reduce_max(highest);
  if (__builtin_reduce_or(all) % 4 != 0 || last > marks.bytes - bytes) return false;
  uint64_t readers[4] = {};  // that follow another wave's reader, which is kept
  if (!is_alone(marks, wave, first, last + bytes) || (lanes.use.writes && marks.has_atomics)) {
// Not at once: callers would save more registers.
#pragma clang loop unroll(disable)
    for (int i = 0; i < kChunks; i++) {
      const uint32_t exec = chunk_mask(lanes.lanes, i);
      for (uint32_t done = 0; done < bytes; done += 4) {
        const Chunk at = chunk_of(addresses, i) + done;
        if (foreign_at(marks, times, place_of(at), exec) != 0) return false;
        if (!lanes.use.writes)
          readers[done / 4] |= uint64_t{foreign_at(marks, times, place_of(at) + kRead, exec)} << 16 * i;
        else if (!may_write(marks, times, at, exec))
          return false;
      }
    }
  }
  marks.touches(wave, first, last + bytes);
  uint64_t bits;
  std::memcpy(&bits, &now, sizeof bits);
  for (uint32_t done = 0; done < bytes; done += 4) {
    for (uint64_t left = readers[done / 4]; left != 0; left &= left - 1) {
      const uint32_t at = addresses[__builtin_ctzll(left)] + done, number = at % RaceDwords::kBytes / 4;
      RaceDwords& row = marks.rows[at / RaceDwords::kBytes];
      // Dwords of lanes may overlap.
      if (row.last[number].read.record != now.record) row.make_other(number) = row.last[number].read;
    }
    alignas(64) uint32_t places[kLanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++)
      set_chunk(places, i, place_of(chunk_of(addresses, i) + done) + (lanes.use.writes ? 0 : kRead));
    uint32_t* const to = reinterpret_cast<uint32_t*>(marks.rows);
    const auto leave = [&](uint32_t lane) {
      const uint64_t own = bits | uint64_t{lane} << 8 * offsetof(RaceMark, lane);
      std::memcpy(to + places[lane], &own, sizeof own);
    };
    if (lanes.lanes == kAllLanes) {
#pragma clang loop vectorize(disable) unroll_count(8)
      for (uint32_t lane = 0; lane < kLanes; lane++) leave(lane);
    } else {
      for (uint64_t left = lanes.lanes; left != 0; left &= left - 1)
        leave(static_cast<uint32_t>(__builtin_ctzll(left)));
    }
  }
  return true;
}

}  // namespace lds_marks

// Level::leave_marks, of LDS.
MORGANA_INLINE bool leave_lds_marks(const Wave& wave, uint64_t pc, const Neighbours& lanes) {
  WaveTimes* const times = wave.times;
  LdsMarks* const marks = times != nullptr ? times->lds : nullptr;
  if (marks == nullptr || !marks->is_spread || marks->has_parts || !marks->launch->is_open ||
      lanes.lanes == 0 || lanes.use.bytes % 4 != 0)
    return false;
  const auto at = static_cast<uint32_t>((pc - wave.code->address) / 4);
  if (marks->launch->seen->range[SeenRanges::slot(at, lanes.use.writes)].begin != SeenRanges::loud(at))
    return false;
  for (uint32_t place = 0; place < (lanes.use.has_two ? 2u : 1u); place++) {
    RaceMark now;
    now.record = lds_marks::record_now(*marks->launch, *times, pc);
    now.bytes = 0xf;
    now.access = static_cast<uint8_t>(place) & 0xf;
    if (now.record == 0 || !lds_marks::mark(*marks, *times, wave.index, lanes, place * lanes.use.apart, now))
      return false;
    if (lanes.use.writes) times->stores(times->lds_since);
  }
  return true;
}

}  // namespace morgana::device::MORGANA_SIMD
