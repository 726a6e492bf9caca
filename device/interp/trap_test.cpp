// Traps, exceptions and the state that a wave sees of itself, as small programs with and without a trap
// handler.
//
// The hex is LLVM's encoding of the assembly beside it (clang -target amdgcn-amd-amdhsa -mcpu=...).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "device/testing/test_kernels.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// What the handler below writes at TMA: a count, and a record for each time it was entered.
struct Record {
  uint32_t pc_low, pc_high, trapsts, status, ttmp11, unused[3];
  uint64_t pc() const { return pc_low | uint64_t{pc_high & 0xffff} << 32; }
  uint32_t trap_id() const { return pc_high >> 16 & 0xff; }
  bool is_host() const { return pc_high >> 24 & 1; }
  uint32_t rewind() const { return pc_high >> 25 & 15; }
};
struct alignas(64) Memory {
  uint32_t count = 0, unused[7] = {};
  Record record[30] = {};
};

// Records, clears TRAPSTS, skips an s_trap or an illegal instruction, returns.
constexpr const char* kRecorder =
    "02f8f8b8 "          // s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
    "12f8f0b8 "          // s_getreg_b32 ttmp4, hwreg(HW_REG_TMA_LO)
    "13f8f1b8 "          // s_getreg_b32 ttmp5, hwreg(HW_REG_TMA_HI)
    "b81c02c000000000 "  // s_load_dword ttmp6, ttmp[4:5], 0x0
    "7fc08cbf "          // s_waitcnt lgkmcnt(0)
    "72817380 "          // s_add_u32 ttmp7, ttmp6, 1
    "f81c42c000000000 "  // s_store_dword ttmp7, ttmp[4:5], 0x0
    "7285728e "          // s_lshl_b32 ttmp6, ttmp6, 5
    "70727080 "          // s_add_u32 ttmp4, ttmp4, ttmp6
    "71807182 "          // s_addc_u32 ttmp5, ttmp5, 0
    "381b46c020000000 "  // s_store_dwordx2 ttmp[0:1], ttmp[4:5], 0x20
    "03f8f4b8 "          // s_getreg_b32 ttmp8, hwreg(HW_REG_TRAPSTS)
    "381d42c028000000 "  // s_store_dword ttmp8, ttmp[4:5], 0x28
    "381e42c02c000000 "  // s_store_dword ttmp12, ttmp[4:5], 0x2c
    "f81d42c030000000 "  // s_store_dword ttmp11, ttmp[4:5], 0x30
    "8000f5be "          // s_mov_b32 ttmp9, 0
    "03f875b9 "          // s_setreg_b32 hwreg(HW_REG_TRAPSTS), ttmp9
    "6dfff59210000800 "  // s_bfe_u32 ttmp9, ttmp1, 0x80010
    "040084bf "          // s_cbranch_scc0 L0
    "6d980dbf "          // s_bitcmp1_b32 ttmp1, 24
    "020085bf "          // s_cbranch_scc1 L0
    "6c846c80 "          // s_add_u32 ttmp0, ttmp0, 4
    "6d806d82 "          // s_addc_u32 ttmp1, ttmp1, 0
    "748b0dbf "          // s_bitcmp1_b32 ttmp8, 11
    "020084bf "          // s_cbranch_scc0 L1
    "6c846c80 "          // s_add_u32 ttmp0, ttmp0, 4
    "6d806d82 "          // s_addc_u32 ttmp1, ttmp1, 0
    "02f878b9 "          // s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
    "6c1f80be";          // s_rfe_b64 ttmp[0:1]

RigOptions with_handler(const char* handler, const void* memory) {
  RigOptions options;
  options.trap_handler = dwords_of_hex(handler);
  options.trap_memory = reinterpret_cast<uint64_t>(memory);
  return options;
}

TEST(Trap, STrapShowsItsOwnPcAndId) {
  Memory memory;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("010000b0 "  // s_movk_i32 s0, 0x1
                            "050092bf "  // s_trap 5
                            "070006b0"),
              with_handler(kRecorder, &memory));  // s_movk_i32 s6, 0x7
  rig.wave().scc = 1;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  ASSERT_EQ(memory.count, 1u);
  const Record& record = memory.record[0];
  EXPECT_EQ(record.pc(), rig.entry() + 4);
  EXPECT_EQ(record.trap_id(), 5u);
  EXPECT_EQ(record.rewind(), 0u);
  EXPECT_FALSE(record.is_host());
  EXPECT_EQ(record.trapsts, 0u);
  EXPECT_TRUE(record.status & kStatusPriv);
  EXPECT_TRUE(record.status & kStatusTrapEn);
  EXPECT_EQ(record.ttmp11, 0u) << "the wave's number in its group";
  EXPECT_EQ(rig.s(6), 7u);
  EXPECT_EQ(rig.wave().scc, 1u) << "put back with STATUS";
  EXPECT_FALSE(rig.wave().status & kStatusPriv);
  EXPECT_EQ(rig.wave().instructions, 4u + 27) << "the handler skips 2 of its 29";
}

TEST(Trap, AnEnabledExceptionShowsTheNextInstructionAndHowFarBack) {
  Memory memory;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("013300ba04000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 4
                            "0045027e "          // v_rcp_f32_e32 v1, v0
                            "00010402 "          // v_add_f32_e32 v2, v0, v0
                            "030062d100010020 "  // v_rcp_f32_e64 v3, -v0
                            "070006b0"),
              with_handler(kRecorder, &memory));  // s_movk_i32 s6, 0x7
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = 0x3f800000;
  rig.v(0, 37) = 0;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  ASSERT_EQ(memory.count, 2u);
  EXPECT_EQ(memory.record[0].pc(), rig.entry() + 12);
  EXPECT_EQ(memory.record[0].rewind(), 1u);
  EXPECT_EQ(memory.record[0].trap_id(), 0u);
  EXPECT_EQ(memory.record[0].trapsts, kExcpDivideByZero | 2u << 16) << "EXCP_CYCLE: lanes 32 to 47";
  EXPECT_EQ(memory.record[1].pc(), rig.entry() + 24);
  EXPECT_EQ(memory.record[1].rewind(), 2u);
  EXPECT_EQ(rig.v(1, 37), 0x7f800000u) << "the result is written";
  EXPECT_EQ(rig.v(3, 37), 0xff800000u);
  EXPECT_EQ(rig.s(6), 7u);
}

TEST(Trap, LanesThatDoNotExecuteRaiseNothing) {
  Memory memory;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("013300ba7f000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 0x7f
                            "0045027e "          // v_rcp_f32_e32 v1, v0
                            "0001040a"),
              with_handler(kRecorder, &memory));  // v_mul_f32_e32 v2, v0, v0
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = lane == 3 ? 0x3f800000 : lane * 0x01234567u;
  rig.v(0, 4) = 0;
  rig.wave().exec() = 1u << 3;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(memory.count, 0u);
  rig.wave().exec() = 0;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(memory.count, 0u);
}

TEST(Trap, WithoutAHandlerAnEnabledExceptionIsAFault) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("013300ba01000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 1
                            "004f027e"));        // v_sqrt_f32_e32 v1, v0
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = 0x3f800000;
  rig.v(0, 9) = 0xbf800000;
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::float_exception);
  EXPECT_EQ(rig.fault().lane, 9u);
  EXPECT_EQ(rig.fault().instruction, "v_sqrt_f32_e32 v1, v0");
  EXPECT_EQ(rig.fault().detail, "invalid operation");
}

TEST(Trap, AMemoryViolationEntersTheHandlerAndTheWaveGoesOn) {
  Memory memory;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("9002007e "          // v_mov_b32_e32 v0, 16
                            "8002027e "          // v_mov_b32_e32 v1, 0
                            "008050dc00007f02 "  // global_load_dword v2, v[0:1], off
                            "070006b0"),
              with_handler(kRecorder, &memory));  // s_movk_i32 s6, 0x7
  rig.v(2, 5) = 99;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  ASSERT_EQ(memory.count, 1u);
  EXPECT_EQ(memory.record[0].trapsts, kExcpMemory | kTrapstsXnackError);
  EXPECT_EQ(memory.record[0].pc(), rig.entry() + 16);
  EXPECT_EQ(memory.record[0].rewind(), 2u);
  EXPECT_EQ(rig.v(2, 5), 99u);
  EXPECT_EQ(rig.s(6), 7u);
}

TEST(Trap, AMaskedMemoryViolationOnlySticks) {
  Memory memory;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("010500ba00000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 20, 1), 0
                            "9002007e "          // v_mov_b32_e32 v0, 16
                            "8002027e "          // v_mov_b32_e32 v1, 0
                            "008050dc00007f02 "  // global_load_dword v2, v[0:1], off
                            "03f886b8"),
              with_handler(kRecorder, &memory));  // s_getreg_b32 s6, hwreg(HW_REG_TRAPSTS)
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(memory.count, 0u);
  EXPECT_EQ(rig.s(6), kExcpMemory | kTrapstsXnackError);
}

TEST(Trap, AnLdsAccessOutsideTheApertureIsAViolationWithoutXnack) {
  Memory memory;
  RigOptions options = with_handler(kRecorder, &memory);
  options.group_bytes = 64;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("eb0180be "          // s_mov_b64 s[0:1], src_shared_base
                            "ff02007e00001000 "  // v_mov_b32_e32 v0, 0x100000
                            "0102027e "          // v_mov_b32_e32 v1, s1
                            "000050dc00000002 "  // flat_load_dword v2, v[0:1]
                            "070006b0"),
              options);  // s_movk_i32 s6, 0x7
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  ASSERT_EQ(memory.count, 1u);
  EXPECT_EQ(memory.record[0].trapsts, kExcpMemory);
  EXPECT_EQ(rig.s(6), 7u);
}

TEST(Trap, AnIllegalInstructionShowsItself) {
  Memory memory;
  WaveRig rig(Target::gfx950, dwords_of_hex("070006b0 ffffffff 080008b0"), with_handler(kRecorder, &memory));
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  ASSERT_EQ(memory.count, 1u);
  EXPECT_EQ(memory.record[0].trapsts, kTrapstsIllegal);
  EXPECT_EQ(memory.record[0].pc(), rig.entry() + 4);
  EXPECT_EQ(rig.s(8), 8u);
}

TEST(Trap, SingleStepTrapsAfterEveryInstruction) {
  Memory memory;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("c10200ba01000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 1
                            "020000b0 "          // s_movk_i32 s0, 0x2
                            "010001d100010200 "  // v_add_f32_e64 v1, v0, v0
                            "00818080 "          // s_sub_u32 s0, s0, 1
                            "feff84bf "          // s_cbranch_scc0 L
                            "c10200ba00000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 0
                            "070006b0"),
              with_handler(kRecorder, &memory));  // s_movk_i32 s6, 0x7
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  const uint64_t at = rig.entry();
  const uint64_t expected[] = {at + 12, at + 20, at + 24, at + 20, at + 24,
                               at + 20, at + 24, at + 28, at + 36};
  ASSERT_EQ(memory.count, std::size(expected));
  for (size_t i = 0; i < std::size(expected); i++) {
    EXPECT_EQ(memory.record[i].pc(), expected[i]) << i;
    EXPECT_EQ(memory.record[i].rewind(), 0u);
  }
  EXPECT_EQ(rig.s(6), 7u);
  EXPECT_EQ(rig.s(0), ~0u) << "SCC survives the handler";
  EXPECT_EQ(rig.wave().instructions, 12u + 9 * 23);
}

TEST(Trap, SettingSavectxEntersTheHandler) {
  Memory memory;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("830200ba01000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 10, 1), 1
                            "070006b0"),
              with_handler(kRecorder, &memory));  // s_movk_i32 s6, 0x7
  ASSERT_EQ(rig.run(), Exit::ended);
  ASSERT_EQ(memory.count, 1u);
  EXPECT_EQ(memory.record[0].trapsts, kTrapstsSavectx);
  EXPECT_EQ(memory.record[0].pc(), rig.entry() + 8);
  EXPECT_EQ(rig.s(6), 7u);
}

TEST(Trap, AWaveThatItsHandlerHaltsIsAFaultWhereItWouldGoOn) {
  WaveRig rig(Target::gfx950, dwords_of_hex("070006b0 020092bf"),  // s_movk_i32 s6, 7; s_trap 2
              with_handler("ff00fcbe34120000 "                     // s_mov_b32 m0, 0x1234
                           "000080bf "                             // s_nop 0
                           "010090bf "                             // s_sendmsg sendmsg(MSG_INTERRUPT)
                           "01008dbf "                             // s_sethalt 1
                           "6c1f80be",
                           nullptr));  // s_rfe_b64 ttmp[0:1]
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::trap);
  EXPECT_EQ(rig.fault().pc, rig.entry() + 4);
  EXPECT_EQ(rig.fault().instruction, "s_trap 2");
  EXPECT_EQ(rig.fault().detail, "the trap handler halted the wave after interrupt 0x1234");
}

TEST(Trap, AFaultInTheHandlerIsAFault) {
  WaveRig rig(Target::gfx950, dwords_of_hex("020092bf"), with_handler("ffffffff", nullptr));
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::illegal_instruction);
  RigOptions nowhere;
  nowhere.trap_base = 0x1000;
  WaveRig lost(Target::gfx950, dwords_of_hex("020092bf"), nowhere);
  ASSERT_EQ(lost.run(), Exit::fault);
  EXPECT_EQ(lost.fault().kind, FaultKind::bad_jump);
  EXPECT_EQ(lost.fault().instruction, "s_trap 2");
}

TEST(Trap, ReturningOutsideAHandlerIsIllegal) {
  WaveRig rig(Target::gfx950, dwords_of_hex("001f80be"));  // s_rfe_b64 s[0:1]
  ASSERT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::illegal_instruction);
}

TEST(Trap, TtmpsBelongToTheHandlerAndLastFromTrapToTrap) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("8900f9be "  // s_mov_b32 ttmp13, 9
                            "010092bf "  // s_trap 1
                            "010092bf "  // s_trap 1
                            "790080be "  // s_mov_b32 s0, ttmp13
                            "740081be "  // s_mov_b32 s1, ttmp8
                            "7c0082be"),
              with_handler(    // s_mov_b32 s2, m0
                  "79817980 "  // s_add_u32 ttmp13, ttmp13, 1
                  "7900fcbe "  // s_mov_b32 m0, ttmp13
                  "6c846c80 "  // s_add_u32 ttmp0, ttmp0, 4
                  "6d806d82 "  // s_addc_u32 ttmp1, ttmp1, 0
                  "6c1f80be",
                  nullptr));  // s_rfe_b64 ttmp[0:1]
  rig.s(108 + 13) = 100;
  rig.wave().m0() = 0;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(0), 0u);
  EXPECT_EQ(rig.s(1), 0u) << "the grid's size is for the handler only";
  EXPECT_EQ(rig.s(2), 102u);
}

// gfx6 to gfx8: TBA and TMA are s[108:111], TTMPs begin at 112.
TEST(Trap, OlderGenerationsHaveTbaAmongTheScalars) {
  const char* handler =
      "7100fcbe "  // s_mov_b32 m0, ttmp1
      "6e01eabe "  // s_mov_b64 vcc, tma
      "70847080 "  // s_add_u32 ttmp0, ttmp0, 4
      "71807182 "  // s_addc_u32 ttmp1, ttmp1, 0
      "701f80be";  // s_rfe_b64 ttmp[0:1]
  RigOptions options = with_handler(handler, reinterpret_cast<const void*>(0x123456789a));
  WaveRig rig(Target::gfx803, dwords_of_hex("070092bf 070006b0"), options);  // s_trap 7; s_movk_i32 s6, 7
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.wave().m0() >> 16, 7u);
  EXPECT_EQ(rig.wave().vcc(), 0x123456789au);
  EXPECT_EQ(rig.s(6), 7u);
  EXPECT_EQ(rig.s(112), static_cast<uint32_t>(rig.entry() + 4));
}

TEST(Trap, PrivilegedWritesOfStatusTbaAndTma) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("12f800ba05000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_TMA_LO), 5
                            "12f880b8 "          // s_getreg_b32 s0, hwreg(HW_REG_TMA_LO)
                            "010092bf "          // s_trap 1
                            "12f881b8 "          // s_getreg_b32 s1, hwreg(HW_REG_TMA_LO)
                            "13f882b8 "          // s_getreg_b32 s2, hwreg(HW_REG_TMA_HI)
                            "02f883b8 "          // s_getreg_b32 s3, hwreg(HW_REG_STATUS)
                            "010098bf "          // s_cbranch_cdbguser L
                            "070006b0 "          // s_movk_i32 s6, 0x7
                            "000080bf"),
              with_handler(            // s_nop 0
                  "12f800ba22221111 "  // s_setreg_imm32_b32 hwreg(HW_REG_TMA_LO), 0x11112222
                  "13f800ba44443333 "  // s_setreg_imm32_b32 hwreg(HW_REG_TMA_HI), 0x33334444
                  "023c00baff000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 16, 8), 0xff
                  "022000ba1f000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 0, 5), 31
                  "6c846c80 "          // s_add_u32 ttmp0, ttmp0, 4
                  "6c1f80be",
                  nullptr));  // s_rfe_b64 ttmp[0:1]
  rig.s(6) = 0;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  EXPECT_EQ(rig.s(0), 0u) << "read-only for an unprivileged wave";
  EXPECT_EQ(rig.s(1), 0x11112222u);
  EXPECT_EQ(rig.s(2), 0x4444u);
  EXPECT_EQ(rig.s(3) & 0x00ff'0000, kStatusValid | 0x70u << 16);
  EXPECT_EQ(rig.s(3) & 0x1e, 0x1eu);
  EXPECT_EQ(rig.s(6), 0u);
}

// --- Commands of the host ---

TEST(HostCommand, TrapsAndKillsRunningWaves) {
  Device device(Target::gfx950);
  Memory memory;
  std::vector<uint32_t> handler = dwords_of_hex(
      "12f8f0b8 "          // s_getreg_b32 ttmp4, hwreg(HW_REG_TMA_LO)
      "13f8f1b8 "          // s_getreg_b32 ttmp5, hwreg(HW_REG_TMA_HI)
      "03f8f2b8 "          // s_getreg_b32 ttmp6, hwreg(HW_REG_TRAPSTS)
      "b81c42c028000000 "  // s_store_dword ttmp6, ttmp[4:5], 0x28
      "381b46c020000000 "  // s_store_dwordx2 ttmp[0:1], ttmp[4:5], 0x20
      "728a0dbf "          // s_bitcmp1_b32 ttmp6, 10
      "010085bf "          // s_cbranch_scc1 Save
      "6c1f80be "          // s_rfe_b64 ttmp[0:1]
      "00009bbf");         // s_endpgm_saved
  const uint64_t base = reinterpret_cast<uint64_t>(handler.data());
  device.add_code(base, handler.size() * 4);
  device.set_trap_handler(base, reinterpret_cast<uint64_t>(&memory));
  const auto* pc = reinterpret_cast<const std::atomic<uint32_t>*>(&memory.record[0].pc_high);

  Fault fault;
  std::thread endless([&] {
    TestKernel kernel("for_ever", Target::gfx950);
    kernel.launch.grid = kernel.launch.group = {64, 1, 1};
    fault = kernel.run(device);
  });
  while ((pc->load() >> 16 & 0x1ff) != (0x100 | 77)) {
    device.command(WaveCommand::trap, 77);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(memory.record[0].is_host());
  EXPECT_EQ(memory.record[0].trapsts & kTrapstsSavectx, 0u);
  device.command(WaveCommand::save_context);  // the handler ends the wave
  endless.join();
  EXPECT_EQ(fault.kind, FaultKind::none) << fault.detail;
  EXPECT_TRUE(memory.record[0].trapsts & kTrapstsSavectx);

  device.set_trap_handler(0, 0);
  std::atomic<bool> ended{false};
  std::thread killed([&] {
    TestKernel kernel("for_ever", Target::gfx950);
    kernel.launch.grid = {64 * 3, 1, 1};
    kernel.launch.group = {64, 1, 1};
    fault = kernel.run(device);
    ended = true;
  });
  while (!ended) {
    device.command(WaveCommand::trap, 1);  // without a handler: nothing
    device.command(WaveCommand::kill);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  killed.join();
  EXPECT_EQ(fault.kind, FaultKind::none);
}

// --- Exceptions, instruction by instruction: TRAPSTS read by the program, none enabled ---

constexpr uint32_t kOne = 0x3f800000, kZero = 0, kTiny = 1, kHuge = 0x7f7fffff, kInfinity = 0x7f800000,
                   kQuiet = 0x7fc00000, kSignaling = 0x7f800001, kThird = 0x3eaaaaab, kMinusOne = 0xbf800000;

struct Raised {
  const char* hex;
  uint32_t a, b, c;
  uint32_t expected;
  uint32_t float_mode = 0xf0;
};

// Runs `hex` (v6 = f(v0, v2, v4), 64-bit operands in pairs) and returns EXCP.
uint32_t raised(Target target, const Raised& test, bool wide) {
  const char* getreg = target < Target::gfx803 ? " 03f800b9" : " 03f880b8";
  RigOptions options;
  options.float_mode = test.float_mode;
  WaveRig rig(target, dwords_of_hex(std::string(test.hex) + getreg), options);
  const uint32_t values[3] = {test.a, test.b, test.c};
  for (int i = 0; i < 3; i++) {
    double d = __builtin_bit_cast(float, values[i]);
    if (values[i] == kTiny) d = 5e-324;
    if (values[i] == kHuge) d = std::numeric_limits<double>::max();
    uint64_t bits = __builtin_bit_cast(uint64_t, d);
    if (values[i] == kSignaling) bits = 0x7ff0'0000'0000'0001;
    for (int lane = 0; lane < kLanes; lane++) {
      rig.v(2 * i, lane) = wide ? static_cast<uint32_t>(bits) : values[i];
      if (wide) rig.v(2 * i + 1, lane) = static_cast<uint32_t>(bits >> 32);
    }
  }
  EXPECT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  return rig.s(0);
}

constexpr uint32_t kI = kExcpInvalid, kD = kExcpDenormal, kZ = kExcpDivideByZero, kO = kExcpOverflow,
                   kU = kExcpUnderflow, kX = kExcpInexact;

TEST(Exceptions, OfSingleFloats) {
  const Raised cases[] = {
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kOne, kOne, 0, 0},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kOne, kThird, 0, kX},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kHuge, kHuge, 0, kO | kX},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kSignaling, kOne, 0, kI},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kQuiet, kOne, 0, 0},
      {"00050c04" /* v_sub_f32 v6, v0, v2 */, kInfinity, kInfinity, 0, kI},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kInfinity, kInfinity, 0, 0},
      {"060001d100050240" /* v_add_f32_e64 v6, v0, -v2 */, kInfinity, kInfinity, 0, kI},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kTiny, kOne, 0, kD | kX},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kTiny, kOne, 0, 0, 0xc0},
      {"00050c0a" /* v_mul_f32 v6, v0, v2 */, 0x00800000, kThird, 0, kU | kX},
      {"00050c0a" /* v_mul_f32 v6, v0, v2 */, kInfinity, kZero, 0, kI},
      {"0600cbd100051204" /* v_fma_f32 v6, v0, v2, v4 */, kOne, kOne, kOne, 0},
      {"0600cbd100051204" /* v_fma_f32 v6, v0, v2, v4 */, kThird, kThird, kOne, kX},
      {"00050c76" /* v_fmac_f32 v6, v0, v2 */, kInfinity, kZero, 0, kI},
      {"00450c7e" /* v_rcp_f32 v6, v0 */, kZero, 0, 0, kZ},
      {"00450c7e" /* v_rcp_f32 v6, v0 */, kOne, 0, 0, 0},
      {"00450c7e" /* v_rcp_f32 v6, v0 */, kTiny, 0, 0, kZ},
      {"00470c7e" /* v_rcp_iflag_f32 v6, v0 */, kZero, 0, 0, kExcpIntDivideByZero},
      {"00470c7e" /* v_rcp_iflag_f32 v6, v0 */, kThird, 0, 0, 0},
      {"00490c7e" /* v_rsq_f32 v6, v0 */, kZero, 0, 0, kZ},
      {"00490c7e" /* v_rsq_f32 v6, v0 */, kMinusOne, 0, 0, kI},
      {"004f0c7e" /* v_sqrt_f32 v6, v0 */, kMinusOne, 0, 0, kI},
      {"00430c7e" /* v_log_f32 v6, v0 */, kZero, 0, 0, kZ},
      {"00430c7e" /* v_log_f32 v6, v0 */, kMinusOne, 0, 0, kI},
      {"00430c7e" /* v_log_f32 v6, v0 */, kOne, 0, 0, 0},
      {"00410c7e" /* v_exp_f32 v6, v0 */, kHuge, 0, 0, kO | kX},
      {"00410c7e" /* v_exp_f32 v6, v0 */, 0xc3160000, 0, 0, kU | kX},
      {"00530c7e" /* v_sin_f32 v6, v0 */, kInfinity, 0, 0, kI},
      {"00050c16" /* v_max_f32 v6, v0, v2 */, kSignaling, kOne, 0, kI},
      {"00050c16" /* v_max_f32 v6, v0, v2 */, kQuiet, kOne, 0, 0},
      {"003f0c7e" /* v_floor_f32 v6, v0 */, kThird, 0, 0, 0},
      {"00110c7e" /* v_cvt_i32_f32 v6, v0 */, kThird, 0, 0, 0},
      {"068048d100010000" /* v_cvt_i32_f32_e64 v6, v0 clamp */, kThird, 0, 0, kX},
      {"00110c7e" /* v_cvt_i32_f32 v6, v0 */, kHuge, 0, 0, kI},
      {"000f0c7e" /* v_cvt_u32_f32 v6, v0 */, kMinusOne, 0, 0, kI},
      {"000b0c7e" /* v_cvt_f32_i32 v6, v0 */, 0x01000001, 0, 0, kX},
      {"000b0c7e" /* v_cvt_f32_i32 v6, v0 */, 0x01000000, 0, 0, 0},
      {"00150c7e" /* v_cvt_f16_f32 v6, v0 */, kHuge, 0, 0, kO | kX},
      {"00150c7e" /* v_cvt_f16_f32 v6, v0 */, kThird, 0, 0, kX},
      {"00150c7e" /* v_cvt_f16_f32 v6, v0 */, 0x33000001, 0, 0, kU | kX},
      {"00150c7e" /* v_cvt_f16_f32 v6, v0 */, kOne, 0, 0, 0},
      {"060088d200050200" /* v_ldexp_f32 v6, v0, v2 */, kOne, 200, 0, kO | kX},
      {"0005827c" /* v_cmp_lt_f32 vcc, v0, v2 */, kQuiet, kOne, 0, 0},
      {"0005827c" /* v_cmp_lt_f32 vcc, v0, v2 */, kSignaling, kOne, 0, kI},
      {"6a8041d000050200" /* v_cmp_lt_f32_e64 vcc, v0, v2 clamp */, kQuiet, kOne, 0, kI},
      {"0600ded100051204" /* v_div_fixup_f32 v6, v0, v2, v4 */, kOne, kZero, kOne, kZ},
      {"0600ded100051204" /* v_div_fixup_f32 v6, v0, v2, v4 */, kOne, kZero, kZero, kI},
      {"0600ded100051204" /* v_div_fixup_f32 v6, v0, v2, v4 */, kOne, kOne, kOne, 0},
      {"00050c00" /* v_cndmask_b32 v6, v0, v2, vcc */, kSignaling, kSignaling, 0, 0},
      {"00030c7e" /* v_mov_b32 v6, v0 */, kSignaling, 0, 0, 0},
      {"0005207c" /* v_cmp_class_f32 vcc, v0, v2 */, kSignaling, 1, 0, 0},
      {"0640b1d300010218" /* v_pk_mul_f32 v[6:7], v[0:1], v[0:1] */, kInfinity, 0, 0, 0},
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, false), test.expected)
        << test.hex << " " << std::hex << test.a << " " << test.b;
  EXPECT_EQ(raised(Target::gfx701, {"0005827c" /* v_cmps_lt_f32 vcc, v0, v2 */, kQuiet, kOne, 0, 0}, false),
            kI);
  EXPECT_EQ(raised(Target::gfx803, {"00050c2c" /* v_mac_f32 v6, v0, v2 */, kInfinity, kZero, 0, 0}, false),
            kI);
}

TEST(Exceptions, OfDoubles) {
  const Raised cases[] = {
      {"060080d200050200" /* v_add_f64 v[6:7], v[0:1], v[2:3] */, kOne, kOne, 0, 0},
      {"060080d200050200" /* v_add_f64 v[6:7], v[0:1], v[2:3] */, kHuge, kHuge, 0, kO | kX},
      {"060080d200050200" /* v_add_f64 v[6:7], v[0:1], v[2:3] */, kTiny, kOne, 0, kD | kX},
      {"060080d200050200" /* v_add_f64 v[6:7], v[0:1], v[2:3] */, kTiny, kOne, 0, 0, 0x30},
      {"060081d200050200" /* v_mul_f64 v[6:7], v[0:1], v[2:3] */, kTiny, kThird, 0, kD | kU | kX},
      {"0600ccd100051204" /* v_fma_f64 v[6:7], v[0:1], v[2:3], v[4:5] */, kInfinity, kZero, kOne, kI},
      {"004b0c7e" /* v_rcp_f64 v[6:7], v[0:1] */, kZero, 0, 0, kZ},
      {"00510c7e" /* v_sqrt_f64 v[6:7], v[0:1] */, kMinusOne, 0, 0, kI},
      {"060083d200050200" /* v_max_f64 v[6:7], v[0:1], v[2:3] */, kSignaling, kOne, 0, kI},
      {"0005c27c" /* v_cmp_lt_f64 vcc, v[0:1], v[2:3] */, kSignaling, kOne, 0, kI},
      {"001f0c7e" /* v_cvt_f32_f64 v6, v[0:1] */, kHuge, 0, 0, kO | kX},
      {"00070c7e" /* v_cvt_i32_f64 v6, v[0:1] */, kHuge, 0, 0, kI},
      {"0600dfd100051204" /* v_div_fixup_f64 v[6:7], v[0:1], v[2:3], v[4:5] */, kOne, kZero, kOne, kZ},
      {"060084d200810100" /* v_ldexp_f64 v[6:7], v[0:1], 64 */, kHuge, 0, 0, kO | kX},
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, true), test.expected)
        << test.hex << " " << std::hex << test.a << " " << test.b;
}

TEST(Exceptions, OfHalves) {
  const uint32_t one = 0x3c00, huge = 0x7bff, tiny = 1, third = 0x3555, infinity = 0x7c00, signaling = 0x7c01;
  const Raised cases[] = {
      {"00050c3e" /* v_add_f16 v6, v0, v2 */, one, one, 0, 0},
      {"00050c3e" /* v_add_f16 v6, v0, v2 */, one, third, 0, kX},
      {"00050c3e" /* v_add_f16 v6, v0, v2 */, huge, huge, 0, kO | kX},
      {"00050c44" /* v_mul_f16 v6, v0, v2 */, 0x0400, third, 0, kU | kX},
      {"00050c3e" /* v_add_f16 v6, v0, v2 */, tiny, 0, 0, kD},
      {"00050c40" /* v_sub_f16 v6, v0, v2 */, infinity, infinity, 0, kI},
      {"007b0c7e" /* v_rcp_f16 v6, v0 */, 0, 0, 0, kZ},
      {"00050c5a" /* v_max_f16 v6, v0, v2 */, signaling, one, 0, kI},
      {"060006d200051204" /* v_fma_f16 v6, v0, v2, v4 */, one, one, one, 0},
      {"06408fd300050218" /* v_pk_add_f16 v6, v0, v2 */, one << 16 | one, one << 16 | one, 0, 0},
      {"06408fd300050218" /* v_pk_add_f16 v6, v0, v2 */, huge << 16 | one, huge << 16 | one, 0, kO | kX},
      {"064090d300050218" /* v_pk_mul_f16 v6, v0, v2 */, one << 16 | third, one << 16 | third, 0, kX},
      {"00170c7e" /* v_cvt_f32_f16 v6, v0 */, signaling, 0, 0, kI},
      {"00730c7e" /* v_cvt_f16_u16 v6, v0 */, 0xffff, 0, 0, kO | kX},
      {"00790c7e" /* v_cvt_i16_f16 v6, v0 */, infinity, 0, 0, kI},
      {"0005487c" /* v_cmp_gt_f16 vcc, v0, v2 */, signaling, one, 0, kI},
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, false), test.expected)
        << test.hex << " " << std::hex << test.a << " " << test.b;
}

TEST(Exceptions, OfMixedOperationsWithHalfResults) {
  const char* fused = "0600a1d300051204";  // v_fma_mixlo_f16 v6, v0, v2, v4, all three f32
  const Raised cases[] = {
      {fused, kOne, kOne, kOne, 0},
      {fused, kOne, kThird, kZero, kX},      // exact in f32, not in f16
      {fused, kHuge, kOne, kZero, kO | kX},  // the conversion overflows
      {fused, kTiny, kOne, kZero, kD | kU | kX},
      {fused, kInfinity, kZero, kOne, kI},
      {fused, kSignaling, kOne, kOne, kI},
      {fused, 0x33800000, kOne, kZero, 0},              // 2^-24, the least denormal of f16
      {fused, 0x33800000, kOne, kZero, kU | kX, 0x30},  // flushed
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, false), test.expected) << std::hex << test.a << " " << test.b;
  // v_mad_mixhi_f16 v6, v0, v2, v4
  EXPECT_EQ(raised(Target::gfx900, {"0600a2d300051204", kThird, kThird, kOne, 0}, false), kX);
  EXPECT_EQ(raised(Target::gfx900, {"0600a2d300051204", kOne, kOne, kOne, 0}, false), 0u);
}

TEST(Exceptions, SelectedBytesAndMovedLanesAreWhatCounts) {
  // SDWA: the upper half of v0; DPP: lane 0 of each row reads lane 1.
  EXPECT_EQ(
      raised(
          Target::gfx900,
          {"f97a0c7e00060500" /* v_rcp_f16_sdwa v6, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 */,
           0x3c00, 0, 0, 0},
          false),
      kZ);
  EXPECT_EQ(
      raised(
          Target::gfx900,
          {"f97a0c7e00060400" /* v_rcp_f16_sdwa v6, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 */,
           0x3c00, 0, 0, 0},
          false),
      0u);
  WaveRig rig(
      Target::gfx900,
      dwords_of_hex(
          "fa440c7e00010111" /* v_rcp_f32_dpp v6, v0 row_shl:1 row_mask:0x1 bank_mask:0x1 */ " 03f880b8"));
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = kOne;
  rig.v(0, 0) = rig.v(0, 20) = 0;  // read by nobody
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), 0u);
  rig.v(0, 2) = 0;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), kZ);
}

TEST(Exceptions, OfDoubleMatrices) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("0600efd300051204 "  // v_mfma_f64_4x4x4_4b_f64 v[6:7], v[0:1], v[2:3], v[4:5]
                            "034080b8 "          // s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS, 0, 9)
                            "0800c2d301073204 "  // v_mfma_f32_4x4x1_16b_f32 v[8:11], v1, v3, v[12:15]
                            "034000ba00000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0
                            "034081b8"));        // s_getreg_b32 s1, hwreg(HW_REG_TRAPSTS, 0, 9)
  for (int lane = 0; lane < kLanes; lane++)
    for (int r = 0; r < 16; r++) rig.v(r, lane) = 0;
  for (int lane = 0; lane < kLanes; lane++) rig.v(1, lane) = 0x7ff0'0000;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), kI) << "infinity times 0";
  EXPECT_EQ(rig.s(1), 0u);
}

TEST(Exceptions, StickUntilTheProgramClearsThem) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("0045027e "          // v_rcp_f32_e32 v1, v0
                            "02050202 "          // v_add_f32_e32 v1, v2, v2
                            "034080b8 "          // s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS, 0, 9)
                            "830000ba00000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 2, 1), 0
                            "034081b8"));        // s_getreg_b32 s1, hwreg(HW_REG_TRAPSTS, 0, 9)
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = 0, rig.v(2, lane) = kHuge;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), kZ | kO | kX);
  EXPECT_EQ(rig.s(1), kO | kX);
}

}  // namespace
}  // namespace morgana::device
