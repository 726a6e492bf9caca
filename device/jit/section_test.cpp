// Ways out of compiled code in the middle of a block: the interpreter executes instructions anew that
// compiled code has executed, and nothing shows of that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "device/testing/counting.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kLds = 5120, kOutside = 1u << 20;
constexpr int kVectors = 9;

// v_lshlrev_b32 v1, 2, v0; v_mov_b32 v2, 7; ds_write_b32 v1, v2; v_add_u32 v3, v2, v2; v_mov_b32 v2, 9;
// ds_write_b32 v1, v2 offset:256
//
// v_add_u32 v4, s4, v1; ds_read_b32 v5, v4 (the first way out); s_add_u32 s5, s5, 1
//
// ds_read_b32 v6, v1 offset:512; s_waitcnt lgkmcnt(0); v_add_u32 v6, 1, v6; ds_write_b32 v1, v6 offset:512
//
// v_mov_b32 v6, v3; s_add_u32 s5, s5, 1
//
// v_add_u32 v8, s6, v1; ds_read_b32 v7, v8 (the second); s_add_u32 s5, s5, 1; s_waitcnt lgkmcnt(0)
constexpr std::string_view kCode =
    "82000224 8702047e 00001ad801020000 02050668 8902047e 00011ad801020000"
    "04020868 00006cd804000005 05810580"
    "00026cd801000006 7fc08cbf 810c0c68 00021ad801060000"
    "03030c7e 05810580"
    "06021068 00006cd808000007 05810580 7fc08cbf";

struct Outcome {
  uint64_t instructions;
  uint32_t sum;
  std::vector<uint32_t> vectors, lds;
  bool operator==(const Outcome&) const = default;
};

Outcome run(WaveRig& rig, uint32_t first, uint32_t second, bool compiled) {
  rig.restart();
  std::vector<uint32_t> lds(kLds / 4);
  for (uint32_t i = 0; i < lds.size(); i++) lds[i] = i * 2654435761u;
  std::memcpy(rig.group().lds, lds.data(), kLds);
  rig.s(4) = first, rig.s(5) = 0, rig.s(6) = second;
  for (int r = 1; r < kVectors; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = static_cast<uint32_t>(r * 1000 + lane);
  EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended) << rig.fault().detail;
  Outcome outcome{rig.wave().instructions, rig.s(5), {}, {}};
  for (int r = 1; r < kVectors; r++)
    for (int lane = 0; lane < kLanes; lane++) outcome.vectors.push_back(rig.v(r, lane));
  std::memcpy(lds.data(), rig.group().lds, kLds);
  outcome.lds = lds;
  return outcome;
}

// Where the offsets lie beyond LDS, the accesses take the way out.
TEST(Sections, AreExecutedTwiceUnseen) {
  RigOptions options;
  options.group_bytes = kLds;
  options.begins_full = true;
  WaveRig rig(Target::gfx950, dwords_of_hex(kCode), options);
  for (const auto& [first, second] :
       {std::pair{0u, 0u}, std::pair{kOutside, 0u}, std::pair{0u, kOutside}, std::pair{kOutside, kOutside}}) {
    SCOPED_TRACE(testing::Message() << first << ' ' << second);
    const Outcome expected = run(rig, first, second, false);
    EXPECT_EQ(expected.sum, 3u);
    EXPECT_TRUE(run(rig, first, second, true) == expected);
    ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  }
}

// Nor are they counted twice, and what is left before them is counted.
TEST(Sections, AreCountedOnce) {
  Counting counting;
  RigOptions options;
  options.group_bytes = kLds;
  options.begins_full = true;
  options.observer = &counting;
  WaveRig rig(Target::gfx950, dwords_of_hex(kCode), options);
  for (const auto& [first, second] :
       {std::pair{0u, 0u}, std::pair{kOutside, 0u}, std::pair{0u, kOutside}, std::pair{kOutside, kOutside}}) {
    SCOPED_TRACE(testing::Message() << first << ' ' << second);
    LaunchProfile profile[2];
    for (const bool compiled : {false, true}) {
      counting.begin(rig.launch());
      run(rig, first, second, compiled);
      profile[compiled] = counting.finish();
    }
    ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    ASSERT_EQ(profile[0].instructions.size(), profile[1].instructions.size());
    for (size_t i = 0; i < profile[0].instructions.size(); i++)
      EXPECT_TRUE(profile[0].instructions[i].counts == profile[1].instructions[i].counts)
          << text_of(profile[0].instructions[i]).text;
  }
}

}  // namespace
}  // namespace morgana::device
