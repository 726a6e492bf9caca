// Control flow, hardware registers, indexing and what stops a wave, as small programs.
//
// The hex is LLVM's encoding of the assembly beside it (llvm-mc -triple=amdgcn -mcpu=... -show-encoding).
#include <gtest/gtest.h>

#include "device/apertures.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

TEST(Control, LoopCountsItsInstructionsExactly) {
  WaveRig rig(Target::gfx950, dwords_of_hex("050000b0 "    // s_movk_i32 s0, 5
                                            "000001b0 "    // s_movk_i32 s1, 0
                                            "01000180 "    // s_add_u32 s1, s1, s0
                                            "00818080 "    // s_sub_u32 s0, s0, 1
                                            "008007bf "    // s_cmp_lg_u32 s0, 0
                                            "fcff85bf"));  // s_cbranch_scc1 -4
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(1), 15u);
  EXPECT_EQ(rig.wave().instructions, 2u + 5 * 4 + 1);
  // A second run, all steps decoded: the same.
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.wave().instructions, 2u * 23);
}

TEST(Control, CallsReturnBehindThemselves) {
  WaveRig rig(Target::gfx950, dwords_of_hex("001c80be "    // s_getpc_b64 s[0:1]
                                            "00900280 "    // s_add_u32 s2, s0, 16
                                            "01800382 "    // s_addc_u32 s3, s1, 0
                                            "021e84be "    // s_swappc_b64 s[4:5], s[2:3]
                                            "020082bf "    // s_branch 2
                                            "070006b0 "    // s_movk_i32 s6, 7
                                            "041d80be "    // s_setpc_b64 s[4:5]
                                            "09000ab0"));  // s_movk_i32 s10, 9
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(6), 7u);
  EXPECT_EQ(rig.s(10), 9u);
  EXPECT_EQ(rig.s(4), rig.s(0) + 12);
}

TEST(Control, RelativeCallStoresTheNextPc) {
  WaveRig rig(Target::gfx950, dwords_of_hex("001c80be "    // s_getpc_b64 s[0:1]
                                            "010088ba "    // s_call_b64 s[8:9], 1
                                            "020082bf "    // s_branch 2
                                            "070006b0 "    // s_movk_i32 s6, 7
                                            "081d80be "    // s_setpc_b64 s[8:9]
                                            "09000ab0"));  // s_movk_i32 s10, 9
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(6), 7u);
  EXPECT_EQ(rig.s(10), 9u);
  EXPECT_EQ(rig.s(8), rig.s(0) + 4);
  EXPECT_EQ(rig.wave().instructions, 7u);
}

TEST(Control, BranchesFollowVccAndExec) {
  const auto taken = [](const char* hex, uint64_t vcc, uint64_t exec) {
    WaveRig rig(Target::gfx950, dwords_of_hex(std::string(hex) + "070006b0"));  // over s_movk_i32 s6, 7
    rig.s(6) = 0;
    rig.wave().set_vcc(vcc);
    rig.wave().set_exec(exec);
    EXPECT_EQ(rig.run(), Exit::ended);
    return rig.s(6) == 0;
  };
  constexpr uint64_t kHigh = uint64_t{1} << 63;
  EXPECT_TRUE(taken("010086bf", 0, 1));  // s_cbranch_vccz 1
  EXPECT_FALSE(taken("010086bf", kHigh, 0));
  EXPECT_TRUE(taken("010087bf", kHigh, 0));  // s_cbranch_vccnz 1
  EXPECT_FALSE(taken("010087bf", 0, 1));
  EXPECT_TRUE(taken("010088bf", 1, 0));  // s_cbranch_execz 1
  EXPECT_FALSE(taken("010088bf", 0, kHigh));
  EXPECT_TRUE(taken("010089bf", 0, kHigh));  // s_cbranch_execnz 1
  EXPECT_FALSE(taken("010089bf", 1, 0));
}

TEST(Control, HardwareRegisters) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("01f880b8 "          // s_getreg_b32 s0, hwreg(HW_REG_MODE)
                            "011800ba05000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5
                            "013881b8 "          // s_getreg_b32 s1, hwreg(HW_REG_MODE, 0, 8)
                            "02f882b8 "          // s_getreg_b32 s2, hwreg(HW_REG_STATUS)
                            "550003b0 "          // s_movk_i32 s3, 0x55
                            "033003b9 "          // s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 7), s3
                            "031184b8 "          // s_getreg_b32 s4, hwreg(HW_REG_TRAPSTS, 4, 3)
                            "02f803b9 "          // s_setreg_b32 hwreg(HW_REG_STATUS), s3
                            "02f885b8"));        // s_getreg_b32 s5, hwreg(HW_REG_STATUS)
  rig.wave().set_vcc(0);
  rig.wave().scc = 1;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), 0x3f0u);  // denormals kept, DX10_CLAMP, IEEE
  EXPECT_EQ(rig.s(1), 0xf5u);
  EXPECT_EQ(rig.s(2), kStatusValid | kStatusVccz | kStatusScc);
  EXPECT_EQ(rig.s(4), 5u);
  EXPECT_EQ(rig.s(5), rig.s(2)) << "STATUS is read-only for an unprivileged wave";
  EXPECT_EQ(rig.wave().mode.round32(), 1u);
}

TEST(Control, ForkRunsTheSmallerSideFirstAndJoinTheOther) {
  WaveRig rig(Target::gfx900, dwords_of_hex("030014b8 "    // s_cbranch_i_fork s[20:21], 3
                                            "287e2880 "    // s_add_u32 s40, s40, exec_lo
                                            "29812980 "    // s_add_u32 s41, s41, 1
                                            "020082bf "    // s_branch 2
                                            "2a7e2a80 "    // s_add_u32 s42, s42, exec_lo
                                            "2b812b80 "    // s_add_u32 s43, s43, 1
                                            "00001eb0 "    // s_movk_i32 s30, 0
                                            "1e2e80be "    // s_cbranch_join s30
                                            "03002cb0"));  // s_movk_i32 s44, 3
  for (int i = 40; i < 45; i++) rig.s(i) = 0;
  rig.wave().set_exec(0xff);
  rig.s(20) = 0x7;  // three lanes pass, five fail
  rig.s(21) = 0;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(40), 0xf8u);
  EXPECT_EQ(rig.s(41), 1u);
  EXPECT_EQ(rig.s(42), 0x7u);
  EXPECT_EQ(rig.s(43), 1u);
  EXPECT_EQ(rig.s(44), 3u);
  EXPECT_EQ(rig.wave().mode.bits >> 29, 0u);
}

// gfx6 and gfx7 have other opcodes for all of these.
TEST(OlderControl, CallsAndReturns) {
  for (Target target : {Target::gfx600, Target::gfx701}) {
    WaveRig rig(target, dwords_of_hex("001f80be "    // s_getpc_b64 s[0:1]
                                      "00900280 "    // s_add_u32 s2, s0, 16
                                      "01800382 "    // s_addc_u32 s3, s1, 0
                                      "022184be "    // s_swappc_b64 s[4:5], s[2:3]
                                      "020082bf "    // s_branch 2
                                      "070006b0 "    // s_movk_i32 s6, 7
                                      "042080be "    // s_setpc_b64 s[4:5]
                                      "09000ab0"));  // s_movk_i32 s10, 9
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.s(6), 7u);
    EXPECT_EQ(rig.s(10), 9u);
    EXPECT_EQ(rig.s(4), rig.s(0) + 12);
  }
}

TEST(OlderControl, HardwareRegisters) {
  for (Target target : {Target::gfx600, Target::gfx701}) {
    WaveRig rig(target, dwords_of_hex("01f800b9 "          // s_getreg_b32 s0, hwreg(HW_REG_MODE)
                                      "011880ba05000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5
                                      "01f801b9 "          // s_getreg_b32 s1, hwreg(HW_REG_MODE)
                                      "011883b9 "          // s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s3
                                      "01f802b9"));        // s_getreg_b32 s2, hwreg(HW_REG_MODE)
    rig.s(3) = 0xf3a;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.s(0) & 0xff, 0xf0u);
    EXPECT_EQ(rig.s(1), (rig.s(0) & ~0xfu) | 5);
    EXPECT_EQ(rig.s(2), (rig.s(0) & ~0xfu) | 0xa);
  }
}

TEST(OlderControl, ForksAndJoin) {
  for (Target target : {Target::gfx600, Target::gfx701})
    for (bool by_address : {false, true}) {
      // s_cbranch_i_fork s[20:21], 3, or s_cbranch_g_fork s[20:21], s[2:3] behind the address of its target.
      const std::string fork = by_address ? "001f82be 02980280 03800382 14028095 " : "030094b8 ";
      WaveRig rig(target, dwords_of_hex(fork + "287e2880 "    // s_add_u32 s40, s40, exec_lo
                                               "29812980 "    // s_add_u32 s41, s41, 1
                                               "020082bf "    // s_branch 2
                                               "2a7e2a80 "    // s_add_u32 s42, s42, exec_lo
                                               "2b812b80 "    // s_add_u32 s43, s43, 1
                                               "00001eb0 "    // s_movk_i32 s30, 0
                                               "1e3280be "    // s_cbranch_join s30
                                               "03002cb0"));  // s_movk_i32 s44, 3
      for (int i = 40; i < 45; i++) rig.s(i) = 0;
      rig.wave().set_exec(0xff);
      rig.s(20) = 0x7;  // three lanes pass, five fail
      rig.s(21) = 0;
      ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
      EXPECT_EQ(rig.s(40), 0xf8u);
      EXPECT_EQ(rig.s(41), 1u);
      EXPECT_EQ(rig.s(42), 0x7u);
      EXPECT_EQ(rig.s(43), 1u);
      EXPECT_EQ(rig.s(44), 3u);
    }
}

TEST(OlderControl, ReturnFromATrapHandler) {
  for (Target target : {Target::gfx600, Target::gfx701}) {
    RigOptions options;
    options.trap_handler = dwords_of_hex(
        "70847080 "                                                    // s_add_u32 ttmp0, ttmp0, 4
        "71807182 "                                                    // s_addc_u32 ttmp1, ttmp1, 0
        "702280be");                                                   // s_rfe_b64 ttmp[0:1]
    WaveRig rig(target, dwords_of_hex("070092bf 070006b0"), options);  // s_trap 7; s_movk_i32 s6, 7
    rig.s(6) = 0;
    ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.s(6), 7u);
  }
}

TEST(Control, RelativeMovesAndSpecialOperands) {
  WaveRig rig(Target::gfx900, dwords_of_hex("02007cb0 "            // s_movk_i32 m0, 2
                                            "0a2a80be "            // s_movrels_b32 s0, s10
                                            "0c2c94be "            // s_movreld_b32 s20, s12
                                            "0a2b82be "            // s_movrels_b64 s[2:3], s[10:11]
                                            "0c2d98be "            // s_movreld_b64 s[24:25], s[12:13]
                                            "8500efbe "            // s_mov_b32 ttmp3, 5
                                            "6f009ebe "            // s_mov_b32 s30, ttmp3
                                            "fd009fbe "            // s_mov_b32 s31, src_scc
                                            "fb00a0be "            // s_mov_b32 s32, src_vccz
                                            "fc00a1be "            // s_mov_b32 s33, src_execz
                                            "c701a2be "            // s_mov_b64 s[34:35], -7
                                            "ff01a4be01000080 "    // s_mov_b64 s[36:37], 0x80000001
                                            "ff80a69001000080"));  // s_ashr_i64 s[38:39], 0x80000001, 0
  for (int i = 10; i < 14; i++) rig.s(i) = 0x100u + static_cast<uint32_t>(i);
  rig.wave().scc = 1;
  rig.wave().set_vcc(0);
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), 0x10cu);
  EXPECT_EQ(rig.s(22), 0x10cu);
  EXPECT_EQ(rig.s(2), 0x10cu);
  EXPECT_EQ(rig.s(3), 0x10du);
  EXPECT_EQ(rig.s(26), 0x10cu);
  EXPECT_EQ(rig.s(27), 0x10du);
  EXPECT_EQ(rig.s(30), 0u) << "TTMPs read as 0 and ignore writes without privilege";
  EXPECT_EQ(rig.s(31), 1u);
  EXPECT_EQ(rig.s(32), 1u);
  EXPECT_EQ(rig.s(33), 0u);
  EXPECT_EQ(rig.s(34), static_cast<uint32_t>(-7));
  EXPECT_EQ(rig.s(35), ~0u);
  EXPECT_EQ(rig.s(36), 0x80000001u);
  EXPECT_EQ(rig.s(37), 0u) << "a literal of an untyped 64-bit operand is zero-extended";
  EXPECT_EQ(rig.s(39), ~0u) << "a literal of a signed 64-bit operand is sign-extended";
}

TEST(Control, ApertureBasesAreInTheHighDword) {
  WaveRig rig(Target::gfx950, dwords_of_hex("eb0180be "    // s_mov_b64 s[0:1], src_shared_base
                                            "ed0182be "    // s_mov_b64 s[2:3], src_private_base
                                            "ec0184be"));  // s_mov_b64 s[4:5], src_shared_limit
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0) | uint64_t{rig.s(1)} << 32, kSharedBase);
  EXPECT_EQ(rig.s(2) | uint64_t{rig.s(3)} << 32, kPrivateBase);
  EXPECT_EQ(rig.s(4) | uint64_t{rig.s(5)} << 32, kSharedBase | 0xffff'ffff);
}

TEST(Control, GprIndexingMovesRelativeToM0) {
  WaveRig rig(Target::gfx900, dwords_of_hex("000111bf "    // s_set_gpr_idx_on s0, gpr_idx(SRC0)
                                            "0203027e "    // v_mov_b32_e32 v1, v2
                                            "00009cbf "    // s_set_gpr_idx_off
                                            "000811bf "    // s_set_gpr_idx_on s0, gpr_idx(DST)
                                            "0203067e "    // v_mov_b32_e32 v3, v2
                                            "00009cbf "    // s_set_gpr_idx_off
                                            "02030e7e"));  // v_mov_b32_e32 v7, v2
  for (int r = 0; r < 16; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = static_cast<uint32_t>(r * 100 + lane);
  rig.s(0) = 6;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.v(1, 5), 805u);
  EXPECT_EQ(rig.v(3, 5), 305u);
  EXPECT_EQ(rig.v(9, 5), 205u);
  EXPECT_EQ(rig.v(7, 5), 205u);
  EXPECT_EQ(rig.wave().instructions, 8u);
}

// AMD's own top-k kernels clear the lane that they took by this.
TEST(Control, GprIndexingMovesTheDestinationOfWritelane) {
  WaveRig rig(Target::gfx942, dwords_of_hex("200811bf "            // s_set_gpr_idx_on s32, gpr_idx(DST)
                                            "0b008ad2800e0100 "    // v_writelane_b32 v11, 0, 7
                                            "00009cbf "            // s_set_gpr_idx_off
                                            "0b008ad205020100"));  // v_writelane_b32 v11, s5, 1
  for (int r = 11; r < 13; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = 100;
  rig.s(32) = 1;
  rig.s(5) = 55;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  for (int lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(rig.v(11, lane), lane == 1 ? 55u : 100u) << lane;
    EXPECT_EQ(rig.v(12, lane), lane == 7 ? 0u : 100u) << lane;
  }
}

// AMD's f4 GEMM writes its accumulators out so.
TEST(Control, GprIndexingMovesAccVgprs) {
  WaveRig rig(Target::gfx90a, dwords_of_hex("000111bf "            // s_set_gpr_idx_on s0, gpr_idx(SRC0)
                                            "0140d8d302010018 "    // v_accvgpr_read_b32 v1, a2
                                            "00009cbf "            // s_set_gpr_idx_off
                                            "000811bf "            // s_set_gpr_idx_on s0, gpr_idx(DST)
                                            "0440d9d303010018"));  // v_accvgpr_write_b32 a4, v3
  for (int lane = 0; lane < kLanes; lane++) {
    for (int r = 0; r < 8; r++) rig.a(r, lane) = 100u * uint32_t(r) + uint32_t(lane);
    rig.v(3, lane) = 7;
  }
  rig.s(0) = 3;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  for (int lane = 0; lane < kLanes; lane++) {
    EXPECT_EQ(rig.v(1, lane), 500u + uint32_t(lane));
    EXPECT_EQ(rig.a(4, lane), 400u + uint32_t(lane));
    EXPECT_EQ(rig.a(7, lane), 7u);
  }
}

TEST(Control, VskipSkipsVectorInstructionsOnly) {
  WaveRig rig(Target::gfx900, dwords_of_hex("818010bf "    // s_setvskip 1, 0
                                            "0203087e "    // v_mov_b32_e32 v4, v2
                                            "010084bf "    // s_cbranch_scc0 1
                                            "070006b0 "    // s_movk_i32 s6, 7
                                            "080008b0 "    // s_movk_i32 s8, 8
                                            "808010bf "    // s_setvskip 0, 0
                                            "02030c7e"));  // v_mov_b32_e32 v6, v2
  rig.v(2, 0) = 2;
  rig.v(4, 0) = rig.v(6, 0) = 0;
  rig.s(6) = rig.s(8) = 0;
  rig.wave().scc = 0;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.v(4, 0), 0u);
  EXPECT_EQ(rig.v(6, 0), 2u);
  EXPECT_EQ(rig.s(6), 0u) << "the branch was taken";
  EXPECT_EQ(rig.s(8), 8u);
}

Fault fault_of(Target target, const char* hex) {
  WaveRig rig(target, dwords_of_hex(hex));
  EXPECT_EQ(rig.run(), Exit::fault);
  return rig.fault();
}

TEST(Control, FaultsNameWhatHappened) {
  Fault fault = fault_of(Target::gfx950, "070006b0 020092bf");  // s_movk_i32 s6, 7; s_trap 2
  EXPECT_EQ(fault.kind, FaultKind::trap);
  EXPECT_EQ(fault.instruction, "s_trap 2");
  EXPECT_EQ(fault_of(Target::gfx950, "ffffffff").kind, FaultKind::illegal_instruction);
  EXPECT_EQ(fault_of(Target::gfx950, "01008dbf").kind, FaultKind::trap);  // s_sethalt 1
  EXPECT_EQ(fault_of(Target::gfx950, "010091bf").kind,
            FaultKind::trap);  // s_sendmsghalt sendmsg(MSG_INTERRUPT)
  EXPECT_EQ(fault_of(Target::gfx950, "ff7f82bf").kind, FaultKind::bad_jump);  // s_branch 32767
  fault = fault_of(Target::gfx950,
                   "0f0000b0 000001b0 001d80be");  // s_movk_i32 s0, 0xf; s_movk_i32 s1, 0; s_setpc_b64 s[0:1]
  EXPECT_EQ(fault.kind, FaultKind::bad_jump);
  EXPECT_EQ(fault.address, 12u);
}

TEST(Control, DebuggerTrapsContinue) {
  WaveRig rig(Target::gfx950, dwords_of_hex("030092bf 070006b0"));  // s_trap 3; s_movk_i32 s6, 7
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(6), 7u);
}

TEST(Control, BudgetAndSleepYield) {
  WaveRig rig(Target::gfx950, dwords_of_hex("ffff82bf"));  // s_branch -1
  EXPECT_EQ(rig.run(), Exit::quantum);
  EXPECT_EQ(rig.wave().budget, 0u);
  WaveRig sleeper(Target::gfx950, dwords_of_hex("01008ebf"));  // s_sleep 1
  EXPECT_EQ(sleeper.run(), Exit::quantum);
  EXPECT_GT(sleeper.wave().budget, 0u);
}

// With its budget used up, after a million branches, a wave that waits for a loop's head goes on over one
// ahead.
TEST(Control, AWaveStopsWhereABranchGoesBack) {
  // s_branch L; L: s_branch M; s_nop 0; M: s_branch L
  const auto code = dwords_of_hex("000082bf 010082bf 000080bf fdff82bf");
  for (const bool waits : {false, true}) {
    WaveRig rig(Target::gfx950, code);
    rig.wave().waits_to_go_back = waits;
    EXPECT_EQ(rig.run_interpreted(), Exit::quantum);
    EXPECT_EQ(rig.wave().instructions, waits ? 1'000'001u : 1'000'000u);
    EXPECT_EQ(rig.wave().budget, 0u);
  }
}

TEST(Control, BarrierStopsOnlyInGroupsOfSeveralWaves) {
  WaveRig alone(Target::gfx950, dwords_of_hex("00008abf"));  // s_barrier
  EXPECT_EQ(alone.run(), Exit::ended);
  RigOptions two;
  two.items = 128;
  WaveRig pair(Target::gfx950, dwords_of_hex("00008abf"), two);
  EXPECT_EQ(pair.run(), Exit::barrier);
}

}  // namespace
}  // namespace morgana::device
