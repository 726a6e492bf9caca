// Fixture of the ICD's tests: Morgana found through the system's loader, a context, a queue, programs from
// source.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace morgana::icd::test {

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// Whether kernels are compiled before their first launch.
inline bool compiles_at_once() {
  const char* const tier = std::getenv("MORGANA_JIT");
  return tier != nullptr && std::string_view(tier) == "sync";
}

class OpenCl : public ::testing::Test {
 protected:
  void SetUp() override {
    cl_uint count = 0;
    ASSERT_EQ(clGetPlatformIDs(1, &platform, &count), CL_SUCCESS)
        << "is OCL_ICD_VENDORS set to libmorgana.so?";
    ASSERT_EQ(count, 1u);
    ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, nullptr), CL_SUCCESS);
    open();
  }

  // Another device, with a context and a queue of its own.
  void use(cl_device_id one) {
    TearDown();
    device = one;
    open();
  }
  void open() {
    cl_int error;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    queue = make_queue(0);
  }

  void TearDown() override {
    if (queue != nullptr) EXPECT_EQ(clReleaseCommandQueue(queue), CL_SUCCESS);
    if (context != nullptr) EXPECT_EQ(clReleaseContext(context), CL_SUCCESS);
  }

  // Every device of the platform (MORGANA_DEVICES); `device` is the first.
  std::vector<cl_device_id> all_devices() const {
    cl_uint count = 0;
    EXPECT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 0, nullptr, &count), CL_SUCCESS);
    std::vector<cl_device_id> devices(count);
    EXPECT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, count, devices.data(), nullptr), CL_SUCCESS);
    return devices;
  }

  cl_command_queue make_queue(cl_command_queue_properties properties) {
    cl_int error;
    cl_command_queue made = clCreateCommandQueue(context, device, properties, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }

  cl_mem make_buffer(size_t size, cl_mem_flags flags = CL_MEM_READ_WRITE, void* host = nullptr) {
    cl_int error;
    cl_mem made = clCreateBuffer(context, flags, size, host, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }

  cl_program make_program(const char* source, const char* options = "") {
    cl_int error;
    cl_program made = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    error = clBuildProgram(made, 0, nullptr, options, nullptr, nullptr);
    EXPECT_EQ(error, CL_SUCCESS) << build_log(made);
    return made;
  }

  std::string build_log(cl_program program) {
    size_t size = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    return log;
  }

  cl_kernel make_kernel(cl_program program, const char* name) {
    cl_int error;
    cl_kernel made = clCreateKernel(program, name, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }

  cl_int status_of(cl_event event) {
    cl_int status = CL_QUEUED + 1;
    EXPECT_EQ(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
              CL_SUCCESS);
    return status;
  }

  template <typename T>
  std::vector<T> read(cl_mem buffer, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(T), values.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    return values;
  }

  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

}  // namespace morgana::icd::test
