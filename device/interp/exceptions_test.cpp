// The arithmetic exceptions that instructions raise, read from TRAPSTS by the program itself, none enabled.
//
// The hex is LLVM's encoding of the assembly beside it (clang -target amdgcn-amd-amdhsa -mcpu=...).
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "device/program/program.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

constexpr uint32_t kOne = 0x3f800000, kZero = 0, kTiny = 1, kHuge = 0x7f7fffff, kInfinity = 0x7f800000,
                   kQuiet = 0x7fc00000, kSignaling = 0x7f800001, kThird = 0x3eaaaaab, kMinusOne = 0xbf800000;

struct Raised {
  const char* hex;
  uint32_t a, b, c;
  uint32_t expected;
  uint32_t float_mode = 0xf0;
};

// Runs `hex` (v6 = f(v0, v2, v4), 64-bit operands in pairs) and returns EXCP.
uint32_t raised(Target target, const Raised& test, bool wide) {
  const char* getreg = target < Target::gfx803 ? " 03f800b9" : " 03f880b8";
  RigOptions options;
  options.float_mode = test.float_mode;
  WaveRig rig(target, dwords_of_hex(std::string(test.hex) + getreg), options);
  const uint32_t values[3] = {test.a, test.b, test.c};
  for (int i = 0; i < 3; i++) {
    double d = __builtin_bit_cast(float, values[i]);
    if (values[i] == kTiny) d = 5e-324;
    if (values[i] == kHuge) d = std::numeric_limits<double>::max();
    uint64_t bits = __builtin_bit_cast(uint64_t, d);
    if (values[i] == kSignaling) bits = 0x7ff0'0000'0000'0001;
    for (int lane = 0; lane < kLanes; lane++) {
      rig.v(2 * i, lane) = wide ? static_cast<uint32_t>(bits) : values[i];
      if (wide) rig.v(2 * i + 1, lane) = static_cast<uint32_t>(bits >> 32);
    }
  }
  EXPECT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
  return rig.s(0);
}

constexpr uint32_t kI = kExcpInvalid, kD = kExcpDenormal, kZ = kExcpDivideByZero, kO = kExcpOverflow,
                   kU = kExcpUnderflow, kX = kExcpInexact;

TEST(Exceptions, OfSingleFloats) {
  const Raised cases[] = {
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kOne, kOne, 0, 0},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kOne, kThird, 0, kX},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kHuge, kHuge, 0, kO | kX},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kSignaling, kOne, 0, kI},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kQuiet, kOne, 0, 0},
      {"00050c04" /* v_sub_f32 v6, v0, v2 */, kInfinity, kInfinity, 0, kI},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kInfinity, kInfinity, 0, 0},
      {"060001d100050240" /* v_add_f32_e64 v6, v0, -v2 */, kInfinity, kInfinity, 0, kI},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kTiny, kOne, 0, kD | kX},
      {"00050c02" /* v_add_f32 v6, v0, v2 */, kTiny, kOne, 0, 0, 0xc0},
      {"00050c0a" /* v_mul_f32 v6, v0, v2 */, 0x00800000, kThird, 0, kU | kX},
      {"00050c0a" /* v_mul_f32 v6, v0, v2 */, kInfinity, kZero, 0, kI},
      {"0600cbd100051204" /* v_fma_f32 v6, v0, v2, v4 */, kOne, kOne, kOne, 0},
      {"0600cbd100051204" /* v_fma_f32 v6, v0, v2, v4 */, kThird, kThird, kOne, kX},
      {"00050c76" /* v_fmac_f32 v6, v0, v2 */, kInfinity, kZero, 0, kI},
      {"00450c7e" /* v_rcp_f32 v6, v0 */, kZero, 0, 0, kZ},
      {"00450c7e" /* v_rcp_f32 v6, v0 */, kOne, 0, 0, 0},
      {"00450c7e" /* v_rcp_f32 v6, v0 */, kTiny, 0, 0, kZ},
      {"00470c7e" /* v_rcp_iflag_f32 v6, v0 */, kZero, 0, 0, kExcpIntDivideByZero},
      {"00470c7e" /* v_rcp_iflag_f32 v6, v0 */, kThird, 0, 0, 0},
      {"00490c7e" /* v_rsq_f32 v6, v0 */, kZero, 0, 0, kZ},
      {"00490c7e" /* v_rsq_f32 v6, v0 */, kMinusOne, 0, 0, kI},
      {"004f0c7e" /* v_sqrt_f32 v6, v0 */, kMinusOne, 0, 0, kI},
      {"00430c7e" /* v_log_f32 v6, v0 */, kZero, 0, 0, kZ},
      {"00430c7e" /* v_log_f32 v6, v0 */, kMinusOne, 0, 0, kI},
      {"00430c7e" /* v_log_f32 v6, v0 */, kOne, 0, 0, 0},
      {"00410c7e" /* v_exp_f32 v6, v0 */, kHuge, 0, 0, kO | kX},
      {"00410c7e" /* v_exp_f32 v6, v0 */, 0xc3160000, 0, 0, kU | kX},
      {"00530c7e" /* v_sin_f32 v6, v0 */, kInfinity, 0, 0, kI},
      {"00050c16" /* v_max_f32 v6, v0, v2 */, kSignaling, kOne, 0, kI},
      {"00050c16" /* v_max_f32 v6, v0, v2 */, kQuiet, kOne, 0, 0},
      {"003f0c7e" /* v_floor_f32 v6, v0 */, kThird, 0, 0, 0},
      {"00110c7e" /* v_cvt_i32_f32 v6, v0 */, kThird, 0, 0, 0},
      {"068048d100010000" /* v_cvt_i32_f32_e64 v6, v0 clamp */, kThird, 0, 0, kX},
      {"00110c7e" /* v_cvt_i32_f32 v6, v0 */, kHuge, 0, 0, kI},
      {"000f0c7e" /* v_cvt_u32_f32 v6, v0 */, kMinusOne, 0, 0, kI},
      {"000b0c7e" /* v_cvt_f32_i32 v6, v0 */, 0x01000001, 0, 0, kX},
      {"000b0c7e" /* v_cvt_f32_i32 v6, v0 */, 0x01000000, 0, 0, 0},
      {"00150c7e" /* v_cvt_f16_f32 v6, v0 */, kHuge, 0, 0, kO | kX},
      {"00150c7e" /* v_cvt_f16_f32 v6, v0 */, kThird, 0, 0, kX},
      {"00150c7e" /* v_cvt_f16_f32 v6, v0 */, 0x33000001, 0, 0, kU | kX},
      {"00150c7e" /* v_cvt_f16_f32 v6, v0 */, kOne, 0, 0, 0},
      {"060088d200050200" /* v_ldexp_f32 v6, v0, v2 */, kOne, 200, 0, kO | kX},
      {"0005827c" /* v_cmp_lt_f32 vcc, v0, v2 */, kQuiet, kOne, 0, 0},
      {"0005827c" /* v_cmp_lt_f32 vcc, v0, v2 */, kSignaling, kOne, 0, kI},
      {"6a8041d000050200" /* v_cmp_lt_f32_e64 vcc, v0, v2 clamp */, kQuiet, kOne, 0, kI},
      {"0600ded100051204" /* v_div_fixup_f32 v6, v0, v2, v4 */, kOne, kZero, kOne, kZ},
      {"0600ded100051204" /* v_div_fixup_f32 v6, v0, v2, v4 */, kOne, kZero, kZero, kI},
      {"0600ded100051204" /* v_div_fixup_f32 v6, v0, v2, v4 */, kOne, kOne, kOne, 0},
      {"00050c00" /* v_cndmask_b32 v6, v0, v2, vcc */, kSignaling, kSignaling, 0, 0},
      {"00030c7e" /* v_mov_b32 v6, v0 */, kSignaling, 0, 0, 0},
      {"0005207c" /* v_cmp_class_f32 vcc, v0, v2 */, kSignaling, 1, 0, 0},
      {"0640b1d300010218" /* v_pk_mul_f32 v[6:7], v[0:1], v[0:1] */, kInfinity, 0, 0, 0},
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, false), test.expected)
        << test.hex << " " << std::hex << test.a << " " << test.b;
  EXPECT_EQ(raised(Target::gfx701, {"0005827c" /* v_cmps_lt_f32 vcc, v0, v2 */, kQuiet, kOne, 0, 0}, false),
            kI);
  EXPECT_EQ(raised(Target::gfx803, {"00050c2c" /* v_mac_f32 v6, v0, v2 */, kInfinity, kZero, 0, 0}, false),
            kI);
}

TEST(Exceptions, OfDoubles) {
  const Raised cases[] = {
      {"060080d200050200" /* v_add_f64 v[6:7], v[0:1], v[2:3] */, kOne, kOne, 0, 0},
      {"060080d200050200" /* v_add_f64 v[6:7], v[0:1], v[2:3] */, kHuge, kHuge, 0, kO | kX},
      {"060080d200050200" /* v_add_f64 v[6:7], v[0:1], v[2:3] */, kTiny, kOne, 0, kD | kX},
      {"060080d200050200" /* v_add_f64 v[6:7], v[0:1], v[2:3] */, kTiny, kOne, 0, 0, 0x30},
      {"060081d200050200" /* v_mul_f64 v[6:7], v[0:1], v[2:3] */, kTiny, kThird, 0, kD | kU | kX},
      {"0600ccd100051204" /* v_fma_f64 v[6:7], v[0:1], v[2:3], v[4:5] */, kInfinity, kZero, kOne, kI},
      {"004b0c7e" /* v_rcp_f64 v[6:7], v[0:1] */, kZero, 0, 0, kZ},
      {"00510c7e" /* v_sqrt_f64 v[6:7], v[0:1] */, kMinusOne, 0, 0, kI},
      {"060083d200050200" /* v_max_f64 v[6:7], v[0:1], v[2:3] */, kSignaling, kOne, 0, kI},
      {"0005c27c" /* v_cmp_lt_f64 vcc, v[0:1], v[2:3] */, kSignaling, kOne, 0, kI},
      {"001f0c7e" /* v_cvt_f32_f64 v6, v[0:1] */, kHuge, 0, 0, kO | kX},
      {"00070c7e" /* v_cvt_i32_f64 v6, v[0:1] */, kHuge, 0, 0, kI},
      {"0600dfd100051204" /* v_div_fixup_f64 v[6:7], v[0:1], v[2:3], v[4:5] */, kOne, kZero, kOne, kZ},
      {"060084d200810100" /* v_ldexp_f64 v[6:7], v[0:1], 64 */, kHuge, 0, 0, kO | kX},
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, true), test.expected)
        << test.hex << " " << std::hex << test.a << " " << test.b;
}

TEST(Exceptions, OfHalves) {
  const uint32_t one = 0x3c00, huge = 0x7bff, tiny = 1, third = 0x3555, infinity = 0x7c00, signaling = 0x7c01;
  const Raised cases[] = {
      {"00050c3e" /* v_add_f16 v6, v0, v2 */, one, one, 0, 0},
      {"00050c3e" /* v_add_f16 v6, v0, v2 */, one, third, 0, kX},
      {"00050c3e" /* v_add_f16 v6, v0, v2 */, huge, huge, 0, kO | kX},
      {"00050c44" /* v_mul_f16 v6, v0, v2 */, 0x0400, third, 0, kU | kX},
      {"00050c3e" /* v_add_f16 v6, v0, v2 */, tiny, 0, 0, kD},
      {"00050c40" /* v_sub_f16 v6, v0, v2 */, infinity, infinity, 0, kI},
      {"007b0c7e" /* v_rcp_f16 v6, v0 */, 0, 0, 0, kZ},
      {"00050c5a" /* v_max_f16 v6, v0, v2 */, signaling, one, 0, kI},
      {"060006d200051204" /* v_fma_f16 v6, v0, v2, v4 */, one, one, one, 0},
      {"06408fd300050218" /* v_pk_add_f16 v6, v0, v2 */, one << 16 | one, one << 16 | one, 0, 0},
      {"06408fd300050218" /* v_pk_add_f16 v6, v0, v2 */, huge << 16 | one, huge << 16 | one, 0, kO | kX},
      {"064090d300050218" /* v_pk_mul_f16 v6, v0, v2 */, one << 16 | third, one << 16 | third, 0, kX},
      {"00170c7e" /* v_cvt_f32_f16 v6, v0 */, signaling, 0, 0, kI},
      {"00730c7e" /* v_cvt_f16_u16 v6, v0 */, 0xffff, 0, 0, kO | kX},
      {"00790c7e" /* v_cvt_i16_f16 v6, v0 */, infinity, 0, 0, kI},
      {"0005487c" /* v_cmp_gt_f16 vcc, v0, v2 */, signaling, one, 0, kI},
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, false), test.expected)
        << test.hex << " " << std::hex << test.a << " " << test.b;
}

TEST(Exceptions, OfMixedOperationsWithHalfResults) {
  const char* fused = "0600a1d300051204";  // v_fma_mixlo_f16 v6, v0, v2, v4: all three f32
  const Raised cases[] = {
      {fused, kOne, kOne, kOne, 0},
      {fused, kOne, kThird, kZero, kX},      // exact in f32, not in f16
      {fused, kHuge, kOne, kZero, kO | kX},  // the conversion overflows
      {fused, kTiny, kOne, kZero, kD | kU | kX},
      {fused, kInfinity, kZero, kOne, kI},
      {fused, kSignaling, kOne, kOne, kI},
      {fused, 0x33800000, kOne, kZero, 0},              // 2^-24, the least denormal of f16
      {fused, 0x33800000, kOne, kZero, kU | kX, 0x30},  // flushed
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, false), test.expected) << std::hex << test.a << " " << test.b;
  // v_mad_mixhi_f16 v6, v0, v2, v4
  EXPECT_EQ(raised(Target::gfx900, {"0600a2d300051204", kThird, kThird, kOne, 0}, false), kX);
  EXPECT_EQ(raised(Target::gfx900, {"0600a2d300051204", kOne, kOne, kOne, 0}, false), 0u);
}

TEST(Exceptions, SelectedBytesAndMovedLanesAreWhatCounts) {
  // SDWA: the upper half of v0; DPP: lane 0 of each row reads lane 1.
  EXPECT_EQ(
      raised(
          Target::gfx900,
          {"f97a0c7e00060500" /* v_rcp_f16_sdwa v6, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 */,
           0x3c00, 0, 0, 0},
          false),
      kZ);
  EXPECT_EQ(
      raised(
          Target::gfx900,
          {"f97a0c7e00060400" /* v_rcp_f16_sdwa v6, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 */,
           0x3c00, 0, 0, 0},
          false),
      0u);
  WaveRig rig(
      Target::gfx900,
      dwords_of_hex(
          "fa440c7e00010111" /* v_rcp_f32_dpp v6, v0 row_shl:1 row_mask:0x1 bank_mask:0x1 */ " 03f880b8"));
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = kOne;
  rig.v(0, 0) = rig.v(0, 20) = 0;  // read by nobody
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), 0u);
  rig.v(0, 2) = 0;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), kZ);
}

TEST(Exceptions, OfDoubleMatrices) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("0600efd300051204 "  // v_mfma_f64_4x4x4_4b_f64 v[6:7], v[0:1], v[2:3], v[4:5]
                            "034080b8 "          // s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS, 0, 9)
                            "0800c2d301073204 "  // v_mfma_f32_4x4x1_16b_f32 v[8:11], v1, v3, v[12:15]
                            "034000ba00000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0
                            "034081b8"));        // s_getreg_b32 s1, hwreg(HW_REG_TRAPSTS, 0, 9)
  for (int lane = 0; lane < kLanes; lane++)
    for (int r = 0; r < 16; r++) rig.v(r, lane) = 0;
  for (int lane = 0; lane < kLanes; lane++) rig.v(1, lane) = 0x7ff0'0000;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), kI) << "infinity times 0";
  EXPECT_EQ(rig.s(1), 0u);
}

TEST(Exceptions, OfConversionsToHalvesBytesAndNormalizedIntegers) {
  const char* rtz = "060096d200050200";      // v_cvt_pkrtz_f16_f32 v6, v0, v2
  const char* nearest = "060067d200050200";  // v_cvt_pk_f16_f32 v6, v0, v2
  const char* bfloat = "060068d200050200";   // v_cvt_pk_bf16_f32 v6, v0, v2
  const char* snorm = "060094d200050200";    // v_cvt_pknorm_i16_f32 v6, v0, v2
  const char* unorm = "060095d200050200";    // v_cvt_pknorm_u16_f32 v6, v0, v2
  const char* byte = "0600ddd100030904";     // v_cvt_pk_u8_f32 v6, v0, 1, v2
  const Raised cases[] = {
      {rtz, kOne, kOne, 0, 0},
      {rtz, kOne, kThird, 0, kX},
      {rtz, kHuge, kOne, 0, kO | kX},
      {rtz, 0x477fefff, kOne, 0, kX},                 // just below 65520: towards zero no overflow
      {rtz, 0x477ff000, kOne, 0, kX},                 // 65520 itself
      {rtz, 0x47800000, kOne, 0, kO | kX},            // 65536
      {nearest, 0x477ff000, kOne, 0, kO | kX},        // to nearest it overflows
      {nearest, kOne, 0x33000001, 0, kU | kX},        // half the least denormal
      {nearest, kOne, 0x33800000, 0, 0},              // the least denormal
      {nearest, kOne, 0x33800000, 0, kU | kX, 0x30},  // flushed
      {nearest, kSignaling, kOne, 0, kI},
      {nearest, kQuiet, kInfinity, 0, 0},
      {nearest, kTiny, kOne, 0, kD | kU | kX},
      {nearest, kTiny, kOne, 0, 0, 0xc0},
      {bfloat, 0x3f810000, kOne, 0, 0},
      {bfloat, kThird, kOne, 0, kX},
      {bfloat, kHuge, kOne, 0, kO | kX},
      {bfloat, kTiny, kOne, 0, kD | kU | kX},
      {bfloat, 0x00010000, kOne, 0, kD},
      {bfloat, kOne, kSignaling, 0, kI},
      {snorm, kOne, kMinusOne, 0, 0},
      {snorm, kOne, kThird, 0, kX},
      {snorm, kOne, 0x40000000, 0, kI},
      {snorm, 0x3f800001, kZero, 0, kX},  // rounds to the largest
      {snorm, kQuiet, kZero, 0, kI},
      {unorm, kOne, kMinusOne, 0, kI},
      {unorm, kTiny, kZero, 0, kD | kX},
      {"060099d200050200" /* v_cvt_pknorm_i16_f16 v6, v0, v2 */, 0x3c00, 0x3555, 0, kX},
      {"009b0c7e" /* v_cvt_norm_i16_f16 v6, v0 */, 0x3c00, 0, 0, 0},
      {"009b0c7e" /* v_cvt_norm_i16_f16 v6, v0 */, 0xbe00, 0, 0, kI},
      {"009d0c7e" /* v_cvt_norm_u16_f16 v6, v0 */, 0x7c01, 0, 0, kI},
      {"009d0c7e" /* v_cvt_norm_u16_f16 v6, v0 */, 0x0001, 0, 0, kD | kX},
      {"009d0c7e" /* v_cvt_norm_u16_f16 v6, v0 */, 0x0001, 0, 0, 0, 0x30},
      {byte, 0x437f0000, 0, 0, 0},   // 255
      {byte, 0x437f8000, 0, 0, 0},   // 255.5
      {byte, 0x43800000, 0, 0, kI},  // 256
      {byte, kMinusOne, 0, 0, kI},
      {byte, kQuiet, 0, 0, kI},
      {"0680ddd100030904" /* v_cvt_pk_u8_f32 v6, v0, 1, v2 clamp */, 0x437f8000, 0, 0, kX},
      {"0600f0d100030100" /* v_cvt_pkaccum_u8_f32 v6, v0, 1 */, kInfinity, 0, 0, kI},
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, false), test.expected)
        << test.hex << " " << std::hex << test.a << " " << test.b << " mode " << test.float_mode;
}

TEST(Exceptions, OfSmallFloats) {
  const char* fp8 = "0600a2d200050200";          // v_cvt_pk_fp8_f32 v6, v0, v2
  const char* bf8 = "0600a3d200050200";          // v_cvt_pk_bf8_f32 v6, v0, v2
  const char* fp8_random = "0600a4d200050200";   // v_cvt_sr_fp8_f32 v6, v0, v2
  const char* bf16_random = "0600a7d200050200";  // v_cvt_sr_bf16_f32 v6, v0, v2
  const char* f16_random = "0600a6d200050200";   // v_cvt_sr_f16_f32 v6, v0, v2
  const char* scaled_fp8 = "060035d200051204";   // v_cvt_scalef32_pk_fp8_f32 v6, v0, v2, v4
  const char* scaled_fp4 = "06003dd200051204";   // v_cvt_scalef32_pk_fp4_f32 v6, v0, v2, v4
  const char* from_fp8 = "00a90c7e";             // v_cvt_f32_fp8 v6, v0
  const char* from_bf8 = "00ab0c7e";             // v_cvt_f32_bf8 v6, v0
  const char* scaled_f32 = "06003bd200050200";   // v_cvt_scalef32_f32_fp8 v6, v0, v2
  const char* scaled_f16 = "060048d200050200";   // v_cvt_scalef32_pk_f16_fp8 v6, v0, v2
  const uint32_t two127 = 0x7f000000;
  const Raised cases[] = {
      {fp8, kOne, kOne, 0, 0},
      {fp8, kOne, kThird, 0, kX},
      {fp8, 0x43e00000, kOne, 0, 0},   // 448, the largest
      {fp8, 0x43e80000, kOne, 0, kX},  // 464: half-way, to even
      {fp8, 0x43e80001, kOne, 0, kO | kX},
      {fp8, 0x3b000000, kOne, 0, 0},  // 2^-9, the least denormal
      {fp8, 0x3a800000, kOne, 0, kU | kX},
      {fp8, kTiny, kOne, 0, kD | kU | kX},
      {fp8, kTiny, kOne, 0, 0, 0xc0},
      {fp8, kSignaling, kOne, 0, kI},
      {fp8, kInfinity, kQuiet, 0, 0},
      {bf8, 0x47600000, kOne, 0, 0},        // 57344, the largest
      {bf8, 0x47700000, kOne, 0, kO | kX},  // half-way: to even is past it
      {fp8_random, kOne, 0xffffffff, 0, 0},
      {fp8_random, kThird, 0, 0, kX},
      {fp8_random, 0x43f00000, 0xffffffff, 0, kO | kX},
      {bf16_random, kThird, 0, 0, kX},
      {bf16_random, kHuge, 0xffffffff, 0, kO | kX},
      {f16_random, kOne, 0, 0, 0},
      {f16_random, 0x47800000, 0, 0, kO | kX},
      {scaled_fp8, kOne, kOne, kOne, 0},
      {scaled_fp8, kThird, kOne, kOne, kX},
      {scaled_fp8, kOne, kOne, two127, kU | kX},      // 2^-127
      {scaled_fp8, kOne, kOne, 0x35800000, kO | kX},  // 2^20
      {scaled_fp8, kOne, kOne, kQuiet, 0},            // the scale is no number
      {scaled_fp4, 0x40c00000, kOne, kOne, 0},        // 6
      {scaled_fp4, 0x40e00000, kOne, kOne, kO | kX},  // 7: half-way, to even is past it
      {scaled_fp4, 0x40d00000, kOne, kOne, kX},
      {from_fp8, 0x38, 0, 0, 0},
      {from_fp8, 0x01, 0, 0, kD},
      {from_fp8, 0x7f, 0, 0, 0},
      {from_bf8, 0x7d, 0, 0, kI},
      {from_bf8, 0x7e, 0, 0, 0},
      {"00af0c7e" /* v_cvt_pk_f32_bf8 v[6:7], v0 */, 0x7d00, 0, 0, kI},
      {scaled_f32, 0x7e, kOne, 0, 0},
      {scaled_f32, 0x7e, two127, 0, kO | kX},  // 448 * 2^127
      {scaled_f16, 0x3838, kOne, 0, 0},
      {scaled_f16, 0x7e38, 0x43800000, 0, kO | kX},  // 448 * 256
      {scaled_f16, 0x0838, 0x38800000, 0, 0},        // 2^-6 * 2^-14: a denormal, exact
  };
  for (const Raised& test : cases)
    EXPECT_EQ(raised(Target::gfx950, test, false), test.expected)
        << test.hex << " " << std::hex << test.a << " " << test.b << " " << test.c << " mode "
        << test.float_mode;
  // gfx942's formats have no signaling NaN.
  EXPECT_EQ(raised(Target::gfx942, {from_bf8, 0x7d, 0, 0, 0}, false), 0u);
}

TEST(Exceptions, BeyondTheirTurnsOldSinesAreExact) {
  const char* sine = "006b0c7e";                                              // v_sin_f32 v6, v0 (gfx701)
  EXPECT_EQ(raised(Target::gfx701, {sine, 0x43804000, 0, 0, 0}, false), 0u);  // 256.5
  EXPECT_EQ(raised(Target::gfx701, {sine, kThird, 0, 0, 0}, false), kX);
}

TEST(Exceptions, StickUntilTheProgramClearsThem) {
  WaveRig rig(Target::gfx950,
              dwords_of_hex("0045027e "          // v_rcp_f32_e32 v1, v0
                            "02050202 "          // v_add_f32_e32 v1, v2, v2
                            "034080b8 "          // s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS, 0, 9)
                            "830000ba00000000 "  // s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 2, 1), 0
                            "034081b8"));        // s_getreg_b32 s1, hwreg(HW_REG_TRAPSTS, 0, 9)
  for (int lane = 0; lane < kLanes; lane++) rig.v(0, lane) = 0, rig.v(2, lane) = kHuge;
  ASSERT_EQ(rig.run(), Exit::ended);
  EXPECT_EQ(rig.s(0), kZ | kO | kX);
  EXPECT_EQ(rig.s(1), kO | kX);
}

// Found by random kernels: the second number of a pair of SGPRs was what lay behind the first one's lanes.
TEST(ScaledConversions, ReadBothScalars) {
  // v_cvt_scalef32_sr_pk_fp4_f32 v9, s[56:57], 27, s53 op_sel:[1,1,0,1]
  WaveRig rig(Target::gfx950, dwords_of_hex("09583ed23836d500"));
  rig.s(56) = rig.s(53) = 0x3f800000;  // 1
  rig.s(57) = 0x40000000;              // 2
  for (int lane = 0; lane < kLanes; lane++) rig.v(9, lane) = 0;
  EXPECT_EQ(rig.run(), Exit::ended);
  for (int lane = 0; lane < kLanes; lane++) EXPECT_EQ(rig.v(9, lane), 0x420000u) << lane;
}

// Two instructions in one: what either raises counts.
TEST(Exceptions, OfBothHalvesOfAPair) {
  const struct {
    const char* hex;
    uint32_t expected;
  } cases[] = {
      {"000106ca020b0606" /* v_dual_mov_b32 v6, v0 :: v_dual_mul_f32 v7, v2, v5 */, kX},
      {"020bd0c800010606" /* v_dual_mul_f32 v6, v2, v5 :: v_dual_mov_b32 v7, v0 */, kX},
      {"000700c9020b0606" /* v_dual_add_f32 v6, v0, v3 :: v_dual_fmac_f32 v7, v2, v5 */, kI | kX},
      {"000110ca01010606" /* v_dual_mov_b32 v6, v0 :: v_dual_mov_b32 v7, v1 */, 0},
  };
  for (const Target target : {Target::gfx1100, Target::gfx1200})
    for (const auto& c : cases) {
      // s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS); of gfx12 hwreg(HW_REG_WAVE_EXCP_FLAG_USER)
      const char* const getreg = target == Target::gfx1200 ? " 12f880b8" : " 03f880b8";
      WaveRig rig(target, dwords_of_hex(std::string(c.hex) + getreg));
      for (int lane = 0; lane < 32; lane++) {
        rig.v(0, lane) = kSignaling;
        rig.v(2, lane) = rig.v(5, lane) = kThird;
        rig.v(3, lane) = kOne;
        rig.v(7, lane) = kOne;
      }
      ASSERT_EQ(rig.run(), Exit::ended) << rig.fault().detail;
      EXPECT_EQ(rig.s(0) & kExcpArithmetic, c.expected) << info(target).name << ' ' << c.hex;
    }
}

TEST(Exceptions, OfTheSecondHalfEnterTheHandlerAsOfTheFirst) {
  RigOptions options;
  options.exceptions = kExcpInexact;
  WaveRig rig(Target::gfx1100, dwords_of_hex("000106ca020b0606"), options);  // as above, without a handler
  for (int lane = 0; lane < 32; lane++) rig.v(2, lane) = rig.v(5, lane) = kThird;
  EXPECT_EQ(rig.run(), Exit::fault);
  EXPECT_EQ(rig.fault().kind, FaultKind::float_exception);
}

// A region is read when somebody looks for its code: it may be loaded after it was made known, and need not
// be code at all.
TEST(CodeMap, ReadsARegionWhenItIsLookedFor) {
  std::vector<uint32_t> code(16);
  const auto address = reinterpret_cast<uint64_t>(code.data());
  CodeMap map(Target::gfx950);
  map.add(address, Bytes(code.data(), code.size() * 4));
  code[3] = 0xb880f803;  // s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS)
  const Program* const program = map.find(address + 4);
  ASSERT_NE(program, nullptr);
  EXPECT_TRUE(program->reads_exceptions);
  EXPECT_EQ(map.find(address + 15 * 4), program);
  EXPECT_EQ(map.find(address + 16 * 4), nullptr);
  EXPECT_EQ(map.find(address, WaveSize::wave32), nullptr);  // gfx950 has none
  EXPECT_EQ(map.remove(address).wave64.get(), program);
  EXPECT_EQ(map.find(address), nullptr);
}

}  // namespace
}  // namespace morgana::device
