// clTerminateContextKHR: everything of a context ends at once, whatever it executes or waits for, and nothing
// new begins.
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "icd/command_buffer_support.h"
#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

constexpr cl_int kTerminated = -1121;

constexpr const char* kSource = R"(
kernel void endless(global volatile int* x) { while (x[0] == 0) ; }
kernel void set(global int* x) { x[1] = 1; }
)";

class Termination : public RefusalTable {
 protected:
  using Terminate = cl_int (*)(cl_context);
  void SetUp() override {
    OpenCl::SetUp();
    terminate = extension<Terminate>("clTerminateContextKHR");
    // The fixture's context stays; this one goes.
    ordinary = context;
    const cl_context_properties properties[] = {CL_CONTEXT_TERMINATE_KHR, CL_TRUE, 0};
    cl_int error;
    context = clCreateContext(
        properties, 1, &device,
        [](const char*, const void*, size_t, void* told) { *static_cast<std::atomic<int>*>(told) += 1; },
        &told, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    in_order = make_queue(CL_QUEUE_PROFILING_ENABLE);
    loose = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    program = make_program(kSource);
    endless = make_kernel(program, "endless");
    set = make_kernel(program, "set");
    const int zeros[2] = {};
    buffer = make_buffer(sizeof zeros, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, const_cast<int*>(zeros));
    for (cl_kernel k : {endless, set}) clSetKernelArg(k, 0, sizeof buffer, &buffer);
    never = clCreateUserEvent(context, &error);
  }
  void TearDown() override {
    EXPECT_EQ(clReleaseEvent(never), CL_SUCCESS);
    for (cl_kernel k : {endless, set}) EXPECT_EQ(clReleaseKernel(k), CL_SUCCESS);
    EXPECT_EQ(clReleaseProgram(program), CL_SUCCESS);
    EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
    for (cl_command_queue q : {in_order, loose}) EXPECT_EQ(clReleaseCommandQueue(q), CL_SUCCESS);
    EXPECT_EQ(clReleaseContext(context), CL_SUCCESS);
    context = ordinary;
    OpenCl::TearDown();
  }
  cl_event launch(cl_command_queue on, cl_kernel kernel, cl_uint count = 0, const cl_event* list = nullptr) {
    const size_t one = 1;
    cl_event event = nullptr;
    EXPECT_EQ(clEnqueueNDRangeKernel(on, kernel, 1, nullptr, &one, nullptr, count, list, &event), CL_SUCCESS);
    clFlush(on);
    return event;
  }
  void wait_until_running(cl_event event) {
    while (status_of(event) > CL_RUNNING) std::this_thread::yield();
  }
  void expect_terminated(const std::vector<cl_event>& events) {
    for (cl_event event : events) {
      EXPECT_EQ(clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
      EXPECT_EQ(status_of(event), kTerminated);
      EXPECT_EQ(clReleaseEvent(event), CL_SUCCESS);
    }
  }

  Terminate terminate;
  std::atomic<int> told{0};
  cl_context ordinary;
  cl_command_queue in_order, loose;
  cl_program program;
  cl_kernel endless, set;
  cl_mem buffer;
  cl_event never;
};

TEST_F(Termination, EndsWhatRunsAndWhatWaits) {
  cl_event running = launch(in_order, endless), behind = launch(in_order, set);
  cl_event loose_running = launch(loose, endless);
  cl_event waiting = launch(loose, set, 1, &never), chained = launch(loose, set, 1, &waiting);
  wait_until_running(running);
  std::atomic<int> seen{0};
  ASSERT_EQ(
      clSetEventCallback(
          waiting, CL_COMPLETE,
          [](cl_event, cl_int status, void* to) { *static_cast<std::atomic<int>*>(to) = status; }, &seen),
      CL_SUCCESS);
  ASSERT_EQ(terminate(context), CL_SUCCESS);
  EXPECT_EQ(told, 1);
  cl_ulong time;
  EXPECT_EQ(clGetEventProfilingInfo(running, CL_PROFILING_COMMAND_START, sizeof time, &time, nullptr),
            CL_PROFILING_INFO_NOT_AVAILABLE);
  expect_terminated({running, behind, loose_running, waiting, chained});
  EXPECT_EQ(seen, kTerminated);
  EXPECT_EQ(clFinish(in_order), CL_SUCCESS);
  EXPECT_EQ(clFinish(loose), CL_SUCCESS);
  // The program may still set its event, and ask.
  EXPECT_EQ(clSetUserEventStatus(never, CL_COMPLETE), CL_SUCCESS);
  cl_uint count;
  EXPECT_EQ(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, nullptr), CL_SUCCESS);
  EXPECT_EQ(terminate(context), kTerminated);
}

TEST_F(Termination, EndsTheWaitForAUserEvent) {
  std::atomic<cl_int> answer{CL_SUCCESS};
  std::thread waiter([&] { answer = clWaitForEvents(1, &never); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(terminate(context), CL_SUCCESS);
  waiter.join();
  EXPECT_EQ(answer, kTerminated);
  EXPECT_EQ(clWaitForEvents(1, &never), kTerminated);
  EXPECT_EQ(clSetUserEventStatus(never, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &never), CL_SUCCESS);
}

TEST_F(Termination, EndsTheExecutionOfACommandBuffer) {
  CommandBufferApi api(platform);
  cl_int error;
  cl_command_buffer_khr recorded = api.create(1, &in_order, nullptr, &error);
  const size_t one = 1;
  for (cl_kernel kernel : {endless, set})
    ASSERT_EQ(api.launch(recorded, nullptr, nullptr, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr,
                         nullptr),
              CL_SUCCESS);
  ASSERT_EQ(api.finalize(recorded), CL_SUCCESS);
  cl_event running;
  ASSERT_EQ(api.enqueue(0, nullptr, recorded, 0, nullptr, &running), CL_SUCCESS);
  clFlush(in_order);
  wait_until_running(running);
  ASSERT_EQ(terminate(context), CL_SUCCESS);
  expect_terminated({running});
  EXPECT_EQ(api.enqueue(0, nullptr, recorded, 0, nullptr, nullptr), kTerminated);
  EXPECT_EQ(api.release(recorded), CL_SUCCESS);
}

TEST_F(Termination, LeavesOtherContextsAlone) {
  cl_int error;
  cl_mem other = clCreateBuffer(ordinary, CL_MEM_READ_WRITE, 64, nullptr, &error);
  ASSERT_EQ(terminate(context), CL_SUCCESS);
  const int pattern = 5;
  EXPECT_EQ(clEnqueueFillBuffer(queue, other, &pattern, sizeof pattern, 0, 64, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  clReleaseMemObject(other);
  // One that may not be terminated.
  EXPECT_EQ(terminate(ordinary), CL_INVALID_OPERATION);
  EXPECT_EQ(terminate(nullptr), CL_INVALID_CONTEXT);
}

TEST_F(Termination, NothingNewBegins) {
  ASSERT_EQ(terminate(context), CL_SUCCESS);
  CommandBufferApi api(platform);
  const char* source = kSource;
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 4;
  const cl_buffer_region region{0, 4};
  const size_t one = 1;
  int word = 0;
  cl_uint count;
  check({
      {"a queue", kTerminated,
       [&] { return code_of([&](cl_int* e) { return clCreateCommandQueue(context, device, 0, e); }); }},
      {"a queue with properties", kTerminated,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateCommandQueueWithProperties(context, device, nullptr, e); });
       }},
      {"a buffer", kTerminated,
       [&] { return code_of([&](cl_int* e) { return clCreateBuffer(context, 0, 4, nullptr, e); }); }},
      {"a sub-buffer", kTerminated,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, e);
         });
       }},
      {"an image", kTerminated,
       [&] {
         return code_of([&](cl_int* e) { return clCreateImage(context, 0, &format, &desc, nullptr, e); });
       }},
      {"a pipe", kTerminated,
       [&] { return code_of([&](cl_int* e) { return clCreatePipe(context, 0, 4, 4, nullptr, e); }); }},
      {"a sampler", kTerminated,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateSampler(context, CL_TRUE, CL_ADDRESS_NONE, CL_FILTER_NEAREST, e);
         });
       }},
      {"a program", kTerminated,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateProgramWithSource(context, 1, &source, nullptr, e); });
       }},
      {"a kernel", kTerminated,
       [&] { return code_of([&](cl_int* e) { return clCreateKernel(program, "set", e); }); }},
      {"a copy of a kernel", kTerminated,
       [&] { return code_of([&](cl_int* e) { return clCloneKernel(set, e); }); }},
      {"a user event", kTerminated,
       [&] { return code_of([&](cl_int* e) { return clCreateUserEvent(context, e); }); }},
      {"a command buffer", kTerminated,
       [&] { return code_of([&](cl_int* e) { return api.create(1, &in_order, nullptr, e); }); }},
      {"formats", kTerminated,
       [&] { return clGetSupportedImageFormats(context, 0, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count); }},
      {"a launch", kTerminated,
       [&] { return clEnqueueNDRangeKernel(in_order, set, 1, nullptr, &one, nullptr, 0, nullptr, nullptr); }},
      {"a blocking read", kTerminated,
       [&] { return clEnqueueReadBuffer(in_order, buffer, CL_TRUE, 0, 4, &word, 0, nullptr, nullptr); }},
      {"a write", kTerminated,
       [&] { return clEnqueueWriteBuffer(loose, buffer, CL_FALSE, 0, 4, &word, 0, nullptr, nullptr); }},
      {"a fill", kTerminated,
       [&] { return clEnqueueFillBuffer(in_order, buffer, &word, 4, 0, 4, 0, nullptr, nullptr); }},
      {"a mapping", kTerminated,
       [&] {
         return code_of([&](cl_int* e) {
           return clEnqueueMapBuffer(in_order, buffer, CL_TRUE, CL_MAP_READ, 0, 4, 0, nullptr, nullptr, e);
         });
       }},
      {"a marker", kTerminated, [&] { return clEnqueueMarkerWithWaitList(loose, 0, nullptr, nullptr); }},
  });
  cl_uint mappings = 1;
  clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof mappings, &mappings, nullptr);
  EXPECT_EQ(mappings, 0u);
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0), nullptr);
}

}  // namespace
}  // namespace morgana::icd::test
