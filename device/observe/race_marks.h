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

#include "device/race_mark.h"

namespace morgana::device {

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

// What the marks of a dword have no room for: whose bytes others have not accessed since. By the dword's
// address.
struct RacePart {
  RaceMark mark;
  bool wrote = false;
};
using RaceParts = std::unordered_map<uint64_t, std::vector<RacePart>>;

class RaceMarks {
 public:
  using Dwords = RaceDwords;
  static constexpr uint32_t kRowBytes = Dwords::kBytes, kRowDwords = Dwords::kCount,
                            kLineDwords = RaceRow::kLineBytes / 4;

  using Row = RaceRow;
  using Page = RacePage;

  RaceMarks();
  ~RaceMarks();
  RaceMarks(const RaceMarks&) = delete;
  RaceMarks& operator=(const RaceMarks&) = delete;

  // Of global memory. nullptr: there are as many as there may be.
  Page* page(uint64_t address) {
    const uint64_t number = address / Page::kBytes;
    const auto& [held, page] = launch_.near[number % launch_.near.size()];
    return held == number && page != nullptr ? page : find(number);
  }
  Row* row(uint64_t address) {
    Page* const found = page(address);
    return found != nullptr ? &found->rows[address / kRowBytes % Page::kRows] : nullptr;
  }
  // Its dwords. nullptr: there are as many as there may be.
  Dwords* spread(Row& row) { return row.is_spread ? row.dwords : make_dwords(row); }
  static void clear(Row& row) {
    row.write = row.read = row.other = {};
    row.is_spread = false;
  }
  // As many as `rows` for LDS, one behind the other; and takes back what has no rows any more.
  static void place(std::vector<Row>& rows, std::vector<Dwords>& all);
  static void give_back(std::vector<Dwords>&& all);
  const RaceRecord& record(const RaceMark& mark) const { return launch_.records[mark.record]; }
  LaunchMarks& launch() { return launch_; }
  // The number of a record that is alike.
  uint32_t number_of(const RaceRecord& record);
  // Whether there are so many records that it is time to `sweep`.
  bool is_crowded() const;
  // Forgets records that no mark names, in global memory, in `others` or in `parts`. Their numbers change.
  void sweep(const std::vector<std::vector<Row>*>& others, const std::vector<RaceParts*>& parts);

 private:
  Page* find(uint64_t number);
  Dwords* make_dwords(Row& row);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  size_t spread_rows_ = 0;
  size_t limit() const;  // of records
  void admit();

  std::vector<RaceRecord> records_;  // as many as there is room for
  LaunchMarks launch_;
  size_t least_limit_ = 0;
};

}  // namespace morgana::device
