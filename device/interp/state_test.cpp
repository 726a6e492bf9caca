// What a wave can read and change of its own state, and what lies beyond the registers it was given.
//
// The hex is LLVM's encoding of the assembly beside it (clang -target amdgcn-amd-amdhsa -mcpu=...).
#include <gtest/gtest.h>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

void fill(WaveRig& rig, int registers) {
  for (int r = 0; r < registers; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = static_cast<uint32_t>(r * 100 + lane);
}

// --- Registers beyond the allocation (CDNA4 guide 3.6.1, 5.2) ---

TEST(OutOfRange, ScalarSourcesReadSgpr0AndResultsVanishButScc) {
  RigOptions options;
  options.sgprs = 32;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("280182be "  // s_mov_b64 s[2:3], s[40:41]
                            "200081be "  // s_mov_b32 s1, s32
                            "8700a1be "  // s_mov_b32 s33, 7
                            "04042280 "  // s_add_u32 s34, s4, s4
                            "81800585 "  // s_cselect_b32 s5, 1, 0
                            "220086be "  // s_mov_b32 s6, s34
                            "0820b2be "  // s_and_saveexec_b64 s[50:51], s[8:9]
                            "6a008abe "  // s_mov_b32 s10, vcc_lo
                            "8b009fbe "  // s_mov_b32 s31, 11
                            "9400fcbe "  // s_mov_b32 m0, 20
                            "142a8bbe "  // s_movrels_b32 s11, s20
                            "042c94be "  // s_movreld_b32 s20, s4
                            "28008cbe"),
              options);  // s_mov_b32 s12, s40
  for (int i = 0; i < 102; i++) rig.s(i) = 0x1000u + static_cast<uint32_t>(i);
  rig.s(4) = 0x8000'0000;
  rig.s(8) = 0xf, rig.s(9) = 0;
  rig.wave().set_vcc(0x77);
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(1), 0x1000u);
  EXPECT_EQ(rig.s(2), 0x1000u);
  EXPECT_EQ(rig.s(3), 0x1001u);
  EXPECT_EQ(rig.s(33), 0x1021u);
  EXPECT_EQ(rig.s(5), 1u) << "SCC was written";
  EXPECT_EQ(rig.s(6), 0x1000u);
  EXPECT_EQ(rig.wave().exec(), 0xfu) << "EXEC was written";
  EXPECT_EQ(rig.s(50), 0x1032u);
  EXPECT_EQ(rig.s(10), 0x77u) << "VCC is always there";
  EXPECT_EQ(rig.s(31), 11u) << "the last one that there is";
  EXPECT_EQ(rig.s(11), 0x1000u);
  EXPECT_EQ(rig.s(40), 0x1028u);
  EXPECT_EQ(rig.s(12), 0x1000u);
  EXPECT_EQ(rig.wave().instructions, 14u);
}

TEST(OutOfRange, VectorSourcesReadVgpr0AndResultsAreDropped) {
  RigOptions options;
  options.vgprs = 16;
  options.accum_offset = 8;
  options.group_bytes = 1024;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("1003027e "          // v_mov_b32_e32 v1, v16
                            "0203227e "          // v_mov_b32_e32 v17, v2
                            "060080d210210200 "  // v_add_f64 v[6:7], v[16:17], v[16:17]
                            "02072432 "          // v_add_co_u32_e32 v18, vcc, v2, v3
                            "1203087e "          // v_mov_b32_e32 v4, v18
                            "c8070a68 "          // v_add_u32_e32 v5, v200, v3
                            "0040d8d308010018 "  // v_accvgpr_read_b32 v0, a8
                            "0940d9d303010018 "  // v_accvgpr_write_b32 a9, v3
                            "0240d8d307010018 "  // v_accvgpr_read_b32 v2, a7
                            "00006cd803000011"),
              options);  // ds_read_b32 v17, v3
  fill(rig, 8);
  for (int lane = 0; lane < kLanes; lane++) rig.a(0, lane) = 5000, rig.a(7, lane) = 5007;
  rig.wave().set_vcc(0x123);
  const uint32_t before = rig.v(17, 3);
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.v(1, 3), 3u);
  EXPECT_EQ(rig.v(17, 3), before);
  EXPECT_EQ(rig.wave().vcc(), 0x123u) << "with several results none is written";
  EXPECT_EQ(rig.v(4, 3), 3u);
  EXPECT_EQ(rig.v(5, 3), 3u + 303);
  EXPECT_EQ(rig.v(0, 3), 5000u) << "AccVGPR 0";
  EXPECT_EQ(rig.v(2, 3), 5007u);
}

// One file holds both kinds, and only the allocation ends it: v[accum_offset + n] is a[n].
// Each of two instructions in one has registers of its own to look at.
TEST(OutOfRange, HalvesOfAPairAreJudgedAlone) {
  RigOptions options;
  options.vgprs = 24;
  const auto run = [&](const char* hex) {
    auto rig = std::make_unique<WaveRig>(Target::gfx1100, dwords_of_hex(hex), options);
    for (int n = 0; n < 24; n++) rig->v(n, 5) = 100 + static_cast<uint32_t>(n);
    for (int n = 24; n < 28; n++) rig->v(n, 5) = 7;
    EXPECT_EQ(rig->run(), Exit::ended) << rig->fault().detail;
    return rig;
  };
  const auto first = run("000110ca01010618");  // v_dual_mov_b32 v24, v0 :: v_dual_mov_b32 v7, v1
  EXPECT_EQ(first->v(24, 5), 7u) << "not the wave's";
  EXPECT_EQ(first->v(7, 5), 101u);
  const auto second = run("000110ca01011806");  // v_dual_mov_b32 v6, v0 :: v_dual_mov_b32 v25, v1
  EXPECT_EQ(second->v(6, 5), 100u);
  EXPECT_EQ(second->v(25, 5), 7u);
  const auto sources = run("1a0110ca1b010606");  // v_dual_mov_b32 v6, v26 :: v_dual_mov_b32 v7, v27
  EXPECT_EQ(sources->v(6, 5), 100u) << "VGPR0";
  EXPECT_EQ(sources->v(7, 5), 100u);
}

TEST(UnifiedFile, AccVgprsAreVgprsBehindTheOffset) {
  for (const Target target : {Target::gfx90a, Target::gfx942, Target::gfx950})
    for (const bool compiled : {false, true}) {
      RigOptions options;
      options.vgprs = 64;
      options.accum_offset = 4;
      WaveRig rig(target,
                  dwords_of_hex("8702507e "          // v_mov_b32_e32 v40, 7
                                "0140d8d324010018 "  // v_accvgpr_read_b32 v1, a36
                                "28515068 "          // v_add_u32_e32 v40, v40, v40
                                "24a5047e "          // v_accvgpr_mov_b32 a2, a36
                                "8902087e "          // v_mov_b32_e32 v4, 9
                                "0240d8d300010018 "  // v_accvgpr_read_b32 v2, a0
                                "0140d9d38b000018 "  // v_accvgpr_write_b32 a1, 11
                                "0503067e "          // v_mov_b32_e32 v3, v5
                                "8d02807e "          // v_mov_b32_e32 v64, 13
                                "40030e7e"),         // v_mov_b32_e32 v7, v64
                  options);
      fill(rig, 65);
      ASSERT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << rig.fault().detail;
      SCOPED_TRACE(testing::Message() << info(target).name << " compiled " << compiled);
      EXPECT_EQ(rig.v(1, 3), 7u);
      EXPECT_EQ(rig.a(36, 3), 14u);
      EXPECT_EQ(rig.v(6, 3), 14u) << "a2";
      EXPECT_EQ(rig.v(2, 3), 9u);
      EXPECT_EQ(rig.v(3, 3), 11u);
      EXPECT_EQ(rig.v(64, 3), 6403u) << "beyond the allocation";
      EXPECT_EQ(rig.v(7, 3), 3u) << "v0";
    }
}

TEST(OutOfRange, TheSameStepsServeAWaveThatHasTheRegisters) {
  const std::vector<uint32_t> code = dwords_of_hex("0803027e");  // v_mov_b32_e32 v1, v8
  RigOptions small;
  small.vgprs = 8;
  WaveRig narrow(Target::gfx900, code, small);
  WaveRig wide(Target::gfx900, code);
  fill(narrow, 16);
  fill(wide, 16);
  ASSERT_EQ(narrow.run(), Exit::ended);
  ASSERT_EQ(wide.run(), Exit::ended);
  EXPECT_EQ(narrow.v(1, 5), 5u);
  EXPECT_EQ(wide.v(1, 5), 805u);
  narrow.wave().vgpr_count = 16;  // what a wave of another kernel would have
  ASSERT_EQ(narrow.run(), Exit::ended);
  EXPECT_EQ(narrow.v(1, 5), 805u);
}

// --- GPR indexing (CDNA4 guide 6.6, Table 27) ---

// Runs `code` with index `index` in s0 after s_set_gpr_idx_on s0, `enables`; registers hold r * 100 + lane.
void indexed(WaveRig& rig, uint32_t index) {
  fill(rig, 32);
  rig.s(0) = index;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
}

TEST(GprIndexing, SpecialRoles) {
  WaveRig lanes(Target::gfx900, dwords_of_hex("000911bf "          // s_set_gpr_idx_on s0, gpr_idx(SRC0,DST)
                                              "040089d2020f0100 "  // v_readlane_b32 s4, v2, 7
                                              "03050a7e "          // v_readfirstlane_b32 s5, v3
                                              "04008ad2a1120100 "  // v_writelane_b32 v4, 33, 9
                                              "00009cbf"));        // s_set_gpr_idx_off
  indexed(lanes, 10);
  EXPECT_EQ(lanes.s(4), 1207u);
  EXPECT_EQ(lanes.s(5), 1300u);
  EXPECT_EQ(lanes.v(14, 9), 33u);
  EXPECT_EQ(lanes.v(14, 8), 1408u);

  // The destination's bit moves v_mac's third operand, and what SDWA preserves, as well.
  WaveRig tied(Target::gfx900,
               dwords_of_hex("0e0d1c7e "          // v_cvt_f32_u32_e32 v14, v14
                             "000811bf "          // s_set_gpr_idx_on s0, gpr_idx(DST)
                             "f23e082c "          // v_mac_f32_e32 v4, 1.0, v31
                             "f9020a7e02150400 "  // v_mov_b32_sdwa v5, v2 dst_sel:WORD_1
                                                  // dst_unused:UNUSED_PRESERVE src0_sel:WORD_0
                             "0600f0d1f2000100 "  // v_cvt_pkaccum_u8_f32 v6, 1.0, 0
                             "00009cbf"));        // s_set_gpr_idx_off
  fill(tied, 32);
  for (int lane = 0; lane < kLanes; lane++) tied.v(31, lane) = 0x40000000;  // 2.0
  tied.s(0) = 10;
  ASSERT_EQ(tied.run(), Exit::ended) << tied.fault().detail;
  EXPECT_EQ(__builtin_bit_cast(float, tied.v(14, 3)), 1405.0f);
  EXPECT_EQ(tied.v(15, 3), 203u << 16 | 1503u);
  EXPECT_EQ(tied.v(16, 3), (1603u & ~0xffu) | 1);
  EXPECT_EQ(tied.v(4, 3), 403u);

  // v_madmk's last operand is source 2, v_madak's second source 1.
  WaveRig literals(Target::gfx900, dwords_of_hex("000411bf "          // s_set_gpr_idx_on s0, gpr_idx(SRC2)
                                                 "1405082e0000803f "  // v_madmk_f32 v4, v20, 0x3f800000, v2
                                                 "02009dbf "          // s_set_gpr_idx_mode gpr_idx(SRC1)
                                                 "14050a300000803f "  // v_madak_f32 v5, v20, v2, 0x3f800000
                                                 "00009cbf"));        // s_set_gpr_idx_off
  fill(literals, 32);
  for (int lane = 0; lane < kLanes; lane++) {
    literals.v(20, lane) = 0x3f800000;
    literals.v(12, lane) = 0x41200000;
  }
  literals.s(0) = 10;
  ASSERT_EQ(literals.run(), Exit::ended);
  EXPECT_EQ(__builtin_bit_cast(float, literals.v(4, 1)), 11.0f);
  EXPECT_EQ(__builtin_bit_cast(float, literals.v(5, 1)), 11.0f);

  // Shifts by name: source 0 is the shift.
  WaveRig shift(Target::gfx900, dwords_of_hex("000211bf "    // s_set_gpr_idx_on s0, gpr_idx(SRC1)
                                              "81040824 "    // v_lshlrev_b32_e32 v4, 1, v2
                                              "013280be "    // s_set_gpr_idx_idx s1
                                              "02030a7e "    // v_mov_b32_e32 v5, v2
                                              "02070c68 "    // v_add_u32_e32 v6, v2, v3
                                              "00009cbf"));  // s_set_gpr_idx_off
  shift.s(1) = 3;
  indexed(shift, 10);
  EXPECT_EQ(shift.v(4, 1), 2402u);
  EXPECT_EQ(shift.v(5, 1), 201u) << "source 0 is not indexed";
  EXPECT_EQ(shift.v(6, 1), 201u + 601);
}

TEST(GprIndexing, TheModeOperandIsTheRawField) {
  // S1's field 255 is no literal: its low four bits enable all.
  WaveRig rig(Target::gfx900,
              dwords_of_hex("00ff11bf 0203027e 00009cbf"));  // s_set_gpr_idx_on s0, 0xff; v_mov_b32_e32 v1,
                                                             // v2; s_set_gpr_idx_off
  indexed(rig, 4);
  EXPECT_EQ(rig.v(5, 2), 602u);
  EXPECT_EQ(rig.wave().m0() & 0xf0ff, 0xf004u);
}

TEST(GprIndexing, OutOfRange) {
  RigOptions options;
  options.vgprs = 16;
  WaveRig rig(Target::gfx900,
              dwords_of_hex("000111bf "  // s_set_gpr_idx_on s0, gpr_idx(SRC0)
                            "0203027e "  // v_mov_b32_e32 v1, v2
                            "08009dbf "  // s_set_gpr_idx_mode gpr_idx(DST)
                            "0203067e "  // v_mov_b32_e32 v3, v2
                            "00009cbf"),
              options);  // s_set_gpr_idx_off
  indexed(rig, 14);
  EXPECT_EQ(rig.v(1, 2), 2u) << "VGPR 0";
  EXPECT_EQ(rig.v(17, 2), 1702u);
}

TEST(Movrel, GcnThreeMovesByM0) {
  RigOptions options;
  options.vgprs = 16;
  WaveRig rig(Target::gfx803,
              dwords_of_hex("8500fcbe "  // s_mov_b32 m0, 5
                            "026f027e "  // v_movrels_b32_e32 v1, v2
                            "026d067e "  // v_movreld_b32_e32 v3, v2
                            "0571087e "  // v_movrelsd_b32_e32 v4, v5
                            "8f00fcbe "  // s_mov_b32 m0, 15
                            "026f0c7e "  // v_movrels_b32_e32 v6, v2
                            "026d0e7e"),
              options);  // v_movreld_b32_e32 v7, v2
  fill(rig, 32);
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.v(1, 2), 702u);
  EXPECT_EQ(rig.v(8, 2), 202u);
  EXPECT_EQ(rig.v(9, 2), 1002u);
  EXPECT_EQ(rig.v(6, 2), 2u) << "out of range: VGPR 0";
  EXPECT_EQ(rig.v(22, 2), 2202u);
}

// --- VSKIP ---

TEST(Vskip, SkipsMemoryAndLdsAsWell) {
  RigOptions options;
  options.group_bytes = 256;
  WaveRig rig(Target::gfx900,
              dwords_of_hex("818010bf "          // s_setvskip 1, 0
                            "008050dc00007f02 "  // global_load_dword v2, v[0:1], off
                            "00001ad803030000 "  // ds_write_b32 v3, v3
                            "040089d200010100 "  // v_readlane_b32 s4, v0, 0
                            "050005b0 "          // s_movk_i32 s5, 0x5
                            "010786b8 "          // s_getreg_b32 s6, hwreg(HW_REG_MODE, 28, 1)
                            "808010bf "          // s_setvskip 0, 0
                            "010787b8"),
              options);  // s_getreg_b32 s7, hwreg(HW_REG_MODE, 28, 1)
  rig.s(4) = 44;
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = 16, rig.v(1, lane) = 0, rig.v(3, lane) = 8;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(4), 44u);
  EXPECT_EQ(rig.s(5), 5u);
  EXPECT_EQ(rig.s(6), 1u);
  EXPECT_EQ(rig.s(7), 0u);
}

// --- Fork and join (CDNA4 guide 4.6) ---

TEST(ForkAndJoin, NestedForksByAddressVisitEveryLaneOnce) {
  // Two forks, one in the other; each leaf adds EXEC to its own pair of sums.
  WaveRig rig(Target::gfx900,
              dwords_of_hex("001cc6be "          // s_getpc_b64 s[70:71]
                            "46ff48802c000000 "  // s_add_u32 s72, s70, lit(0x2c): outer_pass - base
                            "47804982 "          // s_addc_u32 s73, s71, 0
                            "3c488094 "          // s_cbranch_g_fork s[60:61], s[72:73]
                            "02003eb8 "          // s_cbranch_i_fork s[62:63], inner_pass
                            "287e2880 "          // s_add_u32 s40, s40, exec_lo
                            "010082bf "          // s_branch inner_join
                            "297e2980 "          // s_add_u32 s41, s41, exec_lo
                            "4117cbb8 "          // s_getreg_b32 s75, hwreg(HW_REG_MODE, 29, 3)
                            "4c2e80be "          // s_cbranch_join s76
                            "010082bf "          // s_branch outer_join
                            "2a7e2a80 "          // s_add_u32 s42, s42, exec_lo
                            "4d2e80be "          // s_cbranch_join s77
                            "7e00abbe"));        // s_mov_b32 s43, exec_lo
  for (int i = 40; i < 44; i++) rig.s(i) = 0;
  rig.wave().set_exec(0xff);
  rig.s(60) = 0xe0, rig.s(61) = 0;  // outer: 3 pass, 5 fail
  rig.s(62) = 0x0f, rig.s(63) = 0;  // inner: of the 5, 4 pass
  rig.s(76) = 0;                    // CSP when the inner fork began: the outer's entry was popped
  rig.s(77) = 0;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(42), 0xe0u);
  EXPECT_EQ(rig.s(40), 0x10u);
  EXPECT_EQ(rig.s(41), 0x0fu);
  EXPECT_EQ(rig.wave().mode.bits >> 29, 0u);
}

TEST(ForkAndJoin, AForkThatAllLanesTakeNeedsNoStack) {
  WaveRig rig(Target::gfx900, dwords_of_hex("01003cb8 "    // s_cbranch_i_fork s[60:61], pass
                                            "010028b0 "    // s_movk_i32 s40, 0x1
                                            "01003eb8 "    // s_cbranch_i_fork s[62:63], never
                                            "010029b0 "    // s_movk_i32 s41, 0x1
                                            "4117aab8"));  // s_getreg_b32 s42, hwreg(HW_REG_MODE, 29, 3)
  rig.s(40) = rig.s(41) = 0;
  rig.wave().set_exec(0xff);
  rig.s(60) = 0xff, rig.s(61) = 0;
  rig.s(62) = 0xff00, rig.s(63) = 0;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(40), 0u);
  EXPECT_EQ(rig.s(41), 1u);
  EXPECT_EQ(rig.s(42), 0u);
}

// --- Hardware registers ---

// The value of hwreg `id` for a wave with `options`.
uint32_t getreg(Target target, uint32_t id, const RigOptions& options = {}, uint32_t before = 0) {
  const uint32_t setreg = target < Target::gfx803 ? 21 : 20;
  std::vector<uint32_t> code;
  if (before != 0) code = {0xb000'0000u | setreg << 23 | 0xf800u | id, before};
  code.push_back(getreg_code(target, id));
  WaveRig rig(target, code, options);
  EXPECT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  return rig.s(0);
}

TEST(HardwareRegisters, SizesOfWhatAWaveWasGiven) {
  RigOptions options;
  options.vgprs = 24;
  options.sgprs = 48;
  options.group_bytes = 300;
  options.accum_offset = 8;
  EXPECT_EQ(getreg(Target::gfx600, 5, options), 5u << 8 | 2u << 24);
  EXPECT_EQ(getreg(Target::gfx803, 5, options), 5u << 8 | 2u << 24);
  EXPECT_EQ(getreg(Target::gfx908, 5, options), 5u << 8 | 2u << 24);
  EXPECT_EQ(getreg(Target::gfx90a, 5, options), 2u << 6 | 1u << 12 | 2u << 24);
  EXPECT_EQ(getreg(Target::gfx950, 5, options), 2u << 6 | 1u << 12 | 2u << 24);
  EXPECT_EQ(getreg(Target::gfx600, 6, options) >> 12, 2u) << "LDS in units of 256 bytes: 512";
  EXPECT_EQ(getreg(Target::gfx701, 6, options) >> 12, 2u);
  EXPECT_EQ(getreg(Target::gfx942, 6, options) >> 12, 2u);
  EXPECT_EQ(getreg(Target::gfx950, 6, options) >> 12, 5u) << "1280";
  options.group_bytes = 160 * 1024;
  EXPECT_EQ(getreg(Target::gfx950, 6, options) >> 12, 640u);
}

TEST(HardwareRegisters, WhatAWaveMayWrite) {
  EXPECT_EQ(getreg(Target::gfx600, 1, {}, ~0u), 0xf41f'fbffu) << "no GPR_IDX_EN";
  EXPECT_EQ(getreg(Target::gfx803, 1, {}, ~0u & ~0x1800'0000u), 0xe41f'fbffu) << "no FP16_OVFL";
  EXPECT_EQ(getreg(Target::gfx950, 1, {}, ~0u & ~0x1800'0000u), 0xe49f'fbffu);
  EXPECT_EQ(getreg(Target::gfx950, 3, {}, ~0u), 0x103f'7dffu);
  for (uint32_t id : {4u, 5u, 6u, 7u, 16u, 17u, 18u, 19u, 20u})
    EXPECT_EQ(getreg(Target::gfx950, id, {}, 0x5555'5555), getreg(Target::gfx950, id)) << id;
  for (uint32_t id : {0u, 8u, 9u, 14u, 21u, 24u, 25u, 63u})
    EXPECT_EQ(getreg(Target::gfx950, id), 0u) << "reserved " << id;
  EXPECT_EQ(getreg(Target::gfx803, 16), 0u) << "TBA_LO is gfx9's";
}

TEST(HardwareRegisters, FieldsOfAnySizeAndPlace) {
  WaveRig rig(Target::gfx950, dwords_of_hex("ff0100b0 "    // s_movk_i32 s0, 0x1ff
                                            "031100b9 "    // s_setreg_b32 hwreg(HW_REG_TRAPSTS, 4, 3), s0
                                            "03f881b8 "    // s_getreg_b32 s1, hwreg(HW_REG_TRAPSTS)
                                            "43f982b8 "    // s_getreg_b32 s2, hwreg(HW_REG_TRAPSTS, 5, 32)
                                            "830183b8 "    // s_getreg_b32 s3, hwreg(HW_REG_TRAPSTS, 6, 1)
                                            "02008fbf "    // s_setprio 2
                                            "c20884b8 "    // s_getreg_b32 s4, hwreg(HW_REG_STATUS, 3, 2)
                                            "8001eabe "    // s_mov_b64 vcc, 0
                                            "8001febe "    // s_mov_b64 exec, 0
                                            "420a85b8 "    // s_getreg_b32 s5, hwreg(HW_REG_STATUS, 9, 2)
                                            "8100ebbe "    // s_mov_b32 vcc_hi, 1
                                            "8100ffbe "    // s_mov_b32 exec_hi, 1
                                            "420a86b8"));  // s_getreg_b32 s6, hwreg(HW_REG_STATUS, 9, 2)
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(1), 0x70u);
  EXPECT_EQ(rig.s(2), 3u);
  EXPECT_EQ(rig.s(3), 1u);
  EXPECT_EQ(rig.s(4), 2u);
  EXPECT_EQ(rig.s(5), 3u) << "EXECZ and VCCZ";
  EXPECT_EQ(rig.s(6), 0u);
}

TEST(HardwareRegisters, ClocksAgree) {
  WaveRig rig(Target::gfx950, dwords_of_hex("000090c000000000 "  // s_memtime s[0:1]
                                            "800094c000000000 "  // s_memrealtime s[2:3]
                                            "7fc08cbf "          // s_waitcnt lgkmcnt(0)
                                            "ff008abe00400000 "  // s_mov_b32 s10, 0x4000
                                            "0a818a80 "          // s_sub_u32 s10, s10, 1
                                            "0a8007bf "          // s_cmp_lg_u32 s10, 0
                                            "fdff85bf "          // s_cbranch_scc1 L
                                            "000190c000000000 "  // s_memtime s[4:5]
                                            "800194c000000000 "  // s_memrealtime s[6:7]
                                            "7fc08cbf"));        // s_waitcnt lgkmcnt(0)
  ASSERT_EQ(rig.run(), Exit::ended);
  const auto pair = [&](int n) { return rig.s(n) | uint64_t{rig.s(n + 1)} << 32; };
  const uint64_t core = pair(4) - pair(0), real = pair(6) - pair(2);
  EXPECT_GT(core, 0u);
  EXPECT_LT(core, uint64_t{1} << 40);
  // s_memrealtime counts at 100 MHz, s_memtime at 1 GHz.
  EXPECT_NEAR(static_cast<double>(core) / 10, static_cast<double>(real),
              0.5 * static_cast<double>(real) + 500);
}

TEST(HardwareRegisters, LaunchOptionsOfTheDescriptor) {
  RigOptions options;
  options.debug_mode = options.cdbg_user = true;
  options.exceptions = kExcpDivideByZero;
  EXPECT_EQ(getreg(Target::gfx900, 1, options), 0x3f0u | 1u << 11 | kExcpDivideByZero << 12);
  EXPECT_TRUE(getreg(Target::gfx900, 2, options) & kStatusCondDbgUser);
}

TEST(Sleep, WakeupAndPriorityAreNoObstacle) {
  WaveRig rig(Target::gfx950, dwords_of_hex("000083bf "    // s_wakeup
                                            "03008fbf "    // s_setprio 3
                                            "00008ebf "    // s_sleep 0
                                            "070006b0"));  // s_movk_i32 s6, 0x7
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(6), 7u);
}

}  // namespace
}  // namespace morgana::device
