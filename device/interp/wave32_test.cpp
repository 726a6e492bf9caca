// Waves of 32: masks in one SGPR, the halves of VCC and EXEC that they leave alone, NULL, and how a
// work-group is divided.
//
// The hex is LLVM's encoding of the assembly beside it (llvm-mc -triple=amdgcn -mcpu=gfx1030).
#include <gtest/gtest.h>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr auto kTarget = Target::gfx1030;

void put_ramp(WaveRig& rig, int n, uint32_t wave_lanes) {
  for (uint32_t l = 0; l < wave_lanes; l++) rig.v(n, static_cast<int>(l)) = l;
}

TEST(Wave32, ComparisonsWriteOneScalarRegister) {
  for (const WaveSize size : {WaveSize::wave32, WaveSize::wave64}) {
    // v_cmp_gt_u32_e64 s4, 20, v0; v_cmp_gt_u32_e32 vcc_lo, 20, v0
    WaveRig rig(kTarget, dwords_of_hex("0400c4d494000200 9400887d"), {.wave_size = size});
    put_ramp(rig, 0, 64);
    rig.s(4) = rig.s(5) = rig.s(isa::kVccLo) = rig.s(isa::kVccHi) = 0x55555555;
    ASSERT_EQ(rig.run(), Exit::ended);
    const uint32_t upper = size == WaveSize::wave32 ? 0x55555555 : 0;
    EXPECT_EQ(rig.s(4), 0xfffffu);
    EXPECT_EQ(rig.s(5), upper);
    EXPECT_EQ(rig.s(isa::kVccLo), 0xfffffu);
    EXPECT_EQ(rig.s(isa::kVccHi), upper);
  }
}

TEST(Wave32, UpperHalvesAreScalarRegistersLikeOthers) {
  WaveRig rig(kTarget, dwords_of_hex("8703ebbe "    // s_mov_b32 vcc_hi, 7
                                     "c103ffbe "    // s_mov_b32 exec_hi, -1
                                     "8502047e "    // v_mov_b32_e32 v2, 5
                                     "8003eabe "    // s_mov_b32 vcc_lo, 0
                                     "010086bf "    // s_cbranch_vccz 1
                                     "890383be"));  // s_mov_b32 s3, 9
  rig.s(3) = 1;
  rig.v(2, 31) = rig.v(2, 32) = 1;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(3), 1u);
  EXPECT_EQ(rig.s(isa::kVccHi), 7u);
  EXPECT_EQ(rig.s(isa::kExecHi), ~0u);
  EXPECT_EQ(rig.v(2, 31), 5u);
  EXPECT_EQ(rig.v(2, 32), 1u);
}

TEST(Wave32, CarriesComeFromOneScalarRegister) {
  // v_add_co_ci_u32_e64 v3, s10, v0, v1, s4
  WaveRig rig(kTarget, dwords_of_hex("030a28d500031200"));
  rig.s(4) = 1u << 3, rig.s(5) = rig.s(11) = ~0u;
  for (int l = 0; l < 32; l++) rig.v(0, l) = ~0u, rig.v(1, l) = static_cast<uint32_t>(l) / 31;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.v(3, 2), ~0u);
  EXPECT_EQ(rig.v(3, 3), 0u);
  EXPECT_EQ(rig.s(10), 1u << 3 | 1u << 31);
  EXPECT_EQ(rig.s(11), ~0u);
}

TEST(Wave32, NullReadsZeroAndSwallowsWrites) {
  WaveRig rig(kTarget, dwords_of_hex("00017d80 "    // s_add_u32 null, s0, s1
                                     "7d000688 "    // s_or_b32 s6, null, s0
                                     "7d008888"));  // s_or_b64 s[8:9], null, s[0:1]
  rig.s(0) = ~0u, rig.s(1) = 2;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.wave().scc, 1u);
  EXPECT_EQ(rig.s(isa::kNull), 0u);
  EXPECT_EQ(rig.s(6), ~0u);
  EXPECT_EQ(rig.s(8), ~0u);
  EXPECT_EQ(rig.s(9), 2u);
  EXPECT_EQ(rig.wave().exec(), 0xffffffffu);
}

TEST(Wave32, AWorkGroupHasTwiceAsManyWaves) {
  WaveRig rig(kTarget, {}, {.items = 80});
  ASSERT_EQ(rig.group().wave_count, 3u);
  EXPECT_EQ(rig.wave(1).exec(), 0xffffffffu);
  EXPECT_EQ(rig.wave(2).exec(), 0xffffu);
  EXPECT_EQ(rig.wave(2).v[15], 79u);
  EXPECT_EQ(WaveRig(kTarget, {}, {.wave_size = WaveSize::wave64, .items = 80}).group().wave_count, 2u);
}

TEST(Wave32, Gfx12HasTheGroupsIdInTrapRegisters) {
  WaveRig rig(Target::gfx1200,
              dwords_of_hex("750080be "            // s_mov_b32 s0, ttmp9
                            "730081be "            // s_mov_b32 s1, ttmp7
                            "74990285 "            // s_lshr_b32 s2, ttmp8, 25
                            "750010ca 80000000"),  // v_dual_mov_b32 v0, ttmp9 :: v_dual_mov_b32 v1, 0
              {.items = 64});
  EXPECT_EQ(rig.wave(1).s[isa::kTtmp + 8] >> 25, 1u);
  rig.s(isa::kTtmp + 9) = 5, rig.s(isa::kTtmp + 7) = 6, rig.s(isa::kTtmp + 8) = 7u << 25;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), 5u);
  EXPECT_EQ(rig.s(1), 6u);
  EXPECT_EQ(rig.s(2), 7u);
  EXPECT_EQ(rig.v(0, 31), 5u);
}

TEST(Wave32, Dpp8ReadsZeroOfDisabledLanes) {
  WaveRig rig(Target::gfx1100,
              dwords_of_hex("e902027e 00773905 "    // v_mov_b32_dpp v1, v0 dpp8:[7,6,5,4,3,2,1,0]
                            "ea02047e 00773905"));  // v_mov_b32_dpp v2, v0 dpp8:[7,6,5,4,3,2,1,0] fi:1
  put_ramp(rig, 0, 32);
  rig.v(1, 0) = rig.v(1, 8) = 99;
  rig.wave().set_exec(0xff0f);
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.v(1, 0), 0u);
  EXPECT_EQ(rig.v(1, 8), 15u);
  EXPECT_EQ(rig.v(2, 0), 7u);
}

TEST(Wave32, AWaveMayGiveItsRegistersAwayBeforeItEnds) {
  WaveRig rig(Target::gfx1100, dwords_of_hex("0300b6bf"));  // s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
  EXPECT_EQ(rig.run(), Exit::ended);
}

TEST(Wave32, FlatScratchIsAHardwareRegister) {
  WaveRig rig(kTarget, dwords_of_hex("14f880b9 "    // s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s0
                                     "15f881b9 "    // s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s1
                                     "15f802b9 "    // s_getreg_b32 s2, hwreg(HW_REG_FLAT_SCR_HI)
                                     "14f803b9"));  // s_getreg_b32 s3, hwreg(HW_REG_FLAT_SCR_LO)
  rig.s(0) = 0x12345678, rig.s(1) = 0x9abc;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(2), 0x9abcu);
  EXPECT_EQ(rig.s(3), 0x12345678u);
}

}  // namespace
}  // namespace morgana::device
