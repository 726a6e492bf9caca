// v_bitop3_b32: truth tables of three inputs, of all lanes and of one alone, as the interpreter has it.
#include <gtest/gtest.h>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kTables = 16;  // of one kernel

// v_bitop3_b32 v[20 + k], v2, v3, v4; v_readlane_b32 s20, v[20 + k], 5; v_mov_b32 v[60 + k], s20.
std::vector<uint32_t> code(uint32_t first) {
  std::vector<uint32_t> words;
  for (uint32_t k = 0; k < kTables; k++) {
    const uint32_t table = first + 16 * k;
    words.push_back(0xd2340000 | (table >> 3 & 7) << 8 | (20 + k));
    words.push_back(0x04120702 | table >> 6 << 27 | (table & 7) << 29);
    words.push_back(0xd2890014);
    words.push_back(0x00010b00 | (20 + k));
    words.push_back(0x7e000214 | (60 + k) << 17);
  }
  return words;
}

std::vector<uint32_t> run(uint32_t first, uint64_t exec, bool compiled) {
  WaveRig rig(Target::gfx950, code(first), {});
  for (uint32_t lane = 0; lane < kLanes; lane++) {
    const auto l = static_cast<int>(lane);
    for (int r = 2; r < 5; r++) rig.v(r, l) = (lane + 1) * 2654435761u * static_cast<uint32_t>(r * r);
    for (int r = 20; r < 92; r++) rig.v(r, l) = lane;
  }
  rig.wave().set_exec(exec);
  EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
  std::vector<uint32_t> results;
  for (int r = 20; r < 92; r++)
    for (int lane = 0; lane < kLanes; lane++) results.push_back(rig.v(r, lane));
  return results;
}

TEST(TruthTables, GiveWhatTheInterpreterGives) {
  for (const uint32_t first : {0, 6, 9, 15})  // the lower halves; the upper ones are all there are
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xfff0'8000'0101'7ffe}}) {
      const std::vector<uint32_t> interpreted = run(first, exec, false);
      EXPECT_EQ(interpreted, run(first, exec, true)) << first << " " << std::hex << exec;
      EXPECT_NE(interpreted[5], interpreted[kLanes * (kTables - 1) + 5]);
    }
}

}  // namespace
}  // namespace morgana::device
