// The version that programs are told (MORGANA_OPENCL_VERSION), and what comes and goes with it.
#include <cstdlib>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

class Version : public OpenCl {
 public:
  void SetUp() override {
    OpenCl::SetUp();
    const char* asked = std::getenv("MORGANA_OPENCL_VERSION");
    text = asked == nullptr || std::string(asked) == "4.0" ? "3.1" : asked;  // 4.0: there is none
    number =
        CL_MAKE_VERSION(static_cast<cl_version>(text[0] - '0'), static_cast<cl_version>(text[2] - '0'), 0);
  }
  bool builds(const char* source, const char* options) {
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    error = clBuildProgram(program, 1, &device, options, nullptr, nullptr);
    EXPECT_TRUE(error == CL_SUCCESS || error == CL_BUILD_PROGRAM_FAILURE) << error;
    clReleaseProgram(program);
    return error == CL_SUCCESS;
  }

  std::string text;
  cl_version number = 0;
};

TEST_F(Version, IsTheOneThatWasAskedFor) {
  char name[128];
  ASSERT_EQ(clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof name, name, nullptr), CL_SUCCESS);
  EXPECT_TRUE(std::string(name).starts_with("OpenCL " + text + " Morgana ")) << name;
  ASSERT_EQ(clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof name, name, nullptr), CL_SUCCESS);
  EXPECT_TRUE(std::string(name).starts_with("OpenCL " + text + " Morgana ")) << name;
  ASSERT_EQ(clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_VERSION, sizeof name, name, nullptr), CL_SUCCESS);
  EXPECT_EQ(std::string(name), text == "2.0" ? "OpenCL C 2.0 " : "OpenCL C 1.2 ");
  cl_version value;
  ASSERT_EQ(clGetPlatformInfo(platform, CL_PLATFORM_NUMERIC_VERSION, sizeof value, &value, nullptr), 0);
  EXPECT_EQ(value, number);
  ASSERT_EQ(clGetDeviceInfo(device, CL_DEVICE_NUMERIC_VERSION, sizeof value, &value, nullptr), CL_SUCCESS);
  EXPECT_EQ(value, number);
}

TEST_F(Version, BringsItsVersionsOfOpenClC) {
  size_t size;
  ASSERT_EQ(clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, 0, nullptr, &size), CL_SUCCESS);
  std::vector<cl_name_version> listed(size / sizeof(cl_name_version));
  ASSERT_EQ(clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS, size, listed.data(), nullptr), 0);
  std::vector<cl_version> versions;
  for (const cl_name_version& each : listed) {
    EXPECT_STREQ(each.name, "OpenCL C");
    versions.push_back(each.version);
  }
  std::vector<cl_version> wanted{CL_MAKE_VERSION(1, 0, 0), CL_MAKE_VERSION(1, 1, 0),
                                 CL_MAKE_VERSION(1, 2, 0)};
  if (text == "2.0") wanted.push_back(number);
  if (text >= "3.0") wanted.push_back(CL_MAKE_VERSION(3, 0, 0));
  if (text == "3.1") wanted.push_back(number);
  EXPECT_EQ(versions, wanted);

  const char* any = "kernel void f() {}";
  EXPECT_TRUE(builds(any, ""));
  EXPECT_TRUE(builds(any, "-cl-std=CL1.2"));
  EXPECT_EQ(builds(any, "-cl-std=CL2.0"), text >= "2.0");
  EXPECT_EQ(builds(any, "-cl-std=CL3.0"), text >= "3.0");
  EXPECT_EQ(builds(any, "-cl-std=CL3.1"), text >= "3.1");
  const std::string macro = "-D VERSION=" + text.substr(0, 1) + text.substr(2) + "0";
  EXPECT_TRUE(
      builds("#if __OPENCL_VERSION__ != VERSION\n#error no\n#endif\nkernel void f() {}", macro.c_str()));
}

// What OpenCL C 3.1 makes core, by its own version alone.
TEST_F(Version, OpenClC31HasWhatWasExtensions) {
  const char* source = R"(
#if __OPENCL_C_VERSION__ != 310 || CL_VERSION_3_1 != 310 || __OPENCL_C_VERSION__ < CL_VERSION_3_0
#error no
#endif
#ifndef __opencl_c_integer_dot_product_input_4x8bit_packed
#error no dot product
#endif
kernel void f(global uint* out, local uint* none) {
  uint i = get_sub_group_local_id(), x = i * 5 + 1;
  uint n = get_sub_group_size();
  out[get_global_id(0)] = sub_group_shuffle(x, n - 1 - i) + sub_group_shuffle_xor(x, 1) +
                          sub_group_rotate(x, 1) + (uint)sub_group_broadcast((ushort)x, 0) +
                          bit_reverse(x) + dot_4x8packed_uu_uint(x, 0x01010101);
  if (i == 0) printf("%zu%td", (size_t)0, out - out);
})";
  if (text != "3.1") {
    EXPECT_FALSE(builds(source, "-cl-std=CL3.1"));
    return;
  }
  cl_int error;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  ASSERT_EQ(clBuildProgram(program, 1, &device, "-cl-std=CL3.1", nullptr, nullptr), CL_SUCCESS);
  cl_kernel kernel = make_kernel(program, "f");
  constexpr size_t kItems = 64;
  cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, kItems * sizeof(cl_uint), nullptr, &error);
  ASSERT_EQ(clSetKernelArg(kernel, 0, sizeof out, &out), CL_SUCCESS);
  // No local memory at all: allowed from 3.1 on.
  ASSERT_EQ(clSetKernelArg(kernel, 1, 0, nullptr), CL_SUCCESS);
  ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, &kItems, 0, nullptr, nullptr), 0);
  const auto results = read<cl_uint>(out, kItems);
  const auto value = [](cl_uint lane) { return lane * 5 + 1; };
  for (cl_uint i = 0; i < kItems; ++i) {
    const cl_uint x = value(i);
    cl_uint reversed = 0;
    for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1) << (31 - bit);
    ASSERT_EQ(results[i], value(kItems - 1 - i) + value(i ^ 1) + value((i + 1) % kItems) + value(0) +
                              reversed + (x & 0xff) + (x >> 8 & 0xff))
        << "item " << i;
  }
  clReleaseMemObject(out);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(Version, ALocalArgumentOfNoBytesNeeds31) {
  cl_program program = make_program("kernel void f(local int* x) {}");
  cl_kernel kernel = make_kernel(program, "f");
  EXPECT_EQ(clSetKernelArg(kernel, 0, 0, nullptr), text == "3.1" ? CL_SUCCESS : CL_INVALID_ARG_SIZE);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

// The loader of Debian 12 knows no slot behind 3.0; newer ones call it.
TEST_F(Version, TheSuggestionHasItsSlotAndName) {
  using Suggest = cl_int (*)(cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, size_t*);
  const auto named = reinterpret_cast<Suggest>(
      clGetExtensionFunctionAddressForPlatform(platform, "clGetKernelSuggestedLocalWorkSize"));
  ASSERT_NE(named, nullptr);
  constexpr size_t kSlotsOf30 = 149;
  void** const slots = *reinterpret_cast<void***>(device);
  const auto in_slot = reinterpret_cast<Suggest>(slots[kSlotsOf30]);
  cl_program program = make_program("kernel void f() {}");
  cl_kernel kernel = make_kernel(program, "f");
  const size_t global = 4096;
  size_t local[2] = {0, 0};
  EXPECT_EQ(named(queue, kernel, 1, nullptr, &global, &local[0]), CL_SUCCESS);
  EXPECT_EQ(in_slot(queue, kernel, 1, nullptr, &global, &local[1]), CL_SUCCESS);
  EXPECT_GT(local[0], 0u);
  EXPECT_EQ(local[0], local[1]);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
