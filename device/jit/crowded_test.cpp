// Code that has so many registers live at its ways in and out that they stay in the Wave.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kLds = 8192, kOutside = 1u << 20;
constexpr uint32_t kFirst = 8, kSums = 64, kSteps = 100;

// v_lshlrev_b32 v1, 2, v0. For each step: ds_read_b32 v2, v1 offset:4 * step; s_waitcnt lgkmcnt(0); v_add_u32
// sum, v2, sum; ds_write_b32 v1, sum offset:4 * step. Before one of these v_add_u32 v4, s4, v1; ds_read_b32
// v3, v4, which may lie outside LDS and leave: the sum must not be added to again.
std::vector<uint32_t> make_code() {
  std::vector<uint32_t> code{0x24020082};
  constexpr uint32_t kWait = 0xbf8cc07f;
  for (uint32_t step = 0; step < kSteps; step++) {
    const uint32_t sum = kFirst + step % kSums;
    code.insert(code.end(), {0xd86c0000 | 4 * step, 2u << 24 | 1, kWait, 0x68000102 | sum << 17 | sum << 9});
    if (step == kSteps / 2) code.insert(code.end(), {0x68080204, 0xd86c0000, 3u << 24 | 4, kWait});
    code.insert(code.end(), {0xd81a0000 | 4 * step, sum << 8 | 1});
  }
  return code;
}

std::vector<uint32_t> run(WaveRig& rig, uint32_t offset, bool compiled) {
  rig.restart();
  rig.s(4) = offset;
  for (uint32_t i = 0; i < kLds / 4; i++) {
    const uint32_t value = i * 2654435761u;
    std::memcpy(rig.group().lds + 4 * i, &value, sizeof value);
  }
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    for (uint32_t r = 0; r < kFirst + kSums; r++)
      rig.v(static_cast<int>(r), static_cast<int>(lane)) = r * 1000 + lane;
  }
  EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  std::vector<uint32_t> all(kLds / 4);
  std::memcpy(all.data(), rig.group().lds, kLds);
  for (uint32_t r = 0; r < kFirst + kSums; r++)
    for (int lane = 0; lane < kLanes; lane++) all.push_back(rig.v(static_cast<int>(r), lane));
  return all;
}

TEST(Crowded, RegistersInTheWaveAreThoseOfTheInterpreter) {
  RigOptions options;
  options.group_bytes = kLds;
  options.begins_full = true;
  WaveRig rig(Target::gfx950, make_code(), options);
  for (const uint32_t offset : {0u, kOutside}) {
    SCOPED_TRACE(offset);
    const std::vector<uint32_t> expected = run(rig, offset, false);
    EXPECT_TRUE(run(rig, offset, true) == expected);
    ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  }
}

}  // namespace
}  // namespace morgana::device
