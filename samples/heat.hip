// Heat in a plate, in HIP: tiles in shared memory, two streams, events, pinned memory, a device-side printf.
//
// An ordinary HIP program, built by hipcc; it knows nothing of Morgana. Exits 1 when the result is not the host's.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr int kSide = 256, kTile = 16, kSteps = 50;
constexpr float kRate = 0.2f;

#define CHECK(call)                                                                            \
  do {                                                                                         \
    if (hipError_t error = (call); error != hipSuccess) {                                      \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error));     \
      return 1;                                                                                \
    }                                                                                          \
  } while (false)

__global__ void step(const float* from, float* to) {
  __shared__ float tile[kTile + 2][kTile + 2];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const auto at = [&](int column, int row) {
    return column < 0 || row < 0 || column >= kSide || row >= kSide ? 0.0f : from[row * kSide + column];
  };
  tile[ty][tx] = at(x, y);
  if (tx == 1) tile[ty][0] = at(x - 1, y);
  if (tx == kTile) tile[ty][tx + 1] = at(x + 1, y);
  if (ty == 1) tile[0][tx] = at(x, y - 1);
  if (ty == kTile) tile[ty + 1][tx] = at(x, y + 1);
  __syncthreads();
  const float around = tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1];
  to[y * kSide + x] = tile[ty][tx] + kRate * (around - 4 * tile[ty][tx]);
}

__global__ void greet(int plates) {
  if (threadIdx.x == 0) printf("  %d plates of %d x %d points, says the device\n", plates, kSide, kSide);
}

std::vector<float> plate(int corner) {
  std::vector<float> points(kSide * kSide);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j) points[(corner + i) * kSide + corner + j] = 100;
  return points;
}

std::vector<float> by_host(std::vector<float> now) {
  std::vector<float> next(now.size());
  const auto at = [&](int x, int y) {
    return x < 0 || y < 0 || x >= kSide || y >= kSide ? 0.0f : now[y * kSide + x];
  };
  for (int i = 0; i < kSteps; ++i) {
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        const float around = at(x, y - 1) + at(x, y + 1) + at(x - 1, y) + at(x + 1, y);
        next[y * kSide + x] = at(x, y) + kRate * (around - 4 * at(x, y));
      }
    now.swap(next);
  }
  return now;
}

}  // namespace

int main() {
  constexpr int kPlates = 2;
  constexpr size_t kBytes = sizeof(float) * kSide * kSide;
  hipDeviceProp_t device;
  CHECK(hipGetDeviceProperties(&device, 0));
  greet<<<1, 64>>>(kPlates);
  CHECK(hipDeviceSynchronize());

  float *host[kPlates], *now[kPlates], *next[kPlates];
  hipStream_t stream[kPlates];
  hipEvent_t begin, end;
  CHECK(hipEventCreate(&begin));
  CHECK(hipEventCreate(&end));
  CHECK(hipEventRecord(begin, nullptr));
  for (int p = 0; p < kPlates; ++p) {
    CHECK(hipStreamCreate(&stream[p]));
    CHECK(hipMalloc(&now[p], kBytes));
    CHECK(hipMalloc(&next[p], kBytes));
    CHECK(hipHostMalloc(&host[p], kBytes));
    const std::vector<float> start = plate(32 + 100 * p);
    std::copy(start.begin(), start.end(), host[p]);
    CHECK(hipMemcpyAsync(now[p], host[p], kBytes, hipMemcpyHostToDevice, stream[p]));
    for (int i = 0; i < kSteps; ++i) {
      step<<<dim3(kSide / kTile, kSide / kTile), dim3(kTile, kTile), 0, stream[p]>>>(now[p], next[p]);
      std::swap(now[p], next[p]);
    }
    CHECK(hipGetLastError());
    CHECK(hipMemcpyAsync(host[p], now[p], kBytes, hipMemcpyDeviceToHost, stream[p]));
  }
  CHECK(hipDeviceSynchronize());
  CHECK(hipEventRecord(end, nullptr));
  CHECK(hipEventSynchronize(end));
  float milliseconds = 0;
  CHECK(hipEventElapsedTime(&milliseconds, begin, end));
  CHECK(hipEventDestroy(begin));
  CHECK(hipEventDestroy(end));

  float worst = 0;
  for (int p = 0; p < kPlates; ++p) {
    const std::vector<float> expected = by_host(plate(32 + 100 * p));
    for (size_t i = 0; i < expected.size(); ++i) worst = std::fmax(worst, std::fabs(expected[i] - host[p][i]));
    CHECK(hipFree(now[p]));
    CHECK(hipFree(next[p]));
    CHECK(hipHostFree(host[p]));
    CHECK(hipStreamDestroy(stream[p]));
  }
  const bool correct = worst < 1e-4f;
  std::printf("heat         %-8.*s %10.3f ms  %s (largest error %g)\n", static_cast<int>(std::strcspn(device.gcnArchName, ":")), device.gcnArchName, milliseconds,
              correct ? "correct" : "WRONG", worst);
  return correct ? 0 : 1;
}
