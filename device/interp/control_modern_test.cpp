// Control of gfx10 to gfx12: what one instruction's record cannot show.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <iterator>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

RigOptions wave64() {
  RigOptions options;
  options.wave_size = WaveSize::wave64;
  return options;
}

// Lanes of the half in execution get 1 added to v1; s5 counts the passes.
TEST(SubvectorLoops, RunTheBodyOnceForEachHalfOfExec) {
  struct Case {
    uint64_t exec;
    uint32_t passes;
  };
  for (const auto& [exec, passes] : {Case{~uint64_t{0}, 2}, Case{0xff, 1}, Case{uint64_t{0xff} << 32, 1},
                                     Case{uint64_t{0xf0} << 32 | 0xf, 2}, Case{0, 0}}) {
    for (const Target target : {Target::gfx1010, Target::gfx1030}) {
      WaveRig rig(target,
                  dwords_of_hex("030084bd "  // s_subvector_loop_begin s4, 3
                                "0105024a "  // v_add_nc_u32_e32 v1, v1, v2
                                "05810580 "  // s_add_u32 s5, s5, 1
                                "fdff04be"   // s_subvector_loop_end s4, 65533
                                ),
                  wave64());
      for (int lane = 0; lane < kLanes; lane++) rig.v(1, lane) = 5, rig.v(2, lane) = 1;
      rig.s(5) = 0;
      rig.wave().set_exec(exec);
      ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
      EXPECT_EQ(rig.s(5), passes) << exec;
      EXPECT_EQ(rig.wave().exec(), exec);
      for (int lane = 0; lane < kLanes; lane++) EXPECT_EQ(rig.v(1, lane), exec >> lane & 1 ? 6u : 5u) << lane;
    }
  }
}

TEST(FloatModes, AreWrittenByTwoInstructions) {
  WaveRig rig(Target::gfx1030, dwords_of_hex("0500a4bf "    // s_round_mode 0x5
                                             "0600a5bf "    // s_denorm_mode 6
                                             "01f805b9"));  // s_getreg_b32 s5, hwreg(HW_REG_MODE)
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(5) & 0xff, 0x65u);
}

TEST(FloatModes, OfGfx12HaveNeitherIeeeNorDx10Clamp) {
  WaveRig rig(Target::gfx1200,
              dwords_of_hex("01f885b8 "    // s_getreg_b32 s5, hwreg(HW_REG_WAVE_MODE)
                            "01f807b9 "    // s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s7
                            "01f886b8 "    // s_getreg_b32 s6, hwreg(HW_REG_WAVE_MODE)
                            "12f807b9 "    // s_setreg_b32 hwreg(HW_REG_WAVE_EXCP_FLAG_USER), s7
                            "12f888b8"));  // s_getreg_b32 s8, hwreg(HW_REG_WAVE_EXCP_FLAG_USER)
  rig.s(7) = 0xffff'ff35;
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(5), 0xf0u);
  EXPECT_EQ(rig.s(6), 0x80'0035u);
  EXPECT_EQ(rig.s(8), 0x35u);
  EXPECT_TRUE(rig.wave().mode.dx10_clamp());  // what it always does
  EXPECT_FALSE(rig.wave().mode.ieee());
}

TEST(Messages, ReturnAClockAndNoDoorbell) {
  WaveRig rig(Target::gfx1100,
              dwords_of_hex("834d8abe "    // s_sendmsg_rtn_b64 s[10:11], sendmsg(MSG_RTN_GET_REALTIME)
                            "804c8cbe"));  // s_sendmsg_rtn_b32 s12, sendmsg(MSG_RTN_GET_DOORBELL)
  const auto clock = [&] { return rig.s(10) | uint64_t{rig.s(11)} << 32; };
  rig.s(12) = 7;
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  const uint64_t first = clock();
  ASSERT_EQ(rig.run_interpreted(), Exit::ended);
  EXPECT_GT(first, 0u);
  EXPECT_GE(clock(), first);
  EXPECT_EQ(rig.s(12), 0u);
}

TEST(RelativeMoves, OfScalarsWithAnOffsetForEachSide) {
  WaveRig rig(Target::gfx1030, dwords_of_hex("14498abe"));  // s_movrelsd_2_b32 s10, s20
  for (int i = 0; i < 40; i++) rig.s(i) = 0x100u + static_cast<uint32_t>(i);
  rig.wave().m0() = 5u << 16 | 3;
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(15), 0x117u);
  EXPECT_EQ(rig.s(10), 0x10au);
}

TEST(ExecOfWave64, ItsLowerHalfAlone) {
  WaveRig rig(Target::gfx1030, dwords_of_hex("063c84be"), wave64());  // s_and_saveexec_b32 s4, s6
  rig.wave().set_exec(0xffff'0000'0000'00f0);
  rig.s(6) = 0x3f;
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(4), 0xf0u);
  EXPECT_EQ(rig.wave().exec(), 0xffff'0000'0000'0030u);
  EXPECT_EQ(rig.wave().scc, 1u);
}

TEST(Ends, PaddingIsNoInstruction) {
  WaveRig rig(Target::gfx1030, dwords_of_hex("00009fbf"));  // s_code_end
  EXPECT_EQ(rig.run_interpreted(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::illegal_instruction);
}

// --- Floats in scalar registers (gfx12) ---

uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }
uint32_t bits(_Float16 h) { return std::bit_cast<uint16_t>(h); }

TEST(ScalarFloats, ComputeAsLanesDo) {
  WaveRig rig(Target::gfx1200, dwords_of_hex("00010aa0 "          // s_add_f32 s10, s0, s1
                                             "00018ba0 "          // s_sub_f32 s11, s0, s1
                                             "00010ca2 "          // s_mul_f32 s12, s0, s1
                                             "00018da3 "          // s_fmac_f32 s13, s0, s1
                                             "00018ea2db0f4940 "  // s_fmaak_f32 s14, s0, s1, 0x40490fdb
                                             "00010fa3db0f4940 "  // s_fmamk_f32 s15, s0, 0x40490fdb, s1
                                             "006090be "          // s_ceil_f32 s16, s0
                                             "006191be "          // s_floor_f32 s17, s0
                                             "006292be "          // s_trunc_f32 s18, s0
                                             "026493be "          // s_cvt_f32_i32 s19, s2
                                             "026594be "          // s_cvt_f32_u32 s20, s2
                                             "006695be "          // s_cvt_i32_f32 s21, s0
                                             "030496a6 "          // s_mul_f16 s22, s3, s4
                                             "030417a5 "          // s_sub_f16 s23, s3, s4
                                             "030418a7 "          // s_fmac_f16 s24, s3, s4
                                             "036e99be "          // s_rndne_f16 s25, s3
                                             "036c9abe "          // s_floor_f16 s26, s3
                                             "00019ba7 "          // s_minimum_f32 s27, s0, s1
                                             "00011ca8 "          // s_maximum_f32 s28, s0, s1
                                             "03049da5 "          // s_min_num_f16 s29, s3, s4
                                             "03041ea6"));        // s_max_num_f16 s30, s3, s4
  const float a = -2.75f, b = 0.3125f;
  const _Float16 c = static_cast<_Float16>(-1.5f), d = static_cast<_Float16>(0.75f);
  rig.s(0) = bits(a), rig.s(1) = bits(b), rig.s(2) = 0x8000'0001;
  rig.s(3) = 0xffff'0000 | bits(c), rig.s(4) = bits(d);
  rig.s(13) = bits(4.0f), rig.s(24) = bits(static_cast<_Float16>(2.0f));
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  const uint32_t expected[] = {bits(a + b),
                               bits(a - b),
                               bits(a * b),
                               bits(a * b + 4),
                               bits(a * b + std::bit_cast<float>(0x40490fdbu)),
                               bits(std::fma(a, std::bit_cast<float>(0x40490fdbu), b)),
                               bits(-2.0f),
                               bits(-3.0f),
                               bits(-2.0f),
                               bits(-2147483647.0f),
                               bits(2147483649.0f),
                               static_cast<uint32_t>(-2),
                               bits(static_cast<_Float16>(-1.125f)),
                               bits(static_cast<_Float16>(-2.25f)),
                               bits(static_cast<_Float16>(0.875f)),
                               bits(static_cast<_Float16>(-2.0f)),
                               bits(static_cast<_Float16>(-2.0f)),
                               bits(a),
                               bits(b),
                               bits(c),
                               bits(d)};
  for (int i = 0; i < static_cast<int>(std::size(expected)); i++)
    EXPECT_EQ(rig.s(10 + i), expected[i]) << "s" << 10 + i;
}

TEST(ScalarFloats, RoundAndFlushAsModeSays) {
  RigOptions options;
  options.float_mode = 0x31;  // f32 towards +infinity and kept; f16 to even and flushed
  WaveRig rig(Target::gfx1200,
              dwords_of_hex("00010aa0 "   // s_add_f32 s10, s0, s1
                            "030496a6"),  // s_mul_f16 s22, s3, s4
              options);
  rig.s(0) = bits(1.0f), rig.s(1) = 1;  // the least denormal
  rig.s(3) = 0x0200, rig.s(4) = bits(static_cast<_Float16>(1.0f));
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(10), 0x3f80'0001u);
  EXPECT_EQ(rig.s(22), 0u);
}

// Vector instructions with a scalar result, whatever EXEC is.
TEST(ScalarFloats, OfTranscendentalsGoToOneRegister) {
  WaveRig rig(Target::gfx1200, dwords_of_hex("280084d600000000 "    // v_s_rcp_f32 s40, s0
                                             "310088d605000000 "    // v_s_sqrt_f32 s49, s5
                                             "2a0080d605000000 "    // v_s_exp_f32 s42, s5
                                             "2b0082d605000000 "    // v_s_log_f32 s43, s5
                                             "2c0086d605000000 "    // v_s_rsq_f32 s44, s5
                                             "2d0085d603000000 "    // v_s_rcp_f16 s45, s3
                                             "2e0081d604000000 "    // v_s_exp_f16 s46, s4
                                             "2f0083d604000000 "    // v_s_log_f16 s47, s4
                                             "300087d604000000 "    // v_s_rsq_f16 s48, s4
                                             "290089d604000000"));  // v_s_sqrt_f16 s41, s4
  rig.s(0) = bits(-4.0f), rig.s(5) = bits(4.0f);
  rig.s(3) = bits(static_cast<_Float16>(-0.5f)), rig.s(4) = bits(static_cast<_Float16>(4.0f));
  rig.wave().set_exec(0);
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(40), bits(-0.25f));
  EXPECT_EQ(rig.s(49), bits(2.0f));
  EXPECT_EQ(rig.s(42), bits(16.0f));
  EXPECT_EQ(rig.s(43), bits(2.0f));
  EXPECT_EQ(rig.s(44), bits(0.5f));
  EXPECT_EQ(rig.s(45), bits(static_cast<_Float16>(-2.0f)));
  EXPECT_EQ(rig.s(46), bits(static_cast<_Float16>(16.0f)));
  EXPECT_EQ(rig.s(47), bits(static_cast<_Float16>(2.0f)));
  EXPECT_EQ(rig.s(48), bits(static_cast<_Float16>(0.5f)));
  EXPECT_EQ(rig.s(41), bits(static_cast<_Float16>(2.0f)));
}

// --- Split barriers ---

// The first wave waits; it goes on as soon as the second has signalled, which waits only after it has seen
// what the first wrote behind the barrier.
TEST(SplitBarriers, ASignalLetsOthersGoOnBeforeItsWaveWaits) {
  RigOptions options;
  options.items = 64;  // two waves
  options.group_bytes = 256;
  WaveRig rig(Target::gfx1200,
              dwords_of_hex("c14f80be "          // s_barrier_signal_isfirst -1
                            "81801698 "          // s_cselect_b32 s22, 1, 0
                            "148106bf "          // s_cmp_eq_u32 s20, 1
                            "0600a2bf "          // s_cbranch_scc1 6
                            "ffff94bf "          // s_barrier_wait 0xffff
                            "8002007e "          // v_mov_b32_e32 v0, 0
                            "8702027e "          // v_mov_b32_e32 v1, 7
                            "000034d800010000 "  // ds_store_b32 v0, v1
                            "0800a0bf "          // s_branch 8
                            "8002007e "          // v_mov_b32_e32 v0, 0
                            "0000d8d800000002 "  // ds_load_b32 v2, v0
                            "0000c6bf "          // s_wait_dscnt 0x0
                            "02052a7e "          // v_readfirstlane_b32 s21, v2
                            "158706bf "          // s_cmp_eq_u32 s21, 7
                            "faffa1bf "          // s_cbranch_scc0 65530
                            "ffff94bf"           // s_barrier_wait 0xffff
                            ),
              options);
  ASSERT_EQ(rig.group().wave_count, 2u);
  for (int round = 0; round < 2; round++) {
    rig.group().lds[0] = 0;
    for (uint32_t i = 0; i < 2; i++) rig.wave(i).s[20] = i;
    ASSERT_EQ(rig.run_group(false), Exit::ended) << rig.fault().detail;
    EXPECT_EQ(rig.wave(0).s[22], 1u) << round;
    EXPECT_EQ(rig.wave(1).s[22], 0u);
    EXPECT_EQ(rig.wave(1).s[21], 7u);
  }
}

TEST(SplitBarriers, NamedOnesHaveMembers) {
  WaveRig rig(Target::gfx1200, dwords_of_hex("ff00fdbe02000200 "  // s_mov_b32 m0, 0x20002
                                             "7d5180be "          // s_barrier_init m0
                                             "825280be "          // s_barrier_join 2
                                             "824e80be "          // s_barrier_signal 2
                                             "825085be "          // s_get_barrier_state s5, 2
                                             "824e80be "          // s_barrier_signal 2
                                             "020094bf "          // s_barrier_wait 2
                                             "825086be "          // s_get_barrier_state s6, 2
                                             "000095bf "          // s_barrier_leave
                                             "81800798 "          // s_cselect_b32 s7, 1, 0
                                             "825088be "          // s_get_barrier_state s8, 2
                                             "000095bf "          // s_barrier_leave
                                             "81800998"));        // s_cselect_b32 s9, 1, 0
  ASSERT_EQ(rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(5), 1u | 1u << 4 | 2u << 16);
  EXPECT_EQ(rig.s(6), 1u | 2u << 16);
  EXPECT_EQ(rig.s(7), 1u);
  EXPECT_EQ(rig.s(8), 1u | 1u << 16);
  EXPECT_EQ(rig.s(9), 0u);
}

TEST(SplitBarriers, ThoseThatDoNotExistAreRefused) {
  WaveRig rig(Target::gfx1200, dwords_of_hex("c04e80be"));  // s_barrier_signal 64
  EXPECT_EQ(rig.run_interpreted(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::illegal_instruction);
}

}  // namespace
}  // namespace morgana::device
