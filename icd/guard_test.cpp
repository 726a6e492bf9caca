// Kernels that leave their buffers: what they do harms nobody, and a report names kernel, buffer and
// distance. In child processes, whose ends tell what became of the host program.
#include <cstdlib>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr const char* kSource = R"(
kernel void spill(global float* to, int first, int count) {
  for (int i = 0; i < count; ++i) to[first + i] = 1.0f + i;
}
kernel void peek(global const float* from, global float* to, int first) { to[0] = from[first]; }
)";

class Guard : public OpenCl {
 protected:
  static void SetUpTestSuite() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  void SetUp() override {
    OpenCl::SetUp();
    program = make_program(kSource);
  }
  void TearDown() override {
    clReleaseProgram(program);
    OpenCl::TearDown();
  }

  // Writes `count` floats from element `first` on.
  cl_int spill(cl_mem buffer, cl_int first, cl_int count) {
    cl_kernel kernel = make_kernel(program, "spill");
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof first, &first);
    clSetKernelArg(kernel, 2, sizeof count, &count);
    return run(kernel);
  }
  cl_int peek(cl_mem buffer, cl_int at) {
    cl_mem result = make_buffer(sizeof(float));
    cl_kernel kernel = make_kernel(program, "peek");
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof result, &result);
    clSetKernelArg(kernel, 2, sizeof at, &at);
    const cl_int status = run(kernel);
    clReleaseMemObject(result);
    return status;
  }
  // What became of one launch; the process goes on to allocate and free.
  cl_int run(cl_kernel kernel) {
    const size_t one = 1;
    cl_event event;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, &one, 0, nullptr, &event), CL_SUCCESS);
    clFinish(queue);
    const cl_int status = status_of(event);
    clReleaseEvent(event);
    clReleaseKernel(kernel);
    for (size_t size = 1; size < 1 << 16; size *= 2) {
      std::free(std::malloc(size));
      clReleaseMemObject(make_buffer(size));
    }
    return status;
  }

  cl_program program = nullptr;
};

TEST_F(Guard, ASmallBuffersOverrunHarmsNobodyAndIsNamed) {
  EXPECT_EXIT(
      {
        cl_mem buffer = make_buffer(256);
        const cl_int status = spill(buffer, 64, 8);
        const bool again = spill(buffer, 0, 64) == CL_COMPLETE;
        clReleaseMemObject(buffer);
        std::exit(status == CL_COMPLETE && again ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "write past the end: kernel 'spill' on .*buffer .* of 256 bytes.*"
      "written     [0-9]+ bytes, the first 0 and the last 31 bytes past the end.*values      00 00 80 3f");
}

TEST_F(Guard, TheSlackOfALargeBuffersLastPageIsLookedAt) {
  EXPECT_EXIT(
      {
        cl_mem buffer = make_buffer(100'000);
        const cl_int status = spill(buffer, 25'010, 2);
        std::exit(status == CL_COMPLETE ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "buffer .* of 100000 bytes.*the first 40 and the last 47 bytes past the end");
}

TEST_F(Guard, AWriteBehindALargeBufferIsAFault) {
  EXPECT_EXIT(
      {
        cl_mem buffer = make_buffer(640 * 480);
        const cl_int status = spill(buffer, 640 * 480 / 4 + 4, 1);
        std::exit(status < 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "memory violation: kernel 'spill'.*write.*16 bytes past the end of buffer .* of 307200 bytes");
}

TEST_F(Guard, OverrunsThatNoDispatchTellsAreFoundWhenMemoryIsFreed) {
  EXPECT_EXIT(
      {
        cl_mem buffer = make_buffer(256);
        cl_int error;
        void* const mapped =
            clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, 256, 0, nullptr, nullptr, &error);
        static_cast<char*>(mapped)[260] = 1;
        clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr);
        clFinish(queue);
        clReleaseMemObject(buffer);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "found when the memory was freed.*buffer .* of 256 bytes.*1 bytes, the first 4 and the last 4");
}

// GPUs map memory in pieces of 64 KiB.
TEST_F(Guard, ReadsALittleBehindABufferGiveSomeValue) {
  for (const size_t size : {size_t{256}, size_t{4096}, size_t{640 * 480}, size_t{1} << 20, size_t{4} << 20}) {
    cl_mem buffer = make_buffer(size);
    EXPECT_EQ(peek(buffer, static_cast<cl_int>(size / 4 + 5)), CL_COMPLETE) << size;
    clReleaseMemObject(buffer);
  }
}

TEST_F(Guard, WhatComesToALargeBufferThatWasFreedIsAFault) {
  cl_int error;
  void* const svm = clSVMAlloc(context, CL_MEM_READ_WRITE, 1 << 20, 0);
  ASSERT_NE(svm, nullptr);
  clSVMFree(context, svm);
  cl_mem result = make_buffer(sizeof(float));
  cl_kernel kernel = make_kernel(program, "peek");
  const cl_int at = 100;
  ASSERT_EQ(clSetKernelArgSVMPointer(kernel, 0, svm), CL_SUCCESS);
  clSetKernelArg(kernel, 1, sizeof result, &result);
  clSetKernelArg(kernel, 2, sizeof at, &at);
  testing::internal::CaptureStderr();
  error = run(kernel);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_LT(error, 0);
  EXPECT_NE(report.find("inside      SVM"), std::string::npos) << report;
  EXPECT_NE(report.find("which was freed, at offset 400"), std::string::npos) << report;
  clReleaseMemObject(result);
}

}  // namespace
}  // namespace morgana::icd::test
