// Code that has so many registers live at its ways in and out that they stay in the Wave.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kLds = 8192, kOutside = 1u << 20;
constexpr uint32_t kFirst = 8, kSums = 64, kRounds = 30;

// v_lshlrev_b32 v1, 2, v0; v_mov_b32 v5, 1.0; v_mul_f32 v7, v5, v6: of denormals.
//
// For each sum: ds_read_b32 v2, v1 offset:4 * step; s_waitcnt lgkmcnt(0); v_add_u32 sum, v2, sum;
// ds_write_b32 v1, sum offset:4 * step. Before one of these v_add_u32 v4, s4, v1; ds_read_b32 v3, v4, which
// may lie outside LDS and leave: the sum must not be added to again.
//
// For each round: s_barrier; for each sum v_add_u32 v3, v3, sum. At the end v_mul_f32 v5, v5, v6.
std::vector<uint32_t> make_code() {
  std::vector<uint32_t> code{0x24020082, 0x7e0a02f2, 0x0a0e0d05};
  constexpr uint32_t kWait = 0xbf8cc07f, kBarrier = 0xbf8a0000;
  for (uint32_t step = 0; step < kSums; step++) {
    const uint32_t sum = kFirst + step;
    code.insert(code.end(), {0xd86c0000 | 4 * step, 2u << 24 | 1, kWait, 0x68000102 | sum << 17 | sum << 9});
    if (step == kSums / 2) code.insert(code.end(), {0x68080204, 0xd86c0000, 3u << 24 | 4, kWait});
    code.insert(code.end(), {0xd81a0000 | 4 * step, sum << 8 | 1});
  }
  for (uint32_t round = 0; round < kRounds; round++) {
    code.push_back(kBarrier);
    for (uint32_t sum = kFirst; sum < kFirst + kSums; sum++) code.push_back(0x68060103 | sum << 9);
  }
  code.push_back(0x0a0a0d05);
  return code;
}

std::vector<uint32_t> run(WaveRig& rig, uint32_t offset, bool compiled) {
  rig.restart();
  for (uint32_t i = 0; i < kLds / 4; i++) {
    const uint32_t value = i * 2654435761u;
    std::memcpy(rig.group().lds + 4 * i, &value, sizeof value);
  }
  // v0 is the work-item's id.
  for (uint32_t w = 0; w < 2; w++) {
    rig.wave(w).s[4] = offset;
    for (uint32_t i = 1; i < kFirst + kSums; i++)
      for (uint32_t lane = 0; lane < kLanes; lane++) rig.wave(w).v[i * kLanes + lane] = (i + w) * 1000 + lane;
  }
  EXPECT_EQ(rig.run_group(compiled), Exit::ended) << rig.fault().detail;
  std::vector<uint32_t> all(kLds / 4);
  std::memcpy(all.data(), rig.group().lds, kLds);
  for (uint32_t w = 0; w < 2; w++)
    all.insert(all.end(), rig.wave(w).v, rig.wave(w).v + (kFirst + kSums) * kLanes);
  return all;
}

TEST(Crowded, RegistersInTheWaveAreThoseOfTheInterpreter) {
  for (const uint32_t float_mode : {0xf0u, 0xc0u}) {
    RigOptions options;
    options.items = 128;  // two waves: one does not wait for itself
    options.group_bytes = kLds;
    options.float_mode = float_mode;
    options.begins_full = true;
    WaveRig rig(Target::gfx950, make_code(), options);
    for (const uint32_t offset : {0u, kOutside}) {
      SCOPED_TRACE(testing::Message() << float_mode << ' ' << offset);
      const std::vector<uint32_t> expected = run(rig, offset, false);
      EXPECT_TRUE(run(rig, offset, true) == expected);
      ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    }
  }
}

}  // namespace
}  // namespace morgana::device
