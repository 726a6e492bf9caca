// The fixture of tests that go through all devices of the platform, and both sizes of their waves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "icd/test_support.h"

namespace morgana::icd::test {

class Features : public OpenCl {
 protected:
  // Runs `body` with the fixture's context and queue on each device of the platform in turn.
  void on_each_device(const std::function<void()>& body) {
    for (cl_device_id one : all_devices()) {
      use(one);
      if (HasFatalFailure()) return;
      SCOPED_TRACE(device_name());
      body();
    }
  }

  // The same for each size of waves that a device has.
  void on_each_wave_size(const std::function<void()>& body) {
    on_each_device([&] {
      const bool has_two = device_name().starts_with("gfx1");
      wave = has_two ? 32 : 64;
      body();
      if (!has_two) return;
      SCOPED_TRACE("waves of 64");
      wave = 64;
      wave_option = " -mwavefrontsize64";
      body();
      wave_option = "";
    });
  }

  std::string device_name() {
    char name[256] = {};
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, nullptr);
    return name;
  }
  bool is_gfx6() { return device_name().starts_with("gfx6"); }

  template <typename T>
  T query(cl_device_info name) {
    T value{};
    EXPECT_EQ(clGetDeviceInfo(device, name, sizeof value, &value, nullptr), CL_SUCCESS);
    return value;
  }

  // Runs kernel k(global int* out, more buffers...) over `global` items in groups of `local`; what is in
  // `out` then.
  std::vector<int> run(const std::string& source, size_t global, size_t local, size_t results,
                       const std::vector<cl_mem>& more = {}, const std::string& options = "") {
    return run_grid(source, {global}, {local}, results, more, options);
  }
  std::vector<int> run_grid(const std::string& source, const std::vector<size_t>& global,
                            const std::vector<size_t>& local, size_t results,
                            const std::vector<cl_mem>& more = {}, const std::string& options = "") {
    cl_program program = make_program(source.c_str(), ("-cl-std=CL3.0 " + options + wave_option).c_str());
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem out = make_buffer(results * sizeof(int));
    const int zero = 0;
    clEnqueueFillBuffer(queue, out, &zero, sizeof zero, 0, results * sizeof(int), 0, nullptr, nullptr);
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof out, &out), CL_SUCCESS);
    for (cl_uint i = 0; i < more.size(); ++i)
      EXPECT_EQ(clSetKernelArg(kernel, i + 1, sizeof(cl_mem), &more[i]), CL_SUCCESS);
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, static_cast<cl_uint>(global.size()), nullptr,
                                     global.data(), local.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    std::vector<int> values = read<int>(out, results);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return values;
  }

  std::string wave_option;
  static inline int wave = 64;
};

}  // namespace morgana::icd::test
