// LDS accesses whose lanes lie at distances that the compiler knows: parts of wider records, columns, rows
// that begin before the segment for lanes that are not active. Compiled code leaves the interpreter's
// registers and memory.
#include <gtest/gtest.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// For gfx950:
//   v_lshlrev_b32 v1, 5, v0
//   v_lshlrev_b32 v2, 3, v0
//   v_lshlrev_b32 v3, 4, v0
//   v_mul_u32_u24 v4, 0x84, v0
//   v_mul_u32_u24 v5, 20, v0
//   ds_write_b128 v1, v[20:23]
//   ds_write_b128 v1, v[24:27] offset:16
//   ds_write_b32 v2, v20 offset:4100
//   ds_write2_b32 v2, v21, v22 offset0:6 offset1:7
//   ds_write2_b64 v3, v[20:21], v[22:23] offset0:2 offset1:3
//   ds_write_b64 v4, v[24:25] offset:8
//   ds_write_b96 v5, v[20:22] offset:6000
//   ds_write_b32 v4, v26 offset:700
//   ds_write_b128 v4, v[24:27] offset:32
//   v_and_b32 v10, 31, v0
//   v_lshlrev_b32 v10, 3, v10
//   ds_write2_b32 v10, v23, v26 offset0:0 offset1:32
//   s_mov_b64 exec, s[20:21]
//   v_subrev_u32 v6, 64, v1
//   v_subrev_u32 v7, 24, v2
//   v_subrev_u32 v8, 16, v3
//   v_lshl_add_u32 v9, v0, 2, -12
//   ds_read_b128 v[30:33], v1
//   ds_read_b128 v[34:37], v1 offset:16
//   ds_read_b128 v[38:41], v6 offset:16
//   ds_read_b32 v42, v7 offset:4
//   ds_read2_b32 v[44:45], v2 offset0:1 offset1:9
//   ds_read_b64 v[46:47], v3 offset:8
//   ds_read_b64 v[48:49], v8
//   ds_read_b32 v50, v4 offset:4
//   ds_read_b64 v[52:53], v4 offset:40
//   ds_read_b96 v[54:56], v5 offset:12
//   ds_read_b128 v[58:61], v5
//   ds_read_b32 v62, v9
//   ds_write_b32 v9, v20
//   ds_write_b128 v6, v[20:23]
//   s_mov_b64 exec, -1
//   ds_read_b128 v[64:67], v1 offset:4
//   ds_read_b32 v68, v2
//   ds_read2_b64 v[70:73], v3 offset0:0 offset1:3
//   ds_read_b64 v[74:75], v4 offset:12
//   ds_read_b96 v[76:78], v1 offset:20
//   ds_read_b96 v[80:82], v4
//   ds_read2_b32 v[84:85], v10 offset0:0 offset1:32
//   s_waitcnt lgkmcnt(0)
constexpr std::string_view kCode =
    "850002248300042484000624ff0008108400000094000a100000bed901140000"
    "1000bed90118000004101ad80214000006071cd80215160002039cd803141600"
    "08009ad8041800007017bcd905140000bc021ad8041a00002000bed904180000"
    "9f0014268314142400201cd80a171a001401febec0020c6c98040e6c9006106c"
    "0900fdd1000531030000fed90100001e1000fed9010000221000fed906000026"
    "04006cd80700002a01096ed80200002c0800ecd80300002e0000ecd808000030"
    "04006cd8040000322800ecd8040000340c00fcd9050000360000fed90500003a"
    "00006cd80900003e00001ad8091400000000bed906140000c101febe0400fed9"
    "0100004000006cd8020000440003eed8030000460c00ecd80400004a1400fcd9"
    "0100004c0000fcd90400005000206ed80a0000547fc08cbf";

struct Outcome {
  Exit exit;
  std::vector<uint32_t> registers, lds;
};

Outcome run(uint64_t some_lanes, bool compiled) {
  RigOptions options;
  options.vgprs = 96;
  options.group_bytes = 16384;
  options.begins_full = true;
  WaveRig rig(Target::gfx950, dwords_of_hex(kCode), options);
  for (uint32_t i = 0; i < rig.group().lds_size / 4; i++) {
    const uint32_t word = i * 2654435761u;
    std::memcpy(rig.group().lds + size_t{4} * i, &word, 4);
  }
  for (int r = 20; r < 96; r++)
    for (int lane = 0; lane < kLanes; lane++) rig.v(r, lane) = static_cast<uint32_t>(r * 1000 + lane);
  std::memcpy(&rig.s(20), &some_lanes, 8);
  Outcome outcome{};
  outcome.exit = compiled ? rig.run_compiled() : rig.run_interpreted();
  EXPECT_TRUE(!compiled || rig.kernel() != nullptr);
  for (int r = 0; r < 96; r++)
    for (int lane = 0; lane < kLanes; lane++) outcome.registers.push_back(rig.v(r, lane));
  outcome.lds.resize(rig.group().lds_size / 4);
  std::memcpy(outcome.lds.data(), rig.group().lds, rig.group().lds_size);
  return outcome;
}

TEST(LdsDistances, MoveWhatTheInterpreterMoves) {
  for (const uint64_t lanes : {~uint64_t{7}, uint64_t{0xfff0'8000'0101'7ff0}, uint64_t{0}}) {
    const Outcome interpreted = run(lanes, false), compiled = run(lanes, true);
    EXPECT_EQ(interpreted.exit, Exit::ended);
    EXPECT_EQ(interpreted.exit, compiled.exit);
    EXPECT_EQ(interpreted.registers, compiled.registers) << std::hex << lanes;
    EXPECT_EQ(interpreted.lds, compiled.lds) << std::hex << lanes;
  }
}

}  // namespace
}  // namespace morgana::device
