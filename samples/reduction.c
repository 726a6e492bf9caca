/* reduction: the sum of four million integers; local memory, barriers, then one atomic per work-group. */
#include "samples/sample.h"

static const char* source =
    "kernel void sum(global const uint* in, uint n, global uint* out, local uint* part) {\n"
    "  uint l = get_local_id(0), total = 0;\n"
    "  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) total += in[i];\n"
    "  part[l] = total;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (uint step = get_local_size(0) / 2; step > 0; step /= 2) {\n"
    "    if (l < step) part[l] += part[l + step];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  if (l == 0) atomic_add(out, part[0]);\n"
    "}\n";

int main(void) {
  const cl_uint n = 4 * 1024 * 1024 + 123;
  cl_uint* in = malloc(n * sizeof *in);
  cl_uint expected = 0, zero = 0, result = 0, state = 1;
  for (cl_uint i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    in[i] = state >> 8;
    expected += in[i];
  }
  Sample s = sample_open();
  cl_program program = sample_build(&s, source, "");
  cl_kernel kernel = sample_kernel(program, "sum");
  cl_mem bin = sample_buffer(&s, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, n * sizeof *in, in);
  cl_mem bout = sample_buffer(&s, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero, &zero);
  CHECK(clSetKernelArg(kernel, 0, sizeof bin, &bin));
  CHECK(clSetKernelArg(kernel, 1, sizeof n, &n));
  CHECK(clSetKernelArg(kernel, 2, sizeof bout, &bout));
  CHECK(clSetKernelArg(kernel, 3, 256 * sizeof(cl_uint), NULL));
  const size_t global = 64 * 256, local = 256;
  sample_run(&s, kernel, 1, &global, &local);
  CHECK(clEnqueueReadBuffer(s.queue, bout, CL_TRUE, 0, sizeof result, &result, 0, NULL, NULL));
  clReleaseMemObject(bin);
  clReleaseMemObject(bout);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  free(in);
  char detail[64];
  snprintf(detail, sizeof detail, "sum %u, expected %u", result, expected);
  return sample_close(&s, "reduction", result == expected, detail);
}
