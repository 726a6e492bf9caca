// What a benchmark of the suite is, and what it is written with: buffers, kernels, launches, result lines.
//
// A program over the public OpenCL interface: it measures whatever platform the loader finds.
// Single-threaded.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#define CHECK(call)                                                                           \
  do {                                                                                        \
    const cl_int check_status = (call);                                                       \
    if (check_status != CL_SUCCESS) {                                                         \
      std::fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, check_status); \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)

namespace bench {

// The first device of the first platform. Everything lives until the process ends.
struct Gpu {
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;

  static Gpu open();
  cl_program build(const std::string& source, const char* options = "") const;
  cl_mem buffer(size_t bytes, const void* content = nullptr) const;
  template <typename T>
  cl_mem buffer(const std::vector<T>& content) const {
    return buffer(content.size() * sizeof(T), content.data());
  }
  template <typename T>
  std::vector<T> read(cl_mem buffer, size_t count) const {
    std::vector<T> values(count);
    CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(T), values.data(), 0, nullptr,
                              nullptr));
    return values;
  }
  void finish() const { CHECK(clFinish(queue)); }
};

struct Range {
  std::vector<size_t> global, local;
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(cl_program program, const char* name);
  template <typename... Args>
  Kernel& args(const Args&... values) {
    cl_uint index = 0;
    (set(index++, sizeof values, &values), ...);
    return *this;
  }
  void set(cl_uint index, size_t size, const void* value) {
    CHECK(clSetKernelArg(kernel_, index, size, value));
  }
  void enqueue(const Gpu& gpu, const Range& range) const;

 private:
  cl_kernel kernel_ = nullptr;
};

// Wall and processor time in seconds.
struct Time {
  double wall, cpu;
  static Time now();
  static double now_wall();  // cheaper: asking for processor time is a system call
  Time operator-(const Time& start) const { return {wall - start.wall, cpu - start.cpu}; }
};

double median(std::vector<double> values);

// "CASE <tab> METRIC <tab> VALUE <tab> UNIT" on standard output.
void print(const std::string& name, const char* metric, double value, const char* unit);

class Case {
 public:
  virtual ~Case() = default;
  virtual void run(const Gpu& gpu, const std::string& name) = 0;
};

// A case that times one thing again and again: what `launch` enqueues. It is warmed up first, so that neither
// building nor tiering is timed, and checked before and after.
class KernelCase : public Case {
 public:
  void run(const Gpu& gpu, const std::string& name) final;

 protected:
  // `work` per launch in 1e9 of `unit` (GFlop, GB ...).
  KernelCase(double work, const char* unit) : work_(work), unit_(unit) {}
  virtual void prepare(const Gpu& gpu) = 0;
  virtual void launch(const Gpu& gpu) = 0;
  // Compares with the host's result: the worst deviation over what is tolerated, so at most 1 is right.
  virtual double error(const Gpu& gpu) = 0;

 private:
  double work_;
  const char* unit_;
};

// Every case of the suite by name.
struct Entry {
  const char* name;
  std::function<std::unique_ptr<Case>()> make;
};
const std::vector<Entry>& entries();

// Reproducible numbers in [low, high).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 32);
  }
  float real(float low, float high) {
    return low + (high - low) * static_cast<float>(bits() >> 8) * 0x1p-24f;
  }
  std::vector<float> reals(size_t count, float low, float high) {
    std::vector<float> values(count);
    for (float& value : values) value = real(low, high);
    return values;
  }

 private:
  uint64_t state_;
};

// The worst |got - wanted| / (tolerance * scale), where scale is at least 1 and |wanted|.
double worst(const std::vector<float>& got, const std::vector<float>& wanted, double tolerance);

// The cases, by family.
std::unique_ptr<Case> make_saxpy();
std::unique_ptr<Case> make_black_scholes();
std::unique_ptr<Case> make_mandelbrot();
std::unique_ptr<Case> make_conv();
std::unique_ptr<Case> make_transpose();
std::unique_ptr<Case> make_nbody();
std::unique_ptr<Case> make_sgemm_tiled();
std::unique_ptr<Case> make_sgemm_naive();
std::unique_ptr<Case> make_mfma_bf16();
std::unique_ptr<Case> make_mfma_fp8();
std::unique_ptr<Case> make_reduction();
std::unique_ptr<Case> make_histogram();
std::unique_ptr<Case> make_bitonic();
std::unique_ptr<Case> make_radix();
std::unique_ptr<Case> make_spmv();
std::unique_ptr<Case> make_sha256();
std::unique_ptr<Case> make_fft();
std::unique_ptr<Case> make_launch();
std::unique_ptr<Case> make_small_launches();
std::unique_ptr<Case> make_command_buffer();
std::unique_ptr<Case> make_build();

}  // namespace bench
