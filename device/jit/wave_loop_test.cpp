// Kernels that loop over the waves of a group: every wave begins with what the launch has made, and one that
// does something else than to end leaves those behind it to begin. For gfx950, but for the last.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <string>

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

// The offset of an argument is in M0, which has been written before.
TEST_F(WaveLoop, AnOffsetIsNoPartOfTheBeginning) {
  expect_same(
      "8800fcbe 850100c07c000000"   // s_mov_b32 m0, 8; s_load_dword s6, s[10:11], m0
      "7fc08cbf 82000224 0602047e"  // s_waitcnt lgkmcnt(0); v_lshlrev_b32 v1, 2, v0; v_mov_b32 v2, s6
      "008070dc01020400",           // global_store_dword v1, v2, s[4:5]
      {5000});
}

// An instruction that the interpreter's handler executes brings registers into the Wave.
TEST_F(WaveLoop, HandlersLeaveTheNextWaveAlone) {
  expect_same(
      "0c02047e fa02047e001101ff"  // v_mov_b32 v2, s12; v_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf
                                   // bank_mask:0xf
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

// Rows of 64 dwords at `from` and `to`, of which the third wave's lie in a page that must not be accessed:
// from lane 5 on where the pages begin 5 lanes before it.
class WaveLoopFault : public testing::Test {
 protected:
  static constexpr uint32_t kBad = 2 * kLanes + 5;

  WaveLoopFault()
      : pages_(static_cast<uint8_t*>(
            mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~WaveLoopFault() override { munmap(pages_, 4 * kPage); }

  // Lane 5 of the third wave begins the page.
  uint64_t before(uint32_t page) const {
    return reinterpret_cast<uint64_t>(pages_) + page * kPage - 4 * kBad;
  }
  void protect(uint32_t page, int protection) { mprotect(pages_ + page * kPage, kPage, protection); }

  // s[4:5]: `from`, s[6:7]: `to`.
  const Fault& run(std::string_view code, uint64_t from, uint64_t to) {
    rig_ = std::make_unique<WaveRig>(Target::gfx950, dwords_of_hex(code), options());
    for (uint32_t w = 0; w < kWaves; w++) {
      std::memcpy(&rig_->wave(w).s[4], &from, 8);
      std::memcpy(&rig_->wave(w).s[6], &to, 8);
    }
    EXPECT_EQ(rig_->run_loop(), Exit::fault);
    EXPECT_TRUE(rig_->kernel() != nullptr && rig_->kernel()->loops_over_waves());
    return rig_->fault();
  }
  void expect(const Fault& fault, uint64_t address, bool is_write, std::string_view instruction) {
    EXPECT_EQ(fault.kind, FaultKind::memory);
    EXPECT_EQ(fault.address, address);
    EXPECT_EQ(fault.is_write, is_write);
    EXPECT_EQ(fault.instruction, instruction);
    EXPECT_EQ(fault.work_item[0], fault.wave * kLanes + fault.lane);
  }

  // v_lshlrev_b32 v1, 2, v0; global_load_dword v2, v1, s[4:5]; s_waitcnt vmcnt(0); v_add_u32 v2, 1, v2;
  // global_store_dword v1, v2, s[6:7]
  static constexpr std::string_view kAddOne = "82000224 008050dc01000402 700f8cbf 81040468 008070dc01020600";
  // v_lshlrev_b32 v1, 2, v0; global_store_dword v1, v0, s[6:7]; global_load_dword v2, v1, s[4:5];
  // s_waitcnt vmcnt(0); global_store_dword v1, v2, s[6:7]
  static constexpr std::string_view kStoresFirst =
      "82000224 008070dc01000600 008050dc01000402 700f8cbf 008070dc01020600";
  // The same as kAddOne at index v3 of `from`, which begins with the indices:
  // v_lshlrev_b32 v1, 2, v0; v_lshlrev_b32 v4, 2, v0; global_load_dword v3, v4, s[4:5]; s_waitcnt vmcnt(0);
  // v_lshlrev_b32 v3, 2, v3; global_load_dword v2, v3, s[4:5]; s_waitcnt vmcnt(0); v_add_u32 v2, v1, v2;
  // global_store_dword v1, v2, s[6:7]
  static constexpr std::string_view kGathers =
      "82000224 82000824 008050dc04000403 700f8cbf 82060624 008050dc03000402 700f8cbf 01050468 "
      "008070dc01020600";
  // Beyond those 69 dwords: v_lshlrev_b32 v1, 2, v0; v_add_u32 v3, 69, v1; v_and_b32 v3, 255, v3;
  // v_lshlrev_b32 v3, 2, v3; global_load_dword v2, v3, s[4:5]; s_waitcnt vmcnt(0); v_add_u32 v2, v1, v2;
  // global_store_dword v1, v2, s[6:7]
  static constexpr std::string_view kScattered =
      "82000224 ff00061045000000 ff060626ff000000 82060624 008050dc03000402 700f8cbf 02010468 "
      "008070dc01020600";
  static constexpr std::string_view kLoad = "global_load_dword v2, v1, s[4:5]";

  uint8_t* const pages_;
  std::unique_ptr<WaveRig> rig_;
};

TEST_F(WaveLoopFault, AStoreNamesItsWave) {
  protect(1, PROT_READ);
  const Fault& fault = run(kAddOne, before(3), before(1));
  expect(fault, reinterpret_cast<uint64_t>(pages_) + kPage, true, "global_store_dword v1, v2, s[6:7]");
  EXPECT_EQ(fault.work_item[0], kBad);
  EXPECT_EQ(*reinterpret_cast<uint32_t*>(before(1) + 4 * (2 * kLanes - 1)), 1u)
      << "the second wave has ended";
  EXPECT_EQ(rig_->wave(3).exit, Exit::none) << "the fourth has not begun";
}

// Nothing is noted of loads that come first.
TEST_F(WaveLoopFault, ALoadNamesItsWave) {
  protect(1, PROT_NONE);
  for (const std::string_view code : {kAddOne, kStoresFirst}) {
    const Fault& fault = run(code, before(1), before(3));
    expect(fault, reinterpret_cast<uint64_t>(pages_) + kPage, false, kLoad);
    EXPECT_EQ(fault.work_item[0], kBad);
    EXPECT_EQ(rig_->wave(3).exit, Exit::none);
  }
}

// The host does not say where it was going.
TEST_F(WaveLoopFault, AddressesThatAreNone) {
  constexpr uint64_t kNone = 0x7f00'0000'0000'0000;
  expect(run(kAddOne, kNone, before(1)), kNone, false, kLoad);
  expect(run(kAddOne, before(1), kNone), kNone, true, "global_store_dword v1, v2, s[6:7]");
  expect(run(kStoresFirst, kNone, before(1)), kNone, false, kLoad);
}

// Native code loads, and notes nothing of it.
TEST_F(WaveLoopFault, GathersAreLoads) {
  constexpr uint64_t kNone = 0x7f00'0000'0000'0000;
  constexpr std::string_view kStore = "global_store_dword v1, v2, s[6:7]";
  for (const std::string_view more : {"", "048070dc01020600"}) {
    const Fault& fault = run(std::string(kScattered) + std::string(more), kNone, before(1));
    EXPECT_EQ(fault.instruction, "global_load_dword v2, v3, s[4:5]");
    EXPECT_FALSE(fault.is_write);
    EXPECT_EQ(fault.wave, 0u);
  }
  expect(run(kScattered, before(1), kNone), kNone, true, kStore);
  for (uint32_t k = 0; k < kItems; k++) reinterpret_cast<uint32_t*>(pages_ + 2 * kPage)[k] = k ^ 16;
  protect(1, PROT_READ);
  const Fault& fault = run(kGathers, reinterpret_cast<uint64_t>(pages_) + 2 * kPage, before(1));
  expect(fault, reinterpret_cast<uint64_t>(pages_) + kPage, true, kStore);
  EXPECT_EQ(fault.work_item[0], kBad);
}

// Each lane in a page of its own: v_lshlrev_b32 v1, 12, v0; global_store_dword v1, v0, s[4:5]
TEST_F(WaveLoopFault, LanesApart) {
  auto* const pages = static_cast<uint8_t*>(
      mmap(nullptr, kItems * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(pages + kBad * kPage, kPage, PROT_NONE);
  const auto first = reinterpret_cast<uint64_t>(pages);
  const Fault& fault = run("8c000224 008070dc01000400", first, 0);
  expect(fault, first + kBad * kPage, true, "global_store_dword v1, v0, s[4:5]");
  EXPECT_EQ(fault.work_item[0], kBad);
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

// Waves of gfx12 know their group from TTMPs, which are the same in all of them; TTMP8 tells the waves apart.
TEST(WaveLoopOfGfx12, GroupsAreKnownFromTtmps) {
  RigOptions options;
  options.items = kWaves * 32;
  options.begins_full = options.registers_are_lost = options.loops_over_waves = true;
  const auto run = [](WaveRig& rig, bool loops) {
    std::vector<uint32_t> stored(kWaves * 32);
    rig.restart();
    const uint32_t* const to = stored.data();
    for (uint32_t w = 0; w < kWaves; w++) {
      std::memcpy(&rig.wave(w).s[4], &to, 8);
      rig.wave(w).s[isa::kTtmpGroupX] = 1000;
      rig.wave(w).s[isa::kTtmpGroupYZ] = 3 | 2 << 16;
    }
    EXPECT_EQ(loops ? rig.run_loop() : rig.run_group(false), Exit::ended);
    return stored;
  };
  const auto loops = [](WaveRig& rig) { return rig.kernel() != nullptr && rig.kernel()->loops_over_waves(); };
  WaveRig rig(Target::gfx1200,
              dwords_of_hex("82000230 7500044a"  // v_lshlrev_b32 v1, 2, v0; v_add_nc_u32 v2, ttmp9, v0
                            "7304044a"           // v_add_nc_u32 v2, ttmp7, v2
                            "048006ee 00000001 01000000"),  // global_store_b32 v1, v2, s[4:5]
              options);
  const std::vector<uint32_t> interpreted = run(rig, false);
  EXPECT_EQ(interpreted[33], 1033u + 3 + (2 << 16));
  EXPECT_EQ(run(rig, true), interpreted);
  EXPECT_TRUE(loops(rig)) << rig.why_interpreted();

  // v_mov_b32 v1, ttmp8; v_lshlrev_b32 v2, 2, v0; global_store_b32 v2, v1, s[4:5]
  WaveRig other(Target::gfx1200, dwords_of_hex("7402027e 82000430 048006ee 00008000 02000000"), options);
  EXPECT_EQ(run(other, true)[96], 3u << 25);
  EXPECT_FALSE(loops(other));
}

}  // namespace
}  // namespace morgana::device
