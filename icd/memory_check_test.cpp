// Kernels under the check of memory alone, which compiled code does itself: every way in which it accesses
// memory has an access that goes astray, in one work-item of many. The tests run on both tiers; those of
// MORGANA_JIT=sync see to it that the kernel was compiled (MORGANA_LOG=info).
#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kItems = 256, kGroup = 64;

class MemoryCheck : public OpenCl {
 protected:
  // Kernel k(global int* to, global int* from, local int* mine), each buffer of kItems ints, local memory of
  // kGroup. What was reported; `got`: `to` afterwards.
  std::string run(const std::string& body, cl_mem_flags of_to = CL_MEM_READ_WRITE) {
    cl_program program = make_program(
        ("kernel void k(global int* to, global int* from, local int* mine) { int i = get_global_id(0);" +
         body + "}")
            .c_str(),
        "-g -cl-std=CL2.0");
    std::vector<cl_int> first(kItems), second(kItems);
    for (size_t i = 0; i < kItems; i++) second[i] = static_cast<cl_int>(i);
    const size_t bytes = kItems * sizeof(cl_int), items = kItems, group = kGroup;
    cl_mem to = make_buffer(bytes, of_to | CL_MEM_COPY_HOST_PTR, first.data());
    cl_mem from = make_buffer(bytes, CL_MEM_COPY_HOST_PTR, second.data());
    cl_kernel kernel = make_kernel(program, "k");
    clSetKernelArg(kernel, 0, sizeof to, &to);
    clSetKernelArg(kernel, 1, sizeof from, &from);
    clSetKernelArg(kernel, 2, kGroup * sizeof(cl_int), nullptr);
    testing::internal::CaptureStderr();
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    clFinish(queue);  // an error where the access faults, too
    std::string report = testing::internal::GetCapturedStderr();
    got.resize(kItems);
    clEnqueueReadBuffer(queue, to, CL_TRUE, 0, bytes, got.data(), 0, nullptr, nullptr);
    if (compiles_at_once()) {
      EXPECT_TRUE(has(report, "jit: kernel 'k': compiled")) << report;
    }
    clReleaseKernel(kernel);
    clReleaseMemObject(to);
    clReleaseMemObject(from);
    clReleaseProgram(program);
    return report;
  }

  std::vector<cl_int> got;
};

struct Case {
  const char* name;
  // Where `beyond` is 0, it is clean; where it is 1, something goes astray in work-item 200 or earlier.
  const char* body;
  const char* found;  // kind, and what the finding says
};

constexpr Case kCases[] = {
    {"ARowThatIsStored", "to[i + beyond * 56] = i;", "write of 4 bytes"},
    {"ARowThatIsLoaded", "to[i] = from[i + beyond * 56];", "read of 4 bytes"},
    {"RecordsOfFourDwords", "vstore4(vload4(i / 4 + beyond * 14, from), i / 4, to);", "read of 16 bytes"},
    {"OnePlace", "to[i] = from[get_num_groups(0) + beyond * 252];", "read of 4 bytes"},
    {"LanesOfAnyForm", "to[i] = from[(i * 37 & 255) + beyond * (i == 200) * 60];", "read of 4 bytes"},
    {"ALaneThatIsNotAlone", "if (i % 3 == 0) to[i] = from[i ^ 5]; if (beyond && i == 200) to[i + 70] = 1;",
     "work-item   (200, 0, 0)"},
    {"LanesThatAreStored", "to[(i * 37 & 255) + beyond * (i == 200) * 60] = i;", "write of 4 bytes"},
    {"Bytes", "((global char*)to)[i * 3 + beyond * 424] = 1;", "write of 1 byte"},
    {"BytesOfPixels", "to[i] = ((global uchar*)from)[i * 3 + 1 + beyond * 424];", "read of 1 byte"},
    {"Atomics", "atomic_add(&to[i * 37 % 256 + beyond * (i == 200) * 60], 1);", "4 bytes"},
    {"AnyAddressSpace",
     "int* any = i & 1 ? (int*)to : (int*)from; if (i > 1) any[i + beyond * (i == 200) * 64] = 1;",
     "write of 4 bytes"},
    {"ALoopThatGathers",
     "int at = i; for (int n = 0; n < 20 + i % 7; n++) at = from[beyond && i == 200 && n == 9 ? 300 : (at * "
     "5 + n & 255)]; to[i] = at;",
     "read of 4 bytes"},
    {"LocalRows",
     "int l = get_local_id(0); mine[l + beyond] = i; barrier(CLK_LOCAL_MEM_FENCE); to[i] = mine[l ^ 1];",
     "lds-out-of-bounds"},
    {"LocalLanesOfAnyForm",
     "int l = get_local_id(0); mine[l] = i; barrier(CLK_LOCAL_MEM_FENCE); to[i] = mine[(from[i] * 11 & 63) + "
     "beyond * (i == 200) * 64];",
     "lds-out-of-bounds"},
    {"LocalAtomics",
     "int l = get_local_id(0); mine[l] = 0; barrier(CLK_LOCAL_MEM_FENCE); atomic_add(&mine[(from[i] * 11 & "
     "63) "
     "+ beyond * (i == 200) * 64], i); barrier(CLK_LOCAL_MEM_FENCE); to[i] = mine[l];",
     "lds-out-of-bounds"},
    {"PrivateMemory",
     "int own[120], *at = own; for (int n = 0; n < 32; n++) at[n * 3] = from[n] + i; to[i] = at[(from[i] & "
     "31) * 3 + "
     "beyond * (i == 200) * 120];",
     "scratch-out-of-bounds"},
    {"PrivateArrays",
     "int own[32]; for (int n = 0; n < 32; n++) own[n] = from[n] + i; to[i] = own[(from[i] & 31) + beyond * "
     "(i == 200) * 32];",
     "array-out-of-bounds"},
};

class OfEveryForm : public MemoryCheck, public testing::WithParamInterface<Case> {};

TEST_P(OfEveryForm, WhatGoesAstrayIsNamedAndAllElseIsDone) {
  const Case& one = GetParam();
  const std::string clean = run(std::string("int beyond = from[0];") + one.body);
  EXPECT_FALSE(has(clean, "morgana: out-of-bounds") || has(clean, "out-of-bounds: kernel")) << clean;
  const std::vector<cl_int> wanted = got;
  const std::string report = run(std::string("int beyond = from[1];") + one.body);
  EXPECT_TRUE(has(report, "out-of-bounds: kernel 'k'")) << report;
  EXPECT_TRUE(has(report, one.found)) << report;
  // Groups in which nothing goes astray.
  if (has(one.body, "i == 200"))
    for (size_t i = 0; i < 192; i++) ASSERT_EQ(got[i], wanted[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Cases, OfEveryForm, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(MemoryCheck, ABufferThatKernelsOnlyReadIsNotWritten) {
  EXPECT_TRUE(has(run("to[i] = 1;", CL_MEM_READ_ONLY), "forbidden-access: kernel 'k'"));
  EXPECT_TRUE(has(run("from[i] = to[i * 7 & 255];", CL_MEM_WRITE_ONLY), "forbidden-access: kernel 'k'"));
  // Both at instructions that access other buffers too.
  EXPECT_TRUE(has(run("(i == 255 ? to : from)[i] = 1;", CL_MEM_READ_ONLY), "work-item   (255, 0, 0)"));
}

// A kernel that goes from group to group by itself; in the middle of a row one reads behind its buffer.
TEST_F(MemoryCheck, TheWorkGroupIsNamedWhereACompiledKernelExecutesSeveral) {
  cl_program program = make_program(
      "kernel void k(global int* to, global int* from) { int i = get_global_id(0); to[i] = from[i]; }", "-g");
  const size_t items = 1 << 18, group = 128;
  cl_mem to = make_buffer(items * sizeof(cl_int), CL_MEM_READ_WRITE, nullptr);
  cl_mem from = make_buffer((items / 2 - 20) * sizeof(cl_int), CL_MEM_READ_WRITE, nullptr);
  cl_kernel kernel = make_kernel(program, "k");
  clSetKernelArg(kernel, 0, sizeof to, &to);
  clSetKernelArg(kernel, 1, sizeof from, &from);
  testing::internal::CaptureStderr();
  clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr);
  clFinish(queue);  // an error: those behind it read far outside
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(has(report, "work-item   (131052, 0, 0) of work-group (1023, 0, 0)")) << report;
  clReleaseKernel(kernel);
  clReleaseMemObject(to);
  clReleaseMemObject(from);
  clReleaseProgram(program);
}

TEST_F(MemoryCheck, AnAtomicBesideAnAstrayOneIsDoneOnce) {
  const std::string report =
      run("for (int n = 0; n < 8; n++) atomic_add(&to[i == 200 && n == 5 ? 999 : i], 1);");
  EXPECT_TRUE(has(report, "work-item   (200, 0, 0)")) << report;
  for (size_t i = 0; i < kItems; i++) ASSERT_EQ(got[i], i == 200 ? 7 : 8) << i;
}

}  // namespace
}  // namespace morgana::icd::test
