// Random kernels on both tiers: the whole state must be the same afterwards.
//
// MORGANA_DIFFERENTIAL_SECONDS: how long each target is tried (a few kernels without it),
// MORGANA_DIFFERENTIAL_SEED: the first seed. A failure prints the smallest kernel that still differs; it
// becomes a test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "device/interp/code.h"
#include "device/testing/differential.h"
#include "device/testing/wave_rig.h"

namespace morgana::device {
namespace {

using Verdict = Comparison::Verdict;

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Runs of one kernel: a compilation costs as much as hundreds, but for a quick one.
constexpr uint32_t kStates = 16, kManyStates = 256;
// Of all targets and kinds.
uint64_t all_instructions = 0;

class Differential : public testing::TestWithParam<Target> {
 protected:
  void run(const KernelKind& kind, uint64_t kernels) {
    const uint64_t seconds = number_of("MORGANA_DIFFERENTIAL_SECONDS", 0);
    const uint64_t begin = number_of("MORGANA_DIFFERENTIAL_SEED", 1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    uint64_t tried = 0, loops = 0, instructions = 0, executed = 0, nans = 0, failures = 0;
    for (uint64_t seed = begin; failures < 5; seed++, tried++) {
      if (seconds ? std::chrono::steady_clock::now() > end : tried == kernels) break;
      KernelKind one = kind;
      one.exact = seed % 3 != 0;
      // Where floats are, stores would show which of two NaNs an operation has passed on.
      one.stores_registers = one.exact && seed % 5 < 2;
      const RandomKernel kernel =
          random_kernel(GetParam(), seed * 977 + static_cast<uint64_t>(GetParam()), one);
      const std::vector<uint32_t> code = emit(kernel);
      Setting setting = setting_of(kernel, seed);
      // The translation is tried on most kernels, what LLVM makes of it on every fourth.
      setting.quick = seconds ? seed % 4 != 0 : seed % 4 == 3;
      const uint32_t states = seconds && !setting.quick ? kManyStates : kStates;
      const Comparison result = compare_tiers(GetParam(), code, setting, states);
      if (!result.was_compiled && !result.is_refused) {
        ADD_FAILURE() << "kernel " << seed << " is interpreted: " << result.why_interpreted << "\n"
                      << listing(GetParam(), kernel.wave, code);
        failures++;
      }
      const uint64_t count = count_instructions(GetParam(), kernel.wave, code);
      instructions += count;
      executed += count * states;
      if (result.verdict == Verdict::same_but_nans) nans++;
      if (result.loops) loops++;
      if (result.verdict != Verdict::differs) continue;
      setting.seed = result.seed;
      const std::string smallest = minimised(kernel, setting);
      if (smallest.empty()) {
        nans++;
        continue;
      }
      failures++;
      ADD_FAILURE() << "kernel " << seed << ": " << result.what << "\n" << smallest;
    }
    all_instructions += instructions;
    fmt::print(
        "{}: {} kernels ({} loop over waves), {} random instructions ({} so far), {} with their states; {} "
        "kernels differ in NaNs only\n",
        info(GetParam()).name, tried, loops, instructions, all_instructions, executed, nans);
    std::fflush(stdout);
  }
};

TEST_P(Differential, StraightCodeLeavesTheSameState) { run({.pieces = 60, .structured = false}, 3); }
TEST_P(Differential, StructuredKernelsLeaveTheSameState) { run({.pieces = 40}, 5); }
TEST_P(Differential, LanesOfOtherLanesLeaveTheSameState) { run({.pieces = 40, .crosses_lanes = true}, 5); }

INSTANTIATE_TEST_SUITE_P(Targets, Differential,
                         testing::Values(Target::gfx600, Target::gfx803, Target::gfx900, Target::gfx90a,
                                         Target::gfx950, Target::gfx1010, Target::gfx1030, Target::gfx1100,
                                         Target::gfx1200),
                         [](const auto& target) { return std::string(morgana::info(target.param).name); });

void expect_same(Target target, const std::vector<uint32_t>& code, const Setting& setting) {
  const Comparison result = compare_tiers(target, code, setting, 4);
  EXPECT_EQ(result.verdict, Verdict::same) << result.what;
  EXPECT_TRUE(result.was_compiled);
}

// LLVM 22 takes lane 16 for the source of lane 1 when it moves the bits of EXEC as a vector.
TEST(DifferentialTest, LanesWithoutSourceKeepTheOldValue) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "fa002856060f01ff");  // v_lshrrev_b16_dpp v20, v6, v0 row_shl:15 row_mask:0xf bank_mask:0xf
  for (const bool quick : {false, true}) expect_same(Target::gfx900, code, {.seed = 1000152, .quick = quick});
}

// A row that fills every lane writes a half of its register all the same.
TEST(DifferentialTest, HalvesFromOtherLanesKeepTheOtherHalf) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "fa121466 0408cdff"  // v_sub_f16_dpp v10, v4, -|v9| row_shl:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
                           // fi:1
      "82003030"           // v_lshlrev_b32 v24, 2, v0
      "608006ee 00000005 18000000");  // global_store_b32 v24, v10, s[96:97]
  expect_same(Target::gfx1200, code,
              {.wave = WaveSize::wave32, .seed = 1795689477, .registers_are_lost = true, .quick = true});
}

// Conditional moves read what they write.
TEST(DifferentialTest, RegistersThatKeepNothingAreRead) {
  // s_cmovk_i32 null, 0x4740; s_cmov_b64 null, s[2:3]
  expect_same(Target::gfx1030, dwords_of_hex("40477db1 0206fdbe"), {.seed = 1});
  // s_cmovk_i32 ttmp2, 0x4740; s_cmov_b64 ttmp[2:3], s[2:3]
  expect_same(Target::gfx900, dwords_of_hex("4047eeb0 0203eebe"), {.seed = 1});
}

// What TTMPs tell a wave of gfx12 is there behind instructions that take the wave out of compiled code.
TEST(DifferentialTest, RegistersOfTheTrapHandlerStayInTheWave) {
  // s_sleep 1; s_sleep 1; v_mov_b32 v1, ttmp9
  WaveRig rig(Target::gfx1200, dwords_of_hex("010083bf 010083bf 7502027e"), {.registers_are_lost = true});
  rig.s(isa::kTtmp + 9) = 5;
  EXPECT_EQ(rig.run_group(true), Exit::ended);
  ASSERT_NE(rig.kernel(), nullptr) << rig.why_interpreted();
  EXPECT_EQ(rig.s(isa::kTtmp + 9), 5u);
}

// Random kernels found that LLVM's back end does not end with it: a constant, shifted, then three times a
// part of it, as the carry of an addition.
TEST(DifferentialTest, AShiftedConstantIsALaneMask) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "8502ea8f"                    // s_lshr_b64 vcc, 5, s2
      "6a04ea86 6a06ea86 6a08ea86"  // s_and_b64 vcc, vcc, s[4:5]; vcc, vcc, s[6:7]; vcc, vcc, s[8:9]
      "01050238");                  // v_addc_co_u32 v1, vcc, v1, v2, vcc
  expect_same(Target::gfx950, code, {.seed = 1});
}

// Nor with these, of which the back end knows some bits that make the lane mask: constants, numbers of 32
// bits, comparisons of denormals, what other blocks leave, a number of lanes that is 0, classes of which some
// lanes are known; nor with bits inverted twice. 271000000227 became a constant of gigabytes.
TEST(DifferentialTest, KernelsThatNeverEndedToCompile) {
  struct Kernel {
    Target target;
    uint64_t seed;
    bool exact, stores_registers = false, structured = false;
  };
  for (const Kernel& k :
       {Kernel{Target::gfx600, 100001, true}, Kernel{Target::gfx600, 52000, true},
        Kernel{Target::gfx803, 52000, true}, Kernel{Target::gfx600, 9000074, true},
        Kernel{Target::gfx90a, 5000008, true}, Kernel{Target::gfx600, 2000000521, true},
        Kernel{Target::gfx803, 1000100590, true}, Kernel{Target::gfx803, 5000100234, false},
        Kernel{Target::gfx950, 261010000149, false}, Kernel{Target::gfx600, 271000000227, false},
        Kernel{Target::gfx900, 301000001006, true}, Kernel{Target::gfx900, 361000000197, false, true},
        Kernel{Target::gfx90a, 501000000846, false},
        Kernel{Target::gfx900, 531000000379, true, false, true}}) {
    const KernelKind kind{.pieces = k.structured ? 40U : 60U,
                          .structured = k.structured,
                          .stores_registers = k.stores_registers,
                          .exact = k.exact};
    const RandomKernel kernel = random_kernel(k.target, k.seed * 977 + static_cast<uint64_t>(k.target), kind);
    Setting setting = setting_of(kernel, k.seed);
    setting.quick = true;
    SCOPED_TRACE(k.seed);
    expect_same(k.target, emit(kernel), setting);
  }
}

// Lanes of a comparison and of a number of which 56 are known to be 0: nor with their sum.
TEST(DifferentialTest, ANumberOfLanesAndAComparisonAreAdded) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "02870286 8102848e"                      // s_and_b32 s2, s2, 7; s_lshl_b64 s[4:5], 1, s2
      "0105927d 040000d18002a901"              // v_cmp_lt_u32 vcc, v1, v2; v_cndmask_b32 v4, 0, 1, vcc
      "050000d180021100"                       // v_cndmask_b32 v5, 0, 1, s[4:5]
      "040b0826 01090668"                      // v_and_b32 v4, v4, v5; v_add_u32 v3, v1, v4
      "8002087e 80020a7e 8001eabe 800184be");  // v4 = v5 = vcc = s[4:5] = 0
  expect_same(Target::gfx950, code, {.begins_full = true});
}

// 48 lanes of a mask, x < x + 0, are known once the parts of a wave are apart: nor with this.
TEST(DifferentialTest, PartsOfAMaskAreKnown) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "102bac7c"    // v_cmpsx_ge_f32 vcc, v16, v21
      "f20a1e48"    // v_mbcnt_hi_u32_b32 v15, 1.0, v5
      "0f0b0c4e"    // v_subrev_i32 v6, vcc, v15, v5
      "36262052");  // v_subb_u32 v16, vcc, s54, v19, vcc
  expect_same(Target::gfx600, code, {.quick = true});
}

// An exponent that LLVM found to be zero left a signalling NaN as it was; read as an f32 it is a number.
TEST(DifferentialTest, AProductByAPowerOfTwoQuietsNaNs) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "13f199d2b0061a40"  // v_cvt_pknorm_i16_f16 v19, |48|, -v3 op_sel:[0,1,1] clamp
      "2f2e2e6217272466"  // v_min_u16 v23, s47, v23; v_ldexp_f16 v18, v23, v19
      "900c247695162628"  // v_fmac_f32 v18, 16, v6; v_or_b32 v19, 21, v11
  );
  expect_same(Target::gfx90a, code, {.seed = 1012000080, .exact = true});
}

// LLVM's back end moved 16 bits into a mask register, or into a number that it took for extended.
TEST(DifferentialTest, AHalfOfAMaskIsANumber) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "0c2f1800"    // v_cndmask_b32 v12, v12, v23, vcc
      "076a109a"    // s_pack_hh_b32_b16 s16, s7, vcc_lo
      "1004dc7d");  // v_cmp_ge_u64 vcc, s[16:17], v[2:3]
  for (const bool quick : {false, true}) {
    Setting setting;
    setting.seed = 3000500399;
    setting.begins_full = false;
    setting.quick = quick;
    expect_same(Target::gfx90a, code, setting);
  }
}

// LLVM's back end reversed the order of the halves, too.
TEST(DifferentialTest, AHalfOfAMaskIsReversed) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "0e0d1638"    // v_addc_co_u32 v11, vcc, v14, v6, vcc
      "6b58187e");  // v_bfrev_b32 v12, vcc_hi
  expect_same(Target::gfx90a, code, {.seed = 9100000008, .begins_full = true});
}

// s15 is 0, since nothing is ordered beside a NaN, and denormals of v10 are equal to it where they are
// flushed.
TEST(DifferentialTest, AMaskOfComparisonsWithANaNIsKnown) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "0c84afd0c568e4a2"  // v_cmpsx_o_f32 s[12:13], neg(-5), s52
      "112b8fbe"          // s_xnor_saveexec_b64 s[14:15], s[16:17]
      "0f14a47c");        // v_cmpsx_eq_f32 vcc, s15, v10
  expect_same(
      Target::gfx600, code,
      {.seed = 9200000144, .begins_full = false, .ieee = false, .dx10_clamp = false, .float_mode = 0});
}

// The root is 0, though LLVM evaluates it as 2^-530 or so: it is flushed what it is taken from.
TEST(DifferentialTest, AConstantOfAFlushedOneIsNoConstant) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "0e20f8d30e0336c4"    // v_smfmac_f32_16x16x64_bf8_bf8 v[14:17], v[14:15], v[1:4], v13 abid:4 blgp:6
      "122c68d1aa206253"    // v_sqrt_f64 v[18:19], 42 mul:4
      "121d1a40"            // v_sub_f16 v13, v18, v14
      "152db87d16270846");  // v_cmpx_gt_u32 vcc, v21, v22; v_mac_f16 v4, v22, v19
  expect_same(Target::gfx950, code, {.seed = 9500000364, .dx10_clamp = false, .float_mode = 0});
}

// LLVM knows that nothing is carried, so that VCC is 0, which denormals of v23 are equal to.
TEST(DifferentialTest, ASumThatCarriesNothingMakesAMask) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "00033e7e"          // v_mov_b32 v31, v0
      "0dff5887ff3f0000"  // s_and_b32 s88, s13, 0x3fff
      "803e3034"          // v_lshlrev_b32 v24, 0, v31
      "5830304a"          // v_add_i32 v24, vcc, s88, v24
      "ff303036ff7f0000"  // v_and_b32 v24, 0x7fff, v24
      "841c1ce0180c1780"  // buffer_store_format_xyzw v[12:15], v24, s[92:95], 0 offen offset:3204
      "11ddbbd06a2efa21"  // v_cmpsx_neq_f32 s[16:17], -|vcc_lo|, v23 clamp
      "010088bf010082bf"  // s_cbranch_execz 1; s_branch 1
      "172b0a2c");        // v_lshrrev_b32 v5, v23, v21
  expect_same(Target::gfx600, code, {.seed = 9500000048, .begins_full = true, .float_mode = 0});
}

// Sixteen bits put into half a mask, which LLVM would clear.
TEST(DifferentialTest, HalfAMaskIsPacked) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "00033e7e"    // v_mov_b32 v31, v0
      "051f0236"    // v_subrev_co_u32 v1, vcc, v5, v15
      "166ab699");  // s_pack_lh_b32_b16 s54, s22, vcc_lo
  expect_same(Target::gfx900, code, {.seed = 19742000323, .begins_full = true, .quick = true});
}

// The high half of a product of short factors is 0, of which LLVM's back end made nothing.
TEST(DifferentialTest, AHighProductIsShort) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "00033e7e0001184c"  // v_mov_b32 v31, v0; v_add_u16 v12, v0, v0
      "04191a1caa1a100e"  // v_min_u32 v13, v4, v12; v_mul_hi_i32_i24 v8, 42, v13
      "1311025e");        // v_max_u16 v1, v19, v8
  for (const bool quick : {false, true})
    expect_same(Target::gfx803, code, {.seed = 51050001121, .quick = quick});
}

// Found by the fuzzer.
TEST(DifferentialTest, TheRootOfADenormalConstant) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "00033e7e3c25a4be"          // v_mov_b32 v31, v0; s_nand_saveexec_b64 s[36:37], s[60:61]
      "069aa1d3f2084a62a450047e"  // v_fma_mixlo_f16 v6, neg(1.0), -|v4|, 18 op_sel:[1,1,0] clamp; v_sqrt_f64
                                  // v[2:3], 36
      "9c1ea07cee22f87c"    // v_cmpx_f_f32 vcc, 28, v15; v_cmpx_nle_f64 vcc, src_private_limit, v[17:18]
      "120692d21f0642b4");  // v_trig_preop_f64 v[18:19], -s[30:31], v3 mul:4
  expect_same(Target::gfx90a, code, {.seed = 161020000104, .float_mode = 0});
}

TEST(DifferentialTest, HalfOfAMaskIsPacked) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "00033e7e09d3c6d02e0c2eac"  // v_mov_b32 v31, v0; v_cmp_ge_i32 s[8:9], s46, v6 clamp mul:2
      "0650bcd3071152dc"  // v_smfmac_f32_16x16x128_bf8_fp8 v[6:9], a[7:10], a[8:15], v20 abid:10 blgp:6
      "112495be08a6a099"  // s_orn2_saveexec_b64 s[20:21], s[16:17]; s_pack_lh_b32_b16 s32, s8, 38
      "1788127e0d11487d1717145a"  // v_floor_f16 v9, s23; v_cmp_gt_i16 vcc, v13, v8; v_max_f16 v10, v23, v11
  );
  expect_same(Target::gfx950, code, {.seed = 201010000206, .begins_full = true, .quick = true});
}

// A NaN that is a half of a double is negated, which LLVM did before the product that makes the NaN.
TEST(DifferentialTest, AHalfOfADoubleIsANaN) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "8e2c0012b800100e"  // v_mul_i32_i24 v0, 14, v22; v_mul_legacy_f32 v8, 56, v0
      "0f54c7d007393c72"  // v_cmps_le_f64 s[14:15], -v[7:8], -s[28:29] mul:4
      "1403102c");        // v_lshrrev_b32 v8, v20, v1
  expect_same(Target::gfx600, code, {.seed = 241061000683});
}

// Lanes' parts overlap: all lanes' first ones are stored before the second.
TEST(DifferentialTest, PartsOfLanesOverlapInLds) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "00033e7eff003026ff1f0000"  // v_mov_b32 v31, v0; v_and_b32 v24, 0x1fff, v0
      "13169cd818060400");        // ds_write2_b64 v24, v[6:7], v[4:5] offset0:19 offset1:22
  expect_same(Target::gfx803, code, {.seed = 351004000060, .begins_full = true});
}

// In waves of 32 lanes.
TEST(DifferentialTest, ExecHighIsNoPartOfExec) {
  for (const char* hex : {"8103febe c103ffbe"      // s_mov_b32 exec_lo, 1; s_mov_b32 exec_hi, -1
                          "8702007e",              // v_mov_b32 v0, 7
                          "c103fdbe 7d03febe"      // s_mov_b32 null, -1; s_mov_b32 exec_lo, null
                          "8702007e 8902047e"}) {  // v_mov_b32 v0, 7; v_mov_b32 v2, 9
    const Setting setting{.wave = WaveSize::wave32, .seed = 1, .begins_full = true};
    expect_same(Target::gfx1030, dwords_of_hex(hex), setting);
  }
}

TEST(DifferentialTest, ARelativeMoveFromOtherLanes) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "8003fcbe"             // s_mov_b32 m0, 0
      "fa84007e 01e400ff");  // v_movreld_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
  expect_same(Target::gfx1030, code, {.wave = WaveSize::wave32, .seed = 1});
}

// A clock is never the same: that is seen, and found among other instructions.
TEST(DifferentialTest, ADifferenceIsFound) {
  RandomKernel kernel = random_kernel(Target::gfx950, 5, {.pieces = 12});
  Piece clock;
  clock.words = {0xc0900000, 0};  // s_memtime s[0:1]
  Piece loop;
  loop.kind = Piece::Kind::loop;
  loop.depth = 1;
  loop.count = 2;
  loop.body = {clock};
  kernel.pieces.insert(kernel.pieces.begin() + 1, loop);
  const Setting setting = setting_of(kernel, 5);
  // Where the clock reads like a NaN for a moment, only NaNs differ.
  Verdict verdict = Verdict::same_but_nans;
  for (int tries = 0; tries < 20 && verdict == Verdict::same_but_nans; ++tries) {
    verdict = compare_tiers(kernel.target, emit(kernel), setting).verdict;
  }
  EXPECT_EQ(verdict, Verdict::differs);
  std::string smallest;
  for (int tries = 0; tries < 20 && smallest.empty(); ++tries) smallest = minimised(kernel, setting);
  EXPECT_NE(smallest.find("s_memtime s[0:1]"), smallest.npos) << smallest;
  // The copy of the work-item ids, and the clock.
  EXPECT_EQ(smallest.find("    3  "), smallest.npos) << smallest;
}

// Of two NaNs, one of them a constant that every state has, the tiers pass on another: what a loop makes of
// it is none.
TEST(DifferentialTest, NaNsInALoopAreNoDifference) {
  RandomKernel kernel = random_kernel(Target::gfx90a, 5, {.pieces = 12});
  Piece lanes, loop;
  lanes.kind = Piece::Kind::divergent;
  lanes.words = {0x7d881504};                      // v_cmp_gt_i32 vcc, v4, v10
  lanes.body.emplace_back().words = {0x2c080aec};  // v_mac_f32 v4, src_shared_limit, v5
  loop.kind = Piece::Kind::loop;
  loop.count = 3;
  loop.body = {lanes};
  kernel.pieces = {loop};
  kernel.stores_registers = false;
  Setting setting;
  setting.seed = 281050000054;
  setting.quick = true;
  const bool differs = level().host != HostLevel::avx2;
  EXPECT_EQ(compare_tiers(kernel.target, emit(kernel), setting).verdict,
            differs ? Verdict::differs : Verdict::same);
  if (differs) EXPECT_EQ(minimised(kernel, setting), "");
}

// A difference that only some states show is looked for in one that does.
TEST(DifferentialTest, ADifferenceOfALaterStateIsFound) {
  RandomKernel kernel = random_kernel(Target::gfx950, 5, {.pieces = 12, .exact = true});
  Piece compare, clock;
  compare.words = {0xbf088708};  // s_cmp_gt_u32 s8, 7
  clock.kind = Piece::Kind::branch;
  clock.variant = 1;                                  // past the body when SCC is set
  clock.body.emplace_back().words = {0xc0900000, 0};  // s_memtime s[0:1]
  kernel.pieces.insert(kernel.pieces.begin(), {compare, clock});
  Setting setting = setting_of(kernel, 5);
  const Comparison result = compare_tiers(kernel.target, emit(kernel), setting, 4096);
  ASSERT_EQ(result.verdict, Verdict::differs);
  ASSERT_NE(result.seed, setting.seed);
  setting.seed = result.seed;
  const std::string smallest = minimised(kernel, setting);
  EXPECT_NE(smallest.find("s_memtime s[0:1]"), smallest.npos) << smallest;
}

// A short of private memory at an offset that all lanes share had the type of half the lanes there are.
TEST(DifferentialTest, APartOfARowInWavesOf32) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "0f02307eff303036ff010000"  // v_mov_b32 v24, s15; v_and_b32 v24, 0x1ff, v24
      "004028dc180a7d0a");        // scratch_load_ushort v10, v24, off
  for (const bool quick : {false, true})
    expect_same(Target::gfx1010, code, {.wave = WaveSize::wave32, .seed = 13, .quick = quick});
}

// gfx6: addresses of dwords lose their lowest bits, those of bytes none.
TEST(DifferentialTest, AddressesOf64BitsBesideAResource) {
  const std::vector<uint32_t> code = dwords_of_hex(
      "ff063036f37f0000 8002327e"  // v_and_b32 v24, 0x7ff3, v3; v_mov_b32 v25, 0
      "088030e018051780"           // buffer_load_dword v5, v[24:25], s[92:95], 0 addr64 offset:8
      "088034e018061780"           // buffer_load_dwordx2 v[6:7], v[24:25], s[92:95], 0 addr64 offset:8
      "058020e018081780"           // buffer_load_ubyte v8, v[24:25], s[92:95], 0 addr64 offset:5
      "82003034 0f30304a"          // v_lshlrev_b32 v24, 2, v0; v_add_i32 v24, vcc, s15, v24
      "ff303036ff7f0000"           // v_and_b32 v24, 0x7fff, v24
      "088030e018091780"           // buffer_load_dword v9, v[24:25], s[92:95], 0 addr64 offset:8
      "108074e018061780");         // buffer_store_dwordx2 v[6:7], v[24:25], s[92:95], 0 addr64 offset:16
  for (const Setting& setting :
       {Setting{.seed = 1}, Setting{.seed = 1, .begins_full = true}, Setting{.seed = 1, .items = 50}}) {
    expect_same(Target::gfx600, code, setting);
    // buffer_load_dword v10, v[24:25], s[92:95], 0 addr64 offset:10
    expect_same(Target::gfx600, dwords_of_hex("ff063036f37f0000 8002327e 0a8030e0180a1780"), setting);
  }
}

}  // namespace
}  // namespace morgana::device
