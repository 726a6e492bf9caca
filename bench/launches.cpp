// Cases around the kernel: an empty launch, launches per second, a long list of small kernels, building.
#include <unistd.h>

#include <cmath>

#include "bench/case.h"

namespace bench {
namespace {

class Launch final : public Case {
 public:
  void run(const Gpu& gpu, const std::string& name) override {
    const Kernel kernel(gpu.build("kernel void empty(void) {}"), "empty");
    const Range one{{64}, {64}};
    constexpr int kRounds = 4000, kBatch = 2000, kBatches = 25;
    auto timed = [&](int launches) {
      const double start = Time::now_wall();
      for (int i = 0; i < launches; ++i) kernel.enqueue(gpu, one);
      gpu.finish();
      return Time::now_wall() - start;
    };
    for (int i = 0; i < 200; ++i) timed(1);
    std::vector<double> latency, rate;
    const Time before_latency = Time::now();
    for (int i = 0; i < kRounds; ++i) latency.push_back(timed(1));
    const Time latency_total = Time::now() - before_latency;
    timed(kBatch);
    const Time before_rate = Time::now();
    for (int i = 0; i < kBatches; ++i) rate.push_back(kBatch / timed(kBatch));
    const Time rate_total = Time::now() - before_rate;
    print(name, "enqueue to finish", median(latency) * 1e6, "us");
    print(name, "enqueue to finish, cpu", latency_total.cpu / kRounds * 1e6, "us");
    print(name, "rate", median(rate), "launches/s");
    print(name, "rate, cpu", rate_total.cpu / (kBatches * kBatch) * 1e6, "us");
  }
};

// 1200 launches of five small kernels on vectors of 64 to 4096 items, each using what the last one made.
class SmallLaunches final : public KernelCase {
 public:
  SmallLaunches() : KernelCase(1e-6 * kLaunches, "Mlaunches/s") {}

 private:
  static constexpr int kLaunches = 1200;
  static constexpr size_t kLargest = 4096;

  // A step of the host's and the device's arithmetic alike: exact, on unsigned integers.
  static uint32_t step(int kind, uint32_t x, uint32_t i) {
    switch (kind) {
      case 0: return x + i;
      case 1: return x * 1664525u + 1013904223u;
      case 2: return x ^ x << 13;
      case 3: return x ^ x >> 17;
      default: return x - (i ^ 0x55u);
    }
  }

  void prepare(const Gpu& gpu) override {
    data_ = gpu.buffer(kLargest * sizeof(uint32_t));
    cl_program program = gpu.build(R"(
kernel void add(global uint* x) { size_t i = get_global_id(0); x[i] += i; }
kernel void scale(global uint* x) { size_t i = get_global_id(0); x[i] = x[i] * 1664525u + 1013904223u; }
kernel void left(global uint* x) { size_t i = get_global_id(0); x[i] ^= x[i] << 13; }
kernel void right(global uint* x) { size_t i = get_global_id(0); x[i] ^= x[i] >> 17; }
kernel void sub(global uint* x) { size_t i = get_global_id(0); x[i] -= i ^ 0x55u; }
)");
    for (const char* name : {"add", "scale", "left", "right", "sub"}) {
      kernels_.emplace_back(program, name);
      kernels_.back().args(data_);
    }
  }
  static size_t size(int launch) { return size_t{64} << (launch * 7 % 13 % 7); }
  void launch(const Gpu& gpu) override {
    const uint32_t zero = 0;
    CHECK(clEnqueueFillBuffer(gpu.queue, data_, &zero, sizeof zero, 0, kLargest * sizeof zero, 0, nullptr,
                              nullptr));
    for (int i = 0; i < kLaunches; ++i) kernels_[static_cast<size_t>(i % 5)].enqueue(gpu, {{size(i)}, {64}});
  }
  double error(const Gpu& gpu) override {
    std::vector<uint32_t> wanted(kLargest);
    for (int launch = 0; launch < kLaunches; ++launch)
      for (uint32_t i = 0; i < size(launch); ++i) wanted[i] = step(launch % 5, wanted[i], i);
    return gpu.read<uint32_t>(data_, kLargest) == wanted ? 0 : HUGE_VAL;
  }

  cl_mem data_ = nullptr;
  std::vector<Kernel> kernels_;
};

// A trivial program that no cache knows, and again when it does. The first build of a process, which loads
// the compiler, is told apart.
class Build final : public Case {
 public:
  void run(const Gpu& gpu, const std::string& name) override {
    const auto tag = static_cast<uint64_t>(Time::now().wall * 1e6) + static_cast<uint64_t>(getpid());
    auto build = [&](uint64_t number) {
      const std::string source =
          "kernel void k(global int* p) { p[get_global_id(0)] += " + std::to_string(number) + "; }";
      const Time start = Time::now();
      CHECK(clReleaseProgram(gpu.build(source)));
      return (Time::now() - start).wall * 1e3;
    };
    constexpr uint64_t kRounds = 11;
    std::vector<double> cold, warm;
    print(name, "first of a process", build(tag), "ms");
    for (uint64_t i = 1; i <= kRounds; ++i) cold.push_back(build(tag + i));
    for (uint64_t i = 1; i <= kRounds; ++i) warm.push_back(build(tag + i));
    print(name, "cold", median(cold), "ms");
    print(name, "warm", median(warm), "ms");
  }
};

}  // namespace

std::unique_ptr<Case> make_launch() { return std::make_unique<Launch>(); }
std::unique_ptr<Case> make_small_launches() { return std::make_unique<SmallLaunches>(); }
std::unique_ptr<Case> make_build() { return std::make_unique<Build>(); }

}  // namespace bench
