// Registers that M0 chooses, in compiled code: arrays that compilers keep in VGPRs.
#include <gtest/gtest.h>

#include <cstring>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// v0 to v79, M0 and MODE afterwards. Register r begins with 1000 r + lane.
std::vector<uint32_t> left(WaveRig& rig, bool compiled, uint64_t exec, uint32_t s2, uint32_t s3) {
  constexpr int kVgprs = 80;
  rig.restart();
  rig.wave().set_exec(exec);
  rig.s(2) = s2, rig.s(3) = s3, rig.wave().m0() = 0xabcd'1234;
  for (int r = 0; r < kVgprs; r++)
    for (int lane = 0; lane < kLanes; lane++)
      rig.v(r, lane) = 1000u * static_cast<uint32_t>(r) + static_cast<uint32_t>(lane);
  EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
  std::vector<uint32_t> result{rig.wave().m0(), rig.wave().mode.bits};
  for (int r = 0; r < kVgprs; r++)
    for (int lane = 0; lane < kLanes; lane++) result.push_back(rig.v(r, lane));
  return result;
}

// Inside the array, behind it, behind the allocation.
constexpr uint32_t kIndices[] = {0, 1, 7, 31, 32, 36, 60, 71, 200, 256, ~0u};

void compare(WaveRig& rig) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff00'1234'5678'9abf}})
    for (const uint32_t s2 : kIndices)
      for (const uint32_t s3 : kIndices) {
        EXPECT_EQ(left(rig, false, exec, s2, s3), left(rig, true, exec, s2, s3))
            << rig.why_interpreted() << exec << " " << s2 << " " << s3;
        EXPECT_NE(rig.kernel(), nullptr);
      }
}

TEST(Indexed, ByMode) {
  RigOptions options;
  options.vgprs = 80, options.accum_offset = 80;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("28015068"    // v_add_u32_e32 v40, v40, v0
                            "020811bf"    // s_set_gpr_idx_on s2, gpr_idx(DST)
                            "0003087e"    // v_mov_b32_e32 v4, v0
                            "00009cbf"    // s_set_gpr_idx_off
                            "05010a68"    // v_add_u32_e32 v5, v5, v0
                            "030111bf"    // s_set_gpr_idx_on s3, gpr_idx(SRC0)
                            "0403027e"    // v_mov_b32_e32 v1, v4
                            "00009cbf"    // s_set_gpr_idx_off
                            "010b042a"    // v_xor_b32_e32 v2, v1, v5
                            "030811bf"    // s_set_gpr_idx_on s3, gpr_idx(DST)
                            "8702107e"    // v_mov_b32_e32 v8, 7
                            "00009cbf"    // s_set_gpr_idx_off
                            "020811bf"    // s_set_gpr_idx_on s2, gpr_idx(DST)
                            "0302107e"    // v_mov_b32_e32 v8, s3
                            "00009cbf"),  // s_set_gpr_idx_off
              options);
  compare(rig);
}

TEST(Indexed, ByM0) {
  RigOptions options;
  options.vgprs = 80;
  WaveRig rig(Target::gfx803,
              dwords_of_hex("2801502a"    // v_xor_b32_e32 v40, v40, v0
                            "0200fcbe"    // s_mov_b32 m0, s2
                            "006d087e"    // v_movreld_b32_e32 v4, v0
                            "05010a2a"    // v_xor_b32_e32 v5, v5, v0
                            "0300fcbe"    // s_mov_b32 m0, s3
                            "046f027e"    // v_movrels_b32_e32 v1, v4
                            "010b042a"    // v_xor_b32_e32 v2, v1, v5
                            "876c107e"),  // v_movreld_b32_e32 v8, 7
              options);
  compare(rig);
}

// A way out keeps what the interpreter may read then, though nothing compiled does.
//   v_add_u32_e32 v50, 7, v1
//   s_set_gpr_idx_on s2, gpr_idx(SRC0)
//   v_mov_b32_e32 v5, v4
//   s_set_gpr_idx_off
//   global_store_dword v3, v5, s[4:5]
TEST(Indexed, BehindTheArray) {
  RigOptions options;
  options.registers_are_lost = true;
  WaveRig rig(Target::gfx950, dwords_of_hex("87026468 020111bf 04030a7e 00009cbf 008070dc03050400"), options);
  for (const uint32_t index : {0u, 40u, 46u}) {
    std::vector<uint32_t> stored[2];
    for (const bool compiled : {false, true}) {
      rig.restart();
      std::vector<uint32_t> memory(kLanes);
      const auto at = reinterpret_cast<uint64_t>(memory.data());
      std::memcpy(&rig.s(4), &at, 8);
      rig.s(2) = index;
      for (uint32_t r = 0; r < 60; r++)
        for (uint32_t lane = 0; lane < kLanes; lane++)
          rig.v(static_cast<int>(r), static_cast<int>(lane)) = r == 3 ? 4 * lane : 1000 * r + lane;
      EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
      stored[compiled] = memory;
    }
    EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    EXPECT_EQ(stored[0], stored[1]) << index;
  }
}

// A move under an index is no zero: v9 is the sign of v8, and stays it.
//   v_ashrrev_i32_e32 v9, 31, v8
//   s_set_gpr_idx_on s2, gpr_idx(DST)
//   v_mov_b32_e32 v4, 0
//   s_set_gpr_idx_off
//   v_lshl_add_u64 v[10:11], v[8:9], 2, s[4:5]
//   global_load_dword v12, v[10:11], off
//   s_waitcnt vmcnt(0)
TEST(Indexed, IsNoPlainMove) {
  RigOptions options;
  options.begins_full = true;
  WaveRig rig(Target::gfx950,
              dwords_of_hex("9f101222 020811bf 8002087e 00009cbf 0a0008d208051100 008050dc0a007f0c 700f8cbf"),
              options);
  std::vector<uint32_t> memory(2 * kLanes);
  for (uint32_t i = 0; i < memory.size(); i++) memory[i] = i * i;
  std::vector<uint32_t> loaded[2];
  for (const bool compiled : {false, true}) {
    rig.restart();
    const auto at = reinterpret_cast<uint64_t>(memory.data() + kLanes);
    std::memcpy(&rig.s(4), &at, 8);
    rig.s(2) = 1;
    for (int lane = 0; lane < kLanes; lane++) {
      rig.v(0, lane) = static_cast<uint32_t>(lane);
      rig.v(8, lane) = static_cast<uint32_t>(-1 - lane * 5 % kLanes);
    }
    EXPECT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
    for (int lane = 0; lane < kLanes; lane++) loaded[compiled].push_back(rig.v(12, lane));
  }
  EXPECT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  EXPECT_EQ(loaded[0], loaded[1]);
}

// Whoever jumps to the move finds no index: such code is not compiled.
TEST(Indexed, NobodyComesToTheMoveAlone) {
  WaveRig rig(Target::gfx950, dwords_of_hex("010085bf"     // s_cbranch_scc1 1
                                            "020811bf"     // s_set_gpr_idx_on s2, gpr_idx(DST)
                                            "0003087e"     // v_mov_b32_e32 v4, v0
                                            "00009cbf"));  // s_set_gpr_idx_off
  EXPECT_EQ(left(rig, false, ~uint64_t{0}, 3, 0), left(rig, true, ~uint64_t{0}, 3, 0));
  EXPECT_EQ(rig.kernel(), nullptr);
}

// Nor is the rest of a kernel that begins at it, once the interpreter has seen the index switched on.
TEST(Indexed, TheRestBeginsAtTheMove) {
  WaveRig rig(Target::gfx950, dwords_of_hex("020111bf"     // s_set_gpr_idx_on s2, gpr_idx(SRC0)
                                            "04030a7e"     // v_mov_b32_e32 v5, v4
                                            "00009cbf"     // s_set_gpr_idx_off
                                            "060b0c68"     // v_add_u32_e32 v6, v6, v5
                                            "03818380"     // s_sub_u32 s3, s3, 1
                                            "038007bf"     // s_cmp_lg_u32 s3, 0
                                            "faff85bf"));  // s_cbranch_scc1 65530
  std::vector<uint32_t> sums[2];
  for (const bool compiled : {false, true}) {
    rig.restart();
    rig.s(2) = 20, rig.s(3) = 100;
    for (int lane = 0; lane < kLanes; lane++)
      rig.v(4, lane) = 1, rig.v(24, lane) = 1000 + static_cast<uint32_t>(lane), rig.v(6, lane) = 0;
    EXPECT_EQ(compiled ? rig.run_group_after(3) : rig.run_group(false), Exit::ended);
    for (int lane = 0; lane < kLanes; lane++) sums[compiled].push_back(rig.v(6, lane));
  }
  EXPECT_EQ(sums[0], sums[1]);
}

}  // namespace
}  // namespace morgana::device
