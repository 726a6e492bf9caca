/* histogram: 256 bins over eight million bytes; local atomics, then global ones. */
#include <string.h>

#include "samples/sample.h"

static const char* source =
    "kernel void histogram(global const uchar* in, uint n, global uint* bins) {\n"
    "  local uint mine[256];\n"
    "  for (uint i = get_local_id(0); i < 256; i += get_local_size(0)) mine[i] = 0;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&mine[in[i]]);\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (uint i = get_local_id(0); i < 256; i += get_local_size(0)) atomic_add(&bins[i], mine[i]);\n"
    "}\n";

int main(void) {
  const cl_uint n = 8 * 1024 * 1024;
  cl_uchar* in = malloc(n);
  cl_uint expected[256] = {0}, result[256] = {0};
  cl_uint state = 7;
  for (cl_uint i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    in[i] = (cl_uchar)((state >> 24) * (state >> 16 & 0xff) >> 8); /* uneven on purpose */
    ++expected[in[i]];
  }
  Sample s = sample_open();
  cl_program program = sample_build(&s, source, "");
  cl_kernel kernel = sample_kernel(program, "histogram");
  cl_mem bin = sample_buffer(&s, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, n, in);
  cl_mem bbins = sample_buffer(&s, CL_MEM_READ_WRITE, sizeof result, NULL);
  const cl_uint zero = 0;
  CHECK(clEnqueueFillBuffer(s.queue, bbins, &zero, sizeof zero, 0, sizeof result, 0, NULL, NULL));
  CHECK(clSetKernelArg(kernel, 0, sizeof bin, &bin));
  CHECK(clSetKernelArg(kernel, 1, sizeof n, &n));
  CHECK(clSetKernelArg(kernel, 2, sizeof bbins, &bbins));
  const size_t global = 32 * 256, local = 256;
  sample_run(&s, kernel, 1, &global, &local);
  CHECK(clEnqueueReadBuffer(s.queue, bbins, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL));
  int correct = memcmp(result, expected, sizeof result) == 0;
  clReleaseMemObject(bin);
  clReleaseMemObject(bbins);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  free(in);
  char detail[64];
  snprintf(detail, sizeof detail, "%u bytes in 256 bins", n);
  return sample_close(&s, "histogram", correct, detail);
}
