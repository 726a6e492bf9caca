// What tests of kernels under checks have in common. The environment of the tests sets MORGANA_CHECK.
#pragma once

#include <string>
#include <vector>

#include "icd/test_support.h"

namespace morgana::icd::test {

class Check : public OpenCl {
 protected:
  // Executes kernel `k` of the source with a buffer of `elements` ints, and returns what was reported.
  std::string check(const char* source, size_t elements, size_t items, size_t group, size_t local_bytes = 0,
                    const char* options = "-g -cl-std=CL3.0") {
    cl_program program = make_program(source, options);
    const std::vector<cl_int> zeros(elements);
    cl_mem buffer =
        make_buffer(elements * sizeof(cl_int), CL_MEM_COPY_HOST_PTR, const_cast<cl_int*>(zeros.data()));
    const std::string report = launch(program, buffer, items, group, local_bytes);
    clReleaseMemObject(buffer);
    clReleaseProgram(program);
    return report;
  }

  std::string launch(cl_program program, cl_mem buffer, size_t items, size_t group, size_t local_bytes,
                     cl_mem image = nullptr) {
    cl_kernel kernel = make_kernel(program, "k");
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    if (image != nullptr) clSetKernelArg(kernel, 1, sizeof image, &image);
    if (local_bytes != 0) clSetKernelArg(kernel, 1, local_bytes, nullptr);
    testing::internal::CaptureStderr();
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr),
              CL_SUCCESS);
    clFinish(queue);
    clReleaseKernel(kernel);
    return testing::internal::GetCapturedStderr();
  }
};

}  // namespace morgana::icd::test
