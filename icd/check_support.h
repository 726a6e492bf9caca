// What tests of kernels under checks have in common. The environment of the tests sets MORGANA_CHECK.
#pragma once

#include <string>
#include <vector>

#include "icd/test_support.h"

namespace morgana::icd::test {

// Waves that load a tile to LDS past the registers, twice a wave (its own part, and the part behind all of
// them), and read a part of it. gfx6 to gfx950. The arguments: what stands behind the loads,
// what before the read, and which element that is of.
inline std::string loads_to_lds(const std::string& wait, const std::string& barrier,
                                const std::string& element) {
  return R"code(
kernel void k(global int* to) {
  local int tile[256];
  const uint i = get_local_id(0), lane = i & 63;
  const ulong from = (ulong)to;
  const uint first = __builtin_amdgcn_readfirstlane((uint)(local void*)tile + (i - lane) * 4);
  __asm__ volatile("s_mov_b32 s20, %0\n s_and_b32 s21, %1, 0xffff\n s_mov_b32 s22, 0x1000\n"
                   "s_mov_b32 s23, 0x27000\n s_mov_b32 m0, %2\n s_nop 4\n"
                   "buffer_load_dword %3, s[20:23], 0 offen lds\n"
                   "buffer_load_dword %3, s[20:23], 0 offen offset:512 lds\n"
                   ")code" +
         wait + R"code(" :: "s"((uint)from), "s"((uint)(from >> 32)), "s"(first), "v"(lane * 4)
                   : "s20", "s21", "s22", "s23", "scc", "m0", "memory");
  )code" +
         barrier + "\n  const int read = tile[" + element + R"code(];
  __asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory");
  to[512 + i] = read;
})code";
}

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
