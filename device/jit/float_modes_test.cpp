// Kernels where MODE flushes denormals of f32 alone (as gfx6 to gfx8 begin), or of f64 alone: compiled code
// leaves the interpreter's registers.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "device/jit/kernel.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// For gfx950. v_add_f64 v[2:3], v[4:5], v[6:7]; v_fma_f64 v[8:9], v[4:5], v[6:7], v[4:5]; v_cmp_lt_f64 vcc,
// 0, v[4:5]; v_cndmask_b32 v12, 0, 1, vcc; v_cvt_f64_f32 v[14:15], v4; v_cvt_f32_f64 v16, v[4:5].
constexpr std::string_view kWide =
    "020080d2040d0200 0800ccd1040d1204 8008c27c 0c0000d18002a901 04211c7e 041f207e";
// v_add_f32 v10, v4, v6
constexpr std::string_view kSingle = "040d1402";
// s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15: nothing is flushed any more
constexpr std::string_view kSetMode = "011900ba0f000000";

const double kValues[] = {std::bit_cast<double>(uint64_t{1}),
                          -1e-310,
                          2.2250738585072014e-308,
                          -0.0,
                          1.5,
                          1e-40,
                          std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN()};

std::vector<uint32_t> left(WaveRig& rig, bool is_compiled) {
  rig.restart();
  for (int lane = 0; lane < kLanes; lane++) {
    for (int r = 2; r < 18; r++) rig.v(r, lane) = 0;
    for (const auto& [pair, value] : {std::pair{4, kValues[lane % 8]}, {6, kValues[lane / 8]}}) {
      const auto bits = std::bit_cast<uint64_t>(value);
      rig.v(pair, lane) = static_cast<uint32_t>(bits);
      rig.v(pair + 1, lane) = static_cast<uint32_t>(bits >> 32);
    }
  }
  EXPECT_EQ(is_compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
  std::vector<uint32_t> registers;
  for (int r = 2; r < 18; r++)
    for (int lane = 0; lane < kLanes; lane++) registers.push_back(rig.v(r, lane));
  return registers;
}

class ComputesWide : public testing::TestWithParam<uint32_t> {
 protected:
  // Instructions that handlers execute.
  uint32_t expect_same(const std::string& code) {
    RigOptions options;
    options.float_mode = GetParam();
    WaveRig rig(Target::gfx950, dwords_of_hex(code), options);
    EXPECT_EQ(left(rig, false), left(rig, true));
    EXPECT_EQ(left(rig, true), left(rig, true));
    if (rig.kernel() == nullptr) {
      ADD_FAILURE() << rig.why_interpreted();
      return 0;
    }
    return rig.kernel()->shares().by_handlers;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, ComputesWide, testing::Values(0xc0, 0x30, 0x00, 0xf0, 0x90, 0x40));

TEST_P(ComputesWide, WhatComputesInDoublesIsCompiled) {
  // Conversions keep denormals themselves.
  const uint32_t conversions = (GetParam() >> 6) == 3 ? 0 : 2;
  EXPECT_EQ(expect_same(std::string(kWide)), conversions);
}
TEST_P(ComputesWide, FloatsAmongThem) {
  expect_same(std::string(kWide) + std::string(kSingle));
  expect_same(std::string(kSingle) + std::string(kWide));
}
TEST_P(ComputesWide, WhatIsNoInstruction) {
  RigOptions options;
  options.float_mode = GetParam();
  WaveRig rig(Target::gfx950, dwords_of_hex(std::string(kWide) + "ffffffff"), options);
  EXPECT_EQ(rig.run_compiled(), Exit::fault);
}
TEST_P(ComputesWide, AModeThatChanges) {
  expect_same(std::string(kWide) + std::string(kSetMode) + std::string(kWide));
}

}  // namespace
}  // namespace morgana::device
