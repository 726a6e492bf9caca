// RaceMarks: who accessed each dword last, for the check of races.
//
// A mark is 8 bytes: it names a record, which holds what all accesses of one instruction have in common that
// its wave makes between two points of its time, and says which lane it was. Where neighbours access the
// whole of a line of 64 bytes, one mark stands for its sixteen dwords.
//
// Used by the thread that executes the launch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace morgana::device {

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
  bool operator==(const RaceRecord&) const = default;
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

// Who accesses the dword that lies `dword` behind the first one's: the last, where several share it.
constexpr uint32_t lane_at(uint32_t first, uint32_t dword, int dwords) {
  if (dwords == 1) return first + dword;
  if (dwords > 0) return first + dword / static_cast<uint32_t>(dwords);
  return dwords == 0 ? first : first + (dword + 1) * static_cast<uint32_t>(-dwords) - 1;
}

// RaceMark::dwords of lanes that access so many bytes each, or of one alone.
constexpr int8_t mark_dwords(bool is_alone, uint32_t bytes) {
  if (is_alone) return 0;
  return static_cast<int8_t>(bytes >= 4 ? bytes / 4 : -static_cast<int>(4 / bytes));
}

class RaceMarks {
 public:
  static constexpr uint32_t kRowBytes = 256, kRowDwords = kRowBytes / 4, kLineDwords = 16;

  // The last write, and two readers of different waves.
  struct Line {
    RaceMark write, read, other;
  };
  // The same of each dword, and the plain store that an atomic of its own wave has followed: other waves'
  // atomics race with the store and not with the atomic.
  struct Dwords {
    struct Last {
      RaceMark write, read;
    };
    using Marks = std::array<RaceMark, kRowDwords>;
    std::array<Last, kRowDwords> last;
    Marks other, hidden;  // if has_other and has_hidden say so
    bool has_other = false, has_hidden = false;
    RaceMark& make_other(uint32_t at) {
      if (!std::exchange(has_other, true)) other.fill({});
      return other[at];
    }
    RaceMark& make_hidden(uint32_t at) {
      if (!std::exchange(has_hidden, true)) hidden.fill({});
      return hidden[at];
    }
  };
  struct Row {
    std::array<Line, kRowDwords / kLineDwords> lines;
    bool is_spread = false;  // `dwords` have what is to be said, not `lines`
    std::unique_ptr<Dwords> dwords;
  };

  RaceMarks();
  ~RaceMarks();
  RaceMarks(const RaceMarks&) = delete;
  RaceMarks& operator=(const RaceMarks&) = delete;

  // Of global memory. nullptr: there are as many as there may be.
  Row* row(uint64_t address) {
    const uint64_t number = address / (kPageRows * kRowBytes);
    const auto& [held, page] = near_[number % near_.size()];
    Page* const found = held == number && page != nullptr ? page : find(number);
    return found != nullptr ? &(*found)[address / kRowBytes % kPageRows] : nullptr;
  }
  // Its dwords. nullptr: there are as many as there may be.
  Dwords* spread(Row& row) { return row.is_spread ? row.dwords.get() : make_dwords(row); }
  static void clear(Row& row) {
    row.lines = {};
    row.is_spread = false;
  }
  // Takes back what rows hold that go away.
  void give_back(std::vector<Row>& rows);
  const RaceRecord& record(const RaceMark& mark) const { return records_[mark.record]; }
  // The number of a record that is alike.
  uint32_t number_of(const RaceRecord& record);
  // Whether there are so many records that it is time to `sweep`.
  bool is_crowded() const;
  // Forgets records that no mark names, in global memory or in `others`. Their numbers change.
  void sweep(const std::vector<std::vector<Row>*>& others);

 private:
  static constexpr uint32_t kPageRows = 256;
  using Page = std::array<Row, kPageRows>;
  Page* find(uint64_t number);
  Dwords* make_dwords(Row& row);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::array<std::pair<uint64_t, Page*>, 64> near_{};  // some of them
  size_t spread_rows_ = 0;
  std::vector<RaceRecord> records_;      // the first is nobody's
  std::array<uint32_t, 1024> recent_{};  // by instruction
  size_t most_records_ = 0;              // at least
};

}  // namespace morgana::device
