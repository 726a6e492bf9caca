// Kernels under the check for values that nobody has written, which compiled code tests itself: every way in
// which it reads memory or a register comes to one that was not written, in one work-item of many. The
// environment sets MORGANA_CHECK; with MORGANA_JIT=sync and MORGANA_LOG=info the tests see to it that the
// kernel was compiled.
#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kItems = 256, kGroup = 64, kUnwrittenItem = 200;

struct Case {
  const char* name;
  // `from` holds 3 times each index, but for element 200, which was not written where `fault` is 1.
  const char* body;
  const char* found = "work-item   (200, 0, 0)";
  // Parts of dwords are followed by the interpreter.
  bool compiles = true;
  size_t group = kGroup;
};

class InitCheck : public OpenCl {
 protected:
  // What was reported by k(global int* to, global int* from, local int* mine, int fault); `got`: `to`
  // afterwards.
  std::string run(const Case& one, cl_int fault) {
    cl_program program = make_program((std::string("kernel void k(global int* to, global int* from, local "
                                                   "int* mine, int fault) { int i = get_global_id(0), "
                                                   "l = get_local_id(0);") +
                                       one.body + "}")
                                          .c_str(),
                                      "-g -cl-std=CL2.0");
    std::vector<cl_int> numbers(kItems);
    for (size_t i = 0; i < kItems; i++) numbers[i] = static_cast<cl_int>(3 * i);
    constexpr size_t kElement = sizeof(cl_int), kBegin = kUnwrittenItem * kElement, kEnd = kBegin + kElement;
    const size_t items = kItems, group = one.group;
    cl_mem to = make_buffer(kItems * kElement, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                            std::vector<cl_int>(kItems).data());
    cl_mem from = make_buffer(kItems * kElement, CL_MEM_READ_WRITE, nullptr);
    clEnqueueWriteBuffer(queue, from, CL_TRUE, 0, kBegin, numbers.data(), 0, nullptr, nullptr);
    if (fault == 0)
      clEnqueueWriteBuffer(queue, from, CL_TRUE, kBegin, kElement, &numbers[kUnwrittenItem], 0, nullptr,
                           nullptr);
    clEnqueueWriteBuffer(queue, from, CL_TRUE, kEnd, kItems * kElement - kEnd, &numbers[kUnwrittenItem + 1],
                         0, nullptr, nullptr);
    cl_kernel kernel = make_kernel(program, "k");
    clSetKernelArg(kernel, 0, sizeof to, &to);
    clSetKernelArg(kernel, 1, sizeof from, &from);
    clSetKernelArg(kernel, 2, one.group * kElement, nullptr);
    clSetKernelArg(kernel, 3, sizeof fault, &fault);
    testing::internal::CaptureStderr();
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    clFinish(queue);
    std::string report = testing::internal::GetCapturedStderr();
    got.resize(kItems);
    clEnqueueReadBuffer(queue, to, CL_TRUE, 0, kItems * kElement, got.data(), 0, nullptr, nullptr);
    if (compiles_at_once()) {
      EXPECT_EQ(has(report, "jit: kernel 'k': compiled"), one.compiles) << report;
    }
    clReleaseKernel(kernel);
    clReleaseMemObject(to);
    clReleaseMemObject(from);
    clReleaseProgram(program);
    return report;
  }

  std::vector<cl_int> got;
};

constexpr Case kCases[] = {
    {"ARow", "to[i] = from[i] + 1;"},
    {"ABranch", "if (from[i] > 5) to[i] = 1;"},
    {"AnAddress", "to[from[i] & 255] = 1;"},
    {"RecordsOfFour", "int4 four = vload4(i / 4, from); to[i] = four.x + four.y;"},
    {"OnePlace", "if (i > 191) to[i] = from[200] ^ i;", "k+"},
    {"OnePlaceByAnIndexOfTheGroup", "to[i] = from[get_group_id(0) == 3 ? 200 : 3] ^ i;", "k+"},
    {"LanesOfAnyForm", "to[i] = from[(i ^ 192) * 37 & 255] + 1;", "work-item   (232, 0, 0)"},
    {"ALaneThatIsNotAlone", "if (i % 3 != 0) to[i] = from[i] + 1;"},
    {"Bytes", "to[i] = ((global uchar*)from)[i * 4 + 1] + 1;"},
    {"Shorts", "to[i] = ((global short*)from)[i * 2 + 1] + 1;"},
    {"AnyAddressSpace", "int* any = i & 1 ? (int*)to : (int*)from; to[i] = any[i] + 1;"},
    {"ALoop",
     "int sum = 0; for (int n = 0; n < 8; n++) sum += from[(i & ~7) + n]; if (i % 8 == 0) to[i] = sum;"},
    {"ALoopThatGathers",
     "int at = i; for (int n = 0; n < 20 + i % 7; n++) at = from[i < 192 ? at * 5 + n & 127 : at + n & 255] "
     "& 255; to[i] = at;",
     "k+"},
    {"AnAtomicThatGivesSomethingBack", "to[atomic_add(&from[i], 1) & 255] = 1;"},
    {"LocalRows", "if (!fault || i != 200) mine[l] = i; barrier(CLK_LOCAL_MEM_FENCE); to[i] = mine[l] + 1;"},
    {"LocalLanesOfAnyForm",
     "if (!fault || i != 200) mine[l] = i; barrier(CLK_LOCAL_MEM_FENCE); to[i] = mine[l * 11 & 63] + 1;",
     "work-item   (216, 0, 0)"},
    {"LocalBytes",
     "local uchar bytes[64]; if (!fault || i != 200) bytes[l] = i; barrier(CLK_LOCAL_MEM_FENCE); to[i] = "
     "bytes[l] + 1;",
     "work-item   (200, 0, 0)", false},
    // Computed of what nobody has written, and brought to another work-item.
    {"ByWayOfLocalMemory", "mine[l] = from[i] + 1; barrier(CLK_LOCAL_MEM_FENCE); to[i] = mine[l ^ 5] + 1;",
     "work-item   (205, 0, 0)"},
    {"ByWayOfAnotherWave", "mine[l] = from[i] + 1; barrier(CLK_LOCAL_MEM_FENCE); to[i] = mine[l ^ 64] + 1;",
     "work-item   (136, 0, 0)", true, 128},
    {"ByWayOfAnotherWaveAndAnyAddressSpace",
     "mine[l] = from[i] + 1; barrier(CLK_LOCAL_MEM_FENCE); int* any = fault < 2 ? (int*)(mine + (l ^ 64)) : "
     "(int*)to; to[i] = *any + 1;",
     "work-item   (136, 0, 0)", true, 128},
    // Another wave stores the value that the place has already.
    {"APlaceThatIsWrittenAgain",
     "mine[l] = l == 72 ? from[i] > 2000000 : 0; barrier(CLK_LOCAL_MEM_FENCE); if (l < 64) mine[l + 64] = 0; "
     "barrier(CLK_LOCAL_MEM_FENCE); if (l < 64) to[i] = mine[l + 64] + 1;",
     nullptr, true, 128},
    {"ALocalCount",
     "if (!fault || i != 200) mine[l] = 0; barrier(CLK_LOCAL_MEM_FENCE); atomic_add(&mine[l], 1); "
     "barrier(CLK_LOCAL_MEM_FENCE); to[i] = mine[l] + 1;"},
    // The work-item before takes the first byte of element 200.
    {"AcrossDwords",
     "typedef int __attribute__((aligned(1))) part; to[i] = *(global part*)((global char*)from + 4 * min(i, "
     "254) + 1) + 1;",
     "work-item   (199, 0, 0)"},
    {"PrivateMemory",
     "volatile int own[40]; for (int n = 0; n < 40; n++) if (!fault || i != 200 || n != 9) own[n] = n; "
     "to[i] = own[i == 200 ? 9 : i & 31] + 1;"},
    {"ARegisterOfABranch",
     "if (!fault || i != 200) __asm__ volatile(\"v_mov_b32 v60, 7\" : : : \"v60\");"
     "int made; __asm__ volatile(\"v_or_b32 %0, v60, v60\" : \"=v\"(made) : : \"v60\"); to[i] = made;"},
};

class OfEveryForm : public InitCheck, public testing::WithParamInterface<Case> {};

TEST_P(OfEveryForm, WhatNobodyHasWrittenIsNamedAndNothingElse) {
  const Case& one = GetParam();
  const std::string clean = run(one, 0);
  EXPECT_FALSE(has(clean, "uninitialized: kernel")) << clean;
  const std::vector<cl_int> wanted = got;
  const std::string report = run(one, 1);
  if (one.found == nullptr) {
    EXPECT_FALSE(has(report, "uninitialized: kernel")) << report;
    EXPECT_EQ(got, wanted);
    return;
  }
  EXPECT_TRUE(has(report, "uninitialized: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, one.found)) << report;
  // Groups in which everything was written.
  if (has(one.body, "to[i] ="))
    for (size_t i = 0; i < kUnwrittenItem / one.group * one.group; i++) ASSERT_EQ(got[i], wanted[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Cases, OfEveryForm, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace morgana::icd::test
