// bench_kernels NAME...: runs cases of the suite and prints their figures; without a name, lists them.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/case.h"

namespace bench {

Gpu Gpu::open() {
  Gpu gpu;
  cl_platform_id platform;
  CHECK(clGetPlatformIDs(1, &platform, nullptr));
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &gpu.device, nullptr));
  cl_int error;
  gpu.context = clCreateContext(nullptr, 1, &gpu.device, nullptr, nullptr, &error);
  CHECK(error);
  gpu.queue = clCreateCommandQueueWithProperties(gpu.context, gpu.device, nullptr, &error);
  CHECK(error);
  return gpu;
}

cl_program Gpu::build(const std::string& source, const char* options) const {
  const char* text = source.c_str();
  cl_int error;
  cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &error);
  CHECK(error);
  if (clBuildProgram(program, 1, &device, options, nullptr, nullptr) != CL_SUCCESS) {
    std::vector<char> log(65536);
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
    std::fprintf(stderr, "%s\n", log.data());
    std::exit(1);
  }
  return program;
}

cl_mem Gpu::buffer(size_t bytes, const void* content) const {
  cl_int error;
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | (content ? CL_MEM_COPY_HOST_PTR : 0), bytes,
                                 const_cast<void*>(content), &error);
  CHECK(error);
  return buffer;
}

Kernel::Kernel(cl_program program, const char* name) {
  cl_int error;
  kernel_ = clCreateKernel(program, name, &error);
  CHECK(error);
}

void Kernel::enqueue(const Gpu& gpu, const Range& range) const {
  CHECK(clEnqueueNDRangeKernel(gpu.queue, kernel_, static_cast<cl_uint>(range.global.size()), nullptr,
                               range.global.data(), range.local.empty() ? nullptr : range.local.data(), 0,
                               nullptr, nullptr));
}

namespace {

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

Time Time::now() { return {now_wall(), seconds(CLOCK_PROCESS_CPUTIME_ID)}; }
double Time::now_wall() { return seconds(CLOCK_MONOTONIC); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(const std::string& name, const char* metric, double value, const char* unit) {
  std::printf("%s\t%s\t%.6g\t%s\n", name.c_str(), metric, value, unit);
  std::fflush(stdout);
}

double worst(const std::vector<float>& got, const std::vector<float>& wanted, double tolerance) {
  if (got.size() != wanted.size()) return HUGE_VAL;
  double result = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double deviation =
        std::fabs(double{got[i]} - wanted[i]) / (tolerance * std::max(1.0, std::fabs(double{wanted[i]})));
    if (!(deviation <= result)) result = std::isnan(deviation) ? HUGE_VAL : deviation;
  }
  return result;
}

namespace {

void check(double error, const std::string& name, const char* when) {
  if (error <= 1) return;
  std::fprintf(stderr, "%s: wrong result %s (%g times the tolerance)\n", name.c_str(), when, error);
  std::exit(1);
}

}  // namespace

void KernelCase::run(const Gpu& gpu, const std::string& name) {
  constexpr double kWarm = 0.5, kTimed = 0.2;
  prepare(gpu);
  auto once = [&] {
    const Time start = Time::now();
    launch(gpu);
    gpu.finish();
    return Time::now() - start;
  };
  once();
  check(error(gpu), name, "at first");
  for (double spent = 0; spent < kWarm;) spent += once().wall;
  std::vector<double> wall, cpu;
  for (double spent = 0; spent < kTimed || wall.size() < 3;) {
    const Time time = once();
    spent += time.wall;
    wall.push_back(time.wall);
    cpu.push_back(time.cpu);
  }
  check(error(gpu), name, "at last");
  // Processor time is counted in steps of the scheduler on some systems: its mean, not its median.
  double total = 0;
  for (double seconds : cpu) total += seconds;
  const double middle = median(wall);
  print(name, "wall", middle * 1e3, "ms");
  print(name, "cpu", total / static_cast<double>(cpu.size()) * 1e3, "ms");
  print(name, "rate", work_ / middle, unit_);
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {"saxpy", make_saxpy},
      {"nbody", make_nbody},
      {"mandelbrot", make_mandelbrot},
      {"sgemm_tiled", make_sgemm_tiled},
      {"sgemm_naive", make_sgemm_naive},
      {"reduction", make_reduction},
      {"histogram", make_histogram},
      {"conv5x5", make_conv},
      {"bitonic", make_bitonic},
      {"black_scholes", make_black_scholes},
      {"spmv", make_spmv},
      {"sha256", make_sha256},
      {"mfma_bf16", make_mfma_bf16},
      {"mfma_fp8", make_mfma_fp8},
      {"fft", make_fft},
      {"transpose", make_transpose},
      {"radix_sort", make_radix},
      {"small_launches", make_small_launches},
      {"launch", make_launch},
      {"command_buffer", make_command_buffer},
      {"build", make_build},
  };
  return all;
}

}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  if (argc < 2) {
    for (const Entry& entry : entries()) std::printf("%s\n", entry.name);
    return 0;
  }
  const Gpu gpu = Gpu::open();
  for (int i = 1; i < argc; ++i) {
    const Entry* found = nullptr;
    for (const Entry& entry : entries())
      if (std::strcmp(entry.name, argv[i]) == 0) found = &entry;
    if (found == nullptr) {
      std::fprintf(stderr, "no case '%s'\n", argv[i]);
      return 2;
    }
    found->make()->run(gpu, argv[i]);
  }
  return 0;
}
