// A thousand empty launches: enqueued one by one, and recorded once and replayed (cl_khr_command_buffer).
#include <CL/cl_ext.h>

#include "bench/case.h"

namespace bench {
namespace {

// The functions have the same parameters in every version of the extension; headers differ in their types.
using Create = cl_command_buffer_khr(CL_API_CALL*)(cl_uint, const cl_command_queue*, const cl_properties*,
                                                   cl_int*);
using Finalize = cl_int(CL_API_CALL*)(cl_command_buffer_khr);
using Record = cl_int(CL_API_CALL*)(cl_command_buffer_khr, cl_command_queue, const cl_properties*, cl_kernel,
                                    cl_uint, const size_t*, const size_t*, const size_t*, cl_uint,
                                    const cl_sync_point_khr*, cl_sync_point_khr*, cl_mutable_command_khr*);
using Enqueue = cl_int(CL_API_CALL*)(cl_uint, cl_command_queue*, cl_command_buffer_khr, cl_uint,
                                     const cl_event*, cl_event*);

class Replay final : public Case {
 public:
  void run(const Gpu& gpu, const std::string& name) override {
    if (!find(gpu)) return;
    cl_int error;
    const cl_program program = gpu.build("kernel void empty(void) {}");
    const cl_kernel kernel = clCreateKernel(program, "empty", &error);
    CHECK(error);
    const cl_command_buffer_khr buffer = create_(1, &gpu.queue, nullptr, &error);
    CHECK(error);
    const size_t size = 64;
    for (int i = 0; i < kLaunches; ++i)
      CHECK(
          record_(buffer, nullptr, nullptr, kernel, 1, nullptr, &size, &size, 0, nullptr, nullptr, nullptr));
    CHECK(finalize_(buffer));
    const auto one_by_one = [&] {
      for (int i = 0; i < kLaunches; ++i)
        CHECK(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, nullptr, &size, &size, 0, nullptr, nullptr));
    };
    const auto replay = [&] { CHECK(enqueue_(0, nullptr, buffer, 0, nullptr, nullptr)); };
    const Cost singly = measure(gpu, one_by_one);
    const Cost together = measure(gpu, replay);
    print(name, "one by one: enqueue", singly.enqueue * 1e6, "us");
    print(name, "one by one: enqueue to finish", singly.total * 1e6, "us");
    print(name, "replay: enqueue", together.enqueue * 1e6, "us");
    print(name, "replay: enqueue to finish", together.total * 1e6, "us");
    print(name, "replay over one by one: enqueue", together.enqueue / singly.enqueue, "");
    print(name, "replay over one by one: enqueue to finish", together.total / singly.total, "");
  }

 private:
  static constexpr int kLaunches = 1000, kRounds = 400, kWarmUp = 100;
  struct Cost {
    double enqueue, total;  // seconds of the calling thread
  };

  template <typename Work>
  static Cost measure(const Gpu& gpu, const Work& work) {
    std::vector<double> enqueue, total;
    for (int i = 0; i < kWarmUp + kRounds; ++i) {
      const double start = Time::now_wall();
      work();
      const double called = Time::now_wall();
      gpu.finish();
      if (i < kWarmUp) continue;
      enqueue.push_back(called - start);
      total.push_back(Time::now_wall() - start);
    }
    return {median(enqueue), median(total)};
  }

  // False, with a word about it, where the platform lacks the extension.
  bool find(const Gpu& gpu) {
    cl_platform_id platform;
    CHECK(clGetDeviceInfo(gpu.device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr));
    const auto function = [&](const char* name) {
      return clGetExtensionFunctionAddressForPlatform(platform, name);
    };
    create_ = reinterpret_cast<Create>(function("clCreateCommandBufferKHR"));
    finalize_ = reinterpret_cast<Finalize>(function("clFinalizeCommandBufferKHR"));
    record_ = reinterpret_cast<Record>(function("clCommandNDRangeKernelKHR"));
    enqueue_ = reinterpret_cast<Enqueue>(function("clEnqueueCommandBufferKHR"));
    const bool found =
        create_ != nullptr && finalize_ != nullptr && record_ != nullptr && enqueue_ != nullptr;
    if (!found) std::fprintf(stderr, "this platform has no command buffers\n");
    return found;
  }

  Create create_ = nullptr;
  Finalize finalize_ = nullptr;
  Record record_ = nullptr;
  Enqueue enqueue_ = nullptr;
};

}  // namespace

std::unique_ptr<Case> make_command_buffer() { return std::make_unique<Replay>(); }

}  // namespace bench
