// Exchanges between lanes, compiled, give what the interpreter gives: under a full and a partial EXEC.
#include <gtest/gtest.h>

#include "device/testing/differential.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// Both in one kernel: the second time for the lanes where v6 < v7.
void expect_same(Target target, const std::vector<uint32_t>& instruction) {
  std::vector<uint32_t> code = instruction;
  code.insert(code.end(), {0x7d920f06, 0xbefe016a});  // v_cmp_lt_u32 vcc, v6, v7; s_mov_b64 exec, vcc
  code.insert(code.end(), instruction.begin(), instruction.end());
  code.push_back(0xbefe01c1);  // s_mov_b64 exec, -1
  for (const bool full : {false, true}) {
    const Comparison result = compare_tiers(target, code, {.seed = 7, .begins_full = full}, 4);
    EXPECT_EQ(result.verdict, Comparison::Verdict::same) << result.what;
    EXPECT_TRUE(result.was_compiled) << result.why_interpreted;
  }
}

TEST(Exchanges, PullFromAnAddress) {
  for (const uint32_t offset : {0u, 12u, 0xffffu}) {
    expect_same(Target::gfx90a, {0xd87e0000 | offset, 0x02000100});  // ds_bpermute_b32 v2, v0, v1
    expect_same(Target::gfx90a, {0xd87e0000 | offset, 0x01000101});  // ds_bpermute_b32 v1, v1, v1
  }
}

// Bits, quads, rotations and FFT.
TEST(Exchanges, SwizzlesOfAllKinds) {
  for (const uint32_t offset : {0x0000u, 0x001fu, 0x041fu, 0x7c1fu, 0x03e0u, 0x5a37u, 0x8000u, 0x801bu,
                                0x80e4u, 0xc020u, 0xc420u, 0xc7e3u, 0xe000u, 0xe00fu, 0xe01fu})
    expect_same(Target::gfx900, {0xd87a0000 | offset, 0x02000001});  // ds_swizzle_b32 v2, v1
}

TEST(Exchanges, RegistersSwapRows) {
  for (const uint32_t swap : {0x7e02b302u, 0x7e06b303u,   // v_permlane16_swap_b32 v1, v2; v3, v3
                              0x7e02b502u, 0x7e06b503u,   // v_permlane32_swap_b32 v1, v2; v3, v3
                              0x7e02a302u, 0x7e06a303u})  // v_swap_b32 v1, v2; v3, v3
    expect_same(Target::gfx950, {swap});
}

TEST(Exchanges, PackedMovesTakeEitherDword) {
  expect_same(Target::gfx90a, {0xd3b34804, 0x18020500});  // v_pk_mov_b32 v[4:5], v[0:1], v[2:3] op_sel:[1,0]
  expect_same(Target::gfx90a, {0xd3b35000, 0x18020002});  // v_pk_mov_b32 v[0:1], s[2:3], v[0:1] op_sel:[0,1]
  expect_same(Target::gfx90a, {0xd3b34800, 0x18020100});  // v_pk_mov_b32 v[0:1], v[0:1], v[0:1] op_sel:[1,0]
}

}  // namespace
}  // namespace morgana::device
