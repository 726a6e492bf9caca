// Waves that begin with fewer lanes than they have.
#include <gtest/gtest.h>

#include "device/testing/differential.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

void expect_same(Target target, std::string_view hex, uint32_t items, WaveSize wave = WaveSize::wave64) {
  const Comparison result = compare_tiers(target, dwords_of_hex(hex),
                                          {.wave = wave, .seed = 3, .items = items, .begins_full = true}, 16);
  EXPECT_EQ(result.verdict, Comparison::Verdict::same) << result.what;
  EXPECT_TRUE(result.was_compiled) << result.why_interpreted;
}

// What is compared are the registers of all lanes, whether they ever execute or not.
TEST(Occupied, LanesThatNeverExecuteKeepWhatTheyHold) {
  expect_same(Target::gfx90a, "0402027e 06060468", 16);  // v_mov_b32 v1, s4; v_add_u32 v2, s6, v3
  expect_same(Target::gfx1030, "0402027e", 16, WaveSize::wave32);
}

TEST(Occupied, MasksHaveNoBitsOfLanesThatNeverExecute) {
  // v_cmp_eq_u32 vcc, v1, v1; s_bcnt1_i32_b64 s6, vcc; s_not_b64 s[8:9], vcc
  for (const uint32_t items : {16, 32}) expect_same(Target::gfx90a, "0103947d 6a0d86be 6a0588be", items);
  // v_cmp_eq_u32 vcc_lo, v1, v1; s_bcnt1_i32_b32 s6, vcc_lo
  expect_same(Target::gfx1030, "0103847d 6a0f86be", 16, WaveSize::wave32);
}

TEST(Occupied, BranchesLookAtAllBitsOfVcc) {
  // v_cmp_eq_u32 vcc, v0, v0; s_not_b64 vcc, vcc; s_cbranch_vccz 1; v_mov_b32 v1, 7
  for (const uint32_t items : {16, 32})
    expect_same(Target::gfx90a, "0001947d 6a05eabe 010086bf 8702027e", items);
  // v_cmp_eq_u32 vcc_lo, v0, v0; s_not_b32 vcc_lo, vcc_lo; s_cbranch_vccz 1; v_mov_b32 v1, 7
  expect_same(Target::gfx1030, "0001847d 6a07eabe 010086bf 8702027e", 16, WaveSize::wave32);
}

TEST(Occupied, LanesComeBackFromMasksThatWereSaved) {
  // v_cmp_gt_i32 vcc, 0, v1; s_and_saveexec_b64 s[4:5], vcc; v_mov_b32 v2, 1; s_xor_b64 exec, exec, s[4:5];
  // v_mov_b32 v2, 2; s_or_b64 exec, exec, s[4:5]; v_add_u32 v3, v2, v3
  for (const uint32_t items : {16, 32})
    expect_same(Target::gfx90a, "8002887d 6a2084be 8102047e 7e04fe88 8202047e 7e04fe87 02070668", items);
}

// Code for all lanes, then: the others are given to the wave, or another one is read.
TEST(Occupied, OtherLanesMayExecuteAllTheSame) {
  // s_or_saveexec_b64 s[4:5], -1; v_mov_b32 v1, 5; s_mov_b64 exec, s[4:5]
  expect_same(Target::gfx90a, "c12184be 8502027e 0401febe", 16);
  // s_mov_b64 exec, s[6:7]; v_mov_b32 v1, 5
  expect_same(Target::gfx90a, "0601febe 8502027e", 32);
  // s_nand_saveexec_b64 s[4:5], s[6:7]; v_mov_b32 v1, 5; a mask that waves of 32 do not have
  expect_same(Target::gfx1030, "062984be 8502027e", 16, WaveSize::wave32);
  // v_readlane_b32 s6, v1, 40
  expect_same(Target::gfx90a, "060089d2 01510100", 32);
  // v_mov_b32_dpp v2, v1 row_bcast:15 row_mask:0xf bank_mask:0xf
  expect_same(Target::gfx90a, "fa02047e 014201ff", 32);
}

// s_rndne_f16 exec_lo, s4 or src_vccz; v_cndmask_b32 v6, v2, v3, vcc: LLVM 22 cannot select lanes that are
// the bits of a half.
TEST(Occupied, AHalfIsAMask) {
  for (const uint32_t half : {0xbefe6e04u, 0xbefe6efdu}) {
    const Comparison result =
        compare_tiers(Target::gfx1100, {half, 0x020c0702}, {.wave = WaveSize::wave32, .seed = 3}, 4);
    EXPECT_EQ(result.verdict, Comparison::Verdict::same) << result.what;
    EXPECT_TRUE(result.was_compiled) << result.why_interpreted;
  }
}

}  // namespace
}  // namespace morgana::device
