// On-device queues: what their creation, their queries and kernel arguments must refuse, and that the host
// enqueues nothing to them.
#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

class NegativeDeviceEnqueue : public Negative {
 protected:
  void SetUp() override {
    Negative::SetUp();
    on_device = create(context, device, {CL_QUEUE_PROPERTIES, kOnDevice, 0});
  }
  void TearDown() override {
    EXPECT_EQ(clReleaseCommandQueue(on_device), CL_SUCCESS);
    Negative::TearDown();
  }

  static constexpr cl_command_queue_properties kOnDevice =
      CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

  static cl_command_queue create(cl_context c, cl_device_id d, std::vector<cl_queue_properties> list) {
    cl_int error;
    cl_command_queue made = clCreateCommandQueueWithProperties(c, d, list.data(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  cl_int refused(std::vector<cl_queue_properties> list) {
    return code_of([&](cl_int* error) {
      return clCreateCommandQueueWithProperties(context, device, list.data(), error);
    });
  }

  cl_command_queue on_device = nullptr;
};

TEST_F(NegativeDeviceEnqueue, Creation) {
  cl_uint most = 0;
  ASSERT_EQ(clGetDeviceInfo(device, CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, sizeof most, &most, nullptr),
            CL_SUCCESS);
  check({
      {"in order", CL_INVALID_VALUE, [&] { return refused({CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE, 0}); }},
      {"the default of no device", CL_INVALID_VALUE,
       [&] {
         return refused(
             {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE_DEFAULT | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0});
       }},
      {"no size", CL_INVALID_VALUE,
       [&] { return refused({CL_QUEUE_PROPERTIES, kOnDevice, CL_QUEUE_SIZE, 0, 0}); }},
      {"too large", CL_INVALID_QUEUE_PROPERTIES,
       [&] {
         return refused({CL_QUEUE_PROPERTIES, kOnDevice, CL_QUEUE_SIZE, cl_queue_properties{most} + 1, 0});
       }},
      {"with a throttle", CL_INVALID_QUEUE_PROPERTIES,
       [&] {
         return refused(
             {CL_QUEUE_PROPERTIES, kOnDevice, CL_QUEUE_THROTTLE_KHR, CL_QUEUE_THROTTLE_LOW_KHR, 0});
       }},
      {"unknown info", CL_INVALID_VALUE,
       [&] { return clGetCommandQueueInfo(on_device, 1, 0, nullptr, nullptr); }},
  });
}

TEST_F(NegativeDeviceEnqueue, Default) {
  cl_device_id devices[3];
  ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 3, devices, nullptr), CL_SUCCESS)
      << "is MORGANA_DEVICES=gfx950,gfx600,gfx90a?";
  cl_int error;
  cl_context all = clCreateContext(nullptr, 3, devices, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_command_queue elsewhere = create(all, devices[2], {CL_QUEUE_PROPERTIES, kOnDevice, 0});
  check({
      {"none", CL_INVALID_COMMAND_QUEUE,
       [&] { return clSetDefaultDeviceCommandQueue(context, device, nullptr); }},
      {"host queue", CL_INVALID_COMMAND_QUEUE,
       [&] { return clSetDefaultDeviceCommandQueue(context, device, queue); }},
      {"of another context", CL_INVALID_COMMAND_QUEUE,
       [&] { return clSetDefaultDeviceCommandQueue(all, devices[0], on_device); }},
      {"of another device", CL_INVALID_COMMAND_QUEUE,
       [&] { return clSetDefaultDeviceCommandQueue(all, devices[0], elsewhere); }},
      // gfx6 has no pointers that name no address space.
      {"device without", CL_INVALID_OPERATION,
       [&] { return clSetDefaultDeviceCommandQueue(all, devices[1], on_device); }},
      {"queue of a device without", CL_INVALID_QUEUE_PROPERTIES,
       [&] {
         const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, kOnDevice, 0};
         return code_of(
             [&](cl_int* e) { return clCreateCommandQueueWithProperties(all, devices[1], list, e); });
       }},
  });
  cl_uint size = 1;
  EXPECT_EQ(clGetDeviceInfo(devices[1], CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, sizeof size, &size, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(size, 0u);
  clReleaseCommandQueue(elsewhere);
  clReleaseContext(all);
}

TEST_F(NegativeDeviceEnqueue, KernelArguments) {
  cl_program takes =
      make_program("kernel void k(queue_t q, global int* out) { out[0] = 1; }", "-cl-std=CL3.0");
  cl_kernel k = make_kernel(takes, "k");
  cl_command_queue foreign_queue = create(other_context, device, {CL_QUEUE_PROPERTIES, kOnDevice, 0});
  const auto set = [&](cl_command_queue q) { return clSetKernelArg(k, 0, sizeof q, &q); };
  const size_t one = 1;
  clSetKernelArg(k, 1, sizeof buffer, &buffer);
  check({
      {"no queue", CL_INVALID_DEVICE_QUEUE, [&] { return set(nullptr); }},
      {"NULL", CL_INVALID_DEVICE_QUEUE,
       [&] { return clSetKernelArg(k, 0, sizeof(cl_command_queue), nullptr); }},
      {"host queue", CL_INVALID_DEVICE_QUEUE, [&] { return set(queue); }},
      {"buffer", CL_INVALID_DEVICE_QUEUE, [&] { return clSetKernelArg(k, 0, sizeof buffer, &buffer); }},
      {"of another context", CL_INVALID_DEVICE_QUEUE, [&] { return set(foreign_queue); }},
      {"size", CL_INVALID_ARG_SIZE, [&] { return clSetKernelArg(k, 0, 4, &on_device); }},
      {"not set", CL_INVALID_KERNEL_ARGS,
       [&] { return clEnqueueNDRangeKernel(queue, k, 1, nullptr, &one, nullptr, 0, nullptr, nullptr); }},
  });
  EXPECT_EQ(set(on_device), CL_SUCCESS);
  clReleaseCommandQueue(foreign_queue);
  clReleaseKernel(k);
  clReleaseProgram(takes);
}

// CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
TEST_F(NegativeDeviceEnqueue, HostEnqueuesNothing) {
  const size_t one = 1;
  cl_event event;
  check({
      {"flush", CL_INVALID_COMMAND_QUEUE, [&] { return clFlush(on_device); }},
      {"finish", CL_INVALID_COMMAND_QUEUE, [&] { return clFinish(on_device); }},
      {"kernel", CL_INVALID_COMMAND_QUEUE,
       [&] {
         return clEnqueueNDRangeKernel(on_device, none, 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
       }},
      {"task", CL_INVALID_COMMAND_QUEUE, [&] { return clEnqueueTask(on_device, none, 0, nullptr, nullptr); }},
      {"read", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueReadBuffer(on_device, buffer, CL_TRUE, 0, 4, host, 0, nullptr, nullptr); }},
      {"fill", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueFillBuffer(on_device, buffer, host, 4, 0, 4, 0, nullptr, nullptr); }},
      {"marker", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueMarkerWithWaitList(on_device, 0, nullptr, &event); }},
      {"barrier", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueBarrierWithWaitList(on_device, 0, nullptr, nullptr); }},
      {"SVM", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueSVMMemcpy(on_device, CL_TRUE, host, host + 8, 4, 0, nullptr, nullptr); }},
      {"migration", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueMigrateMemObjects(on_device, 1, &buffer, 0, 0, nullptr, nullptr); }},
  });
}

}  // namespace
}  // namespace morgana::icd::test
