// A loop of gathers, three times over, so that it is run by whole waves, and lane by lane from its second
// iteration and from its beginning: results, masks and faults are the interpreter's.
#include <gtest/gtest.h>

#include <cstring>

#include "device/testing/counting.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// v20: first, v5: last entry (at least one); v[22:23], v[24:25]: where the lane's columns and values lie;
// s[10:11]: the vector; v10: the sum.
constexpr std::string_view kLoop =
    "030014b0"                           // s_movk_i32 s20, 3
    "1403087e 16030c7e 17030e7e"         // v_mov_b32 v4, v20; v6, v22; v7, v23
    "1803107e 1903127e 800184be"         // v_mov_b32 v8, v24; v9, v25; s_mov_b64 s[4:5], 0
    "008050dc06007f02 008050dc08007f0b"  // global_load_dword v2, v[6:7], off; v11, v[8:9], off
    "81080868 040b9c7d"                  // v_add_u32 v4, 1, v4; v_cmp_ge_u32 vcc, v4, v5
    "060008d206011102 080008d208011102"  // v_lshl_add_u64 v[6:7], v[6:7], 0, 4; v[8:9], v[8:9], 0, 4
    "6a048487 710f8cbf"                  // s_or_b64 s[4:5], vcc, s[4:5]; s_waitcnt vmcnt(1)
    "0c0008d202052900"                   // v_lshl_add_u64 v[12:13], v[2:3], 2, s[10:11]
    "008050dc0c007f02 700f8cbf"          // global_load_dword v2, v[12:13], off; s_waitcnt vmcnt(0)
    "0b051476 7e04fe89 ecff89bf"  // v_fmac_f32 v10, v11, v2; s_andn2_b64 exec, exec, s[4:5]; s_cbranch_execnz
    "7e04fe87 8001eabe"           // s_or_b64 exec, exec, s[4:5]; s_mov_b64 vcc, 0
    "14819480 148007bf e1ff85bf";  // s_sub_u32 s20, s20, 1; s_cmp_lg_u32 s20, 0; s_cbranch_scc1

struct Data {
  std::vector<uint32_t> column;
  std::vector<float> value, x;
};

Data make_data() {
  Data data;
  uint32_t state = 1;
  const auto next = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (int i = 0; i < 64 * 24; i++) {
    data.column.push_back(next() % 500);
    data.value.push_back(static_cast<float>(next() % 1000) / 8 - 60);
  }
  for (int i = 0; i < 500; i++) data.x.push_back(static_cast<float>(next() % 1000) / 16 - 30);
  return data;
}

void fill(WaveRig& rig, const Data& data, uint64_t exec) {
  const auto put = [&](int r, int lane, const void* pointer) {
    const auto address = reinterpret_cast<uint64_t>(pointer);
    rig.v(r, lane) = static_cast<uint32_t>(address);
    rig.v(r + 1, lane) = static_cast<uint32_t>(address >> 32);
  };
  for (int lane = 0; lane < kLanes; lane++) {
    const uint32_t first = static_cast<uint32_t>(lane) * 24;
    rig.v(3, lane) = 0;
    rig.v(20, lane) = first;
    rig.v(5, lane) = first + 1 + static_cast<uint32_t>(lane * 7 % 24);
    put(22, lane, &data.column[first]);
    put(24, lane, &data.value[first]);
    rig.v(10, lane) = 0x3f800000;
  }
  const auto address = reinterpret_cast<uint64_t>(data.x.data());
  std::memcpy(&rig.s(10), &address, 8);
  rig.wave().set_exec(exec);
}

struct Outcome {
  Exit exit;
  std::vector<uint32_t> vector, scalar;
  uint64_t pc, address, instructions;
  uint32_t lane;
};

Outcome run(uint64_t exec, bool compiled, int wild_lane) {
  static const Data data = make_data();
  Data own = data;
  if (wild_lane >= 0) own.column[static_cast<size_t>(wild_lane) * 24 + 3] = 0x3fff'ffff;
  WaveRig rig(Target::gfx950, dwords_of_hex(kLoop));
  fill(rig, own, exec);
  Outcome outcome{};
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  for (const int r : {3, 5, 10, 20})
    for (int lane = 0; lane < kLanes; lane++) outcome.vector.push_back(rig.v(r, lane));
  for (const int s : {4, 5, 20, 106, 107, 126, 127}) outcome.scalar.push_back(rig.s(s));
  outcome.scalar.push_back(rig.wave().scc);
  outcome.pc = rig.fault().pc - rig.entry();
  outcome.address = rig.fault().address - reinterpret_cast<uint64_t>(own.x.data());
  outcome.lane = rig.fault().lane;
  outcome.instructions = rig.wave().instructions;
  return outcome;
}

TEST(SerialLoop, ComputesWhatWavesCompute) {
  for (const uint64_t exec :
       {~uint64_t{0}, uint64_t{0x8000'0000'0000'0001}, uint64_t{0xff00'1234'5678'9abc}}) {
    const Outcome interpreted = run(exec, false, -1), compiled = run(exec, true, -1);
    EXPECT_EQ(interpreted.exit, compiled.exit);
    EXPECT_EQ(interpreted.vector, compiled.vector);
    EXPECT_EQ(interpreted.scalar, compiled.scalar);
    EXPECT_EQ(interpreted.instructions, compiled.instructions);
  }
}

TEST(SerialLoop, TellsWhichLaneFaults) {
  for (const int lane : {1, 40, 63}) {
    const Outcome interpreted = run(~uint64_t{0}, false, lane), compiled = run(~uint64_t{0}, true, lane);
    EXPECT_EQ(interpreted.exit, Exit::fault);
    EXPECT_EQ(interpreted.exit, compiled.exit);
    EXPECT_EQ(interpreted.pc, compiled.pc);
    EXPECT_EQ(interpreted.address, compiled.address);
    EXPECT_EQ(interpreted.lane, compiled.lane);
    EXPECT_EQ(compiled.lane, static_cast<uint32_t>(lane));
  }
}

// Lanes record sixteen iterations, one after another: counted are those of the wave.
TEST(SerialLoop, CountsWhatWavesDo) {
  Counting counting;
  RigOptions options;
  options.begins_full = true;
  options.observer = &counting;
  WaveRig rig(Target::gfx950, dwords_of_hex(kLoop), options);
  const Data data = make_data();
  LaunchProfile profile[2];
  std::vector<uint32_t> sums[2];
  for (const bool compiled : {false, true}) {
    counting.begin(rig.launch());
    rig.restart();
    fill(rig, data, ~uint64_t{0});
    EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
    profile[compiled] = counting.finish();
    for (int lane = 0; lane < kLanes; lane++) sums[compiled].push_back(rig.v(10, lane));
  }
  ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  EXPECT_GT(rig.kernel()->counted().counters, 3u * 16 * kLanes);  // records of three loads
  EXPECT_EQ(sums[0], sums[1]);
  ASSERT_EQ(profile[0].instructions.size(), profile[1].instructions.size());
  for (size_t i = 0; i < profile[0].instructions.size(); i++)
    EXPECT_TRUE(profile[0].instructions[i].counts == profile[1].instructions[i].counts)
        << text_of(profile[0].instructions[i]).text << ' ' << profile[0].instructions[i].counts.lines << ' '
        << profile[1].instructions[i].counts.lines << ' ' << profile[0].instructions[i].counts.least_lines
        << ' ' << profile[1].instructions[i].counts.least_lines;
}

}  // namespace
}  // namespace morgana::device
