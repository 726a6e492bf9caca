// cl_intel_required_subgroup_size: what sizes there are, and what a kernel may ask for. 64 on gfx950.
#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

using SubGroupSize = OpenCl;

constexpr const char* kSource = R"(
kernel __attribute__((intel_reqd_sub_group_size(SIZE))) void fixed(global int* to) {
  to[get_global_id(0)] = get_max_sub_group_size();
}
kernel void any(global int* to) { to[get_global_id(0)] = 1; }
)";

TEST_F(SubGroupSize, OfTheDevice) {
  size_t sizes[4] = {}, bytes = 0;
  EXPECT_EQ(clGetDeviceInfo(device, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes),
            CL_SUCCESS);
  EXPECT_EQ(bytes, sizeof(size_t));
  EXPECT_EQ(sizes[0], 64u);
}

TEST_F(SubGroupSize, OfAKernel) {
  cl_program program = make_program(kSource, "-cl-std=CL3.0 -DSIZE=64");
  const struct {
    const char* kernel;
    size_t size;
  } rows[] = {{"fixed", 64}, {"any", 0}};
  for (const auto& row : rows) {
    cl_kernel kernel = make_kernel(program, row.kernel);
    size_t size = 1;
    EXPECT_EQ(clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL, 0, nullptr,
                                      sizeof size, &size, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(size, row.size) << row.kernel;
    cl_ulong spilled = 1;
    EXPECT_EQ(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_SPILL_MEM_SIZE_INTEL, sizeof spilled,
                                       &spilled, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(spilled, 0u);
    clReleaseKernel(kernel);
  }
  // What tells of it is no variable of the program's.
  size_t variables = 1;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE, sizeof variables,
                        &variables, nullptr);
  EXPECT_EQ(variables, 0u);
  cl_kernel fixed = make_kernel(program, "fixed");
  cl_mem buffer = make_buffer(64 * sizeof(cl_int));
  const size_t items = 64;
  clSetKernelArg(fixed, 0, sizeof buffer, &buffer);
  EXPECT_EQ(clEnqueueNDRangeKernel(queue, fixed, 1, nullptr, &items, &items, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(read<cl_int>(buffer, 64), std::vector<cl_int>(64, 64));
  clReleaseMemObject(buffer);
  clReleaseKernel(fixed);
  clReleaseProgram(program);
}

TEST_F(SubGroupSize, AnotherOneIsRefused) {
  cl_int error;
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, "-cl-std=CL3.0 -DSIZE=32", nullptr, nullptr),
            CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(build_log(program).find("kernel 'fixed' requires sub-groups of 32"), std::string::npos)
      << build_log(program);
  clReleaseProgram(program);
}

// Waves of gfx10 and later have 32 lanes, and 64 on request.
TEST_F(SubGroupSize, OfDevicesThatHaveTwo) {
  int seen = 0;
  for (cl_device_id one : all_devices()) {
    char name[256] = {};
    clGetDeviceInfo(one, CL_DEVICE_NAME, sizeof name, name, nullptr);
    if (!std::string_view(name).starts_with("gfx1")) continue;
    SCOPED_TRACE(name);
    ++seen;
    use(one);
    size_t sizes[2] = {};
    EXPECT_EQ(clGetDeviceInfo(device, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(sizes[0], 32u);
    EXPECT_EQ(sizes[1], 64u);
    for (const size_t size : {32, 64}) {
      cl_program program = make_program(kSource, ("-cl-std=CL3.0 -DSIZE=" + std::to_string(size)).c_str());
      cl_kernel kernel = make_kernel(program, "fixed");
      size_t multiple = 0;
      clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof multiple,
                               &multiple, nullptr);
      EXPECT_EQ(multiple, size);
      cl_mem buffer = make_buffer(128 * sizeof(cl_int));
      const size_t items = 128;
      clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
      EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr),
                CL_SUCCESS);
      EXPECT_EQ(read<cl_int>(buffer, items), std::vector<cl_int>(items, static_cast<cl_int>(size)));
      clReleaseMemObject(buffer);
      clReleaseKernel(kernel);
      clReleaseProgram(program);
    }
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace morgana::icd::test
