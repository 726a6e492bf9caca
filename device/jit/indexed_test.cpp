// Registers that M0 chooses, in compiled code: arrays that compilers keep in VGPRs.
#include <gtest/gtest.h>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// v0 to v79, M0 and MODE afterwards. Register r begins with 1000 r + lane.
std::vector<uint32_t> left(WaveRig& rig, bool compiled, uint64_t exec, uint32_t s2, uint32_t s3) {
  constexpr int kVgprs = 80;
  rig.restart();
  rig.wave().exec() = exec;
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

// Whoever jumps to the move finds no index: such code is not compiled.
TEST(Indexed, NobodyComesToTheMoveAlone) {
  WaveRig rig(Target::gfx950, dwords_of_hex("010085bf"     // s_cbranch_scc1 1
                                            "020811bf"     // s_set_gpr_idx_on s2, gpr_idx(DST)
                                            "0003087e"     // v_mov_b32_e32 v4, v0
                                            "00009cbf"));  // s_set_gpr_idx_off
  EXPECT_EQ(left(rig, false, ~uint64_t{0}, 3, 0), left(rig, true, ~uint64_t{0}, 3, 0));
  EXPECT_EQ(rig.kernel(), nullptr);
}

}  // namespace
}  // namespace morgana::device
