// Look-ups in LDS at places that were loaded from memory: lanes outside of LDS read 0 and store nothing, the
// others what the interpreter reads.
#include <gtest/gtest.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kBytes = 1024;
// s[8:9]: places, one a lane.
constexpr std::string_view kCode =
    "82000224"          // v_lshlrev_b32 v1, 2, v0
    "008050dc01000802"  // global_load_dword v2, v1, s[8:9]
    "700f8cbf"          // s_waitcnt vmcnt(0)
    "00006cd802000003"  // ds_read_b32 v3, v2
    "0800ecd802000004"  // ds_read_b64 v[4:5], v2 offset:8
    "030074d802000006"  // ds_read_u8 v6, v2 offset:3
    "7fc08cbf"          // s_waitcnt lgkmcnt(0)
    "04001ad802000000"  // ds_write_b32 v2, v0 offset:4
    "04006cd802000007"  // ds_read_b32 v7, v2 offset:4
    "7fc08cbf";         // s_waitcnt lgkmcnt(0)

std::vector<uint32_t> run(uint64_t exec, bool compiled) {
  std::vector<uint32_t> place;
  uint32_t state = 5;
  for (int lane = 0; lane < kLanes; lane++) {
    state = state * 1664525 + 1013904223;
    place.push_back(lane % 8 == 3 ? kBytes - 6 + static_cast<uint32_t>(lane) / 8 : state >> 8 & 0x3fc);
  }
  place[5] = 0xffff'fffc;  // what is added to it leads to the beginning
  place[6] = 0x8000'0000;
  WaveRig rig(Target::gfx950, dwords_of_hex(kCode), {.group_bytes = kBytes});
  for (uint32_t i = 0; i < kBytes; i++) rig.group().lds[i] = static_cast<uint8_t>(i * 7 + i / 256);
  for (int lane = 0; lane < kLanes; lane++)
    for (int r = 0; r < 8; r++) rig.v(r, lane) = static_cast<uint32_t>(r == 0 ? lane : 1000 + r);
  const auto address = reinterpret_cast<uint64_t>(place.data());
  std::memcpy(&rig.s(8), &address, 8);
  rig.wave().set_exec(exec);
  EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
  EXPECT_EQ(compiled, rig.kernel() != nullptr) << rig.why_interpreted();
  std::vector<uint32_t> result;
  for (int r = 2; r < 8; r++)
    for (int lane = 0; lane < kLanes; lane++) result.push_back(rig.v(r, lane));
  for (uint32_t i = 0; i < kBytes; i++) result.push_back(rig.group().lds[i]);
  return result;
}

TEST(Lookup, ReadsAndStoresWhatTheInterpreterDoes) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff00'1234'5678'9abc}, uint64_t{1}})
    EXPECT_EQ(run(exec, false), run(exec, true));
}

}  // namespace
}  // namespace morgana::device
