// Calls whose target follows from the code: compiled code goes there and back, and the wave never leaves it.
#include <gtest/gtest.h>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// For gfx90a:
//   s_getpc_b64 s[4:5]
//   s_add_u32 s4, s4, distance
//   s_addc_u32 s5, s5, 0
//   s_swappc_b64 s[30:31], s[4:5]
//   v_mov_b32 v1, 2
//   s_endpgm
//   v_mov_b32 v0, 7
//   s_setpc_b64 s[30:31]
std::vector<uint32_t> code(uint32_t distance) {
  return {0xbe841c00, 0x8004ff04, distance,   0x82058005, 0xbe9e1e04,
          0x7e020282, 0xbf810000, 0x7e000287, 0xbe801d1e};
}

TEST(Subroutines, AreFoundWhereTheCodeSays) {
  WaveRig rig(Target::gfx90a, code(24), {});
  EXPECT_EQ(rig.run_compiled(), Exit::ended);
  ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  EXPECT_EQ(rig.kernel()->shares().leaves, 0u);
  EXPECT_EQ(rig.kernel()->shares().instructions, 8u);
  EXPECT_EQ(rig.v(0, 63), 7u);
  EXPECT_EQ(rig.v(1, 63), 2u);
}

TEST(Subroutines, OutsideOfTheCodeAreLeftToTheInterpreter) {
  WaveRig rig(Target::gfx90a, code(0x1000'0000), {});
  EXPECT_EQ(rig.run_compiled(), Exit::fault);
  ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  EXPECT_EQ(rig.kernel()->shares().leaves, 1u);
}

// For gfx90a: the function is called twice, and nothing between tells that s[4:5] are what they were.
//   s_getpc_b64 s[4:5]
//   s_add_u32 s4, s4, 24
//   s_addc_u32 s5, s5, 0
//   s_swappc_b64 s[30:31], s[4:5]
//   s_add_u32 s4, s4, s6
//   s_swappc_b64 s[30:31], s[4:5]
//   s_endpgm
//   v_add_u32 v0, 7, v0
//   s_setpc_b64 s[30:31]
const std::vector<uint32_t> kCallsTwice = {0xbe841c00, 0x80049804, 0x82058005, 0xbe9e1e04, 0x80040604,
                                           0xbe9e1e04, 0xbf810000, 0x68000087, 0xbe801d1e};

TEST(Subroutines, AreFoundWhereAnotherCallSays) {
  WaveRig rig(Target::gfx90a, kCallsTwice, {});
  rig.s(6) = 0;
  rig.v(0, 63) = 1;
  EXPECT_EQ(rig.run_compiled(), Exit::ended);
  ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  EXPECT_EQ(rig.kernel()->shares().leaves, 0u);
  EXPECT_EQ(rig.kernel()->shares().instructions, 9u);
  EXPECT_EQ(rig.v(0, 63), 15u);
}

// Whom no call tells: what the register says is done, here the way back of the function alone.
TEST(Subroutines, ThatNoCallTellsAreLeftToTheInterpreter) {
  WaveRig rig(Target::gfx90a, kCallsTwice, {});
  rig.s(6) = 4;
  rig.v(0, 63) = 1;
  EXPECT_EQ(rig.run_compiled(), Exit::ended);
  ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  EXPECT_EQ(rig.v(0, 63), 8u);
}

}  // namespace
}  // namespace morgana::device
