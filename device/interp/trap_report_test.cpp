// Trap handlers of a runtime (TrapUse::reports): what would be a Fault enters the handler, and is the Fault
// again once the handler has halted the wave, with what the handler told the host.
#include <gtest/gtest.h>

#include <cstdint>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// Says `code` to the host and halts the wave.
#define MORGANA_HALTING(code)                       \
  "ff00fcbe" code                                   \
  "000080bf" /* s_nop 0 */                          \
  "010090bf" /* s_sendmsg sendmsg(MSG_INTERRUPT) */ \
  "01008dbf" /* s_sethalt 1 */                      \
  "6c1f80be" /* s_rfe_b64 ttmp[0:1] */
// Goes on behind the s_trap, STATUS as TTMP12 has it.
constexpr const char* kReturning =
    "6c846c80"          // s_add_u32 ttmp0, ttmp0, 4
    "6d806d82"          // s_addc_u32 ttmp1, ttmp1, 0
    "6dff6d86ffff0000"  // s_and_b32 ttmp1, ttmp1, 0xffff
    "02f878b9"          // s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
    "6c1f80be";         // s_rfe_b64 ttmp[0:1]

RigOptions with_reporter(const char* handler) {
  RigOptions options;
  options.trap_handler = dwords_of_hex(handler);
  options.trap_use = TrapUse::reports;
  return options;
}

TEST(TrapReport, AnAbortKeepsItsFaultAndTellsTheInterrupt) {
  WaveRig rig(Target::gfx90a, dwords_of_hex("070006b0 020092bf"),  // s_movk_i32 s6, 7; s_trap 2
              with_reporter(MORGANA_HALTING("34120000")));
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::trap);
  EXPECT_EQ(rig.fault().pc, rig.entry() + 4);
  EXPECT_EQ(rig.fault().instruction, "s_trap 2");
  EXPECT_EQ(rig.fault().detail, "s_trap 2: abort or failed assertion");
  EXPECT_EQ(rig.interrupt(), 0x1234u);
}

TEST(TrapReport, AMemoryFaultKeepsItsAddress) {
  WaveRig rig(Target::gfx906,
              dwords_of_hex("ff02007e00010000 "   // v_mov_b32 v0, 0x100
                            "8002027e "           // v_mov_b32 v1, 0
                            "008050dc00007f02"),  // global_load_dword v2, v[0:1], off
              with_reporter(MORGANA_HALTING("00400000")));
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::memory);
  EXPECT_EQ(rig.fault().address, 0x100u);
  EXPECT_EQ(rig.fault().pc, rig.entry() + 12);
  EXPECT_EQ(rig.interrupt(), 0x4000u);
}

TEST(TrapReport, AHandlerThatReturnsLetsTheWaveGoOn) {
  WaveRig rig(Target::gfx90a,
              dwords_of_hex("000006bf "   // s_cmp_eq_u32 s0, s0
                            "030092bf "   // s_trap 3
                            "81820685"),  // s_cselect_b32 s6, 1, 2
              with_reporter(kReturning));
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(6), 1u) << "SCC survives the handler";
}

TEST(TrapReport, WithoutItsHandlerTheFaultIsReportedStill) {
  RigOptions nowhere;
  nowhere.trap_base = 0x1000;
  nowhere.trap_use = TrapUse::reports;
  WaveRig rig(Target::gfx90a, dwords_of_hex("020092bf"), nowhere);
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::trap);
  EXPECT_EQ(rig.interrupt(), 0u);
}

// ROCR's handler of gfx8 takes s[0:1] for the queue, where only s_trap's ABI puts it.
TEST(TrapReport, OnGfx8OnlyTrapsEnter) {
  const RigOptions options = with_reporter("ffffffff");  // no instruction
  WaveRig illegal(Target::gfx803, dwords_of_hex("ffffffff"), options);
  ASSERT_EQ(illegal.run(), Exit::fault);
  EXPECT_EQ(illegal.fault().pc, illegal.entry());
  WaveRig trap(Target::gfx803, dwords_of_hex("020092bf"), options);
  ASSERT_EQ(trap.run(), Exit::fault);
  EXPECT_EQ(trap.fault().kind, FaultKind::illegal_instruction);
  EXPECT_NE(trap.fault().pc, trap.entry());
}

}  // namespace
}  // namespace morgana::device
