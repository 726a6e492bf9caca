// Lines and LDS phases, counted by hand.
#include "device/observe/memory_counts.h"

#include <gtest/gtest.h>

#include "device/profile.h"

namespace morgana::device {
namespace {

template <class AddressOf>
Access access_of(uint32_t bytes, const AddressOf& address, uint64_t lanes = ~uint64_t{0}) {
  Access access;
  access.reads = true;
  access.bytes = bytes;
  access.lanes = lanes;
  for (uint64_t i = 0; i < kLanes; i++) access.address[i] = address(i);
  return access;
}

struct Lines {
  uint32_t touched, least;
  bool operator==(const Lines&) const = default;
};
Lines lines_of(const Access& access) {
  const uint32_t touched = lines_touched(access);
  return {touched, least_lines(access, touched)};
}

constexpr uint64_t kBase = 0x1000;

TEST(MemoryCounts, Lines) {
  // 64 lanes of 4 bytes are four lines.
  EXPECT_EQ(lines_of(access_of(4, [](uint64_t i) { return kBase + 4 * i; })), (Lines{4, 4}));
  // Shifted by a dword they reach into a fifth.
  EXPECT_EQ(lines_of(access_of(4, [](uint64_t i) { return kBase + 4 + 4 * i; })), (Lines{5, 4}));
  EXPECT_EQ(lines_of(access_of(4, [](uint64_t i) { return kBase + 64 * i; })), (Lines{64, 4}));
  EXPECT_EQ(lines_of(access_of(4, [](uint64_t i) { return kBase + 8 * i; })), (Lines{8, 4}));
  EXPECT_EQ(lines_of(access_of(16, [](uint64_t i) { return kBase + 16 * i; })), (Lines{16, 16}));
  EXPECT_EQ(lines_of(access_of(1, [](uint64_t i) { return kBase + i; })), (Lines{1, 1}));
  // All lanes read one place: not better than one line.
  EXPECT_EQ(lines_of(access_of(4, [](uint64_t) { return kBase; })), (Lines{1, 1}));
  // Backwards, and in no order.
  EXPECT_EQ(lines_of(access_of(4, [](uint64_t i) { return kBase + 4 * (63 - i); })), (Lines{4, 4}));
  EXPECT_EQ(lines_of(access_of(4, [](uint64_t i) { return kBase + 4 * (i * 29 % 64); })), (Lines{4, 4}));
  // Each lane across an edge.
  EXPECT_EQ(lines_of(access_of(8, [](uint64_t i) { return kBase + 60 + 128 * i; })), (Lines{128, 8}));
  EXPECT_EQ(lines_of(access_of(
                4, [](uint64_t i) { return kBase + 64 * i; }, 0x8000'0000'0000'0001)),
            (Lines{2, 1}));
  EXPECT_EQ(lines_of(access_of(4, [](uint64_t i) { return i; }, 0)), (Lines{0, 0}));
}

void expect_phases(Target target, const Access& access, uint32_t taken, uint32_t least) {
  const LdsPhases phases = lds_phases(access, lds_banks(target));
  EXPECT_EQ(phases.taken, taken);
  EXPECT_EQ(phases.least, least);
}

TEST(MemoryCounts, PhasesOf32Banks) {
  const auto row = [](uint64_t dwords) { return [=](uint64_t i) { return 4 * dwords * i; }; };
  expect_phases(Target::gfx90a, access_of(4, row(1)), 2, 2);
  expect_phases(Target::gfx90a, access_of(4, row(2)), 4, 2);
  expect_phases(Target::gfx90a, access_of(4, row(32)), 64, 2);
  expect_phases(Target::gfx90a, access_of(4, row(33)), 2, 2);  // padded
  // All lanes read one dword: it is given to all of them.
  expect_phases(Target::gfx90a, access_of(4, row(0)), 2, 2);
  expect_phases(Target::gfx90a, access_of(8, row(2)), 4, 4);
  expect_phases(Target::gfx90a, access_of(16, row(4)), 8, 8);
  // Reads of 16 bytes by lanes 0 to 3 and 20 to 23 at once: four of them come to each bank.
  // bank...
  expect_phases(Target::gfx90a, access_of(16, row(16)), 32, 8);
  // Bytes of one dword.
  expect_phases(Target::gfx90a, access_of(1, [](uint64_t i) { return i; }), 2, 2);
  // Half of the wave has one phase.
  expect_phases(Target::gfx90a, access_of(4, row(32), 0xffff'ffff), 32, 1);
}

TEST(MemoryCounts, PhasesOf64BanksAndOfAtomics) {
  const auto row = [](uint64_t dwords) { return [=](uint64_t i) { return 4 * dwords * i; }; };
  expect_phases(Target::gfx950, access_of(4, row(1)), 1, 1);
  expect_phases(Target::gfx950, access_of(4, row(32)), 32, 1);
  expect_phases(Target::gfx950, access_of(4, row(64)), 64, 1);
  expect_phases(Target::gfx950, access_of(16, row(4)), 4, 4);
  // As many dwords of one bank, to the lanes in turn; the others have one each.
  for (uint64_t dwords = 1; dwords <= 6; dwords++)
    expect_phases(Target::gfx950,
                  access_of(4, [=](uint64_t i) { return i < 32 ? i % dwords * 64 * 4 : i * 4; }),
                  static_cast<uint32_t>(dwords), 1);
  // Across the edge of two dwords each.
  expect_phases(Target::gfx950, access_of(4, [](uint64_t i) { return 4 * i + 1; }), 2, 1);
  Access atomic = access_of(4, [](uint64_t i) { return i % 16 * 64 * 4 + i / 16 * 4; });
  atomic.writes = atomic.is_atomic = true;
  expect_phases(Target::gfx950, atomic, 16, 1);
  expect_phases(Target::gfx90a, atomic, 32, 2);
  atomic = access_of(4, row(0));
  atomic.writes = atomic.is_atomic = true;
  expect_phases(Target::gfx950, atomic, 64, 1);
}

}  // namespace
}  // namespace morgana::device
