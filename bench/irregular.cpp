// Cases of irregular access or integer work: SpMV, SHA-256, FFT.
#include <cmath>
#include <complex>
#include <numbers>

#include "bench/case.h"

namespace bench {
namespace {

// Compressed rows, one work-item a row.
class SpMV final : public KernelCase {
 public:
  SpMV() : KernelCase(2e-9 * kRows * kPerRow, "GFlop/s") {}

 private:
  static constexpr size_t kRows = 65536, kPerRow = 16;

  void prepare(const Gpu& gpu) override {
    Random random(10);
    start_.push_back(0);
    for (size_t row = 0; row < kRows; ++row) {
      // 8 to 24 entries, 16 on average.
      const uint32_t count = 8 + random.bits() % 17;
      for (uint32_t i = 0; i < count; ++i) {
        column_.push_back(random.bits() % kRows);
        value_.push_back(random.real(-1, 1));
      }
      start_.push_back(static_cast<uint32_t>(column_.size()));
    }
    x_ = random.reals(kRows, -1, 1);
    out_ = gpu.buffer(kRows * sizeof(float));
    kernel_ = Kernel(gpu.build(R"(
kernel void spmv(global const uint* start, global const uint* column, global const float* value,
                 global const float* x, global float* y) {
  size_t row = get_global_id(0);
  float sum = 0;
  for (uint i = start[row]; i < start[row + 1]; ++i) sum = fma(value[i], x[column[i]], sum);
  y[row] = sum;
}
)"),
                     "spmv");
    kernel_.args(gpu.buffer(start_), gpu.buffer(column_), gpu.buffer(value_), gpu.buffer(x_), out_);
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kRows}, {64}}); }
  double error(const Gpu& gpu) override {
    std::vector<float> wanted(kRows);
    for (size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (uint32_t i = start_[row]; i < start_[row + 1]; ++i) sum += double{value_[i]} * x_[column_[i]];
      wanted[row] = static_cast<float>(sum);
    }
    return worst(gpu.read<float>(out_, kRows), wanted, 1e-5);
  }

  std::vector<uint32_t> start_, column_;
  std::vector<float> value_, x_;
  cl_mem out_ = nullptr;
  Kernel kernel_;
};

// The first 32 bits of the fractional parts of the cube (square) roots of the first primes: FIPS 180-4, 4.2.2
// and 5.3.3.
std::vector<uint32_t> root_bits(int count, bool cube) {
  std::vector<uint32_t> bits;
  for (uint64_t n = 2; bits.size() < static_cast<size_t>(count); ++n) {
    bool prime = true;
    for (uint64_t d = 2; d * d <= n; ++d) prime &= n % d != 0;
    if (!prime) continue;
    const long double root =
        cube ? std::cbrt(static_cast<long double>(n)) : std::sqrt(static_cast<long double>(n));
    bits.push_back(static_cast<uint32_t>(std::fmod(root, 1.0L) * 4294967296.0L));
  }
  return bits;
}

// Digests of messages of one block: word i of message m is m * 16 + i, taken as already padded.
class Sha256 final : public KernelCase {
 public:
  Sha256() : KernelCase(64e-9 * kMessages, "GB/s") {}

 private:
  static constexpr size_t kMessages = 131072;

  void prepare(const Gpu& gpu) override {
    out_ = gpu.buffer(kMessages * 8 * sizeof(uint32_t));
    std::string table = "constant uint k[64] = {";
    for (uint32_t word : root_bits(64, true)) table += std::to_string(word) + "u, ";
    table += "};\nconstant uint start[8] = {";
    for (uint32_t word : root_bits(8, false)) table += std::to_string(word) + "u, ";
    kernel_ = Kernel(gpu.build(table + R"(};
uint turned(uint x, uint n) { return rotate(x, 32 - n); }
kernel void sha256(global uint* out) {
  uint message = get_global_id(0), w[16], h[8];
  for (uint i = 0; i < 16; ++i) w[i] = message * 16 + i;
  for (uint i = 0; i < 8; ++i) h[i] = start[i];
#pragma unroll
  for (uint i = 0; i < 64; ++i) {
    if (i >= 16) {
      uint x = w[(i + 1) & 15], y = w[(i + 14) & 15];
      w[i & 15] += (turned(x, 7) ^ turned(x, 18) ^ x >> 3) + w[(i + 9) & 15] + (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
    }
    uint t = h[7] + (turned(h[4], 6) ^ turned(h[4], 11) ^ turned(h[4], 25)) + bitselect(h[6], h[5], h[4]) + k[i] + w[i & 15];
    uint u = (turned(h[0], 2) ^ turned(h[0], 13) ^ turned(h[0], 22)) + bitselect(h[0], h[1], h[0] ^ h[2]);
    h[7] = h[6], h[6] = h[5], h[5] = h[4], h[4] = h[3] + t, h[3] = h[2], h[2] = h[1], h[1] = h[0], h[0] = t + u;
  }
  for (uint i = 0; i < 8; ++i) out[i * get_global_size(0) + message] = start[i] + h[i];
}
)"),
                     "sha256");
    kernel_.args(out_);
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kMessages}, {64}}); }
  double error(const Gpu& gpu) override {
    const std::vector<uint32_t> got = gpu.read<uint32_t>(out_, kMessages * 8);
    const std::vector<uint32_t> k = root_bits(64, true), start = root_bits(8, false);
    auto turned = [](uint32_t x, int n) { return x >> n | x << (32 - n); };
    for (size_t message = 0; message < kMessages; message += 7) {
      uint32_t w[64], h[8];
      for (uint32_t i = 0; i < 16; ++i) w[i] = static_cast<uint32_t>(message) * 16 + i;
      for (int i = 16; i < 64; ++i)
        w[i] = w[i - 16] + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
      for (size_t i = 0; i < 8; ++i) h[i] = start[i];
      for (size_t i = 0; i < 64; ++i) {
        const uint32_t t = h[7] + (turned(h[4], 6) ^ turned(h[4], 11) ^ turned(h[4], 25)) +
                           ((h[4] & h[5]) ^ (~h[4] & h[6])) + k[i] + w[i];
        const uint32_t u = (turned(h[0], 2) ^ turned(h[0], 13) ^ turned(h[0], 22)) +
                           ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
        for (size_t j = 7; j > 0; --j) h[j] = h[j - 1];
        h[4] += t;
        h[0] = t + u;
      }
      for (size_t i = 0; i < 8; ++i)
        if (got[i * kMessages + message] != start[i] + h[i]) return HUGE_VAL;
    }
    return 0;
  }

  cl_mem out_ = nullptr;
  Kernel kernel_;
};

// 1024 transforms of 1024 complex points each: radix 4 in local memory (Stockham, so nothing is reversed).
class Fft final : public KernelCase {
 public:
  Fft() : KernelCase(5e-9 * kPoints * 10 * kBatch, "GFlop/s") {}

 private:
  static constexpr size_t kPoints = 1024, kBatch = 1024;

  void prepare(const Gpu& gpu) override {
    Random random(11);
    in_ = random.reals(kPoints * kBatch * 2, -1, 1);
    out_ = gpu.buffer(in_.size() * sizeof(float));
    kernel_ = Kernel(gpu.build(R"(
float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void fft(global const float2* in, global float2* out) {
  local float2 points[1024];
  int l = get_local_id(0), base = get_group_id(0) * 1024;
  float2 v[4];
  for (int i = 0; i < 4; ++i) v[i] = in[base + l + 256 * i];
  for (int done = 1;; done *= 4) {
    int within = l & (done - 1);
    float angle = -6.2831853f * within / (4 * done), c, s = sincos(angle, &c);
    float2 turn = (float2)(c, s), turn2 = times(turn, turn), turn3 = times(turn2, turn);
    v[1] = times(v[1], turn);
    v[2] = times(v[2], turn2);
    v[3] = times(v[3], turn3);
    float2 a = v[0] + v[2], b = v[0] - v[2], d = v[1] + v[3], e = v[1] - v[3];
    float2 r = (float2)(e.y, -e.x);
    int to = (l - within) * 4 + within;
    if (done == 256) {
      out[base + to] = a + d;
      out[base + to + done] = b + r;
      out[base + to + 2 * done] = a - d;
      out[base + to + 3 * done] = b - r;
      return;
    }
    points[to] = a + d;
    points[to + done] = b + r;
    points[to + 2 * done] = a - d;
    points[to + 3 * done] = b - r;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; ++i) v[i] = points[l + 256 * i];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
)"),
                     "fft");
    kernel_.args(gpu.buffer(in_), out_);
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kBatch * 256}, {256}}); }

  // The transform by its definition, of a few rows.
  double error(const Gpu& gpu) override {
    const std::vector<float> got = gpu.read<float>(out_, in_.size());
    std::vector<std::complex<double>> root(kPoints);
    for (size_t i = 0; i < kPoints; ++i)
      root[i] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / kPoints);
    double result = 0;
    for (size_t row : {size_t{0}, size_t{1}, size_t{511}, kBatch - 1}) {
      const float* x = &in_[row * kPoints * 2];
      for (size_t i = 0; i < kPoints; ++i) {
        std::complex<double> sum = 0;
        for (size_t j = 0; j < kPoints; ++j)
          sum += std::complex<double>(x[2 * j], x[2 * j + 1]) * root[i * j % kPoints];
        const size_t at = (row * kPoints + i) * 2;
        const double deviation = std::abs(std::complex<double>(got[at], got[at + 1]) - sum) / 1e-3;
        if (!(deviation <= result)) result = std::isnan(deviation) ? HUGE_VAL : deviation;
      }
    }
    // All rows: Parseval's theorem.
    for (size_t row = 0; row < kBatch; ++row) {
      double before = 0, after = 0;
      for (size_t i = row * kPoints * 2; i < (row + 1) * kPoints * 2; ++i) {
        before += double{in_[i]} * in_[i];
        after += double{got[i]} * got[i];
      }
      if (!(std::fabs(after / kPoints - before) < 1e-4 * before)) return HUGE_VAL;
    }
    return result;
  }

  std::vector<float> in_;
  cl_mem out_ = nullptr;
  Kernel kernel_;
};

}  // namespace

std::unique_ptr<Case> make_spmv() { return std::make_unique<SpMV>(); }
std::unique_ptr<Case> make_sha256() { return std::make_unique<Sha256>(); }
std::unique_ptr<Case> make_fft() { return std::make_unique<Fft>(); }

}  // namespace bench
