// Traps and hardware registers as gfx10 to gfx12 have them. Encodings by llvm-mc 22.
#include <gtest/gtest.h>

#include "device/dispatch/services.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// Shows what it finds in s[20:25], counts in s26, clears the flags, goes on behind an s_trap.
constexpr const char* kShower =
    "6c0094be "          // s_mov_b32 s20, ttmp0
    "6d0095be "          // s_mov_b32 s21, ttmp1
    "11f896b8 "          // s_getreg_b32 s22, hwreg(HW_REG_WAVE_EXCP_FLAG_PRIV)
    "04f8f8b8 "          // s_getreg_b32 ttmp12, hwreg(HW_REG_WAVE_STATE_PRIV)
    "13f898b8 "          // s_getreg_b32 s24, hwreg(HW_REG_WAVE_TRAP_CTRL)
    "02f899b8 "          // s_getreg_b32 s25, hwreg(HW_REG_WAVE_STATUS)
    "1a811a80 "          // s_add_co_u32 s26, s26, 1
    "11f880b900000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_WAVE_EXCP_FLAG_PRIV), 0
    "6d9c6e85 "          // s_lshr_b32 ttmp2, ttmp1, 28
    "0200a1bf "          // s_cbranch_scc0 L0
    "6c846c80 "          // s_add_co_u32 ttmp0, ttmp0, 4
    "6d806d82 "          // s_add_co_ci_u32 ttmp1, ttmp1, 0
    "780097be "          // s_mov_b32 s23, ttmp12
    "04f878b9 "          // s_setreg_b32 hwreg(HW_REG_WAVE_STATE_PRIV), ttmp12
    "6c4a80be";          // s_rfe_b64 ttmp[0:1]

constexpr uint32_t kScc = 1 << 9, kHalt = 1 << 14;
constexpr uint32_t kMemory = 1 << 4, kHostTrap = 1 << 7, kAfterInstruction = 1 << 11, kXnackError = 1 << 12;

RigOptions with_handler(const char* handler, TrapUse use = TrapUse::waves) {
  RigOptions options;
  options.trap_handler = dwords_of_hex(handler);
  options.trap_use = use;
  return options;
}

struct Shown : WaveRig {
  Shown(const char* hex, const char* handler = kShower)
      : WaveRig(Target::gfx1200, dwords_of_hex(hex), with_handler(handler)) {
    s(26) = 0;
  }
  uint64_t pc() { return s(20) | uint64_t{s(21) & 0xffff} << 32; }
  uint32_t above_pc() { return s(21) >> 16; }  // the trap's number in [15:12]
  uint32_t flags() { return s(22); }
  uint32_t state() { return s(23); }
  uint32_t control() { return s(24); }
  uint32_t entries() { return s(26); }
};

TEST(TrapGfx12, TheNumberOfAnSTrapLiesInTheLastFourBitsOfTtmp1) {
  Shown rig(
      "000006bf "   // s_cmp_eq_u32 s0, s0
      "050090bf "   // s_trap 5
      "81820698");  // s_cselect_b32 s6, 1, 2
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.entries(), 1u);
  EXPECT_EQ(rig.pc(), rig.entry() + 4);
  EXPECT_EQ(rig.above_pc(), 5u << 12);
  EXPECT_EQ(rig.flags(), 0u);
  EXPECT_EQ(rig.state(), kScc);
  EXPECT_EQ(rig.s(25) & (kStatusScc | kStatusHalt), 0u) << "WAVE_STATUS has neither";
  EXPECT_TRUE(rig.s(25) & kStatusPriv);
  EXPECT_EQ(rig.s(6), 1u) << "put back with STATE_PRIV";
}

TEST(TrapGfx12, AMemoryViolationIsAFlagAndNoNumber) {
  Shown rig("7c0005ee02000000 00000000");  // global_load_b32 v2, v[0:1], off
  for (int l = 0; l < 32; l++) rig.v(0, l) = 0x100, rig.v(1, l) = 0;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.entries(), 1u);
  EXPECT_EQ(rig.pc(), rig.entry() + 12);
  EXPECT_EQ(rig.above_pc(), 0u) << "no number, no way back";
  EXPECT_EQ(rig.flags(), kMemory | kXnackError);
  EXPECT_EQ(rig.control(), 0u) << "memory violations cannot be masked";
}

TEST(TrapGfx12, TrapCtrlEnablesExceptionsAndSingleSteps) {
  Shown stepped(
      "13f880b900020000 "   // s_setreg_imm32_b32 hwreg(HW_REG_WAVE_TRAP_CTRL), 0x200
      "070006b0 "           // s_movk_i32 s6, 0x7
      "13f880b900000000");  // s_setreg_imm32_b32 hwreg(HW_REG_WAVE_TRAP_CTRL), 0
  ASSERT_EQ(stepped.run(), Exit::ended) << stepped.fault().detail;
  EXPECT_EQ(stepped.entries(), 2u) << "behind both that began with it";
  EXPECT_EQ(stepped.flags(), kAfterInstruction);
  Shown divides(
      "13f880b904000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_WAVE_TRAP_CTRL), 4
      "0455067e");         // v_rcp_f32_e32 v3, v4
  divides.v(4, 3) = 0;
  ASSERT_EQ(divides.run(), Exit::ended) << divides.fault().detail;
  EXPECT_EQ(divides.entries(), 1u);
  EXPECT_EQ(divides.pc(), divides.entry() + 12);
  EXPECT_EQ(divides.above_pc(), 0u);
  EXPECT_EQ(divides.control(), 4u);
  WaveRig all(Target::gfx1200,
              dwords_of_hex("13f880b9ffffffff "  // s_setreg_imm32_b32 hwreg(HW_REG_WAVE_TRAP_CTRL), -1
                            "13f887b8 "          // s_getreg_b32 s7, hwreg(HW_REG_WAVE_TRAP_CTRL)
                            "13f880b900000000"));
  ASSERT_EQ(all.run(), Exit::ended);
  EXPECT_EQ(all.s(7), 0x2ffu);
}

// WaveCommand::trap 77 before the first instruction.
TEST(TrapGfx12, TheHostIsAFlag) {
  Shown rig("070006b0");  // s_movk_i32 s6, 0x7
  rig.restart();
  ASSERT_TRUE(take_command(rig.wave(), 1ull << 32 | uint64_t(WaveCommand::trap) << 8 | 77));
  ASSERT_EQ(rig.go_on(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.flags(), kHostTrap);
  EXPECT_EQ(rig.pc(), rig.entry());
  EXPECT_EQ(rig.s(6), 7u);
}

// As Linux's handler leaves it for ROCR's, which halts the wave by it.
TEST(TrapGfx12, ARuntimesHandlerFindsStatePrivInTtmp12) {
  const char* const halting =
      "ff00fdbe34120000 "  // s_mov_b32 m0, 0x1234
      "0100b6bf "          // s_sendmsg sendmsg(MSG_INTERRUPT)
      "780094be "          // s_mov_b32 s20, ttmp12
      "8e12f8be "          // s_bitset1_b32 ttmp12, 14
      "04f878b9 "          // s_setreg_b32 hwreg(HW_REG_WAVE_STATE_PRIV), ttmp12
      "6c4a80be";          // s_rfe_b64 ttmp[0:1]
  WaveRig rig(Target::gfx1200,
              dwords_of_hex("000006bf "   // s_cmp_eq_u32 s0, s0
                            "020090bf"),  // s_trap 2
              with_handler(halting, TrapUse::reports));
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::trap);
  EXPECT_EQ(rig.fault().detail, "s_trap 2: abort or failed assertion");
  EXPECT_EQ(rig.interrupt(), 0x1234u);
  EXPECT_EQ(rig.s(20), kScc);
  EXPECT_EQ(state_priv(rig.wave()) & kHalt, kHalt);
}

// --- Hardware registers ---

uint32_t getreg(Target target, uint32_t id, const RigOptions& options = {}, uint32_t wave = 0) {
  WaveRig rig(target, {getreg_code(target, id)}, options);
  if (wave != 0) {
    EXPECT_EQ(rig.run_group(false), Exit::ended);
    return rig.wave(wave).s[0];
  }
  EXPECT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  return rig.s(0);
}

TEST(RdnaRegisters, SizesOfWhatAWaveWasGiven) {
  RigOptions options;
  options.vgprs = 24;
  options.group_bytes = 700;
  EXPECT_EQ(getreg(Target::gfx1010, 5, options), 5u << 8);
  EXPECT_EQ(getreg(Target::gfx1030, 5, options), 5u << 8);
  EXPECT_EQ(getreg(Target::gfx1100, 5, options), 5u << 12);
  EXPECT_EQ(getreg(Target::gfx1200, 5, options), 5u << 12);
  EXPECT_EQ(getreg(Target::gfx1100, 6, options), 4u << 12) << "1024 bytes in units of 256";
  EXPECT_EQ(getreg(Target::gfx1200, 6, options), 2u << 12) << "in units of 512";
  options.vgprs = 256;
  EXPECT_EQ(getreg(Target::gfx1030, 5, options), 63u << 8);
}

TEST(RdnaRegisters, TheWavesSizeAndItsPlace) {
  for (const Target target : {Target::gfx1010, Target::gfx1030, Target::gfx1100, Target::gfx1200}) {
    EXPECT_EQ(getreg(target, 28, {.wave_size = WaveSize::wave32}), 0u);
    EXPECT_EQ(getreg(target, 28, {.wave_size = WaveSize::wave64}), 1u << 11) << "IB_STS2.WAVE64";
    // HW_ID1: the fourth wave of a group is the second on the second SIMD of its unit.
    EXPECT_EQ(getreg(target, 23), 0u);
    EXPECT_EQ(getreg(target, 23, {.items = 128}, 3), 1u | 1u << 8);
    EXPECT_EQ(getreg(target, 24), 0u);
  }
  EXPECT_EQ(getreg(Target::gfx1200, 2, {.wave_size = WaveSize::wave64}) >> 29, 1u) << "WAVE_STATUS.WAVE64";
  EXPECT_EQ(getreg(Target::gfx1200, 2) >> 29, 0u);
}

TEST(RdnaRegisters, TrapHandlersFindTheWavesNumber) {
  for (const Target target : {Target::gfx1010, Target::gfx1030, Target::gfx1100}) {
    WaveRig rig(target, {}, {.items = 96});
    EXPECT_EQ(rig.wave(2).s[isa::first_ttmp(info(target).generation) + 11], 2u);
  }
  WaveRig rig(Target::gfx1200, {}, {.items = 96});
  EXPECT_EQ(rig.wave(2).s[isa::first_ttmp(Generation::gfx12) + 8], 2u << 25);
}

}  // namespace
}  // namespace morgana::device
