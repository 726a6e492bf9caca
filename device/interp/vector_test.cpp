// Vector instructions against the reference cases of conformance/isa/semantics, and modes those do not reach.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "device/interp/code.h"
#include "device/isa/decode.h"
#include "device/testing/vectors.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

class VectorFile : public testing::TestWithParam<const char*> {};

TEST_P(VectorFile, HasNoDifference) {
  const std::string path = std::string(MORGANA_SOURCE_DIR "/conformance/isa/semantics/gfx950_") + GetParam() + ".jsonl.zst";
  const Result<VectorReport> report = run_vectors(path, Target::gfx950);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report->total.passed, 0);
  EXPECT_EQ(report->total.failed, 0);
  for (const std::string& message : report->messages) ADD_FAILURE() << message;
  for (const auto& [mnemonic, count] : report->by_mnemonic)
    EXPECT_EQ(count.unimplemented, 0) << mnemonic << " has no semantics";
}
INSTANTIATE_TEST_SUITE_P(Gfx950, VectorFile,
                         testing::Values("VOP1", "VOP2", "VOP3", "VOP3P", "VOPC", "VOP1_SDWA", "VOP2_SDWA", "VOPC_SDWA",
                                         "VOP1_DPP", "VOP2_DPP", "supplement_doc", "cvt_scale_doc", "mfma_doc"),
                         [](const auto& instance) { return std::string(instance.param); });

uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }

// One instruction on values in v0, v1, v2 of every lane; the result is v3 of lane 0.
uint32_t once(Target target, const char* hex, uint32_t a, uint32_t b, const RigOptions& options, uint32_t c = 0,
              uint32_t d = 0) {
  WaveRig rig(target, dwords_of_hex(hex), options);
  for (int lane = 0; lane < kLanes; lane++) {
    rig.v(0, lane) = a;
    rig.v(1, lane) = b;
    rig.v(2, lane) = c;
    rig.v(3, lane) = d;
  }
  EXPECT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  return rig.v(3, 0);
}

RigOptions float_mode(uint32_t mode, bool ieee = true) {
  RigOptions options;
  options.float_mode = mode;
  options.ieee = ieee;
  return options;
}

constexpr const char* kAddF32 = "00030602";     // v_add_f32_e32 v3, v0, v1
constexpr const char* kMinF32 = "00030614";     // v_min_f32_e32 v3, v0, v1
constexpr const char* kAddF16 = "0003063e";     // v_add_f16_e32 v3, v0, v1
constexpr const char* kMulF32 = "0003060a";     // v_mul_f32_e32 v3, v0, v1
constexpr const char* kMulTwice = "030005d100030208";  // v_mul_f32_e64 v3, v0, v1 mul:2

TEST(VectorModes, DenormalsFollowModeInBothPrecisions) {
  const uint32_t denormal = 0x00400000, two_to_minus_126 = 0x00800000;
  EXPECT_EQ(once(Target::gfx900, kAddF32, denormal, denormal, float_mode(0xf0)), two_to_minus_126);
  EXPECT_EQ(once(Target::gfx900, kAddF32, denormal, denormal, float_mode(0xc0)), 0u);
  EXPECT_EQ(once(Target::gfx900, kMinF32, denormal, bits(1), float_mode(0xc0)), 0u);
  EXPECT_EQ(once(Target::gfx900, kMinF32, denormal, bits(1), float_mode(0xf0)), denormal);
  // f32 flushes, f16 keeps: the two modes differ, and the f16 instruction must see its own.
  EXPECT_EQ(once(Target::gfx900, kAddF16, 0x0001, 0x0002, float_mode(0xc0)), 0x0003u);
  EXPECT_EQ(once(Target::gfx900, kAddF16, 0x0001, 0x0002, float_mode(0x30)), 0x0000u);
}

TEST(VectorModes, RoundingFollowsModeInBothPrecisions) {
  const uint32_t tiny = 0x2f800000;  // 2^-32
  const uint32_t above_one = 0x3f800001;
  EXPECT_EQ(once(Target::gfx950, kAddF32, bits(1), tiny, float_mode(0xf0)), bits(1));
  EXPECT_EQ(once(Target::gfx950, kAddF32, bits(1), tiny, float_mode(0xf1)), above_one);
  EXPECT_EQ(once(Target::gfx950, kAddF32, bits(-1), tiny, float_mode(0xf3)), bits(-1) - 1);
  // f16 towards +infinity while f32 rounds to even.
  EXPECT_EQ(once(Target::gfx950, kAddF16, 0x3c00, 0x0001, float_mode(0xf4)), 0x3c01u);
  EXPECT_EQ(once(Target::gfx950, kAddF16, 0x3c00, 0x0001, float_mode(0xf1)), 0x3c00u);
}

TEST(VectorModes, OutputModifierNeedsFlushedDenormalsAndNoIeee) {
  EXPECT_EQ(once(Target::gfx900, kMulTwice, bits(3), bits(1), float_mode(0xc0, false)), bits(6));
  EXPECT_EQ(once(Target::gfx900, kMulTwice, bits(3), bits(1), float_mode(0xc0, true)), bits(3));
  EXPECT_EQ(once(Target::gfx900, kMulTwice, bits(3), bits(1), float_mode(0xf0, false)), bits(3));
  EXPECT_EQ(once(Target::gfx900, kMulTwice, bits(-0.0f), bits(1), float_mode(0xc0, false)), 0u);
}

TEST(VectorModes, SignalingNanLosesOnlyWithoutIeee) {
  const uint32_t signaling = 0x7f800001;
  EXPECT_EQ(once(Target::gfx900, kMinF32, signaling, bits(1), float_mode(0xf0, true)), signaling | 0x00400000u);
  EXPECT_EQ(once(Target::gfx900, kMinF32, signaling, bits(1), float_mode(0xf0, false)), bits(1));
}

TEST(VectorFrames, InactiveLanesKeepTheirValue) {
  for (uint64_t exec : {uint64_t{0}, uint64_t{1}, uint64_t{0x8000000000000001}, uint64_t{0x00ff00ff12345678}}) {
    WaveRig rig(Target::gfx90a, dwords_of_hex(kMulF32));
    for (int lane = 0; lane < kLanes; lane++) {
      rig.v(0, lane) = bits(static_cast<float>(lane));
      rig.v(1, lane) = bits(2);
      rig.v(3, lane) = 77;
    }
    rig.wave().exec() = exec;
    ASSERT_EQ(rig.run(), Exit::ended);
    for (int lane = 0; lane < kLanes; lane++)
      EXPECT_EQ(rig.v(3, lane), exec >> lane & 1 ? bits(2.0f * static_cast<float>(lane)) : 77u) << lane;
  }
}

// Every lane operation has a row with semantics: what is missing is listed, so that nothing is lost unnoticed.
TEST(VectorCoverage, OnlyListedInstructionsLackSemantics) {
  for (const isa::Row& row : isa::all_rows()) {
    switch (row.format) {
      case isa::Format::VOP1:
      case isa::Format::VOP2:
      case isa::Format::VOPC:
      case isa::Format::VOP3:
      case isa::Format::VOP3P:
      case isa::Format::VOP3PX2: break;
      default: continue;
    }
    if (row.flags & isa::kGraphics) continue;
    isa::Inst inst;
    inst.row = &row;
    inst.format = row.format;
    Step step{};
    const std::string mnemonic = row.mnemonic;
    const bool listed = mnemonic == "v_screen_partition_4se_b32" || mnemonic == "v_mfma_ld_scale_b32";
    EXPECT_EQ(level().select(Target::gfx950, inst, step) == nullptr, listed) << mnemonic;
  }
}

}  // namespace
}  // namespace morgana::device
