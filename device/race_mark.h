// RaceMark: who accessed a dword, as the check of races (observe/race_marks.h) and native code of the host
// vector level (Level::leave_marks) leave it.
#pragma once

#include <array>
#include <cstdint>

#include "device/limits.h"
#include "device/wave_times.h"

namespace morgana::device {

struct SeenRanges;

// What the marks of one access of a wave have in common.
struct RaceRecord {
  uint32_t wave = 0;  // 0: nobody
  uint32_t time = 0;
  int32_t at = 0;        // the instruction: dwords from the kernel's entry
  uint32_t ordered = 0;  // of a write: up to when what its wave did before was there for other groups
  // Where lanes are told apart: which of all instructions it was, and barriers of the group before it.
  // Otherwise, of an atomic: WaveClock::version.
  uint32_t step = 0;
  uint32_t barriers : 29 = 0;
  uint32_t is_atomic : 1 = 0, is_coherent : 1 = 0;
  uint32_t reaches_all : 1 = 0;  // if it is atomic: for all groups
  [[gnu::always_inline]] bool operator==(const RaceRecord& other) const {
    return wave == other.wave && time == other.time && at == other.at && ordered == other.ordered &&
           step == other.step && barriers == other.barriers && is_atomic == other.is_atomic &&
           is_coherent == other.is_coherent && reaches_all == other.reaches_all;
  }
};
static_assert(sizeof(RaceRecord) == 24);  // most accesses of short kernels make one

struct RaceMark {
  uint32_t record = 0;      // 0: nobody
  uint8_t lane = 0;         // of a line: of its first dword
  uint8_t bytes : 4 = 0;    // a bit each
  uint8_t access : 4 = 0;   // which of the instruction's
  int8_t dwords = 0;        // of a line: how many each lane accesses; 0: one lane all; -n: n lanes share one
  bool is_failed_swap = 0;  // a read, but one that would have written
};
static_assert(sizeof(RaceMark) == 8);  // each access reads and writes one or more for each lane

// The marks of 256 bytes: of each dword the last write, two readers of different waves, and the plain store
// that an atomic of its own wave has followed: other waves' atomics race with the store and not with the
// atomic.
struct alignas(64) RaceDwords {
  static constexpr uint32_t kBytes = 256, kCount = kBytes / 4;
  struct Last {
    RaceMark write, read;
  };
  Last last[kCount];
  RaceMark other[kCount], hidden[kCount];  // if has_other and has_hidden say so
  bool has_other = false, has_hidden = false;
  bool has_parts = false;  // some marks are not of whole dwords, and more may be kept elsewhere (RaceParts)
  [[gnu::always_inline]] RaceMark& make_other(uint32_t at) { return made(other, has_other)[at]; }
  [[gnu::always_inline]] RaceMark& make_hidden(uint32_t at) { return made(hidden, has_hidden)[at]; }

 private:
  [[gnu::always_inline]] static RaceMark* made(RaceMark (&marks)[kCount], bool& has) {
    if (!has)
      for (RaceMark& mark : marks) mark = {};
    has = true;
    return marks;
  }
};

// The marks of 256 bytes of which neighbours access whole lines of 64: of each line the last write, and two
// readers of different waves.
struct RaceRow {
  static constexpr uint32_t kLineBytes = 64, kLines = RaceDwords::kBytes / kLineBytes;
  using Marks = std::array<RaceMark, kLines>;
  Marks write, read, other;
  bool is_spread = false;        // `dwords` have what is to be said
  RaceDwords* dwords = nullptr;  // of global memory: this one's own; of LDS: one of a row of them
};
struct RacePage {
  static constexpr uint32_t kRows = 256, kBytes = kRows * RaceDwords::kBytes;
  std::array<RaceRow, kRows> rows;
  // Whether plain loads, and stores, that lie in it may leave marks without being shown.
  struct May {
    bool is_known = false, be = false;
  } load, store;
};

// The records of a launch, and where it has marks in global memory. Native code appends some.
struct LaunchMarks {
  RaceRecord* records = nullptr;  // the first is nobody's
  uint32_t count = 1, most = 1;   // `most`: from there on RaceMarks alone appends
  // The last by instruction; 0: none.
  static constexpr uint32_t kRecent = 1024;
  uint32_t recent[kRecent] = {};
  uint64_t entry = 0;  // the address that RaceRecord::at counts from
  const SeenRanges* seen = nullptr;
  bool is_open = false;  // whether accesses may leave marks without being shown
  bool has_many_l2 = false;
  // Some pages, by their number.
  struct Near {
    uint64_t number = 0;
    RacePage* page = nullptr;
  };
  std::array<Near, 64> near;

  // The number of a record that is alike, or of a new one while there are fewer than `room`; 0: there is
  // none.
  [[gnu::always_inline]] uint32_t number_of(const RaceRecord& record, uint32_t room) {
    uint32_t& last = recent[static_cast<uint32_t>(record.at) % kRecent];
    if (last != 0 && records[last] == record) return last;
    if (count >= room) return 0;
    last = count++;
    records[last] = record;
    return last;
  }
};

// Of a plain access that the wave makes now.
[[gnu::always_inline]] inline RaceRecord record_at(const LaunchMarks& launch, const WaveTimes& times,
                                                   uint64_t pc) {
  RaceRecord record;
  record.wave = times.number, record.time = times.time;
  record.at = static_cast<int32_t>(static_cast<int64_t>(pc - launch.entry) / 4);
  record.ordered = times.time - 1;
  for (const uint32_t since : {times.stores_since, times.lds_since, times.dirty_since})
    record.ordered = record.ordered < since - 1 ? record.ordered : since - 1;  // 0: the greatest
  return record;
}

// Of a work-group's LDS.
struct LdsMarks {
  LaunchMarks* launch = nullptr;
  RaceDwords* rows = nullptr;  // of all of LDS, one behind the other
  uint32_t bytes = 0;          // that may be accessed
  uint32_t known = 1;          // all waves of the group know the accesses of records before this one
  bool is_spread = false;      // `rows` are what holds
  bool has_atomics = false;    // some marks are of atomics
  bool has_parts = false;      // of some rows: their marks are left by RaceCheck alone
  // Between which bytes each wave, by its index, has left marks since `known` was set.
  alignas(64) std::array<uint32_t, kMaxWaves> begin, end;

  void all_know(uint32_t count) {
    known = count;
    begin.fill(~0u), end.fill(0);
  }
  void touches(uint32_t wave, uint32_t from, uint32_t to) {
    begin[wave] = begin[wave] < from ? begin[wave] : from;
    end[wave] = end[wave] > to ? end[wave] : to;
  }
};

}  // namespace morgana::device
