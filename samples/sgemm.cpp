// sgemm: C = A B for 512 x 512 floats, in 16 x 16 tiles of local memory.
#include <cmath>
#include <vector>

#include "samples/open.hpp"

static const char* source = R"(
#define T 16
kernel __attribute__((reqd_work_group_size(T, T, 1)))
void sgemm(global const float* a, global const float* b, global float* c, int n) {
  local float ta[T][T], tb[T][T];
  int x = get_local_id(0), y = get_local_id(1);
  int col = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += T) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < T; ++i) sum = fma(ta[y][i], tb[i][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + col] = sum;
})";

int main() {
  const int n = 512;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i * 7 % 31 - 15) / 16;
    b[i] = static_cast<float>(i * 11 % 29 - 14) / 8;
  }
  Gpu gpu;
  cl::Kernel kernel(gpu.build(source), "sgemm");
  cl::Buffer da(gpu.context, a.begin(), a.end(), true), db(gpu.context, b.begin(), b.end(), true);
  cl::Buffer dc(gpu.context, CL_MEM_WRITE_ONLY, sizeof(float) * n * n);
  kernel.setArg(0, da);
  kernel.setArg(1, db);
  kernel.setArg(2, dc);
  kernel.setArg(3, n);
  gpu.run(kernel, {n, n}, {16, 16});
  cl::copy(gpu.queue, dc, c.begin(), c.end());

  // The values are multiples of 1/128 and the sums small enough to be exact in float: the result must match
  // to the bit.
  int wrong = 0;
  for (int row = 0; row < n; ++row) {
    std::vector<float> expected(n);
    for (int k = 0; k < n; ++k)
      for (int col = 0; col < n; ++col) expected[col] += a[row * n + k] * b[k * n + col];
    for (int col = 0; col < n; ++col) wrong += expected[col] != c[row * n + col];
  }
  return gpu.close("sgemm", wrong == 0,
                   std::to_string(n) + " x " + std::to_string(n) + ", " + std::to_string(wrong) + " wrong");
}
