#include "device/observe/memory_counts.h"

#include <algorithm>
#include <utility>

#include "device/profile.h"

namespace morgana::device {
namespace {

constexpr uint32_t kDword = 4;
// Lanes of a phase by number, where they do not follow each other: reads of 16 bytes. The upper half of the
// wave likewise.
constexpr uint32_t kApart[4][8] = {{0, 1, 2, 3, 20, 21, 22, 23},
                                   {4, 5, 6, 7, 16, 17, 18, 19},
                                   {8, 9, 10, 11, 28, 29, 30, 31},
                                   {12, 13, 14, 15, 24, 25, 26, 27}};

// The dwords that a phase asks for, bank by bank.
class Phase {
 public:
  explicit Phase(uint32_t banks) : last_bank_(banks - 1) {}

  void add(uint64_t address, uint32_t bytes, bool shares) {
    const uint64_t first = address / kDword, last = (address + bytes - 1) / kDword;
    for (uint64_t dword = first; dword <= last; dword++) {
      const size_t bank = dword & last_bank_;
      if (shares && has(bank, dword)) continue;
      if (count_ < dwords_.size()) {
        dwords_[count_] = {dword, last_[bank]};
        last_[bank] = ++count_;
      }
      most_ = std::max<uint32_t>(most_, ++used_[bank]);
    }
    is_empty_ = false;
  }
  bool is_empty() const { return is_empty_; }
  uint32_t most() const { return most_; }

 private:
  bool has(size_t bank, uint64_t dword) const {
    for (uint16_t at = last_[bank]; at != 0; at = dwords_[at - 1].before)
      if (dwords_[at - 1].number == dword) return true;
    return false;
  }

  struct Dword {
    uint64_t number;
    uint16_t before;  // of its bank, counted from 1
  };
  uint32_t last_bank_, most_ = 0;  // the number of banks is a power of two
  bool is_empty_ = true;
  uint16_t count_ = 0;
  std::array<uint16_t, 64> used_{}, last_{};  // by bank
  std::array<Dword, 512> dwords_;             // the first count_
};

// Distinct lines, few at a time: a table that is not cleared, since each call has a number.
class Lines {
 public:
  void begin() {
    count_ = 0;
    if (++call_ == 0) table_ = {}, call_ = 1;
  }
  void add(uint64_t line) {
    for (size_t at = (line * 0x9e37'79b9'7f4a'7c15) >> 55;; at = (at + 1) % table_.size()) {
      Entry& entry = table_[at];
      if (entry.call == call_ && entry.line == line) return;
      if (entry.call == call_) continue;
      entry = {line, call_};
      count_++;
      return;
    }
  }
  uint32_t count() const { return count_; }

 private:
  struct Entry {
    uint64_t line = 0;
    uint32_t call = 0;
  };
  std::array<Entry, 512> table_;
  uint32_t call_ = 0, count_ = 0;
};

}  // namespace

uint32_t lines_touched(const Access& access) {
  thread_local Lines lines;
  lines.begin();
  uint64_t before = ~uint64_t{0};
  for (uint64_t left = access.lanes; left != 0; left &= left - 1) {
    const uint64_t at = access.address[static_cast<size_t>(__builtin_ctzll(left))];
    const uint64_t last = (at + std::max(access.bytes, 1u) - 1) / kLineBytes;
    // At most 16 bytes a lane: two lines.
    for (uint64_t line = at / kLineBytes; line <= last; line++)
      if (std::exchange(before, line) != line) lines.add(line);
  }
  return lines.count();
}

uint32_t least_lines(const Access& access, uint32_t touched) {
  const uint32_t bytes = static_cast<uint32_t>(__builtin_popcountll(access.lanes)) * access.bytes;
  return std::min(touched, (bytes + kLineBytes - 1) / kLineBytes);
}

namespace {

// How often the banks are used for these lanes, each of which asks for bytes of one dword; 0: more often than
// is worth counting so. Each time a bank gives one dword, to all lanes that ask for it.
uint32_t times_of_banks(const Access& access, uint64_t lanes, uint32_t banks) {
  constexpr uint32_t kMost = 4;
  std::array<uint64_t, 64> given;
  uint32_t times = 0;
  while (lanes != 0) {
    if (++times > kMost) return 0;
    uint64_t used = 0, later = 0;
    for (uint64_t left = lanes; left != 0; left &= left - 1) {
      const uint64_t dword = access.address[static_cast<size_t>(__builtin_ctzll(left))] / kDword;
      const size_t bank = dword & (banks - 1);
      if ((used >> bank & 1) == 0) {
        used |= uint64_t{1} << bank;
        given[bank] = dword;
      } else if (given[bank] != dword) {
        later |= left & -left;
      }
    }
    lanes = later;
  }
  return times;
}

// The same of atomics: each lane's takes its own time.
uint32_t times_of_atomics(const Access& access, uint64_t lanes, uint32_t banks) {
  std::array<uint8_t, 64> used{};
  uint8_t most = 0;
  for (uint64_t left = lanes; left != 0; left &= left - 1) {
    const size_t bank = access.address[static_cast<size_t>(__builtin_ctzll(left))] / kDword & (banks - 1);
    most = std::max(most, ++used[bank]);
  }
  return most;
}

// Whether all lanes ask for bytes of one dword each.
bool are_single_dwords(const Access& access) {
  if (access.bytes > kDword) return false;
  uint64_t reach = 0;
  for (uint64_t left = access.lanes; left != 0; left &= left - 1)
    reach |= access.address[static_cast<size_t>(__builtin_ctzll(left))];
  return access.bytes == 1 || reach % access.bytes == 0;
}

}  // namespace

LdsPhases lds_phases(const Access& access, uint32_t banks) {
  LdsPhases phases;
  const uint32_t bytes = std::max(access.bytes, kDword);
  const uint32_t rounded = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
  const uint32_t lanes = std::min<uint32_t>(banks * kDword / rounded, kLanes);
  const bool is_apart = rounded == 16 && banks == 32 && !access.writes;
  const bool is_single = are_single_dwords(access);
  for (uint32_t first = 0; first < kLanes; first += lanes) {
    if (is_single) {
      const uint64_t asks = access.lanes >> first << (kLanes - lanes) >> (kLanes - lanes) << first;
      if (asks == 0) continue;
      const auto& times_of = access.is_atomic ? times_of_atomics : times_of_banks;
      if (const uint32_t times = times_of(access, asks, banks); times != 0) {
        phases.taken += times;
        phases.least++;
        continue;
      }
    }
    Phase phase(banks);
    for (uint32_t i = 0; i < lanes; i++) {
      const uint32_t lane = is_apart ? first / 32 * 32 + kApart[first % 32 / 8][i] : first + i;
      if ((access.lanes >> lane & 1) != 0) phase.add(access.address[lane], access.bytes, !access.is_atomic);
    }
    if (phase.is_empty()) continue;
    phases.taken += phase.most();
    phases.least++;
  }
  return phases;
}

}  // namespace morgana::device
