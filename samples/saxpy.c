/* saxpy: y = a x + y over a million floats. */
#include <math.h>

#include "samples/sample.h"

static const char* source =
    "kernel void saxpy(global const float* x, global float* y, float a) {\n"
    "  size_t i = get_global_id(0);\n"
    "  y[i] = a * x[i] + y[i];\n"
    "}\n";

int main(void) {
  enum { N = 1 << 20 };
  float* x = malloc(N * sizeof *x);
  float* y = malloc(N * sizeof *y);
  float* result = malloc(N * sizeof *result);
  for (int i = 0; i < N; ++i) {
    x[i] = (float)i * 0.001f;
    y[i] = (float)(i % 1000);
  }
  Sample s = sample_open();
  cl_program program = sample_build(&s, source, "");
  cl_kernel kernel = sample_kernel(program, "saxpy");
  cl_mem bx = sample_buffer(&s, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, N * sizeof *x, x);
  cl_mem by = sample_buffer(&s, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, N * sizeof *y, y);
  const float a = 2.5f;
  CHECK(clSetKernelArg(kernel, 0, sizeof bx, &bx));
  CHECK(clSetKernelArg(kernel, 1, sizeof by, &by));
  CHECK(clSetKernelArg(kernel, 2, sizeof a, &a));
  const size_t global = N, local = 256;
  sample_run(&s, kernel, 1, &global, &local);
  CHECK(clEnqueueReadBuffer(s.queue, by, CL_TRUE, 0, N * sizeof *y, result, 0, NULL, NULL));

  int wrong = 0;
  for (int i = 0; i < N; ++i) {
    /* The compiler may contract to one rounding or not. */
    double expected = (double)a * x[i] + y[i];
    wrong += fabs(result[i] - expected) > 4e-7 * fabs(expected) + 1e-6;
  }
  clReleaseMemObject(bx);
  clReleaseMemObject(by);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  free(x);
  free(y);
  free(result);
  char detail[64];
  snprintf(detail, sizeof detail, "%d elements, %d wrong", N, wrong);
  return sample_close(&s, "saxpy", wrong == 0, detail);
}
