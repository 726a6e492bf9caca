// Loops with branches, stores and atomics, which are run by whole waves and lane by lane: registers, masks,
// memory and faults are the interpreter's.
#include <gtest/gtest.h>

#include <cstring>

#include "device/apertures.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// v4: first, v5: last entry of a lane (at least one); s[8:9]: entries (the first 256, over and over);
// s[10:11]: a byte for each; s[12:13]: what it is written to; s[14:15]: what it is added to; s[16:17]: a
// number of 64 bits at v14, a lane's own, which is compared with v[20:21].
constexpr std::string_view kLoop =
    "800184be"                     // s_mov_b64 s[4:5], 0
    "82080c24"                     // v_lshlrev_b32 v6, 2, v4
    "ff0c0c26fc030000"             // v_and_b32 v6, 0x3fc, v6
    "008050dc06000807"             // global_load_dword v7, v6, s[8:9]
    "700f8cbf"                     // s_waitcnt vmcnt(0)
    "008040dc07000a08"             // global_load_ubyte v8, v7, s[10:11]
    "700f8cbf"                     // s_waitcnt vmcnt(0)
    "820e1224"                     // v_lshlrev_b32 v9, 2, v7
    "8010947d"                     // v_cmp_eq_u32 vcc, 0, v8
    "6a2086be"                     // s_and_saveexec_b64 s[6:7], vcc
    "7e068688"                     // s_xor_b64 s[6:7], exec, s[6:7]
    "030088bf"                     // s_cbranch_execz
    "008070dc09070c00"             // global_store_dword v9, v7, s[12:13]
    "81161668"                     // v_add_u32 v11, 1, v11
    "062186be"                     // s_or_saveexec_b64 s[6:7], s[6:7]
    "7e06fe88"                     // s_xor_b64 exec, exec, s[6:7]
    "070088bf"                     // s_cbranch_execz
    "008008dd09070e00"             // global_atomic_add v9, v7, s[14:15]
    "008085dd0e121010"             // global_atomic_cmpswap_x2 v[16:17], v14, v[18:21], s[16:17] sc0
    "700f8cbf"                     // s_waitcnt vmcnt(0)
    "0d211a68 120f2468"            // v_add_u32 v13, v13, v16; v18, v18, v7
    "7e06fe87"                     // s_or_b64 exec, exec, s[6:7]
    "81080868 040b9c7d"            // v_add_u32 v4, 1, v4; v_cmp_ge_u32 vcc, v4, v5
    "6a048487"                     // s_or_b64 s[4:5], vcc, s[4:5]
    "7e04fe89 dfff89bf"            // s_andn2_b64 exec, exec, s[4:5]; s_cbranch_execnz
    "7e04fe87 8001eabe 800186be";  // s_or_b64 exec, exec, s[4:5]; s_mov_b64 vcc, 0; s_mov_b64 s[6:7], 0

constexpr uint32_t kEntries = 256, kPlaces = 500;

struct Memory {
  std::vector<uint32_t> entry, written, sum;
  std::vector<uint8_t> is_known;
  std::vector<uint64_t> own;
};

Memory make_memory() {
  Memory memory;
  uint32_t state = 7;
  const auto next = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (uint32_t i = 0; i < kEntries; i++) memory.entry.push_back(next() % kPlaces);
  for (uint32_t i = 0; i < kPlaces; i++) memory.is_known.push_back(next() % 3 == 0);
  memory.written.assign(kPlaces, 0);
  memory.sum.assign(kPlaces, 0);
  memory.own.assign(kLanes, 0);
  return memory;
}

struct Outcome {
  Exit exit;
  std::vector<uint32_t> vector, scalar;
  Memory memory;
  uint64_t pc, address;
  uint32_t lane;
};

struct Case {
  uint64_t exec = ~uint64_t{0};
  uint32_t longest = 24;
  int wild_lane = -1;        // its last entry lies far outside
  int misaligned_lane = -1;  // its own number does
  bool gives_way = false;
  bool keeps_masks = false;  // s[6:7] are looked at afterwards, which idle lanes change
};

Outcome run(const Case& c, bool compiled) {
  Outcome outcome{.memory = make_memory()};
  Memory& memory = outcome.memory;
  // A wild lane is alone with its entries, so that memory is the same however many others came first.
  if (c.wild_lane >= 0) memory.entry.back() = 0x3fff'ffff;
  WaveRig rig(Target::gfx950, dwords_of_hex(kLoop.substr(0, kLoop.size() - (c.keeps_masks ? 8 : 0))));
  for (int lane = 0; lane < kLanes; lane++) {
    rig.v(4, lane) = static_cast<uint32_t>(lane) * 3;
    rig.v(5, lane) = rig.v(4, lane) + 1 + static_cast<uint32_t>(lane * 7) % c.longest;
    if (lane == 9) rig.v(5, lane) = rig.v(4, lane) + c.longest;
    if (lane == c.wild_lane) rig.v(5, lane) = kEntries;
    for (const int r : {11, 13, 16, 17, 18, 19, 20, 21}) rig.v(r, lane) = 0;
    rig.v(14, lane) = static_cast<uint32_t>(lane) * 8 + (lane == c.misaligned_lane ? 4 : 0);
  }
  const auto put = [&](int s, const void* data) {
    const auto address = reinterpret_cast<uint64_t>(data);
    std::memcpy(&rig.s(s), &address, 8);
  };
  put(8, memory.entry.data());
  put(10, memory.is_known.data());
  put(12, memory.written.data());
  put(14, memory.sum.data());
  put(16, memory.own.data());
  rig.wave().set_exec(c.exec);
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  EXPECT_EQ(compiled, rig.kernel() != nullptr) << rig.why_interpreted();
  EXPECT_EQ(outcome.exit == Exit::quantum, compiled && c.gives_way);
  if (outcome.exit == Exit::quantum) outcome.exit = rig.go_on();
  for (const int r : {4, 5, 11, 13, 16, 18})
    for (int lane = 0; lane < kLanes; lane++) outcome.vector.push_back(rig.v(r, lane));
  for (const int s : {4, 5, 6, 7, 106, 107, 126, 127}) outcome.scalar.push_back(rig.s(s));
  outcome.pc = rig.fault().pc - rig.entry();
  outcome.address = rig.fault().address - reinterpret_cast<uint64_t>(memory.is_known.data());
  outcome.lane = rig.fault().lane;
  return outcome;
}

void expect_alike(const Case& c) {
  const Outcome interpreted = run(c, false), compiled = run(c, true);
  EXPECT_EQ(interpreted.exit, compiled.exit);
  EXPECT_EQ(interpreted.vector, compiled.vector);
  EXPECT_EQ(interpreted.scalar, compiled.scalar);
  EXPECT_EQ(interpreted.memory.written, compiled.memory.written);
  EXPECT_EQ(interpreted.memory.sum, compiled.memory.sum);
  EXPECT_EQ(interpreted.memory.own, compiled.memory.own);
}

TEST(SerialBranches, ComputeWhatWavesCompute) {
  expect_alike({});
  expect_alike({.exec = 0x8000'0000'0000'0001});
  expect_alike({.exec = 0xff00'1234'5678'9abc});
  expect_alike({.keeps_masks = true});
}

// A lane that takes longer than a wave may gives way, and the interpreter goes on where the lane was: nothing
// is added twice.
TEST(SerialBranches, GiveWayBetweenIterations) { expect_alike({.longest = 400'000, .gives_way = true}); }

TEST(SerialBranches, TellWhichLaneFaults) {
  for (const int lane : {1, 40, 63}) {
    for (const Case& c : {Case{.wild_lane = lane}, Case{.longest = 60, .misaligned_lane = lane}}) {
      const Outcome interpreted = run(c, false), compiled = run(c, true);
      EXPECT_EQ(interpreted.exit, Exit::fault);
      EXPECT_EQ(interpreted.exit, compiled.exit);
      EXPECT_EQ(interpreted.pc, compiled.pc);
      EXPECT_EQ(interpreted.lane, compiled.lane);
      EXPECT_EQ(compiled.lane, static_cast<uint32_t>(lane));
      if (c.wild_lane >= 0) EXPECT_EQ(interpreted.address, compiled.address);
    }
  }
}

// v[2:3]: a lane's pointers, of which it follows v5; v11: the sum of what they point at.
constexpr std::string_view kFlatLoop =
    "800184be"          // s_mov_b64 s[4:5], 0
    "000054dc02000008"  // flat_load_dwordx2 v[8:9], v[2:3]
    "700f8cbf"          // s_waitcnt vmcnt(0)
    "000050dc0800000a"  // flat_load_dword v10, v[8:9]
    "70008cbf"          // s_waitcnt vmcnt(0) lgkmcnt(0)
    "0b151632"          // v_add_u32 v11, vcc, v11, v10
    "88040432"          // v_add_u32 v2, vcc, 8, v2
    "80060638"          // v_addc_u32 v3, vcc, 0, v3, vcc
    "81080832"          // v_add_u32 v4, vcc, 1, v4
    "040b9c7d"          // v_cmp_ge_u32 vcc, v4, v5
    "6a048487"          // s_or_b64 s[4:5], vcc, s[4:5]
    "7e04fe89"          // s_andn2_b64 exec, exec, s[4:5]
    "f2ff89bf"          // s_cbranch_execnz
    "7e04fe87"          // s_or_b64 exec, exec, s[4:5]
    "8001eabe";         // s_mov_b64 vcc, 0

struct FlatOutcome {
  Exit exit;
  std::vector<uint32_t> vector, scalar;
};

FlatOutcome run_flat(int lane_in_lds, bool compiled) {
  std::vector<uint32_t> data(1000);
  std::vector<uint64_t> pointer(kLanes * 24);
  for (uint32_t i = 0; i < data.size(); i++) data[i] = i * i;
  for (size_t i = 0; i < pointer.size(); i++)
    pointer[i] = reinterpret_cast<uint64_t>(&data[i * 7919 % data.size()]);
  if (lane_in_lds >= 0) pointer[static_cast<size_t>(lane_in_lds) * 24 + 4] = kSharedBase + 8;
  WaveRig rig(Target::gfx803, dwords_of_hex(kFlatLoop), {.group_bytes = 256});
  for (uint32_t i = 0; i < 256; i++) rig.group().lds[i] = static_cast<uint8_t>(i);
  for (int lane = 0; lane < kLanes; lane++) {
    const auto address = reinterpret_cast<uint64_t>(&pointer[static_cast<size_t>(lane) * 24]);
    rig.v(2, lane) = static_cast<uint32_t>(address);
    rig.v(3, lane) = static_cast<uint32_t>(address >> 32);
    rig.v(4, lane) = 0;
    rig.v(5, lane) = 5 + static_cast<uint32_t>(lane) * 5 % 19;
    for (const int r : {8, 9, 10, 11}) rig.v(r, lane) = 0;
  }
  rig.wave().set_exec(~uint64_t{0});
  FlatOutcome outcome{compiled ? rig.run_compiled() : rig.run_interpreted(), {}, {}};
  EXPECT_EQ(compiled, rig.kernel() != nullptr) << rig.why_interpreted();
  for (const int r : {4, 11})
    for (int lane = 0; lane < kLanes; lane++) outcome.vector.push_back(rig.v(r, lane));
  for (const int s : {4, 5, 106, 107, 126, 127}) outcome.scalar.push_back(rig.s(s));
  return outcome;
}

// A lane that points into LDS goes on in the interpreter from where it began.
TEST(SerialBranches, KnowApertures) {
  for (const int lane : {-1, 0, 41, 63}) {
    const FlatOutcome interpreted = run_flat(lane, false), compiled = run_flat(lane, true);
    EXPECT_EQ(interpreted.exit, Exit::ended);
    EXPECT_EQ(interpreted.exit, compiled.exit);
    EXPECT_EQ(interpreted.vector, compiled.vector);
    EXPECT_EQ(interpreted.scalar, compiled.scalar);
  }
}

// Each lane stores v10 at v1, and adds to it what lies at v2, where another lane has stored.
constexpr std::string_view kExchange =
    "800184be"          // s_mov_b64 s[4:5], 0
    "008070dc010a0800"  // global_store_dword v1, v10, s[8:9]
    "008050dc0200080b"  // global_load_dword v11, v2, s[8:9]
    "700f8cbf"          // s_waitcnt vmcnt(0)
    "0a171468"          // v_add_u32 v10, v10, v11
    "81080868"          // v_add_u32 v4, 1, v4
    "040b9c7d"          // v_cmp_ge_u32 vcc, v4, v5
    "6a048487"          // s_or_b64 s[4:5], vcc, s[4:5]
    "7e04fe89"          // s_andn2_b64 exec, exec, s[4:5]
    "f5ff89bf"          // s_cbranch_execnz
    "7e04fe87"          // s_or_b64 exec, exec, s[4:5]
    "8001eabe";         // s_mov_b64 vcc, 0

std::vector<uint32_t> exchange(uint64_t exec, bool compiled) {
  std::vector<uint32_t> places(kLanes * 16);
  WaveRig rig(Target::gfx950, dwords_of_hex(kExchange));
  for (int lane = 0; lane < kLanes; lane++) {
    rig.v(1, lane) = static_cast<uint32_t>(lane) * 64;
    rig.v(2, lane) = static_cast<uint32_t>(lane * 37 + 5) % kLanes * 64;
    rig.v(4, lane) = 0;
    rig.v(5, lane) = 20;
    rig.v(10, lane) = static_cast<uint32_t>(lane);
    rig.v(11, lane) = 0;
  }
  const auto address = reinterpret_cast<uint64_t>(places.data());
  std::memcpy(&rig.s(8), &address, 8);
  rig.wave().set_exec(exec);
  EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
  EXPECT_EQ(compiled, rig.kernel() != nullptr) << rig.why_interpreted();
  for (int lane = 0; lane < kLanes; lane++) places.push_back(rig.v(10, lane));
  return places;
}

// Of a barrier nothing is left in the code of a group of one wave.
TEST(SerialBranches, KeepLanesInStepThatLeaveTogether) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff00'1234'5678'9abc}})
    EXPECT_EQ(exchange(exec, false), exchange(exec, true));
}

}  // namespace
}  // namespace morgana::device
