// Debian's librocrand against host references: Philox bit by bit, distributions of four generators by their moments
// and a histogram.
#include <hip/hip_runtime.h>
#include <rocrand/rocrand.h>
#include <rocrand/rocrand_kernel.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr unsigned long long kSeed = 20'201'234'567ull;

#define CHECK(call)                                                                   \
  do {                                                                                \
    if (const auto status = (call); static_cast<int>(status) != 0) {                  \
      std::printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(status)); \
      return false;                                                                   \
    }                                                                                 \
  } while (false)

__global__ void philox_device(uint4* out, unsigned long long seed, unsigned long long offset) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  rocrand_state_philox4x32_10 state;
  rocrand_init(seed, i, offset, &state);
  out[i] = rocrand4(&state);
}

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3": ten rounds over (offset / 4, subsequence).
void philox_host(uint32_t (&c)[4], uint64_t seed) {
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

bool philox_is_exact() {
  constexpr unsigned kCount = 10'240;
  constexpr uint64_t kOffset = 4 * 77;
  uint4* device;
  CHECK(hipMalloc(&device, kCount * sizeof(uint4)));
  philox_device<<<kCount / 256, 256>>>(device, kSeed, kOffset);
  std::vector<uint4> out(kCount);
  CHECK(hipMemcpy(out.data(), device, kCount * sizeof(uint4), hipMemcpyDeviceToHost));
  CHECK(hipFree(device));
  for (unsigned i = 0; i < kCount; ++i) {
    uint32_t c[4] = {kOffset / 4, 0, i, 0};
    philox_host(c, kSeed);
    if (out[i].x != c[0] || out[i].y != c[1] || out[i].z != c[2] || out[i].w != c[3]) {
      std::printf("philox %u: %08x %08x %08x %08x, expected %08x %08x %08x %08x\n", i, out[i].x, out[i].y, out[i].z,
                  out[i].w, c[0], c[1], c[2], c[3]);
      return false;
    }
  }
  return true;
}

// Mean and deviation within five standard errors; for uniform values also chi-squared over 64 bins.
bool looks_like(const std::vector<float>& values, double mean, double deviation, bool is_uniform) {
  double sum = 0, squares = 0;
  std::vector<double> bins(64);
  for (float value : values) {
    sum += value;
    squares += double{value} * value;
    if (is_uniform) {
      if (!(value >= 0 && value <= 1)) return false;
      bins[std::min(63, static_cast<int>(value * 64))] += 1;
    }
  }
  const auto n = static_cast<double>(values.size());
  const double m = sum / n, d = std::sqrt(squares / n - m * m), error = deviation / std::sqrt(n);
  double chi = 0;
  for (double bin : bins) chi += is_uniform ? (bin - n / 64) * (bin - n / 64) / (n / 64) : 0;
  const bool ok = std::fabs(m - mean) < 5 * error && std::fabs(d - deviation) < 5 * error && chi < 130;
  std::printf("  mean %.5f deviation %.5f chi-squared %.1f%s\n", m, d, chi, ok ? "" : "  WRONG");
  return ok;
}

bool generator_is_fair(const char* name, rocrand_rng_type type) {
  constexpr size_t kCount = 1 << 20;
  std::printf("%s\n", name);
  float* device;
  CHECK(hipMalloc(&device, kCount * sizeof(float)));
  rocrand_generator generator;
  CHECK(rocrand_create_generator(&generator, type));
  CHECK(rocrand_set_seed(generator, kSeed));
  std::vector<float> host(kCount);
  CHECK(rocrand_generate_uniform(generator, device, kCount));
  CHECK(hipMemcpy(host.data(), device, kCount * sizeof(float), hipMemcpyDeviceToHost));
  bool ok = looks_like(host, 0.5, std::sqrt(1 / 12.0), true);
  CHECK(rocrand_generate_normal(generator, device, kCount, 1.0f, 2.0f));
  CHECK(hipMemcpy(host.data(), device, kCount * sizeof(float), hipMemcpyDeviceToHost));
  ok &= looks_like(host, 1, 2, false);
  CHECK(rocrand_destroy_generator(generator));
  CHECK(hipFree(device));
  return ok;
}

}  // namespace

int main() {
  bool ok = philox_is_exact();
  ok &= generator_is_fair("philox4x32-10", ROCRAND_RNG_PSEUDO_PHILOX4_32_10);
  ok &= generator_is_fair("xorwow", ROCRAND_RNG_PSEUDO_XORWOW);
  ok &= generator_is_fair("mrg32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A);
  ok &= generator_is_fair("mtgp32", ROCRAND_RNG_PSEUDO_MTGP32);
  std::puts(ok ? "PASSED" : "FAILED");
  return ok ? 0 : 1;
}
