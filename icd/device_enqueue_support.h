// Fixture of the tests of device-side enqueue: every device that offers it, with a default on-device queue.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "icd/test_support.h"

namespace morgana::icd::test {

class DeviceEnqueue : public OpenCl {
 protected:
  void TearDown() override {
    if (on_device != nullptr) EXPECT_EQ(clReleaseCommandQueue(on_device), CL_SUCCESS);
    on_device = nullptr;
    OpenCl::TearDown();
  }

  static void CL_CALLBACK note(const char* text, const void*, size_t, void* user_data) {
    static_cast<DeviceEnqueue*>(user_data)->report = text;
  }

  // Runs `body` on each device that offers it, with a context, a host queue that profiles, and a default
  // queue.
  void on_each_device(const std::function<void()>& body) {
    unsigned offered = 0;
    for (cl_device_id one : all_devices()) {
      cl_device_device_enqueue_capabilities capabilities = 0;
      EXPECT_EQ(clGetDeviceInfo(one, CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, sizeof capabilities,
                                &capabilities, nullptr),
                CL_SUCCESS);
      if (capabilities == 0) continue;
      ++offered;
      TearDown();
      device = one;
      cl_int error;
      const cl_context_properties properties[] = {CL_CONTEXT_TERMINATE_KHR, CL_TRUE, 0};
      context = clCreateContext(properties, 1, &device, &note, this, &error);
      ASSERT_EQ(error, CL_SUCCESS);
      queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
      on_device = make_on_device(CL_QUEUE_ON_DEVICE_DEFAULT);
      report.clear();
      char name[256] = {};
      clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, nullptr);
      SCOPED_TRACE(name);
      body();
    }
    EXPECT_GT(offered, 0u);
  }

  cl_command_queue make_on_device(cl_command_queue_properties more, cl_uint size = 0) {
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES,
                                        CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | more,
                                        size == 0 ? cl_queue_properties{0} : CL_QUEUE_SIZE, size, 0};
    cl_int error;
    cl_command_queue made = clCreateCommandQueueWithProperties(context, device, list, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }

  // Runs k(global int* out, values...) with one work-item; `status`: of its event.
  std::vector<int> run(const std::string& source, size_t results, const std::vector<int>& values = {},
                       const std::string& options = "", cl_int* status = nullptr, size_t items = 1) {
    cl_program program = make_program(source.c_str(), ("-cl-std=CL3.0 " + options).c_str());
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem out = make_buffer(results * sizeof(int));
    const int zero = 0;
    clEnqueueFillBuffer(queue, out, &zero, sizeof zero, 0, results * sizeof(int), 0, nullptr, nullptr);
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof out, &out), CL_SUCCESS);
    for (cl_uint i = 0; i < values.size(); ++i)
      EXPECT_EQ(clSetKernelArg(kernel, i + 1, sizeof(int), &values[i]), CL_SUCCESS);
    cl_event event;
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, &event),
              CL_SUCCESS);
    clWaitForEvents(1, &event);
    const cl_int ended = status_of(event);
    if (status != nullptr)
      *status = ended;
    else
      EXPECT_EQ(ended, CL_COMPLETE) << report;
    std::vector<int> read_back = read<int>(out, results);
    clReleaseEvent(event);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return read_back;
  }

  cl_command_queue on_device = nullptr;
  std::string report;
};

}  // namespace morgana::icd::test
