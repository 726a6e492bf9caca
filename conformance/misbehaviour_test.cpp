// What a program sees when its kernels or its calls misbehave: the specified error, a report that a person
// can use, and a platform that goes on working. Runs through the system's OpenCL loader.
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr const char* kSource = R"(kernel void wild(global int* p, ulong address) {
  global int* q = (global int*)address;
  if (get_global_id(0) == 70)
    q[0] = 1;
  p[get_global_id(0)] = 2;
}
kernel void overrun(global int* p, int n) { p[get_global_id(0) + n] = 1; }
kernel void aborts(global int* p) {
  if (get_global_id(0) == 3) __builtin_trap();
  p[get_global_id(0)] = 1;
}
kernel void endless(global volatile int* p) { while (p[0] == 0) {} }
kernel void add(global int* p) { p[get_global_id(0)] += 1; }
kernel void beyond_local(global int* p) {
  local int part[64];
  size_t i = get_global_id(0), l = get_local_id(0);
  part[l] = atomic_inc(&p[i]);
  ulong address = (ulong)(int*)&part[l];
  if (i == 135) address += 0x10000000;
  __asm volatile("" : "+v"(address));
  *(int*)address = 7;
}
kernel void sixteen_idle(global int* p, int n) {
  size_t i = get_global_id(0), l = get_local_id(0);
  p[i] = 1;
  if (l < 16 || l >= 32) p[l < 48 || i > 63 ? i : i + n] = 2;
}
)";

struct World {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;

  World() {
    cl_platform_id platform = nullptr;
    cl_int error = clGetPlatformIDs(1, &platform, nullptr);
    if (error == CL_SUCCESS) error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, nullptr);
    if (error == CL_SUCCESS) context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    const char* source = kSource;
    if (error == CL_SUCCESS) program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    if (error == CL_SUCCESS)
      error = clBuildProgram(program, 1, &device, "-g -cl-std=CL2.0", nullptr, nullptr);
    EXPECT_EQ(error, CL_SUCCESS);
  }
  ~World() {
    clReleaseProgram(program);
    clReleaseContext(context);
  }
  cl_command_queue queue() {
    cl_int error;
    cl_command_queue made = clCreateCommandQueueWithProperties(context, device, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  cl_kernel kernel(const char* name) {
    cl_int error;
    cl_kernel made = clCreateKernel(program, name, &error);
    EXPECT_EQ(error, CL_SUCCESS) << name;
    return made;
  }
  cl_mem buffer(size_t size) {
    cl_int error;
    std::vector<char> zero(size);
    cl_mem made =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, zero.data(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
};

template <typename T>
void set(cl_kernel kernel, cl_uint index, const T& value) {
  ASSERT_EQ(clSetKernelArg(kernel, index, sizeof value, &value), CL_SUCCESS);
}

class Misbehaviour : public testing::Test {
 protected:
  // Runs a kernel that must fail; what the platform printed about it.
  std::string report_of(cl_kernel kernel) {
    cl_command_queue queue = world_.queue();
    const size_t global = 256, local = 64;
    cl_event event = nullptr;
    testing::internal::CaptureStderr();
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, &event),
              CL_SUCCESS);
    EXPECT_EQ(clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    cl_int status = CL_COMPLETE;
    EXPECT_EQ(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
              CL_SUCCESS);
    EXPECT_LT(status, 0);
    std::string report = testing::internal::GetCapturedStderr();
    clReleaseEvent(event);
    clReleaseCommandQueue(queue);
    clReleaseKernel(kernel);
    expect_work_goes_on();
    return report;
  }

  void expect_work_goes_on() {
    cl_command_queue queue = world_.queue();
    cl_kernel kernel = world_.kernel("add");
    cl_mem buffer = world_.buffer(1024);
    set(kernel, 0, buffer);
    const size_t global = 256;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    std::vector<cl_int> result(256);
    EXPECT_EQ(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 1024, result.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(result, std::vector<cl_int>(256, 1));
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseCommandQueue(queue);
  }

  World world_;
};

void expect_contains(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
}

TEST_F(Misbehaviour, AWildPointerIsReportedWithKernelLineAndWorkItem) {
  cl_kernel kernel = world_.kernel("wild");
  cl_mem buffer = world_.buffer(1024);
  set(kernel, 0, buffer);
  set(kernel, 1, cl_ulong{0x1000});
  expect_contains(report_of(kernel),
                  {"kernel 'wild'", "(70, 0, 0)", "<source>:4", "0x1000 (write)", "store_dword"});
  clReleaseMemObject(buffer);
}

// A batch may begin with other commands than kernels, after the program has replaced the handler of faults.
TEST_F(Misbehaviour, AWildPointerBehindFillsIsReported) {
  cl_kernel kernel = world_.kernel("wild");
  cl_mem buffer = world_.buffer(1 << 24);
  set(kernel, 0, buffer);
  set(kernel, 1, cl_ulong{0x1000});
  cl_command_queue queue = world_.queue();
  const cl_uint one = 1;
  for (int i = 0; i < 8; i++)
    EXPECT_EQ(clEnqueueFillBuffer(queue, buffer, &one, sizeof one, 0, 1 << 24, 0, nullptr, nullptr),
              CL_SUCCESS);
  signal(SIGSEGV, SIG_DFL);
  const size_t global = 256;
  testing::internal::CaptureStderr();
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_LT(clFinish(queue), 0);
  expect_contains(testing::internal::GetCapturedStderr(), {"kernel 'wild'", "0x1000 (write)"});
  clReleaseCommandQueue(queue);
  clReleaseKernel(kernel);
  clReleaseMemObject(buffer);
  expect_work_goes_on();
}

TEST_F(Misbehaviour, AnOverrunNamesTheBuffer) {
  cl_kernel kernel = world_.kernel("overrun");
  cl_mem buffer = world_.buffer(1 << 20);
  set(kernel, 0, buffer);
  set(kernel, 1, cl_int{1 << 18});
  expect_contains(report_of(kernel), {"kernel 'overrun'", " bytes past the end of buffer", "1048576 bytes"});
  clReleaseMemObject(buffer);
}

// Compiled code keeps where four sixteens of a wave go; a row has one place for all.
TEST_F(Misbehaviour, AStoreOfSomeLanesBehindARowNamesTheWorkItem) {
  cl_kernel kernel = world_.kernel("sixteen_idle");
  cl_mem buffer = world_.buffer(1 << 20);
  set(kernel, 0, buffer);
  set(kernel, 1, cl_int{1 << 18});
  expect_contains(report_of(kernel),
                  {"kernel 'sixteen_idle'", "(48, 0, 0)", " bytes past the end of buffer"});
  clReleaseMemObject(buffer);
}

// The interpreter's handlers find it, in compiled code too, and the wave is not begun again.
TEST_F(Misbehaviour, AFlatAddressBeyondLocalMemoryIsReported) {
  cl_kernel kernel = world_.kernel("beyond_local");
  cl_mem buffer = world_.buffer(1024);
  set(kernel, 0, buffer);
  expect_contains(report_of(kernel), {"kernel 'beyond_local'", "(135, 0, 0)", "flat_store_dword"});
  cl_command_queue queue = world_.queue();
  cl_int begun = 0;
  EXPECT_EQ(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 4 * 135, 4, &begun, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(begun, 1);
  clReleaseCommandQueue(queue);
  clReleaseMemObject(buffer);
}

TEST_F(Misbehaviour, AnAbortNamesTheWorkItem) {
  cl_kernel kernel = world_.kernel("aborts");
  cl_mem buffer = world_.buffer(1024);
  set(kernel, 0, buffer);
  expect_contains(report_of(kernel), {"kernel 'aborts'", "(3, 0, 0)", "s_trap 2", "<source>:9"});
  clReleaseMemObject(buffer);
}

TEST_F(Misbehaviour, AnEndlessKernelStopsNoOtherQueue) {
  cl_command_queue queue = world_.queue();
  cl_kernel kernel = world_.kernel("endless");
  cl_mem buffer = world_.buffer(64);
  set(kernel, 0, buffer);
  const size_t global = 64 * 64;
  cl_event event = nullptr;
  ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, &event),
            CL_SUCCESS);
  clFlush(queue);
  expect_work_goes_on();
  // The buffer is host memory: the kernel sees what another queue writes, and ends.
  cl_command_queue other = world_.queue();
  const cl_int one = 1;
  EXPECT_EQ(clEnqueueWriteBuffer(other, buffer, CL_TRUE, 0, sizeof one, &one, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &event), CL_SUCCESS);
  clReleaseEvent(event);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseCommandQueue(other);
  clReleaseCommandQueue(queue);
}

// Ends the child within ten seconds of `signal`, or fails.
void expect_ends_by(pid_t child, int signal) {
  std::this_thread::sleep_for(std::chrono::seconds(1));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "the endless program has ended by itself: " << status;
  kill(child, signal);
  for (int i = 0; i < 100; ++i) {
    if (waitpid(child, &status, WNOHANG) == child) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  FAIL() << "the program outlived the signal";
}

TEST(Interrupt, EndsAProgramWhoseKernelDoesNot) {
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "misbehaviour", "--endless", nullptr);
    _exit(127);
  }
  expect_ends_by(child, SIGINT);
}

TEST_F(Misbehaviour, ABuildErrorHasALog) {
  const char* source = "kernel void f(global int* p) { p[0] = undeclared; }";
  cl_int error;
  cl_program program = clCreateProgramWithSource(world_.context, 1, &source, nullptr, &error);
  EXPECT_EQ(clBuildProgram(program, 1, &world_.device, "", nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
  char log[4096] = "";
  clGetProgramBuildInfo(program, world_.device, CL_PROGRAM_BUILD_LOG, sizeof log, log, nullptr);
  expect_contains(log, {"<source>:1:39: error:", "'undeclared'"});
  clReleaseProgram(program);
  expect_work_goes_on();
}

TEST_F(Misbehaviour, WhatIsTooLargeIsRefused) {
  cl_command_queue queue = world_.queue();
  cl_kernel kernel = world_.kernel("add");
  cl_mem buffer = world_.buffer(1024);
  set(kernel, 0, buffer);
  const size_t global[2] = {4096, 4096}, local[2] = {64, 64}, huge = size_t{1} << 40;
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr),
            CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, global, global, 0, nullptr, nullptr),
            CL_INVALID_WORK_ITEM_SIZE);
  EXPECT_LT(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &huge, nullptr, 0, nullptr, nullptr), 0);
  cl_ulong most = 0;
  clGetDeviceInfo(world_.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, nullptr);
  cl_int error;
  EXPECT_EQ(clCreateBuffer(world_.context, 0, most + 1, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_BUFFER_SIZE);
  clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseCommandQueue(queue);
  expect_work_goes_on();
}

int run_endless_kernel() {
  World world;
  cl_command_queue queue = world.queue();
  cl_kernel kernel = world.kernel("endless");
  cl_mem buffer = world.buffer(64);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  const size_t global = 64 * 64;
  clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr);
  clFinish(queue);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--endless") == 0) return run_endless_kernel();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
