// Kernels that do not end, under MORGANA_WATCHDOG=1: the event fails, a report tells where the waves are, and
// the next kernel runs.
#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr const char* kSource = R"(
kernel void spin(volatile global int* x) {
  while (x[0] == 0)
    ;
  x[1] = 1;
}
kernel void meet(volatile global int* x) {
  if (get_local_id(0) < 64) {
    while (x[0] == 0)
      ;
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  x[1] = 1;
}
kernel void set(volatile global int* x) { x[get_global_id(0)] = 7; }
)";

class Watchdog : public OpenCl {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    program = make_program(kSource, "-g");
    const int zeros[256] = {};
    buffer = make_buffer(sizeof zeros, CL_MEM_COPY_HOST_PTR, const_cast<int*>(zeros));
  }
  void TearDown() override {
    clReleaseMemObject(buffer);
    clReleaseProgram(program);
    OpenCl::TearDown();
  }

  cl_int run(const char* name, size_t items) {
    cl_kernel kernel = make_kernel(program, name);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    cl_event event;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, &event),
              CL_SUCCESS);
    clFinish(queue);
    const cl_int status = status_of(event);
    clReleaseEvent(event);
    clReleaseKernel(kernel);
    return status;
  }

  cl_program program = nullptr;
  cl_mem buffer = nullptr;
};

TEST_F(Watchdog, EndsAKernelAndSaysWhereItsWavesAre) {
  testing::internal::CaptureStderr();
  const cl_int status = run("spin", 128);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_LT(status, 0);
  EXPECT_NE(report.find("cancelled: kernel 'spin'"), std::string::npos) << report;
  EXPECT_NE(report.find("(spin+0x"), std::string::npos) << report;
  EXPECT_NE(report.find(":3"), std::string::npos) << report;
  EXPECT_EQ(run("set", 256), CL_COMPLETE);
  EXPECT_EQ(read<int>(buffer, 256), std::vector<int>(256, 7));
}

TEST_F(Watchdog, SaysWhichWavesWaitAtABarrier) {
  testing::internal::CaptureStderr();
  const cl_int status = run("meet", 256);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_LT(status, 0);
  EXPECT_NE(report.find("1 wave at pc"), std::string::npos) << report;
  EXPECT_NE(report.find("3 waves waiting at the barrier before pc"), std::string::npos) << report;
}

TEST_F(Watchdog, LeavesOthersAlone) { EXPECT_EQ(run("set", 64), CL_COMPLETE); }

}  // namespace
}  // namespace morgana::icd::test
