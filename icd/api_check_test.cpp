// --check=api: what a program does with the API is named, and what is right is not. MORGANA_CHECK=api comes
// from the environment; what is said when a process ends is looked at in processes of their own.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "icd/command_buffer_support.h"
#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

class ApiCheck : public OpenCl {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    OpenCl::SetUp();
  }
  // What is reported while `act` runs and the next calls follow.
  template <typename Act>
  std::string reported(const Act& act) {
    testing::internal::CaptureStderr();
    act();
    clFinish(queue);
    return testing::internal::GetCapturedStderr();
  }
  cl_kernel make_writer() {
    cl_program program = make_program("kernel void k(global int* to, int n) { to[0] = n; }");
    cl_kernel kernel = make_kernel(program, "k");
    clReleaseProgram(program);
    return kernel;
  }
  cl_int launch(cl_kernel kernel) {
    const size_t one = 1;
    return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
  }
  void set_arguments(cl_kernel kernel, cl_mem buffer) {
    const cl_int n = 7;
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof n, &n), CL_SUCCESS);
  }
};

TEST_F(ApiCheck, AnErrorThatTheProgramGoesOnAfterIsNamed) {
  cl_kernel kernel = make_writer();
  const cl_int n = 7;
  EXPECT_EQ(clSetKernelArg(kernel, 5, sizeof n, &n), CL_INVALID_ARG_INDEX);
  const std::string report = reported([] {});
  EXPECT_TRUE(
      has(report, "failed-call: it returned CL_INVALID_ARG_INDEX, and the program went on with clFinish\n"))
      << report;
  EXPECT_TRUE(has(report, "  call        clSetKernelArg\n")) << report;
  EXPECT_TRUE(has(report, "icd_api_check_test+0x")) << report;
  clReleaseKernel(kernel);
}

TEST_F(ApiCheck, AnErrorThatIsAskedForAndLeadsToTheEndIsClean) {
  EXPECT_EXIT(
      {
        cl_kernel kernel = make_writer();
        const cl_int n = 7;
        clSetKernelArg(kernel, 5, sizeof n, &n);
        clReleaseKernel(kernel);
        clReleaseCommandQueue(queue);
        clReleaseContext(context);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^checked: 0 dispatches, 0 kernels, 0 unchecked, 0 findings\n$");
}

// FFmpeg's filters do so.
TEST_F(ApiCheck, WhoWaitsAgainBehindAFailedWaitAndEndsIsClean) {
  EXPECT_EXIT(
      {
        cl_event failed = clCreateUserEvent(context, nullptr);
        clSetUserEventStatus(failed, -1);
        EXPECT_EQ(clWaitForEvents(1, &failed), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        clFinish(queue);
        clReleaseEvent(failed);
        clReleaseCommandQueue(queue);
        clReleaseContext(context);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "^checked: 0 dispatches, 0 kernels, 0 unchecked, 0 findings\n$");
}

// As a static object of the program's would.
cl_context released_at_exit = nullptr;

TEST_F(ApiCheck, AStaticObjectMayReleaseWhatItHoldsBehindAFailedCall) {
  EXPECT_EXIT(
      {
        std::atexit([] {
          for (int i = 0; i < 100; i++)
            clGetContextInfo(released_at_exit, CL_CONTEXT_DEVICES, 0, nullptr, nullptr);
          clReleaseContext(released_at_exit);
        });
        released_at_exit = context;
        clReleaseCommandQueue(queue);
        const cl_int n = 7;
        clSetKernelArg(nullptr, 0, sizeof n, &n);
        std::exit(1);
      },
      testing::ExitedWithCode(1), "^checked: 0 dispatches, 0 kernels, 0 unchecked, 0 findings\n$");
}

TEST_F(ApiCheck, AForkedChildHasNotMadeWhatItsParentHolds) {
  EXPECT_EXIT(
      {
        cl_mem buffer = make_buffer(64);
        const pid_t child = fork();
        if (child == 0) std::exit(0);
        int status = -1;
        waitpid(child, &status, 0);
        clReleaseMemObject(buffer);
        clReleaseCommandQueue(queue);
        clReleaseContext(context);
        std::exit(status);
      },
      testing::ExitedWithCode(0), "^(checked: 0 dispatches, 0 kernels, 0 unchecked, 0 findings\n){2}$");
}

TEST_F(ApiCheck, AnErrorWithoutAPlaceForItIsNamed) {
  const std::string report =
      reported([&] { clCreateBuffer(context, CL_MEM_READ_WRITE, 0, nullptr, nullptr); });
  EXPECT_TRUE(has(report, "failed with CL_INVALID_BUFFER_SIZE, for which the program gave no place"))
      << report;
}

TEST_F(ApiCheck, ArgumentsThatAreNotSetAreNamed) {
  cl_kernel kernel = make_writer();
  const std::string report = reported([&] { launch(kernel); });
  EXPECT_TRUE(has(report, "it returned CL_INVALID_KERNEL_ARGS")) << report;
  clReleaseKernel(kernel);
}

TEST_F(ApiCheck, WhatIsHeldAtTheEndIsNamedWithTheCall) {
  EXPECT_EXIT(
      {
        for (int i = 0; i < 3; i++) make_buffer(64);
        cl_event event;
        const cl_int zero = 0;
        cl_mem buffer = make_buffer(64);
        clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof zero, &zero, 0, nullptr, &event);
        clReleaseMemObject(buffer);
        clReleaseCommandQueue(queue);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "leak: 1 context made here is(.|\n)*clCreateContext(.|\n)*leak: 1 "
      "event(.|\n)*clEnqueueWriteBuffer(.|\n)*leak: 3 "
      "memory "
      "objects (.|\n)*clCreateBuffer(.|\n)* 3 findings");
}

TEST_F(ApiCheck, AMappingThatIsLeftIsNamed) {
  EXPECT_EXIT(
      {
        cl_int error;
        cl_mem buffer = make_buffer(64);
        clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 0, nullptr, nullptr, &error);
        clReleaseMemObject(buffer);
        clReleaseCommandQueue(queue);
        clReleaseContext(context);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "still-mapped: (.|\n)*clEnqueueMapBuffer(.|\n)* 1 findings");
}

TEST_F(ApiCheck, AnArgumentThatIsMappedForWritingIsNamed) {
  cl_kernel kernel = make_writer();
  cl_mem buffer = make_buffer(64);
  set_arguments(kernel, buffer);
  cl_int error;
  void* const mapped =
      clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, nullptr, nullptr, &error);
  const std::string report = reported([&] { EXPECT_EQ(launch(kernel), CL_SUCCESS); });
  EXPECT_TRUE(has(report, "mapped-argument: argument 0 of kernel 'k' is memory that is mapped for writing"))
      << report;
  clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr);
  EXPECT_EQ(reported([&] { EXPECT_EQ(launch(kernel), CL_SUCCESS); }), "");
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
}

// Memory may be mapped while a launch is recorded, and may not be whenever that is executed.
TEST_F(ApiCheck, AMappedArgumentOfARecordedLaunchIsNamedWhereItIsEnqueued) {
  const CommandBufferApi api(platform);
  cl_kernel kernel = make_writer();
  cl_mem buffer = make_buffer(64);
  set_arguments(kernel, buffer);
  cl_int error;
  void* const mapped =
      clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, nullptr, nullptr, &error);
  cl_command_buffer_khr commands = api.create(1, &queue, nullptr, &error);
  EXPECT_EQ(reported([&] {
              const size_t one = 1;
              EXPECT_EQ(api.launch(commands, nullptr, nullptr, kernel, 1, nullptr, &one, nullptr, 0, nullptr,
                                   nullptr, nullptr),
                        CL_SUCCESS);
              EXPECT_EQ(api.finalize(commands), CL_SUCCESS);
            }),
            "");
  const auto replay = [&] { EXPECT_EQ(api.enqueue(0, nullptr, commands, 0, nullptr, nullptr), CL_SUCCESS); };
  const std::string report = reported(replay);
  EXPECT_TRUE(has(report, "mapped-argument: argument 0 of kernel 'k' is memory that is mapped for writing"))
      << report;
  EXPECT_TRUE(has(report, "  call        clEnqueueCommandBufferKHR\n")) << report;
  EXPECT_TRUE(has(report, "icd_api_check_test+0x")) << report;
  clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr);
  EXPECT_EQ(reported(replay), "");
  api.release(commands);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
}

TEST_F(ApiCheck, AnArgumentThatWasReleasedIsNamedWhereSomethingElseHoldsIt) {
  cl_kernel kernel = make_writer();
  cl_mem buffer = make_buffer(64);
  set_arguments(kernel, buffer);
  const cl_buffer_region half = {0, 32};
  cl_int error;
  cl_mem part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
  clReleaseMemObject(buffer);
  const std::string report = reported([&] { launch(kernel); });
  EXPECT_TRUE(has(report, "released-argument: argument 0 of kernel 'k'")) << report;
  clReleaseMemObject(part);
  clReleaseKernel(kernel);
}

TEST_F(ApiCheck, AProgramThatIsRightIsClean) {
  cl_kernel kernel = make_writer();
  cl_mem buffer = make_buffer(64);
  EXPECT_EQ(reported([&] {
              set_arguments(kernel, buffer);
              EXPECT_EQ(launch(kernel), CL_SUCCESS);
              EXPECT_EQ(read<cl_int>(buffer, 1)[0], 7);
              // Whoever asks for what there is not has done nothing wrong.
              clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 0, nullptr, nullptr);
            }),
            "");
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
}

}  // namespace
}  // namespace morgana::icd::test
