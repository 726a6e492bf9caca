// Kernels that loop over the waves of a group: every wave begins with what the launch has made, and one that
// does something else than to end leaves those behind it to begin. For gfx950.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kWaves = 4, kItems = kWaves * kLanes;
constexpr uint64_t kPage = 4096;

RigOptions options() {
  RigOptions options;
  options.items = kItems;
  options.vgprs = 16;
  options.begins_full = options.registers_are_lost = options.loops_over_waves = true;
  options.kernarg = 10;
  return options;
}

struct Outcome {
  Exit exit{};
  uint64_t instructions = 0;
  std::vector<uint32_t> stored = std::vector<uint32_t>(2 * kItems);
};

class WaveLoop : public testing::Test {
 protected:
  // s[4:5]: where to store; s[10:11]: the arguments, first of them the same place.
  static Outcome run(WaveRig& rig, bool loops, std::vector<uint64_t> arguments = {}) {
    rig.restart();
    Outcome outcome;
    arguments.insert(arguments.begin(), reinterpret_cast<uint64_t>(outcome.stored.data()));
    const uint64_t kernarg = reinterpret_cast<uint64_t>(arguments.data());
    for (uint32_t w = 0; w < kWaves; w++) {
      std::memcpy(&rig.wave(w).s[4], arguments.data(), 8);
      std::memcpy(&rig.wave(w).s[10], &kernarg, 8);
      rig.wave(w).s[12] = 1000;
    }
    outcome.exit = loops ? rig.run_loop() : rig.run_group(false);
    for (uint32_t w = 0; w < kWaves; w++) outcome.instructions += rig.wave(w).instructions;
    return outcome;
  }
  static void expect_same(std::string_view code, const std::vector<uint64_t>& arguments = {}) {
    WaveRig rig(Target::gfx950, dwords_of_hex(code), options());
    const Outcome interpreted = run(rig, false, arguments);
    for (int times = 0; times < 2; times++) {
      const Outcome looped = run(rig, true, arguments);
      ASSERT_TRUE(rig.kernel() != nullptr && rig.kernel()->loops_over_waves()) << rig.why_interpreted();
      EXPECT_EQ(looped.exit, Exit::ended);
      EXPECT_EQ(looped.stored, interpreted.stored);
      EXPECT_EQ(looped.instructions, interpreted.instructions);
    }
    EXPECT_NE(interpreted.stored[kItems - 1], 0u) << "nothing is stored";
  }
};

// Arguments, SGPRs and EXEC are overwritten after they have been read.
TEST_F(WaveLoop, EveryWaveBeginsAlike) {
  expect_same(
      "05010ac000000000 7fc08cbf"   // s_load_dwordx4 s[4:7], s[10:11], 0; s_waitcnt lgkmcnt(0)
      "82000224 06000468 0c040468"  // v_lshlrev_b32 v1, 2, v0; v_add_u32 v2, s6, v0; v2, s12, v2
      "0cff0c8064000000 870086be"   // s_add_u32 s12, s12, 100; s_mov_b32 s6, 7
      "008070dc01020400 8101febe"   // global_store_dword v1, v2, s[4:5]; s_mov_b64 exec, 1
      "0c02067e 008470dc01030400",  // v_mov_b32 v3, s12; global_store_dword v1, v3, s[4:5] offset:1024
      {5000});
}

// An instruction that the interpreter's handler executes brings registers into the Wave.
TEST_F(WaveLoop, HandlersLeaveTheNextWaveAlone) {
  expect_same(
      "0c02047e fa02047e001101ff"  // v_mov_b32 v2, s12; v_mov_b32_dpp v2, v0 row_shr:1
      "85008cbe 82000224"          // s_mov_b32 s12, 5; v_lshlrev_b32 v1, 2, v0
      "008070dc01020400");         // global_store_dword v1, v2, s[4:5]
}

// The third wave sends a message, which the interpreter does: it goes on, and so does the fourth.
TEST_F(WaveLoop, AWaveLeaves) {
  expect_same(
      "0005287e 82000224 14ff07bf80000000"  // v_readfirstlane_b32 s20, v0; v_lshlrev_b32 v1, 2, v0;
                                            // s_cmp_lg_u32 s20, 128
      "010085bf 010090bf"                   // s_cbranch_scc1 1; s_sendmsg sendmsg(MSG_INTERRUPT)
      "14000468 008070dc01020400");         // v_add_u32 v2, s20, v0; global_store_dword v1, v2, s[4:5]
}

TEST_F(WaveLoop, AFaultNamesItsWave) {
  // v_lshlrev_b32 v1, 12, v0; global_store_dword v1, v0, s[4:5]
  WaveRig rig(Target::gfx950, dwords_of_hex("8c000224 008070dc01000400"), options());
  constexpr uint32_t kBad = 2 * kLanes + 5;
  auto* const pages = static_cast<uint8_t*>(
      mmap(nullptr, kItems * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(pages + kBad * kPage, kPage, PROT_NONE);
  for (uint32_t w = 0; w < kWaves; w++) {
    const auto at = reinterpret_cast<uint64_t>(pages);
    std::memcpy(&rig.wave(w).s[4], &at, 8);
  }
  EXPECT_EQ(rig.run_loop(), Exit::fault);
  EXPECT_TRUE(rig.kernel() != nullptr && rig.kernel()->loops_over_waves());
  EXPECT_EQ(rig.fault().kind, FaultKind::memory);
  EXPECT_EQ(rig.fault().wave, 2u);
  EXPECT_EQ(rig.fault().lane, 5u);
  EXPECT_EQ(rig.fault().work_item[0], kBad);
  EXPECT_EQ(rig.fault().address, reinterpret_cast<uint64_t>(pages) + kBad * kPage);
  EXPECT_EQ(rig.fault().instruction, "global_store_dword v1, v0, s[4:5]");
  EXPECT_EQ(pages[(kBad - kLanes) * kPage], kBad - kLanes) << "the second wave has ended";
  EXPECT_EQ(rig.wave(3).exit, Exit::none) << "the fourth has not begun";
  munmap(pages, kItems * kPage);
}

TEST_F(WaveLoop, UnreadableArgumentsAreTheFirstWavesFault) {
  // s_load_dword s6, s[10:11], 0; v_lshlrev_b32 v1, 2, v0; s_waitcnt lgkmcnt(0); v_mov_b32 v2, s6;
  // global_store_dword v1, v2, s[4:5]
  WaveRig rig(Target::gfx950, dwords_of_hex("850102c000000000 82000224 7fc08cbf 0602047e 008070dc01020400"),
              options());
  for (uint32_t w = 0; w < kWaves; w++) rig.wave(w).s[10] = 16, rig.wave(w).s[11] = 0;
  EXPECT_EQ(rig.run_loop(), Exit::fault);
  EXPECT_TRUE(rig.kernel() != nullptr && rig.kernel()->loops_over_waves());
  EXPECT_EQ(rig.fault().wave, 0u);
  EXPECT_EQ(rig.fault().address, 16u);
  EXPECT_EQ(rig.fault().instruction, "s_load_dword s6, s[10:11], 0x0");
}

// Waves meet at a barrier, or differ: s_barrier; v_mov_b32 v1, ttmp11.
TEST_F(WaveLoop, OthersRunOneByOne) {
  for (const char* code : {"00008abf", "7702027e 82000024 008070dc00010400"}) {
    WaveRig rig(Target::gfx950, dwords_of_hex(code), options());
    EXPECT_EQ(run(rig, true).exit, Exit::ended);
    ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    EXPECT_FALSE(rig.kernel()->loops_over_waves());
  }
}

}  // namespace
}  // namespace morgana::device
