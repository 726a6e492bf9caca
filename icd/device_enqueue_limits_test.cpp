// Device-side enqueue at its limits: what is kept for later takes room, what cannot be written is a fault,
// and what takes long can be stopped.
#include <atomic>
#include <chrono>
#include <thread>

#include "icd/device_enqueue_support.h"

namespace morgana::icd::test {
namespace {

// Captures that wait for an event leave less room to later kernels.
TEST_F(DeviceEnqueue, CapturesTakeRoomUntilTheirEventIsComplete) {
  constexpr const char* kSource = R"(
kernel void k(global int* out, int captures) {
  queue_t q = get_default_queue();
  clk_event_t held = create_user_event(), slow;
  global ulong* times = (global ulong*)(out + 4);
  out[0] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &held, &slow, ^{ out[3] = 1; });
  for (int i = 0; i < 8; ++i)
    enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(256, 256), ^{
      for (int j = 0; j < captures; ++j) capture_event_profiling_info(slow, CLK_PROFILING_COMMAND_EXEC_TIME, times);
    });
  enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(256, 256), ^{
    for (int j = 0; j < 600; ++j) {
      clk_event_t wait = slow;
      atomic_add(out + 1, enqueue_marker(get_default_queue(), 1, &wait, NULL) == CLK_SUCCESS);
    }
  });
  enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{
    set_user_event_status(held, CL_COMPLETE); release_event(held); release_event(slow);
  });
})";
  on_each_device([&] {
    const std::vector<int> none = run(kSource, 8, {0});
    const std::vector<int> many = run(kSource, 8, {600});
    for (const std::vector<int>& out : {none, many}) {
      EXPECT_EQ(out[0], 0);
      EXPECT_EQ(out[3], 1);
    }
    EXPECT_GT(none[1], 100'000);
    EXPECT_GT(many[1], 10'000);
    EXPECT_LT(many[1], 100'000);
  });
}

TEST_F(DeviceEnqueue, TimesThatCannotBeWrittenAreAFault) {
  constexpr const char* kSource = R"(
kernel void k(global int* out) {
  clk_event_t slow;
  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 0, NULL, &slow, ^{ out[0] = 1; });
  capture_event_profiling_info(slow, CLK_PROFILING_COMMAND_EXEC_TIME, (global ulong*)16);
  release_event(slow);
})";
  on_each_device([&] {
    cl_int status;
    EXPECT_EQ(run(kSource, 1, {}, "", &status), (std::vector<int>{1}));
    EXPECT_EQ(status, CL_OUT_OF_RESOURCES);
    EXPECT_NE(report.find("the times of what it enqueued cannot be written to 0x10"), std::string::npos)
        << report;
    // The queue goes on.
    EXPECT_EQ(run("kernel void k(global int* out) { out[0] = 3; }", 1), (std::vector<int>{3}));
  });
}

// Each marker waits for the one behind it, so that a look at all of them ends one.
TEST_F(DeviceEnqueue, MarkersThatWaitForOneAnotherCanBeStopped) {
  constexpr const char* kSource = R"(
kernel void k(global int* told, global ulong* events, int count) {
  queue_t q = get_default_queue();
  for (int i = 0; i < count; ++i) {
    clk_event_t event;
    enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 0, NULL, &event, ^{
      if (i + 1 == count) { told[0] = 1; return; }
      clk_event_t next = ((global clk_event_t*)events)[i + 1];
      enqueue_marker(get_default_queue(), 1, &next, NULL);
    });
    ((global clk_event_t*)events)[i] = event;
  }
})";
  constexpr int kCount = 30'000;
  on_each_device([&] {
    cl_program program = make_program(kSource, "-cl-std=CL3.0");
    cl_kernel kernel = make_kernel(program, "k");
    alignas(4096) static int words[1024];
    words[0] = 0;
    cl_mem told = make_buffer(sizeof words, CL_MEM_USE_HOST_PTR, words);
    cl_mem events = make_buffer(kCount * 8);
    clSetKernelArg(kernel, 0, sizeof told, &told);
    clSetKernelArg(kernel, 1, sizeof events, &events);
    clSetKernelArg(kernel, 2, sizeof kCount, &kCount);
    const size_t one = 1;
    cl_event event;
    ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, &event),
              CL_SUCCESS);
    clFlush(queue);
    while (std::atomic_ref(words[0]).load() == 0 && status_of(event) > CL_COMPLETE)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // All kernels have ended.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_GT(status_of(event), CL_COMPLETE);
    const auto terminate = reinterpret_cast<cl_int (*)(cl_context)>(
        clGetExtensionFunctionAddressForPlatform(platform, "clTerminateContextKHR"));
    EXPECT_EQ(terminate(context), CL_SUCCESS);
    clWaitForEvents(1, &event);
    EXPECT_EQ(status_of(event), -1121) << "CL_CONTEXT_TERMINATED_KHR";
    clReleaseEvent(event);
    clReleaseMemObject(told);
    clReleaseMemObject(events);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  });
}

}  // namespace
}  // namespace morgana::icd::test
