// Kernels that stream through more memory than caches hold: every element against the host, for arrays that
// begin at cache lines and elsewhere, results in their operands' place, grids that end within a wave, and a
// second kernel that reads what the first one stored.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(hipError_t error, int line) {
  if (error == hipSuccess) return;
  std::printf("line %d: %s\n", line, hipGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

template <typename T>
__global__ void triad(T* a, const T* b, const T* c, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) a[i] = b[i] + T(0.5) * c[i];
}

template <typename T>
__global__ void twice(T* a, T* sum, int n) {
  const size_t i = size_t{blockDim.x} * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  a[i] = a[i] + a[i];
  sum[i] = a[i] + T(1);
}

// Goes through memory several times its size.
template <typename T>
__global__ void rounds(T* a, const T* b, size_t n) {
  for (size_t i = size_t{blockDim.x} * blockIdx.x + threadIdx.x; i < n; i += size_t{blockDim.x} * gridDim.x)
    a[i] = b[i] + T(i);
}

template <typename T>
T value(size_t i, unsigned salt) {
  return T((i * 2654435761u + salt) >> 8 & 0xffff);
}

// `skew`: elements before the first.
template <typename T>
bool run(const char* name, int n, int skew, int group) {
  std::vector<T> b(n), c(n), got(n), sums(n);
  for (int i = 0; i < n; i++) b[i] = value<T>(i, 1), c[i] = value<T>(i, 77);
  T *memory[4], *at[4];
  for (int m = 0; m < 4; m++) {
    CHECK(hipMalloc(&memory[m], (n + size_t(skew) + 1) * sizeof(T)));
    at[m] = memory[m] + skew;
    CHECK(hipMemset(memory[m], 0, (n + size_t(skew) + 1) * sizeof(T)));
  }
  CHECK(hipMemcpy(at[1], b.data(), n * sizeof(T), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(at[2], c.data(), n * sizeof(T), hipMemcpyHostToDevice));
  bool good = true;
  // The first launches may be interpreted.
  for (int round = 0; round < 3 && good; round++) {
    const int groups = (n + group - 1) / group;
    triad<T><<<groups, group>>>(at[0], at[1], at[2], n);
    twice<T><<<groups, group>>>(at[0], at[3], n);
    CHECK(hipMemcpy(got.data(), at[0], n * sizeof(T), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(sums.data(), at[3], n * sizeof(T), hipMemcpyDeviceToHost));
    for (int i = 0; i < n && good; i++) {
      const T expected = 2 * (b[i] + T(0.5) * c[i]);
      good = got[i] == expected && sums[i] == expected + 1;
      if (!good)
        std::printf("%s, round %d, element %d: %g and %g\n", name, round, i, double(got[i]), double(sums[i]));
    }
    T ends[2];
    CHECK(hipMemcpy(ends, memory[0], sizeof(T), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(ends + 1, at[0] + n, sizeof(T), hipMemcpyDeviceToHost));
    if ((skew && ends[0] != 0) || ends[1] != 0) std::printf("%s: written outside\n", name), good = false;
  }
  for (T* m : memory) CHECK(hipFree(m));
  std::printf("%s: %s\n", name, good ? "ok" : "wrong");
  return good;
}

template <typename T>
bool run_rounds(const char* name, int group_count, int group, size_t n) {
  std::vector<T> b(n), got(n);
  for (size_t i = 0; i < n; i++) b[i] = value<T>(i, 5);
  T *from, *to;
  CHECK(hipMalloc(&from, n * sizeof(T)));
  CHECK(hipMalloc(&to, n * sizeof(T)));
  CHECK(hipMemcpy(from, b.data(), n * sizeof(T), hipMemcpyHostToDevice));
  bool good = true;
  for (int round = 0; round < 3 && good; round++) {
    CHECK(hipMemset(to, 0, n * sizeof(T)));
    rounds<T><<<group_count, group>>>(to, from, n);
    CHECK(hipMemcpy(got.data(), to, n * sizeof(T), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < n && good; i++) {
      good = got[i] == b[i] + T(i);
      if (!good) std::printf("%s, round %d, element %zu: %g\n", name, round, i, double(got[i]));
    }
  }
  CHECK(hipFree(from));
  CHECK(hipFree(to));
  std::printf("%s: %s\n", name, good ? "ok" : "wrong");
  return good;
}

}  // namespace

int main() {
  constexpr int kMany = 9 << 20;  // of floats: more than 32 MiB
  bool good = run<float>("float", kMany, 0, 256);
  good &= run_rounds<float>("float, three rounds", kMany / 256, 256, 2 * size_t{kMany} + 300);
  good &= run_rounds<double>("double, two rounds", kMany / 512, 256, size_t{kMany} - 77);
  good &= run_rounds<double>("double, one round", kMany / 256, 256, size_t{kMany} - 1);
  good &= run<float>("float, skewed", kMany, 1, 256);
  good &= run<float>("float, a grid that ends within a wave", kMany - 37, 0, 1024);
  good &= run<double>("double", kMany / 2, 0, 1024);
  good &= run<double>("double, skewed", kMany / 2 - 5, 3, 256);
  good &= run<float>("few", 100000, 0, 256);
  std::printf(good ? "PASSED\n" : "FAILED\n");
  return good ? 0 : 1;
}
