// MORGANA_GROUP_SIZE: how large the groups of kernels are that name no size, of 256 work-items or as many as
// the environment says.
#include <cstdlib>

#include "icd/il_support.h"

namespace morgana::icd::test {
namespace {

class GroupSize : public Il {
 protected:
  static size_t expected() {
    const char* const set = std::getenv("MORGANA_GROUP_SIZE");
    const size_t wanted = set == nullptr ? 256 : std::strtoul(set, nullptr, 10);
    return wanted >= 256 && wanted <= 1024 ? wanted : 256;
  }
  size_t limit_of(cl_kernel kernel) {
    size_t limit = 0;
    EXPECT_EQ(
        clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit, nullptr),
        CL_SUCCESS);
    return limit;
  }
  // Runs one group of k(global uint* out).
  cl_int run_group(cl_kernel kernel, size_t items, std::vector<cl_uint>& out) {
    out.resize(items, ~0u);
    cl_mem buffer = make_buffer(items * sizeof(cl_uint), CL_MEM_COPY_HOST_PTR, out.data());
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
    const cl_int error =
        clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr);
    out = read<cl_uint>(buffer, items);
    clReleaseMemObject(buffer);
    return error;
  }
};

TEST_F(GroupSize, OfTheDevice) {
  size_t most = 0;
  EXPECT_EQ(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, nullptr), CL_SUCCESS);
  EXPECT_EQ(most, expected());
}

// Work-items turn their numbers round through local memory, with a called function and a
// sum of the group.
TEST_F(GroupSize, OfAKernelFromSource) {
  constexpr const char* kSource = R"(
__attribute__((noinline)) uint twice(uint x) { barrier(CLK_LOCAL_MEM_FENCE); return 2 * x; }
kernel void k(global uint* out) {
  local uint turned[1024];
  size_t i = get_local_id(0), n = get_local_size(0);
  uint many[24];
  for (int j = 0; j < 24; ++j) many[j] = out[(i + j) % n] + j;
  turned[i] = twice(i);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint sum = 0;
  for (int j = 0; j < 24; ++j) sum += many[j] * (uint)turned[(i + j) % n];
  barrier(CLK_GLOBAL_MEM_FENCE);
  out[i] = turned[n - 1 - i] + work_group_reduce_add((uint)1) + sum;
})";
  for (cl_device_id one : all_devices()) {
    use(one);
    for (const char* options : {"-cl-std=CL3.0", "-cl-std=CL3.0 -cl-opt-disable"}) {
      SCOPED_TRACE(options);
      cl_program program = make_program(kSource, options);
      cl_kernel kernel = make_kernel(program, "k");
      EXPECT_EQ(limit_of(kernel), expected());
      std::vector<cl_uint> out;
      const cl_uint n = static_cast<cl_uint>(expected());
      ASSERT_EQ(run_group(kernel, n, out), CL_SUCCESS);
      for (cl_uint i = 0; i < n; ++i) {
        cl_uint sum = 0;
        for (cl_uint j = 0; j < 24; ++j) sum += (j - 1) * 2 * ((i + j) % n);
        ASSERT_EQ(out[i], 2 * (n - 1 - i) + n + sum) << i;
      }
      EXPECT_EQ(run_group(kernel, n + 1, out),
                n < 1024 ? CL_INVALID_WORK_GROUP_SIZE : CL_INVALID_WORK_ITEM_SIZE);
      clReleaseKernel(kernel);
      clReleaseProgram(program);
    }
  }
}

TEST_F(GroupSize, OfAKernelFromSpirv) {
  cl_program program = make_il(kernel("%result = OpIMul %uint %given %uint_10"));
  cl_kernel kernel = make_kernel(program, "k");
  EXPECT_EQ(limit_of(kernel), expected());
  std::vector<cl_uint> out;
  ASSERT_EQ(run_group(kernel, expected(), out), CL_SUCCESS);
  EXPECT_EQ(out, std::vector<cl_uint>(expected(), ~0u * 10));
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

TEST_F(GroupSize, OfKernelsInCpp) {
  cl_program program = make_program(R"(
kernel void plain(global uint* out) { out[0] = 1; }
extern "C" { kernel void linked(global uint* out) { out[0] = 1; } }
namespace far { namespace away { kernel void named(global uint* out) { out[0] = 1; } } }
)",
                                    "-cl-std=CLC++2021");
  for (const char* name : {"plain", "linked", "named"}) {
    cl_kernel kernel = make_kernel(program, name);
    EXPECT_EQ(limit_of(kernel), expected()) << name;
    clReleaseKernel(kernel);
  }
  clReleaseProgram(program);
}

TEST_F(GroupSize, AnAttributeKeepsItsOwn) {
  cl_program program = make_program(R"(
kernel __attribute__((reqd_work_group_size(32, 2, 1))) void required(global uint* out) { out[0] = 1; }
kernel __attribute__((amdgpu_flat_work_group_size(1, 256))) void small(global uint* out) { out[0] = 1; }
kernel __attribute__((amdgpu_flat_work_group_size(1, 512))) void large(global uint* out) { out[0] = 1; }
kernel void declared(global uint* out);
kernel void declared(global uint* out) { out[0] = 1; }
)",
                                    "-cl-std=CL3.0");
  const struct {
    const char* name;
    size_t limit;
  } rows[] = {{"required", 64}, {"small", 256}, {"large", 512}, {"declared", expected()}};
  for (const auto& row : rows) {
    cl_kernel kernel = make_kernel(program, row.name);
    EXPECT_EQ(limit_of(kernel), row.limit) << row.name;
    clReleaseKernel(kernel);
  }
  clReleaseProgram(program);
}

}  // namespace
}  // namespace morgana::icd::test
