#include "device/observe/memory_counts.h"

#include <algorithm>

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
  explicit Phase(uint32_t banks) : banks_(banks) {}

  void add(uint64_t address, uint32_t bytes, bool shares) {
    const uint64_t first = address / kDword, last = (address + bytes - 1) / kDword;
    for (uint64_t dword = first; dword <= last; dword++) {
      const bool is_new = count_ == 0 || dword > highest_;
      highest_ = std::max(highest_, dword);
      if (shares && !is_new &&
          std::find(dwords_.begin(), dwords_.begin() + count_, dword) != dwords_.begin() + count_)
        continue;
      if (count_ < dwords_.size()) dwords_[count_++] = dword;
      most_ = std::max<uint32_t>(most_, ++used_[dword % banks_]);
    }
    is_empty_ = false;
  }
  bool is_empty() const { return is_empty_; }
  uint32_t most() const { return most_; }

 private:
  uint32_t banks_, most_ = 0;
  bool is_empty_ = true;
  uint64_t highest_ = 0;
  std::array<uint16_t, 64> used_{};
  std::array<uint64_t, 512> dwords_{};
  size_t count_ = 0;
};

}  // namespace

uint32_t lines_touched(const Access& access) {
  std::array<uint64_t, 2 * kLanes> lines;
  size_t count = 0;
  bool is_sorted = true;
  for (uint64_t left = access.lanes; left != 0; left &= left - 1) {
    const uint64_t at = access.address[static_cast<size_t>(__builtin_ctzll(left))];
    const uint64_t last = (at + std::max(access.bytes, 1u) - 1) / kLineBytes;
    // At most 16 bytes a lane: two lines.
    for (uint64_t line = at / kLineBytes; line <= last && count < lines.size(); line++) {
      if (count != 0 && lines[count - 1] == line) continue;
      is_sorted = is_sorted && (count == 0 || lines[count - 1] < line);
      lines[count++] = line;
    }
  }
  if (is_sorted) return static_cast<uint32_t>(count);
  std::sort(lines.begin(), lines.begin() + count);
  return static_cast<uint32_t>(std::unique(lines.begin(), lines.begin() + count) - lines.begin());
}

uint32_t least_lines(const Access& access, uint32_t touched) {
  const uint32_t bytes = static_cast<uint32_t>(__builtin_popcountll(access.lanes)) * access.bytes;
  return std::min(touched, (bytes + kLineBytes - 1) / kLineBytes);
}

LdsPhases lds_phases(const Access& access, Target target) {
  LdsPhases phases;
  const uint32_t banks = lds_banks(target);
  const uint32_t bytes = std::max(access.bytes, kDword);
  const uint32_t rounded = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
  const uint32_t lanes = std::min<uint32_t>(banks * kDword / rounded, kLanes);
  const bool is_apart = rounded == 16 && banks == 32 && !access.writes;
  for (uint32_t first = 0; first < kLanes; first += lanes) {
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
