// Kernels under checks (MORGANA_CHECK, in the environment of the tests) with unified shared memory: it is
// known by its kind, and what it holds at first nobody has written.
#include "icd/usm_support.h"

namespace morgana::icd::test {
namespace {

using UsmCheck = OpenCl;

// What is found at one place is told once, so each has a kernel of its own.
TEST_F(UsmCheck, AnAllocationIsNamedByItsKind) {
  const UsmApi usm(platform);
  const struct {
    void* memory;
    std::string kind;
  } rows[] = {{usm.host(context, nullptr, 400, 0, nullptr), "host"},
              {usm.device(context, device, nullptr, 400, 0, nullptr), "device"},
              {usm.shared(context, device, nullptr, 400, 0, nullptr), "shared"}};
  for (const auto& row : rows) {
    const std::string name = row.kind + "_kernel";
    const std::string source = "kernel void " + name + "(global int* to) { to[get_global_id(0)] += 1; }";
    cl_program program = make_program(source.c_str(), "-g");
    cl_kernel kernel = make_kernel(program, name.c_str());
    const auto report = [&](size_t items) {
      testing::internal::CaptureStderr();
      clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &items, 0, nullptr, nullptr);
      clFinish(queue);
      return testing::internal::GetCapturedStderr();
    };
    ASSERT_EQ(usm.argument(kernel, 0, row.memory), CL_SUCCESS);
    EXPECT_TRUE(has(report(100), "uninitialized: kernel")) << row.kind;
    const cl_int zero = 0;
    EXPECT_EQ(usm.fill(queue, row.memory, &zero, sizeof zero, 400, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(report(100), "");
    const std::string beyond = report(101);
    EXPECT_TRUE(has(beyond, ("0 bytes past the end of " + row.kind + " USM").c_str())) << beyond;
    EXPECT_EQ(usm.free(context, row.memory), CL_SUCCESS);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  }
}

}  // namespace
}  // namespace morgana::icd::test
