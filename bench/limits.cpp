// limits: what the processor can do at most, for the benchmarks to be read against: fused multiply-adds in
// single precision and the STREAM triad, on every processor that is available. Prints lines like
// bench_kernels.
#include <immintrin.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "bench/memory_size.h"

namespace {

double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

constexpr int kChains = 12;  // independent accumulators: more than latency times ports

__attribute__((target("avx512f"))) float multiply_512(long rounds) {
  __m512 sums[kChains], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f);
  for (__m512& sum : sums) sum = y;
  for (long i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < kChains; ++j) sums[j] = _mm512_fmadd_ps(sums[j], x, y);
  for (int j = 1; j < kChains; ++j) sums[0] = _mm512_add_ps(sums[0], sums[j]);
  return _mm512_reduce_add_ps(sums[0]);
}

__attribute__((target("avx2,fma"))) float multiply_256(long rounds) {
  __m256 sums[kChains], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f);
  for (__m256& sum : sums) sum = y;
  for (long i = 0; i < rounds; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < kChains; ++j) sums[j] = _mm256_fmadd_ps(sums[j], x, y);
  for (int j = 1; j < kChains; ++j) sums[0] = _mm256_add_ps(sums[0], sums[j]);
  return _mm256_cvtss_f32(sums[0]);
}

volatile float sink;

int processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// Seconds that `threads` threads take for `body(index)`, all together; of processor time when it is one, so
// that other programs do not count.
template <typename Body>
double timed(int threads, Body body) {
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const double start = now(clock);
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(body, i);
  body(0);
  for (std::thread& other : others) other.join();
  return now(clock) - start;
}

double fma_peak(int threads) {
  constexpr long kRounds = 8'000'000;
  const bool wide = __builtin_cpu_supports("avx512f");
  if (!wide && !__builtin_cpu_supports("fma")) return 0;
  double best = 0;
  for (int trial = 0; trial < 5; ++trial) {
    const double seconds =
        timed(threads, [&](int) { sink = wide ? multiply_512(kRounds) : multiply_256(kRounds); });
    best = std::max(best, 2.0 * kChains * (wide ? 16 : 8) * kRounds * threads / seconds / 1e9);
  }
  return best;
}

// a = b + s * c in single precision, as saxpy's counterpart; 12 bytes an element, arrays of its size.
double triad(int threads) {
  const size_t count = bench::beyond_caches();
  auto make = [&](float value) {
    auto array = std::make_unique<float[]>(count);
    std::fill_n(array.get(), count, value);
    return array;
  };
  auto a = make(0), b = make(1), c = make(2);
  double best = 0;
  for (int trial = 0; trial < 8; ++trial) {
    const double seconds = timed(threads, [&](int index) {
      const auto part = static_cast<size_t>(index), parts = static_cast<size_t>(threads);
      const size_t from = count * part / parts, to = count * (part + 1) / parts;
      for (size_t i = from; i < to; ++i) a[i] = b[i] + 3.0f * c[i];
      sink = a[from];
    });
    best = std::max(best, 12.0 * static_cast<double>(count) / seconds / 1e9);
  }
  return best;
}

}  // namespace

int main() {
  const int all = processors();
  std::printf("limits\tprocessors\t%d\t\n", all);
  std::printf("limits\tFMA, one thread\t%.6g\tGFlop/s\n", fma_peak(1));
  std::printf("limits\tFMA, all threads\t%.6g\tGFlop/s\n", fma_peak(all));
  std::printf("limits\ttriad, one thread\t%.6g\tGB/s\n", triad(1));
  std::printf("limits\ttriad, all threads\t%.6g\tGB/s\n", triad(all));
  return 0;
}
