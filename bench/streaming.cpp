// Cases that go over data once: saxpy, Black-Scholes, Mandelbrot, a 5x5 convolution, a transposition.
#include <cmath>

#include "bench/case.h"
#include "bench/memory_size.h"

namespace bench {
namespace {

class Saxpy final : public KernelCase {
 public:
  Saxpy() : KernelCase(12e-9 * static_cast<double>(beyond_caches()), "GB/s") {}

 private:
  void prepare(const Gpu& gpu) override {
    Random random(1);
    x_ = random.reals(count_, -1, 1);
    y_ = random.reals(count_, -1, 1);
    out_ = gpu.buffer(y_);
    kernel_ = Kernel(gpu.build("kernel void saxpy(float a, global const float* x, global float* y) {\n"
                               "  size_t i = get_global_id(0);\n"
                               "  y[i] = fma(a, x[i], y[i]);\n"
                               "}\n"),
                     "saxpy");
    kernel_.args(0.5f, gpu.buffer(x_), out_);
  }
  void launch(const Gpu& gpu) override {
    kernel_.enqueue(gpu, {{count_}, {256}});
    ++launches_;
  }
  double error(const Gpu& gpu) override {
    std::vector<float> wanted = y_;
    for (size_t i = 0; i < count_; i += 97)
      for (int n = 0; n < launches_; ++n) wanted[i] = std::fma(0.5f, x_[i], wanted[i]);
    std::vector<float> got = gpu.read<float>(out_, count_);
    for (size_t i = 0; i < count_; ++i)
      if (i % 97 != 0) {
        // Between the samples: the sum of that many steps, whatever their rounding.
        wanted[i] = static_cast<float>(y_[i] + 0.5 * launches_ * double{x_[i]});
      } else if (got[i] != wanted[i]) {
        return HUGE_VAL;
      }
    return worst(got, wanted, 1e-4);
  }

  std::vector<float> x_, y_;
  cl_mem out_ = nullptr;
  Kernel kernel_;
  const size_t count_ = beyond_caches();
  int launches_ = 0;
};

class BlackScholes final : public KernelCase {
 public:
  BlackScholes() : KernelCase(1e-9 * kCount, "Goptions/s") {}

 private:
  static constexpr size_t kCount = size_t{1} << 20;

  void prepare(const Gpu& gpu) override {
    Random random(2);
    price_ = random.reals(kCount, 5, 30);
    strike_ = random.reals(kCount, 1, 100);
    years_ = random.reals(kCount, 0.25f, 10);
    call_ = gpu.buffer(kCount * sizeof(float));
    put_ = gpu.buffer(kCount * sizeof(float));
    kernel_ = Kernel(gpu.build(R"(
float below(float d) {  /* the normal distribution, Abramowitz and Stegun 26.2.17 */
  float k = 1 / (1 + 0.2316419f * fabs(d));
  float tail = 0.39894228f * exp(-0.5f * d * d) *
      (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1 - tail : tail;
}
kernel void black_scholes(global const float* price, global const float* strike, global const float* years,
                          global float* call, global float* put, float rate, float volatility) {
  size_t i = get_global_id(0);
  float s = price[i], x = strike[i], t = years[i], root = sqrt(t);
  float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  float d2 = d1 - volatility * root, discount = exp(-rate * t);
  call[i] = s * below(d1) - x * discount * below(d2);
  put[i] = x * discount * (1 - below(d2)) - s * (1 - below(d1));
}
)"),
                     "black_scholes");
    kernel_.args(gpu.buffer(price_), gpu.buffer(strike_), gpu.buffer(years_), call_, put_, kRate,
                 kVolatility);
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kCount}, {256}}); }
  double error(const Gpu& gpu) override {
    std::vector<float> call(kCount), put(kCount);
    auto below = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
    for (size_t i = 0; i < kCount; ++i) {
      const double s = price_[i], x = strike_[i], t = years_[i], v = kVolatility, r = kRate;
      const double d1 = (std::log(s / x) + (r + 0.5 * v * v) * t) / (v * std::sqrt(t));
      const double d2 = d1 - v * std::sqrt(t), discount = std::exp(-r * t);
      call[i] = static_cast<float>(s * below(d1) - x * discount * below(d2));
      put[i] = static_cast<float>(x * discount * below(-d2) - s * below(-d1));
    }
    return std::max(worst(gpu.read<float>(call_, kCount), call, 1e-4),
                    worst(gpu.read<float>(put_, kCount), put, 1e-4));
  }

  static constexpr float kRate = 0.02f, kVolatility = 0.30f;
  std::vector<float> price_, strike_, years_;
  cl_mem call_ = nullptr, put_ = nullptr;
  Kernel kernel_;
};

class Mandelbrot final : public KernelCase {
 public:
  Mandelbrot() : KernelCase(1e-9 * kWidth * kHeight, "Gpixel/s") {}

 private:
  static constexpr size_t kWidth = 1024, kHeight = 768;
  static constexpr int kLimit = 256;

  void prepare(const Gpu& gpu) override {
    out_ = gpu.buffer(kWidth * kHeight * sizeof(int));
    // No contraction: the host has to count the same steps.
    kernel_ = Kernel(gpu.build(R"(
#pragma OPENCL FP_CONTRACT OFF
kernel void mandelbrot(global int* out, float left, float top, float step, int limit) {
  int x = get_global_id(0), y = get_global_id(1);
  float cr = left + x * step, ci = top + y * step, zr = 0, zi = 0;
  int n = 0;
  while (n < limit && zr * zr + zi * zi <= 4.0f) {
    float next = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = next;
    ++n;
  }
  out[y * get_global_size(0) + x] = n;
}
)"),
                     "mandelbrot");
    kernel_.args(out_, kLeft, kTop, kStep, kLimit);
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kWidth, kHeight}, {64, 4}}); }
  double error(const Gpu& gpu) override {
#pragma STDC FP_CONTRACT OFF
    const std::vector<int> got = gpu.read<int>(out_, kWidth * kHeight);
    size_t wrong = 0;
    for (size_t y = 0; y < kHeight; ++y)
      for (size_t x = 0; x < kWidth; ++x) {
        const float cr = kLeft + static_cast<float>(x) * kStep, ci = kTop + static_cast<float>(y) * kStep;
        float zr = 0, zi = 0;
        int n = 0;
        for (; n < kLimit && zr * zr + zi * zi <= 4.0f; ++n) {
          const float next = zr * zr - zi * zi + cr;
          zi = 2 * zr * zi + ci;
          zr = next;
        }
        wrong += n != got[y * kWidth + x];
      }
    return wrong == 0 ? 0 : HUGE_VAL;
  }

  static constexpr float kLeft = -2.2f, kTop = -1.2f, kStep = 0.003125f;
  cl_mem out_ = nullptr;
  Kernel kernel_;
};

class Convolution final : public KernelCase {
 public:
  Convolution() : KernelCase(50e-9 * kWidth * kHeight, "GFlop/s") {}

 private:
  static constexpr size_t kWidth = 2048, kHeight = 1024;

  void prepare(const Gpu& gpu) override {
    Random random(3);
    picture_ = random.reals(kWidth * kHeight, 0, 1);
    filter_ = random.reals(25, -1, 1);
    out_ = gpu.buffer(kWidth * kHeight * sizeof(float));
    kernel_ = Kernel(gpu.build(R"(
kernel void convolve(global const float* in, global float* out, constant float* filter) {
  int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);
  float sum = 0;
  for (int j = -2; j <= 2; ++j)
    for (int i = -2; i <= 2; ++i) {
      int u = clamp(x + i, 0, width - 1), v = clamp(y + j, 0, height - 1);
      sum = fma(in[v * width + u], filter[(j + 2) * 5 + i + 2], sum);
    }
  out[y * width + x] = sum;
}
)"),
                     "convolve");
    kernel_.args(gpu.buffer(picture_), out_, gpu.buffer(filter_));
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kWidth, kHeight}, {64, 4}}); }
  double error(const Gpu& gpu) override {
    std::vector<float> wanted(kWidth * kHeight);
    for (int y = 0; y < int{kHeight}; ++y)
      for (int x = 0; x < int{kWidth}; ++x) {
        float sum = 0;
        for (int j = -2; j <= 2; ++j)
          for (int i = -2; i <= 2; ++i) {
            const int u = std::min(std::max(x + i, 0), int{kWidth} - 1);
            const int v = std::min(std::max(y + j, 0), int{kHeight} - 1);
            sum += picture_[static_cast<size_t>(v) * kWidth + static_cast<size_t>(u)] *
                   filter_[static_cast<size_t>(j + 2) * 5 + static_cast<size_t>(i + 2)];
          }
        wanted[static_cast<size_t>(y) * kWidth + static_cast<size_t>(x)] = sum;
      }
    return worst(gpu.read<float>(out_, kWidth * kHeight), wanted, 1e-5);
  }

  std::vector<float> picture_, filter_;
  cl_mem out_ = nullptr;
  Kernel kernel_;
};

class Transpose final : public KernelCase {
 public:
  Transpose() : KernelCase(8e-9 * kSide * kSide, "GB/s") {}

 private:
  static constexpr size_t kSide = 2048;

  void prepare(const Gpu& gpu) override {
    std::vector<uint32_t> in(kSide * kSide);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i * 2654435761u);
    out_ = gpu.buffer(kSide * kSide * sizeof(uint32_t));
    kernel_ = Kernel(gpu.build(R"(
kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void transpose(global const uint* in, global uint* out, int side) {
  local uint tile[32][33];
  int x = get_local_id(0), y = get_local_id(1), column = get_group_id(0) * 32, row = get_group_id(1) * 32;
  for (int j = y; j < 32; j += 8) tile[j][x] = in[(row + j) * side + column + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int j = y; j < 32; j += 8) out[(column + j) * side + row + x] = tile[x][j];
}
)"),
                     "transpose");
    kernel_.args(gpu.buffer(in), out_, static_cast<int>(kSide));
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kSide, kSide / 4}, {32, 8}}); }
  double error(const Gpu& gpu) override {
    const std::vector<uint32_t> got = gpu.read<uint32_t>(out_, kSide * kSide);
    for (size_t y = 0; y < kSide; ++y)
      for (size_t x = 0; x < kSide; ++x)
        if (got[y * kSide + x] != static_cast<uint32_t>((x * kSide + y) * 2654435761u)) return HUGE_VAL;
    return 0;
  }

  cl_mem out_ = nullptr;
  Kernel kernel_;
};

}  // namespace

std::unique_ptr<Case> make_saxpy() { return std::make_unique<Saxpy>(); }
std::unique_ptr<Case> make_black_scholes() { return std::make_unique<BlackScholes>(); }
std::unique_ptr<Case> make_mandelbrot() { return std::make_unique<Mandelbrot>(); }
std::unique_ptr<Case> make_conv() { return std::make_unique<Convolution>(); }
std::unique_ptr<Case> make_transpose() { return std::make_unique<Transpose>(); }

}  // namespace bench
