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
  rig.wave().set_exec(1u << 3);
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(memory.count, 0u);
  rig.wave().set_exec(0);
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

// --- Address watch ---

AddressWatches one_watch(size_t index, uint64_t address, uint64_t mask, WatchMode mode) {
  AddressWatches watches;
  watches[index] = {true, mode, address, mask};
  return watches;
}

constexpr uint64_t kEveryBit = ~uint64_t{0};

// What a program sees in TRAPSTS after a load, a store and an atomic at lane * 4 of `base`.
struct Seen {
  uint32_t after_load, after_store, after_atomic;
  bool operator==(const Seen&) const = default;
};
Seen seen(const AddressWatches& watches, uint64_t base) {
  RigOptions options;
  options.watches = watches;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("008050dc00000201 "  // global_load_dword v1, v0, s[2:3]
                            "03f88ab8 "          // s_getreg_b32 s10, hwreg(HW_REG_TRAPSTS)
                            "03f800ba00000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS), 0
                            "008070dc00010200 "  // global_store_dword v0, v1, s[2:3]
                            "03f88bb8 03f800ba00000000 "
                            "008008dd00010200 "  // global_atomic_add v0, v1, s[2:3]
                            "03f88cb8"),
              options);
  rig.s(2) = static_cast<uint32_t>(base);
  rig.s(3) = static_cast<uint32_t>(base >> 32);
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = static_cast<uint32_t>(lane) * 4;
  EXPECT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  return {rig.s(10), rig.s(11), rig.s(12)};
}

TEST(AddressWatch, ModesNumbersAndMasks) {
  alignas(4096) static uint32_t memory[1024];
  const auto base = reinterpret_cast<uint64_t>(memory);
  const uint32_t first = kExcpAddressWatch, second = kTrapstsWatch1;
  EXPECT_EQ(seen({}, base), (Seen{0, 0, 0}));
  EXPECT_EQ(seen(one_watch(0, base, kEveryBit, WatchMode::all), base), (Seen{first, first, first}));
  EXPECT_EQ(seen(one_watch(1, base, kEveryBit, WatchMode::read), base), (Seen{second, 0, 0}));
  EXPECT_EQ(seen(one_watch(1, base, kEveryBit, WatchMode::non_read), base), (Seen{0, second, second}));
  EXPECT_EQ(seen(one_watch(3, base, kEveryBit, WatchMode::atomic), base), (Seen{0, 0, 4 * second}));
  // 64 lanes touch four lines.
  EXPECT_EQ(seen(one_watch(0, base + 255, kEveryBit, WatchMode::read), base).after_load, first);
  EXPECT_EQ(seen(one_watch(0, base + 256, kEveryBit, WatchMode::read), base).after_load, 0u);
  EXPECT_EQ(seen(one_watch(0, base + 256, ~uint64_t{0x1ff}, WatchMode::read), base).after_load, first);
  // Bits 63 to 30 count whatever the mask says.
  EXPECT_EQ(seen(one_watch(0, base ^ uint64_t{1} << 32, 0, WatchMode::read), base).after_load, 0u);
  EXPECT_EQ(seen(one_watch(0, base ^ uint64_t{1} << 29, 0, WatchMode::read), base).after_load, first);
}

TEST(AddressWatch, EntersTheHandlerBehindTheInstruction) {
  alignas(64) static uint32_t target[64];
  Memory memory;
  RigOptions options = with_handler(kRecorder, &memory);
  options.watches = one_watch(2, reinterpret_cast<uint64_t>(target), kEveryBit, WatchMode::non_read);
  WaveRig rig(Target::gfx950,
              dwords_of_hex("008050dc00000201 "  // global_load_dword v1, v0, s[2:3]
                            "008070dc00010200 "  // global_store_dword v0, v1, s[2:3]
                            "070006b0"),         // s_movk_i32 s6, 0x7
              options);
  rig.s(2) = static_cast<uint32_t>(reinterpret_cast<uint64_t>(target));
  rig.s(3) = static_cast<uint32_t>(reinterpret_cast<uint64_t>(target) >> 32);
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = 0;
  ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  ASSERT_EQ(memory.count, 1u);
  EXPECT_EQ(memory.record[0].pc(), rig.entry() + 16);
  EXPECT_EQ(memory.record[0].rewind(), 2u);
  EXPECT_EQ(memory.record[0].trap_id(), 0u);
  EXPECT_EQ(memory.record[0].trapsts, kTrapstsWatch1 << 1);
  EXPECT_EQ(rig.s(6), 7u);
}

TEST(AddressWatch, WithoutAHandlerAnEnabledWatchIsAFault) {
  alignas(64) static uint32_t target[64];
  RigOptions options;
  options.watches = one_watch(0, reinterpret_cast<uint64_t>(target), kEveryBit, WatchMode::all);
  WaveRig rig(Target::gfx950,
              dwords_of_hex("c10400ba01000000 "   // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 19, 1), 1
                            "008050dc00000201"),  // global_load_dword v1, v0, s[2:3]
              options);
  rig.s(2) = static_cast<uint32_t>(reinterpret_cast<uint64_t>(target));
  rig.s(3) = static_cast<uint32_t>(reinterpret_cast<uint64_t>(target) >> 32);
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = lane == 5 ? 0 : 128;
  EXPECT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::trap);
  EXPECT_EQ(rig.fault().detail, "address watch");
  EXPECT_EQ(rig.fault().lane, 5u);
}

}  // namespace
}  // namespace morgana::device
