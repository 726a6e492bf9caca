// Fixture of the tests of what must be refused: objects of the right types, things that are none, and rows of
// one condition each.
#pragma once

#include <functional>

#include "icd/test_support.h"

namespace morgana::icd::test {

inline constexpr const char* kNegativeSource = R"(
kernel void args(global int* buffer, local int* scratch, int value, constant float* table) {
  scratch[0] = value;
  buffer[get_global_id(0)] = scratch[0] + (int)table[0];
}
kernel __attribute__((reqd_work_group_size(8, 2, 1))) void required(global int* buffer) { buffer[0] = 1; }
kernel void none() {}
)";

// Younger than the headers of Debian 12.
inline constexpr cl_mem_flags kImmutableFlag = cl_mem_flags{1} << 6;
inline constexpr cl_mem_properties kPrivateAddressProperty = 0x5000;
inline constexpr cl_mem_info kDeviceAddressInfo = 0x5001;
inline constexpr cl_kernel_exec_info kDevicePointersInfo = 0x5002;

// Rows of one condition each: what is wrong, the code that it must give, and the call.
class RefusalTable : public OpenCl {
 protected:
  struct Row {
    const char* what;
    cl_int expected;
    std::function<cl_int()> call;
  };
  static void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) EXPECT_EQ(row.call(), row.expected) << row.what;
  }
  // A function that only its name finds.
  template <typename Function>
  Function extension(const char* name) {
    void* found = clGetExtensionFunctionAddressForPlatform(platform, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function>(found);
  }
  // For functions that return an object: the code, with the object expected to be absent.
  template <typename Call>
  static cl_int code_of(Call call) {
    cl_int error = 12345;
    EXPECT_EQ(call(&error), nullptr);
    return error;
  }
};

// Objects of the right types, and things that are none.
class Negative : public RefusalTable {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    buffer = make_buffer(1024);
    read_only = make_buffer(1024, CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY);
    write_only = make_buffer(1024, CL_MEM_READ_WRITE | CL_MEM_HOST_WRITE_ONLY);
    cl_int error;
    other_context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    foreign = clCreateBuffer(other_context, CL_MEM_READ_WRITE, 1024, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    foreign_event = clCreateUserEvent(other_context, &error);
    user_event = clCreateUserEvent(context, &error);
    const char* source = kNegativeSource;
    unbuilt = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    program = make_program(kNegativeSource);
    kernel = make_kernel(program, "args");
    required = make_kernel(program, "required");
    clSetKernelArg(required, 0, sizeof buffer, &buffer);
    none = make_kernel(program, "none");
    // A handle that was released: its slot is not reused so soon.
    dangling = make_buffer(64);
    ASSERT_EQ(clReleaseMemObject(dangling), CL_SUCCESS);
  }

  void TearDown() override {
    for (cl_kernel k : {kernel, required, none}) clReleaseKernel(k);
    for (cl_program p : {program, unbuilt}) clReleaseProgram(p);
    for (cl_event e : {user_event, foreign_event}) {
      clSetUserEventStatus(e, CL_COMPLETE);
      clReleaseEvent(e);
    }
    for (cl_mem m : {buffer, read_only, write_only, foreign}) clReleaseMemObject(m);
    clReleaseContext(other_context);
    OpenCl::TearDown();
  }

  cl_mem buffer, read_only, write_only, foreign, dangling;
  cl_context other_context;
  cl_event foreign_event, user_event;
  cl_program program, unbuilt;
  cl_kernel kernel, required, none;
  uint8_t host[1024] = {};
};

}  // namespace morgana::icd::test
