// --check=hazard: waits and wait states that hardware demands. Each case is written as machine code: with
// what is demanded it gives no finding, with one less it does. MORGANA_CHECK=hazard comes from the
// environment.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "icd/check_support.h"

namespace morgana::icd::test {
namespace {

constexpr std::string_view kTargets[] = {"gfx600", "gfx701", "gfx803", "gfx900", "gfx906",
                                         "gfx908", "gfx90a", "gfx942", "gfx950"};

class Hazard : public Check {
 protected:
  using Check::check;
  // What executing these instructions reports. No lane is active, so that vector memory touches nothing.
  std::string check(const std::string& code) {
    std::string text = "s_mov_b64 s[40:41], exec\\n s_mov_b64 exec, 0\\n s_nop 15\\n s_nop 15\\n";
    for (const char c : code) text += c == '\n' ? std::string("\\n ") : std::string(1, c);
    text += "\\n s_waitcnt 0\\n s_nop 15\\n s_nop 15\\n s_mov_b64 exec, s[40:41]";
    std::string clobbers = "\"vcc\", \"s40\", \"s41\", \"memory\"";
    for (int i = 20; i < 29; i++)
      clobbers += ", \"s" + std::to_string(i) + "\", \"v" + std::to_string(i) + "\"";
    for (int i = 29; i < 48; i++) clobbers += ", \"v" + std::to_string(i) + "\"";
    if (number() >= 5)
      for (int i = 0; i < 16; i++) clobbers += ", \"a" + std::to_string(i) + "\"";
    const std::string source = "kernel void k(global int* to) { __asm__ volatile(\"" + text +
                               "\" : : \"s\"(to) : " + clobbers + "); }";
    cl_program program = make_program(source.c_str());
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem buffer = make_buffer(1024);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    const size_t items = 64;
    testing::internal::CaptureStderr();
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
              CL_SUCCESS);
    clFinish(queue);
    std::string report = testing::internal::GetCapturedStderr();
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return report;
  }

  // Which of kTargets the device is.
  int number() {
    char name[256] = {};
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, nullptr);
    const auto* const at = std::find_if(std::begin(kTargets), std::end(kTargets), [&](std::string_view one) {
      return std::string_view(name).find(one) != std::string_view::npos;
    });
    EXPECT_NE(at, std::end(kTargets)) << name;
    return static_cast<int>(at - kTargets);
  }
};

std::string wait_states(int count) {
  std::string text;
  for (; count > 0; count -= std::min(count, 8))
    text += "s_nop " + std::to_string(std::min(count, 8) - 1) + "\n";
  return text;
}

constexpr int k600 = 0, k701 = 1, k803 = 2, k900 = 3, k908 = 5, k90a = 6, k942 = 7, k950 = 8;

struct Case {
  const char *first, *second;
  int wait, from, to;
};

#define DPP " quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
constexpr Case kCases[] = {
    {"v_readfirstlane_b32 s20, v20", "buffer_load_dword v21, off, s[20:23], 0", 5, k803, k950},
    {"s_mov_b32 s22, 0", "s_buffer_load_dword s24, s[20:23], 0x0", 1, k600, k600},
    {"v_readfirstlane_b32 s20, v20", "v_readlane_b32 s22, v21, s20", 4, k600, k950},
    {"v_cmp_eq_u32 vcc, v20, v21", "v_div_fmas_f32 v22, v20, v21, v22", 4, k600, k950},
    {"v_cmp_eq_u32 vcc, v20, v21", "v_mov_b32 v22, src_vccz", 5, k600, k950},
    {"v_cmpx_eq_u32 vcc, v20, v21", "v_mov_b32 v22, src_execz", 5, k600, k950},
    {"v_mov_b32 v20, 1", "v_mov_b32_dpp v21, v20" DPP, 2, k803, k950},
    {"v_cmpx_eq_u32 vcc, v20, v21", "v_mov_b32_dpp v22, v23" DPP, 5, k803, k950},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0", "s_getreg_b32 s20, hwreg(HW_REG_MODE)", 2, k600, k950},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 0", 1,
     k600, k701},
    {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 0", 2,
     k803, k950},
    {"buffer_store_dwordx4 v[20:23], off, s[20:23], 0", "v_mov_b32 v22, 1", 1, k701, k90a},
    {"buffer_store_dwordx4 v[20:23], off, s[20:23], 0", "v_mov_b32 v22, 1", 2, k942, k950},
    {"v_rcp_f32 v20, v21", "v_add_f32 v22, v20, v20", 1, k942, k950},
    {"v_mov_b32_sdwa v20, v21 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD", "v_mov_b32 v22, v20", 1,
     k942, k950},
    {"v_readfirstlane_b32 s20, v20", "v_mov_b32 v21, s20", 2, k942, k950},
    {"v_mov_b32 v20, 1", "v_readfirstlane_b32 s20, v20", 1, k942, k950},
    {"v_cmpx_eq_u32 vcc, v20, v21", "v_readfirstlane_b32 s20, v22", 4, k942, k950},
    {"v_mov_b32 v20, 1", "v_permlane32_swap_b32 v20, v21", 2, k950, k950},
    {"s_mov_b32 m0, 0", "s_movrels_b32 s20, s21", 1, k900, k950},
    {"s_mov_b32 m0, 0", "buffer_load_dword off, s[20:23], 0 lds", 1, k900, k950},
    // Matrices
    {"v_mov_b32 v20, 1", "v_mfma_f32_4x4x1f32 a[0:3], v20, v21, a[0:3]", 2, k908, k950},
    {"v_cmpx_eq_u32 vcc, v20, v21", "v_mfma_f32_4x4x1f32 a[0:3], v22, v23, a[0:3]", 4, k908, k950},
    {"v_mfma_f32_4x4x1f32 a[0:3], v20, v21, a[0:3]", "v_accvgpr_read_b32 v22, a1", 4, k908, k908},
    {"v_mfma_f32_4x4x1f32 a[0:3], v20, v21, a[4:7]", "v_mfma_f32_4x4x1f32 a[8:11], v20, v21, a[2:5]", 2, k908,
     k942},
    {"v_mfma_f32_32x32x2f32 a[0:15], v20, v21, a[0:15]", "v_accvgpr_read_b32 v22, a1", 18, k908, k908},
    {"v_mfma_f32_32x32x2f32 a[0:15], v20, v21, a[0:15]", "v_accvgpr_read_b32 v22, a1", 19, k90a, k90a},
    {"v_mfma_f32_32x32x2f32 a[0:15], v20, v21, a[0:15]", "v_accvgpr_read_b32 v22, a1", 18, k942, k950},
    {"v_accvgpr_write_b32 a0, v20", "v_mfma_f32_4x4x1f32 a[0:3], v22, v23, a[0:3]", 1, k908, k908},
    {"v_mfma_f32_4x4x1f32 v[24:27], v20, v21, v[24:27]", "v_mov_b32 v22, v25", 5, k90a, k90a},
    {"v_mfma_f32_4x4x1f32 v[24:27], v20, v21, v[24:27]", "v_mov_b32 v22, v25", 4, k942, k950},
    {"v_mfma_f32_4x4x1f32 v[24:27], v20, v21, v[24:27]", "v_mov_b32 v25, 1", 5, k90a, k90a},
    {"v_mfma_f32_16x16x16f16 v[24:27], v[20:21], v[22:23], v[24:27]",
     "buffer_store_dword v24, off, s[20:23], 0", 11, k90a, k90a},
    {"v_mfma_f32_16x16x16f16 v[24:27], v[20:21], v[22:23], v[24:27]",
     "buffer_store_dword v24, off, s[20:23], 0", 7, k942, k942},
    {"v_mfma_f32_16x16x16f16 v[24:27], v[20:21], v[22:23], v[24:27]",
     "buffer_store_dword v24, off, s[20:23], 0", 8, k950, k950},
    {"v_mfma_f32_16x16x16f16 v[24:27], v[20:21], v[22:23], v[28:31]", "v_mov_b32 v29, 1", 3, k942, k950},
    {"v_mfma_f64_4x4x4f64 v[24:25], v[20:21], v[22:23], v[24:25]", "v_mov_b32 v26, v24", 6, k90a, k950},
    {"v_mfma_f64_16x16x4f64 v[24:31], v[20:21], v[22:23], v[24:31]", "v_mov_b32 v32, v24", 11, k90a, k942},
    {"v_mfma_f64_16x16x4f64 v[24:31], v[20:21], v[22:23], v[24:31]", "v_mov_b32 v32, v24", 19, k950, k950},
};
#undef DPP

TEST_F(Hazard, OneWaitStateTooFewIsNamed) {
  const int target = number();
  for (const Case& one : kCases) {
    if (target < one.from || target > one.to) continue;
    SCOPED_TRACE(std::string(one.first) + " / " + one.second);
    EXPECT_EQ(check(one.first + std::string("\n") + wait_states(one.wait) + one.second), "");
    const std::string report = check(one.first + std::string("\n") + wait_states(one.wait - 1) + one.second);
    EXPECT_NE(report.find("morgana: missing-wait-states: kernel 'k'"), std::string::npos) << report;
    EXPECT_NE(report.find(" between the two, " + std::to_string(one.wait) + " needed ("), std::string::npos)
        << report;
  }
}

// Whoever else writes the register in between has taken it over.
TEST_F(Hazard, ARegisterThatIsWrittenInBetweenIsClean) {
  EXPECT_EQ(
      check("v_readfirstlane_b32 s20, v20\n s_mov_b32 s20, 0\n buffer_load_dword v21, off, s[20:23], 0"), "");
}

struct WaitCase {
  const char* code;
  bool is_clean;
  int from = k600, to = k950;
};

constexpr WaitCase kWaits[] = {
    {"s_load_dword s20, %0, 0x0\n s_add_u32 s21, s20, 1", false},
    {"s_load_dword s20, %0, 0x0\n s_waitcnt lgkmcnt(0)\n s_add_u32 s21, s20, 1", true},
    {"s_load_dword s20, %0, 0x0\n s_waitcnt vmcnt(0)\n s_add_u32 s21, s20, 1", false},
    {"s_load_dword s20, %0, 0x0\n s_load_dword s22, %0, 0x0\n s_waitcnt lgkmcnt(1)\n s_add_u32 s21, s20, 1",
     false},
    {"s_load_dword s20, %0, 0x0\n s_mov_b32 s20, 1", false},
    {"s_load_dwordx2 s[20:21], %0, 0x0\n v_mov_b32 v20, s21", false},
    {"ds_read_b32 v20, v22\n ds_read_b32 v21, v22\n s_waitcnt lgkmcnt(1)\n v_mov_b32 v23, v20", true},
    {"ds_read_b32 v20, v22\n ds_read_b32 v21, v22\n s_waitcnt lgkmcnt(1)\n v_mov_b32 v23, v21", false},
    {"ds_read_b32 v20, v22\n s_load_dword s20, %0, 0x0\n s_waitcnt lgkmcnt(1)\n v_mov_b32 v23, v20", false},
    {"s_load_dword s20, %0, 0x0\n ds_read_b32 v20, v22\n ds_read_b32 v21, v22\n s_waitcnt lgkmcnt(1)\n "
     "v_mov_b32 v23, v20",
     true},
    {"ds_read_b32 v20, v22\n ds_read_b32 v20, v22\n s_waitcnt lgkmcnt(0)", true},
    {"buffer_load_dword v20, off, s[20:23], 0\n buffer_load_dword v21, off, s[20:23], 0\n s_waitcnt "
     "vmcnt(1)\n v_mov_b32 v23, v20",
     true},
    {"buffer_load_dword v20, off, s[20:23], 0\n buffer_load_dword v21, off, s[20:23], 0\n s_waitcnt "
     "vmcnt(1)\n v_mov_b32 v23, v21",
     false},
    {"scratch_load_dword v20, v21, off\n scratch_load_dword v22, off, off\n s_waitcnt vmcnt(1)\n v_mov_b32 "
     "v23, v20",
     true, k942, k950},
    {"buffer_load_dword v20, off, s[20:23], 0\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v20, 0", false},
    {"buffer_load_dword v20, off, s[20:23], 0\n buffer_store_dword v20, off, s[20:23], 0", false},
    {"buffer_load_dword v20, off, s[20:23], 0\n s_waitcnt vmcnt(0)\n buffer_store_dword v20, off, s[20:23], "
     "0",
     true},
    {"ds_read_b32 v20, v22\n buffer_load_dword v20, off, s[20:23], 0", false},
    {"buffer_store_dword v20, off, s[20:23], 0\n v_mov_b32 v20, 0", false, k600, k600},
    {"buffer_store_dword v20, off, s[20:23], 0\n v_mov_b32 v20, 0", true, k701, k950},
    {"buffer_store_dword v20, off, s[20:23], 0\n s_waitcnt expcnt(0)\n v_mov_b32 v20, 0", true},
    // VCCZ
    {"s_mov_b32 vcc_lo, 0\n s_nop 4\n s_cbranch_vccz 0", false},
    {"s_mov_b32 vcc_lo, 0\n s_mov_b64 vcc, vcc\n s_nop 4\n s_cbranch_vccz 0", true},
    {"s_load_dword s20, %0, 0x0\n s_mov_b64 vcc, 0\n s_waitcnt lgkmcnt(0)\n s_cbranch_vccz 0", false, k600,
     k701},
    {"s_load_dword s20, %0, 0x0\n s_mov_b64 vcc, 0\n s_waitcnt lgkmcnt(0)\n s_cbranch_vccz 0", true, k803,
     k950},
};

TEST_F(Hazard, AMissingWaitIsNamed) {
  const int target = number();
  for (const WaitCase& one : kWaits) {
    if (target < one.from || target > one.to) continue;
    SCOPED_TRACE(one.code);
    const std::string report = check(one.code);
    EXPECT_EQ(report == "", one.is_clean) << report;
  }
}

struct LandingCase {
  const char *wait, *barrier, *element;
  bool is_clean;
};

// What comes to LDS past the registers is there when the wave that loads it has waited.
TEST_F(Hazard, LoadsToLdsAreWaitedFor) {
  constexpr const char* kBarrier = "__asm__ volatile(\"s_barrier\" ::: \"memory\");";
  for (const LandingCase& one : {LandingCase{"s_waitcnt vmcnt(0)", "", "i", true},
                                 {"s_nop 0", "", "i", false},
                                 {"s_waitcnt vmcnt(1)", "", "i", true},
                                 {"s_waitcnt vmcnt(1)", "", "i + 128", false},
                                 {"s_waitcnt vmcnt(1)", kBarrier, "i ^ 64", true},
                                 {"s_nop 0", kBarrier, "i ^ 64", false},
                                 {"s_waitcnt vmcnt(1)", kBarrier, "(i ^ 64) + 128", false}}) {
    SCOPED_TRACE(std::string(one.wait) + one.barrier + one.element);
    const std::string report =
        check(loads_to_lds(one.wait, one.barrier, one.element).c_str(), 1024, 128, 128);
    EXPECT_EQ(report == "", one.is_clean) << report;
    EXPECT_EQ(report.find("missing-wait: kernel 'k'") == report.npos, one.is_clean) << report;
  }
}

// Hardware executes more of a wave before it ends it.
TEST_F(Hazard, WhatFollowsAFaultIsLookedAt) {
  const std::string source = R"code(
kernel void k(global int* to) {
  __asm__ volatile("s_mov_b32 s24, %0\n s_and_b32 s25, %1, 0xffff\n s_mov_b32 s26, 0x1000\n"
                   "s_mov_b32 s27, 0x27000\n s_mov_b64 s[20:21], 16\n s_mov_b64 s[22:23], s[26:27]\n"
                   "buffer_load_dword v20, off, s[24:27], 0\n buffer_store_dword v22, off, s[20:23], 0\n"
                   "s_waitcnt WAIT\n v_mov_b32 v21, v20"
                   :: "s"((uint)(ulong)to), "s"((uint)((ulong)to >> 32))
                   : "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "scc", "v20", "v21", "memory");
})code";
  for (const bool is_clean : {true, false}) {
    std::string code = source;
    code.replace(code.find("WAIT"), 4, is_clean ? "vmcnt(1)" : "expcnt(0)");
    const std::string report = check(code.c_str(), 64, 64, 64);
    EXPECT_NE(report.find("memory violation"), report.npos) << report;
    EXPECT_EQ(report.find("missing-wait: kernel 'k'") == report.npos, is_clean) << report;
  }
}

TEST_F(Hazard, AFindingNamesBothInstructionsAndTheWait) {
  const std::string report = check("ds_read_b32 v20, v22\n ds_read_b32 v21, v22\n v_mov_b32 v23, v20");
  EXPECT_NE(report.find("what        read of v20\n"), std::string::npos) << report;
  EXPECT_NE(report.find("instruction v_mov_b32_e32 v23, v20\n"), std::string::npos) << report;
  EXPECT_NE(report.find("instruction ds_read_b32 v20, v22\n"), std::string::npos) << report;
  EXPECT_NE(report.find("v20 is read before lgkmcnt(1) was waited for"), std::string::npos) << report;
}

}  // namespace
}  // namespace morgana::icd::test
