/* arithmetic: a loop of dependent multiply-adds and integer steps; wave-instructions per second can be read off the
 * instruction count that the device library reports (bench/run.py runs `morgana dispatch --count` beside it). */
#include "bench/bench.h"

static const char* source =
    "kernel void arithmetic(global float* out, int n) {\n"
    "  float a = get_global_id(0), b = a + 1, c = a + 2, d = a + 3;\n"
    "  for (int i = 0; i < n; ++i) {\n"
    "    a = fma(a, 0.999f, 1.0f); b = fma(b, 0.998f, a); c = fma(c, 0.997f, b); d = fma(d, 0.996f, c);\n"
    "    a = fma(d, 0.001f, a); b = fma(a, 0.002f, b); c = fma(b, 0.003f, c); d = fma(c, 0.004f, d);\n"
    "  }\n"
    "  out[get_global_id(0)] = a + b + c + d;\n"
    "}\n";

int main(void) {
  Bench b = bench_open();
  cl_kernel kernel = bench_kernel(&b, source, "", "arithmetic");
  enum { ITEMS = 64 * 64, ROUNDS = 7 };
  cl_int error;
  cl_mem out = clCreateBuffer(b.context, CL_MEM_WRITE_ONLY, ITEMS * sizeof(float), NULL, &error);
  CHECK(error);
  const cl_int n = 20000;
  CHECK(clSetKernelArg(kernel, 0, sizeof out, &out));
  CHECK(clSetKernelArg(kernel, 1, sizeof n, &n));
  const size_t global = ITEMS, local = 64;
  double time[ROUNDS];
  for (int i = -1; i < ROUNDS; ++i) {
    double start = bench_now();
    CHECK(clEnqueueNDRangeKernel(b.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL));
    CHECK(clFinish(b.queue));
    if (i >= 0) time[i] = bench_now() - start;
  }
  double seconds = bench_median(time, ROUNDS);
  /* Eight multiply-adds a lane and round, in waves of 64. */
  bench_print("wave multiply-adds", 8.0 * n * ITEMS / 64 / seconds / 1e6, "M/s");
  bench_print("arithmetic loop", seconds * 1e3, "ms");
  return 0;
}
