// Products with one and sums with zero: they flush denormals and quiet NaNs, and compilers leave them out.
// Denormal constants: compilers compute with them as if nothing were flushed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

// For gfx900: sources v2 (f32), v3 (packed f16) and v[4:5] (f64), results from v6 on.
struct Case {
  const char* text;
  std::string_view hex;
};
constexpr Case kCases[] = {
    {"v_mul_f32 v6, 1.0, v2", "f2040c0a"},
    {"v_mul_f32 v6, -1.0, v2", "f3040c0a"},
    {"v_mul_legacy_f32 v6, 1.0, v2", "f2040c08"},
    {"v_sub_f32 v6, v2, 0", "060002d102010100"},
    {"v_add_f32 v6, 0x80000000, v2", "ff040c0200000080"},
    {"v_add_f32 v6, 0, |v2|", "060201d180040200"},
    {"v_fma_f32 v6, 1.0, |v2|, 0", "0602cbd1f2040202"},
    {"v_mad_f32 v6, v2, 1.0, -0", "0600c1d102e50182"},
    {"v_mul_f16 v6, 1.0, v3", "f2060c44"},
    {"v_pk_mul_f16 v6, v3, 1.0 op_sel_hi:[1,0]", "064090d303e50108"},
    {"v_pk_add_f16 v6, v3, 0 neg_lo:[0,1] neg_hi:[0,1]", "06428fd303010158"},
    {"v_ldexp_f16 v6, v3, 0", "060033d103010100"},
    {"v_mul_f64 v[6:7], v[4:5], 1.0", "060081d204e50100"},
    {"v_ldexp_f64 v[6:7], v[4:5], -2", "060084d204850100"},
    {"v_ldexp_f64 v[6:7], -v[4:5], 64", "060084d204810120"},
    {"v_ldexp_f64 v[6:7], |v[4:5]|, -16", "060184d204a10100"},
    {"v_ldexp_f64 v[6:7], v[4:5], 1", "060084d204030100"},
    {"v_ldexp_f64 v[6:7], v[4:5], 0", "060084d204010100"},
    {"v_add_f64 v[6:7], 9, v[4:5]", "060080d289080200"},
    {"v_madmk_f32 v6, 9, 0x7bc328e4, v2", "89040c2ee428c37b"},
    {"v_mul_f32 v6, 60, 4.0", "060005d1bcec0100"},
    {"v_mul_legacy_f32 v6, 11, v2", "8b040c08"},
    {"v_fract_f32 v6, 60", "bc360c7e"},
    {"v_max_f32 v6, 9, v2", "89040c16"},
    {"v_fma_f32 v6, 0, neg(4.0), v2", "0600cbd180ec0944"},
    {"v_fma_f32 v6, -0.5, 0, v2", "0600cbd1f1000904"},
    {"v_fma_f64 v[6:7], 0, neg(4.0), v[4:5]", "0600ccd180ec1144"},
    {"v_cvt_f32_u32 v8, v2; v_mul_f32 v9, neg(0), v8; v_add_f32 v6, v9, v2",
     "020d107e 090005d180100220 09050c02"},
    {"v_cvt_f32_u32 v8, v2; v_fma_f32 v6, v8, neg(0), v2", "020d107e 0600cbd108010944"},
    // In registers.
    {"v_mov_b32 v7, 1.0; v_mul_f32 v6, v7, v2", "f2020e7e 07050c0a"},
    {"s_mov_b32 s4, 1.0; v_mul_f32 v6, s4, v2", "f20084be 04040c0a"},
    {"s_mov_b32 s4, -1.0; v_mul_f32 v6, v2, s4", "f30084be 060005d102090000"},
    {"v_mov_b32 v7, 0x3c003c00; v_pk_mul_f16 v6, v3, v7", "ff020e7e003c003c 064090d3030f0218"},
    {"s_mov_b32 s4, 0; s_mov_b32 s5, 0x3ff00000; v_mul_f64 v[6:7], v[4:5], s[4:5]",
     "800084be ff0085be0000f03f 060081d204090000"},
    {"s_mov_b32 s4, 9; v_mul_f32 v6, s4, 4.0", "890084be 060005d104ec0100"},
    {"v_cmp_eq_f32 vcc, 0, v2; v_cndmask_b32 v6, 0, 4, vcc; v_lshrrev_b32 v7, 23, v2",
     "8004847c 060000d18008a901 97040e20"},
    {"v_mov_b32 v7, 0x80000000; v_fma_f32 v6, v2, 1.0, v7", "ff020e7e00000080 0600cbd102e51d04"},
    // Constants that make denormals.
    {"v_mov_b32 v7, 0x1e3ce508; v_mul_f32 v6, v7, v7", "ff020e7e08e53c1e 070f0c0a"},
    {"v_rcp_f32 v6, 0x7f000000", "ff440c7e0000007f"},
    {"v_mov_b32 v7, 0x800000; v_fma_f32 v6, 0.5, v7, 0", "ff020e7e00008000 0600cbd1f00e0202"},
    {"v_sqrt_f64 v[6:7], 42 mul:4", "060068d1aa000010"},
    {"v_sqrt_f64 v[6:7], 42", "060068d1aa000000"},
    // By one of two ways; a NaN, -4 as bits, is never less, which LLVM sees later.
    {"v_cmp_le_f64 vcc, -4, v[4:5]; v_cndmask_b32 v8, 41, v2, vcc; v_mov_b32 v9, 0; v_rsq_f64 v[6:7], v[8:9]",
     "c408c67c a9041000 8002127e 084d0c7e"},
    {"v_cmp_le_f64 vcc, -4, v[4:5]; v_cndmask_b32 v8, 41, v2, vcc; v_rndne_f64 v[9:10], 0.15915494; "
     "v_rsq_f64 v[6:7], v[8:9]",
     "c408c67c a9041000 f832127e 084d0c7e"},
    // 0 where VCC is not, which the branch tells.
    {"v_cmp_ge_u32 vcc, 5, v2; s_and_saveexec_b64 s[8:9], vcc; s_cbranch_execz 2; "
     "v_cmp_eq_f32 s[4:5], |src_vccz|, |v2|; s_mov_b64 exec, s[8:9]; v_cndmask_b32 v6, 0, 1, s[4:5]",
     "8504967d 6a2088be 020088bf 040342d0fb040200 0801febe 060000d180021100"},
};

// Both signs of each.
constexpr uint32_t kF32[] = {0, 1, 0x7fffff, 0x800000, 0x3f800000, 0x7f800000, 0x7f800001, 0x7fc12345};
constexpr uint32_t kF16[] = {0, 1, 0x3ff, 0x400, 0x3c00, 0x7c00, 0x7c01, 0x7e23};
constexpr uint64_t kF64[] = {0,
                             1,
                             0x000f'ffff'ffff'ffff,
                             0x0010'0000'0000'0000,
                             0x3ff0'0000'0000'0000,
                             0x7ff0'0000'0000'0000,
                             0x7ff0'0000'0000'0001,
                             0x7ff8'1234'5678'9abc};

void fill(WaveRig& rig) {
  for (int lane = 0; lane < kLanes; lane++) {
    const int n = lane % 8, other = (lane + lane / 16) % 8;
    const uint32_t negative = lane / 8 % 2;
    const uint64_t wide = kF64[n] | uint64_t{negative} << 63;
    rig.v(2, lane) = kF32[n] | negative << 31;
    rig.v(3, lane) = kF16[n] | negative << 15 | kF16[other] << 16;
    rig.v(4, lane) = static_cast<uint32_t>(wide);
    rig.v(5, lane) = static_cast<uint32_t>(wide >> 32);
    rig.v(6, lane) = rig.v(7, lane) = 77;
  }
}

// FLOAT_MODE: denormals kept, flushed in f32, flushed.
class NeutralConstants : public testing::TestWithParam<uint32_t> {};

// The work-item ids, known constants of the lanes, are denormals.
constexpr Case kIdCases[] = {
    {"v_mul_f32 v6, 4.0, v0", "f6000c0a"},
    {"v_add_f32 v6, v0, v0", "00010c02"},
    {"v_fract_f32 v6, v0", "00370c7e"},
    {"v_mov_b32 v8, v0; v_mov_b32 v9, 0; v_mul_f64 v[6:7], v[8:9], 4.0",
     "0003107e 8002127e 060081d208ed0100"},
};

TEST_P(NeutralConstants, TheOperationIsDone) {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.insert(cases.end(), std::begin(kIdCases), std::end(kIdCases));
  for (size_t n = 0; n < cases.size(); n++) {
    const Case& one = cases[n];
    RigOptions options;
    options.float_mode = GetParam();
    options.begins_full = n >= std::size(kCases);
    WaveRig rig(Target::gfx900, dwords_of_hex(one.hex), options);
    std::vector<uint32_t> results[2];
    for (const bool compiled : {false, true}) {
      rig.restart();
      fill(rig);
      ASSERT_EQ(compiled ? rig.run_compiled() : rig.run_interpreted(), Exit::ended);
      for (int r = 6; r < 8; r++)
        for (int lane = 0; lane < kLanes; lane++) results[compiled].push_back(rig.v(r, lane));
    }
    ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
    EXPECT_EQ(results[0], results[1]) << one.text;
  }
}

// What LLVM canonicalizes with.
TEST_P(NeutralConstants, AProductWithOneIsCanonical) {
  RigOptions options;
  options.float_mode = GetParam();
  WaveRig rig(Target::gfx900, dwords_of_hex(kCases[0].hex), options);
  fill(rig);
  ASSERT_EQ(rig.run_compiled(), Exit::ended);
  const bool flushes = (GetParam() & 0x30) == 0;
  EXPECT_EQ(rig.v(6, 1), flushes ? 0 : 1);
  EXPECT_EQ(rig.v(6, 10), flushes ? 0x80000000 : 0x807fffff);
  EXPECT_EQ(rig.v(6, 3), 0x800000);
  EXPECT_EQ(rig.v(6, 6), 0x7fc00001);
  EXPECT_EQ(rig.v(6, 7), 0x7fc12345);
}

INSTANTIATE_TEST_SUITE_P(FloatModes, NeutralConstants, testing::Values(0xf0, 0xc0, 0x00),
                         [](const auto& mode) { return fmt::format("{:02x}", mode.param); });

}  // namespace
}  // namespace morgana::device
