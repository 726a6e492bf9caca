// Cases that compute: n-body, two single-precision GEMMs, and GEMMs in bf16 and fp8 on matrix instructions.
//
// A product C = A B^T is checked as a whole by Freivalds' method: C x against A (B^T x) for vectors x.
#include <algorithm>
#include <cmath>

#include "bench/case.h"

namespace bench {
namespace {

class NBody final : public KernelCase {
 public:
  NBody() : KernelCase(20e-9 * kBodies * kBodies, "GFlop/s") {}

 private:
  static constexpr size_t kBodies = 4096;

  void prepare(const Gpu& gpu) override {
    Random random(4);
    bodies_ = random.reals(kBodies * 4, 0.1f, 1);
    out_ = gpu.buffer(kBodies * 4 * sizeof(float));
    kernel_ = Kernel(gpu.build(R"(
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void nbody(global const float4* body, global float4* out, int count) {
  local float4 tile[256];
  int l = get_local_id(0);
  float4 me = body[get_global_id(0)];
  float3 force = 0;
  for (int start = 0; start < count; start += 256) {
    tile[l] = body[start + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 256; ++j) {
      float4 other = tile[j];
      float3 d = other.xyz - me.xyz;
      float inverse = native_rsqrt(fma(d.x, d.x, fma(d.y, d.y, fma(d.z, d.z, 0.01f))));
      force = fma(d, other.w * inverse * inverse * inverse, force);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = (float4)(force, me.w);
}
)"),
                     "nbody");
    kernel_.args(gpu.buffer(bodies_), out_, static_cast<int>(kBodies));
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kBodies}, {256}}); }
  double error(const Gpu& gpu) override {
    const std::vector<float> got = gpu.read<float>(out_, kBodies * 4);
    std::vector<float> found, wanted;
    for (size_t i = 0; i < kBodies; i += 16) {
      double force[3] = {};
      for (size_t j = 0; j < kBodies; ++j) {
        double d[3], square = 0.01;
        for (size_t k = 0; k < 3; ++k) {
          d[k] = double{bodies_[4 * j + k]} - bodies_[4 * i + k];
          square += d[k] * d[k];
        }
        for (size_t k = 0; k < 3; ++k) force[k] += d[k] * bodies_[4 * j + 3] / (square * std::sqrt(square));
      }
      for (size_t k = 0; k < 3; ++k) {
        found.push_back(got[4 * i + k]);
        wanted.push_back(static_cast<float>(force[k]));
      }
    }
    return worst(found, wanted, 2e-3);
  }

  std::vector<float> bodies_;
  cl_mem out_ = nullptr;
  Kernel kernel_;
};

// C (n x n, row-major) against A (row-major) and B, which is given as its transpose (row-major) when
// `by_rows`.
double product_error(const std::vector<float>& c, const std::vector<float>& a, const std::vector<float>& b,
                     size_t n, bool by_rows, double tolerance) {
  double result = 0;
  Random random(77);
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<double> x(n), bx(n);
    for (double& value : x) value = random.bits() % 2 == 0 ? 1 : -1;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) {
        if (by_rows)
          bx[j] += b[i * n + j] * x[i];
        else
          bx[i] += b[i * n + j] * x[j];
      }
    for (size_t i = 0; i < n; ++i) {
      double wanted = 0, got = 0;
      for (size_t j = 0; j < n; ++j) {
        wanted += a[i * n + j] * bx[j];
        got += c[i * n + j] * x[j];
      }
      // A row's error grows like the square root of the products that went into it.
      const double deviation = std::fabs(got - wanted) / (tolerance * static_cast<double>(n));
      if (!(deviation <= result)) result = std::isnan(deviation) ? HUGE_VAL : deviation;
    }
  }
  return result;
}

constexpr const char* kTiledGemm = R"(
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void gemm(global const float* a, global const float* b, global float* c, int n) {
  local float at[16][16], bt[16][16];
  int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    at[y][x] = a[row * n + k + x];
    bt[y][x] = b[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 16; ++i) sum = fma(at[y][i], bt[i][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
)";

constexpr const char* kNaiveGemm = R"(
kernel void gemm(global const float* a, global const float* b, global float* c, int n) {
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; ++k) sum = fma(a[row * n + k], b[k * n + column], sum);
  c[row * n + column] = sum;
}
)";

class Sgemm final : public KernelCase {
 public:
  Sgemm(const char* source, std::vector<size_t> local)
      : KernelCase(2e-9 * kSide * kSide * kSide, "GFlop/s"), source_(source), local_(std::move(local)) {}

 private:
  static constexpr size_t kSide = 512;

  void prepare(const Gpu& gpu) override {
    Random random(5);
    a_ = random.reals(kSide * kSide, -1, 1);
    b_ = random.reals(kSide * kSide, -1, 1);
    out_ = gpu.buffer(kSide * kSide * sizeof(float));
    kernel_ = Kernel(gpu.build(source_), "gemm");
    kernel_.args(gpu.buffer(a_), gpu.buffer(b_), out_, static_cast<int>(kSide));
  }
  void launch(const Gpu& gpu) override { kernel_.enqueue(gpu, {{kSide, kSide}, local_}); }
  double error(const Gpu& gpu) override {
    return product_error(gpu.read<float>(out_, kSide * kSide), a_, b_, kSide, false, 1e-5);
  }

  const char* source_;
  std::vector<size_t> local_;
  std::vector<float> a_, b_;
  cl_mem out_ = nullptr;
  Kernel kernel_;
};

// Each wave makes 64 x 64 of C from 2 x 2 blocks of v_mfma_f32_32x32x16. Lane l holds row l % 32 of a block
// and eight neighbours in k from 8 * (l / 32); result register r is row 8 * (r / 4) + 4 * (l / 32) + r % 4,
// column l % 32 (CDNA4 ISA guide 7.1).
constexpr const char* kMatrixKernel = R"(
#if defined(__gfx950__)
typedef float floats16 __attribute__((ext_vector_type(16)));
#ifdef FP8
typedef long Block;
#define MULTIPLY(a, b, c) __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, c, 0, 0, 0)
#else
typedef __bf16 Block __attribute__((ext_vector_type(8)));
#define MULTIPLY(a, b, c) __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, c, 0, 0, 0)
#endif
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void gemm(global const Block* a, global const Block* b, global float* c, int n) {
  int lane = get_local_id(0), row = get_group_id(1) * 64, column = get_group_id(0) * 64, blocks = n / 8;
  global const Block* a0 = a + (row + lane % 32) * blocks + lane / 32;
  global const Block* b0 = b + (column + lane % 32) * blocks + lane / 32;
  global const Block* a1 = a0 + 32 * blocks;
  global const Block* b1 = b0 + 32 * blocks;
  floats16 c00 = 0, c01 = 0, c10 = 0, c11 = 0;
  for (int k = 0; k < blocks; k += 2) {
    Block x0 = a0[k], x1 = a1[k], y0 = b0[k], y1 = b1[k];
    c00 = MULTIPLY(x0, y0, c00);
    c01 = MULTIPLY(x0, y1, c01);
    c10 = MULTIPLY(x1, y0, c10);
    c11 = MULTIPLY(x1, y1, c11);
  }
  global float* out = c + (row + 4 * (lane / 32)) * n + column + lane % 32;
  for (int r = 0; r < 16; ++r) {
    int at = (8 * (r / 4) + r % 4) * n;
    out[at] = c00[r];
    out[at + 32] = c01[r];
    out[at + 32 * n] = c10[r];
    out[at + 32 * n + 32] = c11[r];
  }
}
#endif
)";

// On a device without those instructions: a tiled GEMM of the same size in single precision.
class MatrixGemm final : public KernelCase {
 public:
  explicit MatrixGemm(bool fp8) : KernelCase(2e-9 * kSide * kSide * kSide, "GFlop/s"), fp8_(fp8) {}

 private:
  static constexpr size_t kSide = 1024;

  static bool has_matrix_instructions(const Gpu& gpu) {
    char name[256] = {};
    CHECK(clGetDeviceInfo(gpu.device, CL_DEVICE_NAME, sizeof name, name, nullptr));
    return std::string(name).find("gfx950") != std::string::npos;
  }
  // Exact in both formats: 0, +-1/2, +-1, +-3/2.
  uint32_t encode(float value) const {
    const uint32_t sign = value < 0 ? 1 : 0;
    const float size = std::fabs(value);
    if (fp8_) {  // E4M3, bias 7
      const uint32_t bits = size == 0 ? 0 : size == 0.5f ? 0x30 : size == 1 ? 0x38 : 0x3c;
      return sign << 7 | bits;
    }
    const uint32_t bits = size == 0 ? 0 : size == 0.5f ? 0x3f00 : size == 1 ? 0x3f80 : 0x3fc0;
    return sign << 15 | bits;
  }
  cl_mem encoded(const Gpu& gpu, const std::vector<float>& values) const {
    std::vector<uint8_t> bytes;
    for (float value : values) {
      const uint32_t bits = encode(value);
      bytes.push_back(static_cast<uint8_t>(bits));
      if (!fp8_) bytes.push_back(static_cast<uint8_t>(bits >> 8));
    }
    return gpu.buffer(bytes);
  }

  void prepare(const Gpu& gpu) override {
    Random random(6);
    for (std::vector<float>* matrix : {&a_, &b_}) {
      matrix->resize(kSide * kSide);
      for (float& value : *matrix) value = 0.5f * (static_cast<float>(random.bits() % 7) - 3);
    }
    out_ = gpu.buffer(kSide * kSide * sizeof(float));
    matrix_ = has_matrix_instructions(gpu);
    if (matrix_) {
      kernel_ = Kernel(gpu.build(kMatrixKernel, fp8_ ? "-DFP8" : ""), "gemm");
      kernel_.args(encoded(gpu, a_), encoded(gpu, b_), out_, static_cast<int>(kSide));
    } else {
      kernel_ = Kernel(gpu.build(kTiledGemm), "gemm");
      kernel_.args(gpu.buffer(a_), gpu.buffer(b_), out_, static_cast<int>(kSide));
    }
  }
  void launch(const Gpu& gpu) override {
    if (matrix_)
      kernel_.enqueue(gpu, {{kSide, kSide / 64}, {64, 1}});
    else
      kernel_.enqueue(gpu, {{kSide, kSide}, {16, 16}});
  }
  double error(const Gpu& gpu) override {
    // Every product and sum is exact. The matrix kernel takes B by columns.
    return product_error(gpu.read<float>(out_, kSide * kSide), a_, b_, kSide, matrix_, 1e-12);
  }

  bool fp8_, matrix_ = false;
  std::vector<float> a_, b_;
  cl_mem out_ = nullptr;
  Kernel kernel_;
};

}  // namespace

std::unique_ptr<Case> make_nbody() { return std::make_unique<NBody>(); }
std::unique_ptr<Case> make_sgemm_tiled() {
  return std::make_unique<Sgemm>(kTiledGemm, std::vector<size_t>{16, 16});
}
std::unique_ptr<Case> make_sgemm_naive() {
  return std::make_unique<Sgemm>(kNaiveGemm, std::vector<size_t>{64, 4});
}
std::unique_ptr<Case> make_mfma_bf16() { return std::make_unique<MatrixGemm>(false); }
std::unique_ptr<Case> make_mfma_fp8() { return std::make_unique<MatrixGemm>(true); }

}  // namespace bench
