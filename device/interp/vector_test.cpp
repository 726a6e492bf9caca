// Vector instructions against the reference cases of conformance/isa/semantics, and modes those do not reach.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>

#include "device/interp/code.h"
#include "device/isa/decode.h"
#include "device/testing/vectors.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

class VectorFile : public testing::TestWithParam<const char*> {};

TEST_P(VectorFile, HasNoDifference) {
  const std::string path =
      std::string(MORGANA_SOURCE_DIR "/conformance/isa/semantics/gfx950_") + GetParam() + ".jsonl.zst";
  const Result<VectorReport> report = run_vectors(path, Target::gfx950);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GT(report->total.passed, 0);
  EXPECT_EQ(report->total.failed, 0);
  for (const std::string& message : report->messages) ADD_FAILURE() << message;
  for (const auto& [mnemonic, count] : report->by_mnemonic)
    EXPECT_EQ(count.unimplemented, 0) << mnemonic << " has no semantics";
}
INSTANTIATE_TEST_SUITE_P(Gfx950, VectorFile,
                         testing::Values("VOP1", "VOP2", "VOP3", "VOP3P", "VOPC", "VOP1_SDWA", "VOP2_SDWA",
                                         "VOPC_SDWA", "VOP1_DPP", "VOP2_DPP", "supplement_doc",
                                         "cvt_scale_doc", "mfma_doc"),
                         [](const auto& instance) { return std::string(instance.param); });

uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }

// One instruction on values in v0, v1, v2 of every lane; the result is v3 of lane 0.
uint32_t once(Target target, const char* hex, uint32_t a, uint32_t b, const RigOptions& options,
              uint32_t c = 0, uint32_t d = 0) {
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

constexpr const char* kAddF32 = "00030602";            // v_add_f32_e32 v3, v0, v1
constexpr const char* kMinF32 = "00030614";            // v_min_f32_e32 v3, v0, v1
constexpr const char* kAddF16 = "0003063e";            // v_add_f16_e32 v3, v0, v1
constexpr const char* kMulF32 = "0003060a";            // v_mul_f32_e32 v3, v0, v1
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
  EXPECT_EQ(once(Target::gfx900, kMinF32, signaling, bits(1), float_mode(0xf0, true)),
            signaling | 0x00400000u);
  EXPECT_EQ(once(Target::gfx900, kMinF32, signaling, bits(1), float_mode(0xf0, false)), bits(1));
}

TEST(VectorFrames, InactiveLanesKeepTheirValue) {
  for (uint64_t exec :
       {uint64_t{0}, uint64_t{1}, uint64_t{0x8000000000000001}, uint64_t{0x00ff00ff12345678}}) {
    WaveRig rig(Target::gfx90a, dwords_of_hex(kMulF32));
    for (int lane = 0; lane < kLanes; lane++) {
      rig.v(0, lane) = bits(static_cast<float>(lane));
      rig.v(1, lane) = bits(2);
      rig.v(3, lane) = 77;
    }
    rig.wave().set_exec(exec);
    ASSERT_EQ(rig.run(), Exit::ended);
    for (int lane = 0; lane < kLanes; lane++)
      EXPECT_EQ(rig.v(3, lane), exec >> lane & 1 ? bits(2.0f * static_cast<float>(lane)) : 77u) << lane;
  }
}

// --- Accuracy of f32 functions: 64 values an execution, over every binade of both signs ---

struct Function {
  const char* hex;  // v3 = f(v0)
  double (*exact)(double);
  double ulps;
};

double turns(double x) {
  const double r = x - std::nearbyint(x);
  return r;
}
double sine(double x) {
  double r = turns(x);
  if (std::abs(r) == 0.5) return 0;
  if (std::abs(r) > 0.25) r = std::copysign(0.5, r) - r;
  return std::sin(2 * M_PI * r);
}

TEST(VectorAccuracy, TranscendentalsStayWithinTheirBounds) {
  const Function functions[] = {
      {"0045067e", [](double x) { return 1 / x; }, 0.51},
      {"0049067e", [](double x) { return 1 / std::sqrt(x); }, 1.0},
      {"004f067e", [](double x) { return std::sqrt(x); }, 0.51},
      {"0041067e", [](double x) { return std::exp2(x); }, 1.0},
      {"0043067e", [](double x) { return std::log2(x); }, 1.0},
      {"0053067e", sine, 1.0},
      {"0055067e", [](double x) { return std::sin(2 * M_PI * (0.25 - std::abs(turns(x)))); }, 1.0},
  };
  for (const Function& function : functions) {
    WaveRig rig(Target::gfx950, dwords_of_hex(function.hex));
    double worst = 0;
    float worst_at = 0;
    for (uint64_t first = 0; first < uint64_t{1} << 32; first += 40009 * 64) {
      for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = static_cast<uint32_t>(first + 40009u * lane);
      ASSERT_EQ(rig.run(), Exit::ended);
      for (int lane = 0; lane < kLanes; lane++) {
        const float x = std::bit_cast<float>(rig.v(0, lane)), got = std::bit_cast<float>(rig.v(3, lane));
        const bool flushed = std::abs(x) < 0x1p-126f;
        const double want = function.exact(flushed ? std::copysign(0.0, x) : x);
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(got)) << function.hex << " of " << x;
          continue;
        }
        if (std::abs(want) < 0x1p-126 || std::isinf(static_cast<float>(want))) {
          EXPECT_TRUE(std::abs(got) <= 0x1p-126f || got == static_cast<float>(want))
              << function.hex << " of " << x;
          continue;
        }
        int exponent;
        std::frexp(want, &exponent);
        const double error = std::abs(got - want) / std::ldexp(1.0, exponent - 24);
        if (error > worst) worst = error, worst_at = x;
      }
    }
    EXPECT_LE(worst, function.ulps) << function.hex << " of " << worst_at;
  }
}

// --- Division as compilers expand it: correctly rounded for every pair of operands ---

// A generator whose values reach all exponents, zeros, infinities and NaNs.
class Random {
 public:
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }

 private:
  uint64_t state_ = 88172645463325252u;
};

// v3 = v0 / v1 and v[4:5] = v[0:1] / v[2:3], as LLVM expands them.
constexpr const char* kDivide32 =
    "0300e0d101030204 056ae0d100030204 0345087e 0600cbd10309ca23 0400cbd106091204 05090c0a "
    "0700cbd1030d1624 0600cbd107091a04 0300cbd1030d1624 0300e2d103091a04 0300ded103030204";
constexpr const char* kDivide64 =
    "0400e1d102050204 044b0c7e 0800ccd1040dca23 0600ccd106111a04 0800ccd1040dca23 "
    "0600ccd106111a04 086ae1d100050204 0a0081d2080d0200 0400ccd104152224 0400e3d1040d2a04 "
    "0400dfd104050204";

TEST(VectorAccuracy, DivisionMacroOfF32IsCorrectlyRounded) {
  WaveRig rig(Target::gfx90a, dwords_of_hex(kDivide32));
  Random random;
  for (int round = 0; round < 20000; round++) {
    for (int lane = 0; lane < kLanes; lane++) {
      rig.v(0, lane) = static_cast<uint32_t>(random.next() >> 20);
      rig.v(1, lane) = static_cast<uint32_t>(random.next() >> 20);
    }
    ASSERT_EQ(rig.run(), Exit::ended);
    for (int lane = 0; lane < kLanes; lane++) {
      const float a = std::bit_cast<float>(rig.v(0, lane)), b = std::bit_cast<float>(rig.v(1, lane));
      const float want = a / b, got = std::bit_cast<float>(rig.v(3, lane));
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << a << " / " << b;
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << a << " / " << b;
    }
  }
}

TEST(VectorAccuracy, DivisionMacroOfF64IsCorrectlyRounded) {
  WaveRig rig(Target::gfx90a, dwords_of_hex(kDivide64));
  Random random;
  for (int round = 0; round < 20000; round++) {
    for (int lane = 0; lane < kLanes; lane++)
      for (int r = 0; r < 4; r += 2) {
        const uint64_t bits = random.next();
        rig.v(r, lane) = static_cast<uint32_t>(bits);
        rig.v(r + 1, lane) = static_cast<uint32_t>(bits >> 32);
      }
    ASSERT_EQ(rig.run(), Exit::ended);
    for (int lane = 0; lane < kLanes; lane++) {
      const auto value = [&](int r) {
        return std::bit_cast<double>(rig.v(r, lane) | uint64_t{rig.v(r + 1, lane)} << 32);
      };
      const double want = value(0) / value(2), got = value(4);
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << value(0) << " / " << value(2);
      else
        ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want))
            << value(0) << " / " << value(2);
    }
  }
}

// Every pair of the ends of the range, of the denormals, of where div_scale's conditions change, and
// specials.
template <typename T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           1,
                           3,
                           Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::signaling_NaN(),
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           Limits::min() - Limits::denorm_min(),
                           3 * Limits::denorm_min(),
                           std::nextafter(T(1), T(2)),
                           std::nextafter(T(2), T(1)),
                           T(1) / 3};
  for (int exponent :
       {23, 24, 53, 54, 64, 95, 96, 97, 103, 126, 127, 128, 149, 768, 769, 970, 1021, 1022, 1023, 1074})
    for (int sign : {-1, 1}) {
      const T power = std::ldexp(T(1), sign * exponent);
      if (power == 0 || std::isinf(power)) continue;
      values.push_back(power);
      values.push_back(std::nextafter(power, T(0)));
      values.push_back(power * T(1.5));
    }
  for (size_t i = 0, n = values.size(); i < n; i++) values.push_back(-values[i]);
  return values;
}

template <typename T>
void check_divisions(WaveRig& rig, const std::vector<T>& values) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kDwords = sizeof(T) / 4, kQuotient = sizeof(T) == 4 ? 3 : 4;
  const auto put = [&](int r, int lane, T value) {
    const auto bits = uint64_t{std::bit_cast<Bits>(value)};
    for (int d = 0; d < kDwords; d++) rig.v(r + d, lane) = static_cast<uint32_t>(bits >> 32 * d);
  };
  for (size_t pair = 0; pair < values.size() * values.size(); pair += kLanes) {
    const auto operands = [&](int lane) {
      const size_t p = (pair + static_cast<size_t>(lane)) % (values.size() * values.size());
      return std::pair(values[p / values.size()], values[p % values.size()]);
    };
    for (int lane = 0; lane < kLanes; lane++) {
      put(0, lane, operands(lane).first);
      put(kDwords, lane, operands(lane).second);
    }
    ASSERT_EQ(rig.run(), Exit::ended);
    for (int lane = 0; lane < kLanes; lane++) {
      const auto [a, b] = operands(lane);
      uint64_t got = 0;
      for (int d = 0; d < kDwords; d++) got |= uint64_t{rig.v(kQuotient + d, lane)} << 32 * d;
      const T quotient = std::bit_cast<T>(static_cast<Bits>(got)), want = a / b;
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(quotient)) << a << " / " << b;
      else
        ASSERT_EQ(std::bit_cast<Bits>(quotient), std::bit_cast<Bits>(want))
            << std::hexfloat << a << " / " << b;
    }
  }
}

TEST(VectorAccuracy, DivisionMacroAtTheEdges) {
  WaveRig single(Target::gfx90a, dwords_of_hex(kDivide32)), wide(Target::gfx90a, dwords_of_hex(kDivide64));
  check_divisions<float>(single, edges<float>());
  check_divisions<double>(wide, edges<double>());
}

}  // namespace
}  // namespace morgana::device
