// Commands in time: order, dependencies, user events, callbacks, failures, queues released with work in
// flight.
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

constexpr const char* kSource = R"(
kernel void add(global int* values, int amount) { values[get_global_id(0)] += amount; }
kernel void spin(global volatile int* stop) { while (*stop == 0) {} }
kernel void wild(global int* unused, ulong address) { *(global volatile int*)address = 1; unused[0] = 1; }
)";

using Clock = std::chrono::steady_clock;

class Queues : public OpenCl {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    program = make_program(kSource);
  }
  void TearDown() override {
    clReleaseProgram(program);
    OpenCl::TearDown();
  }
  cl_event user_event() {
    cl_int error;
    cl_event event = clCreateUserEvent(context, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return event;
  }
  cl_int launch_wild(cl_command_queue on, cl_event* event) {
    cl_kernel wild = make_kernel(program, "wild");
    cl_mem buffer = make_buffer(64);
    cl_ulong address = 0x10;
    clSetKernelArg(wild, 0, sizeof buffer, &buffer);
    clSetKernelArg(wild, 1, sizeof address, &address);
    size_t one = 1;
    cl_int error = clEnqueueNDRangeKernel(on, wild, 1, nullptr, &one, nullptr, 0, nullptr, event);
    clReleaseKernel(wild);
    clReleaseMemObject(buffer);
    return error;
  }
  cl_program program = nullptr;
};

TEST_F(Queues, InOrderCommandsFollowEachOther) {
  cl_kernel add = make_kernel(program, "add");
  cl_mem buffer = make_buffer(256 * sizeof(int));
  size_t items = 256;
  for (int i = 1; i <= 20; ++i) {
    clSetKernelArg(add, 0, sizeof buffer, &buffer);
    clSetKernelArg(add, 1, sizeof i, &i);
    ASSERT_EQ(clEnqueueNDRangeKernel(queue, add, 1, nullptr, &items, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
  }
  for (int value : read<int>(buffer, 256)) ASSERT_EQ(value, 210);
  clReleaseKernel(add);
  clReleaseMemObject(buffer);
}

TEST_F(Queues, AUserEventHoldsAnInOrderQueueAndFarMoreThanItsRing) {
  cl_event gate = user_event();
  cl_mem buffer = make_buffer(sizeof(int));
  int zero = 0, one = 1;
  cl_event first, last;
  ASSERT_EQ(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4, &one, 1, &gate, &first), CL_SUCCESS);
  for (int i = 0; i < 3000; ++i)
    ASSERT_EQ(clEnqueueFillBuffer(queue, buffer, &zero, 4, 0, 4, 0, nullptr, i == 2999 ? &last : nullptr),
              CL_SUCCESS);
  EXPECT_EQ(status_of(first), CL_QUEUED);
  EXPECT_EQ(status_of(last), CL_QUEUED);
  EXPECT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_INVALID_OPERATION);
  EXPECT_EQ(clWaitForEvents(1, &last), CL_SUCCESS);
  EXPECT_EQ(status_of(first), CL_COMPLETE);
  for (cl_event event : {gate, first, last}) clReleaseEvent(event);
  clReleaseMemObject(buffer);
}

TEST_F(Queues, OutOfOrderCommandsPassOneThatWaits) {
  cl_command_queue loose = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_event gate = user_event();
  cl_mem buffer = make_buffer(4);
  int one = 1;
  cl_event held, free;
  clEnqueueWriteBuffer(loose, buffer, CL_FALSE, 0, 4, &one, 1, &gate, &held);
  clEnqueueFillBuffer(loose, buffer, &one, 4, 0, 4, 0, nullptr, &free);
  EXPECT_EQ(clWaitForEvents(1, &free), CL_SUCCESS);
  EXPECT_EQ(status_of(held), CL_QUEUED);
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(clFinish(loose), CL_SUCCESS);
  EXPECT_EQ(status_of(held), CL_COMPLETE);
  for (cl_event event : {gate, held, free}) clReleaseEvent(event);
  clReleaseMemObject(buffer);
  clReleaseCommandQueue(loose);
}

TEST_F(Queues, ABarrierHoldsLaterAndAMarkerDoesNot) {
  cl_command_queue loose = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_mem buffer = make_buffer(4);
  int one = 1;
  for (bool barrier : {false, true}) {
    cl_event gate = user_event();
    cl_event held, sync, later;
    clEnqueueFillBuffer(loose, buffer, &one, 4, 0, 4, 1, &gate, &held);
    if (barrier)
      EXPECT_EQ(clEnqueueBarrierWithWaitList(loose, 0, nullptr, &sync), CL_SUCCESS);
    else
      EXPECT_EQ(clEnqueueMarkerWithWaitList(loose, 0, nullptr, &sync), CL_SUCCESS);
    clEnqueueFillBuffer(loose, buffer, &one, 4, 0, 4, 0, nullptr, &later);
    if (!barrier) EXPECT_EQ(clWaitForEvents(1, &later), CL_SUCCESS);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(status_of(sync), CL_QUEUED);
    EXPECT_EQ(status_of(later), barrier ? CL_QUEUED : CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    EXPECT_EQ(clFinish(loose), CL_SUCCESS);
    EXPECT_EQ(status_of(sync), CL_COMPLETE);
    EXPECT_EQ(status_of(later), CL_COMPLETE);
    for (cl_event event : {gate, held, sync, later}) clReleaseEvent(event);
  }
  clReleaseMemObject(buffer);
  clReleaseCommandQueue(loose);
}

TEST_F(Queues, FailureTravelsAlongWaitListsOnly) {
  for (cl_command_queue_properties properties : {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}) {
    cl_command_queue own = make_queue(properties);
    cl_event gate = user_event();
    cl_mem buffer = make_buffer(4);
    int value = 7, seen = 0;
    cl_event first, second, third;
    clEnqueueWriteBuffer(own, buffer, CL_FALSE, 0, 4, &value, 1, &gate, &first);
    clEnqueueReadBuffer(own, buffer, CL_FALSE, 0, 4, &seen, 1, &first, &second);
    clEnqueueFillBuffer(own, buffer, &value, 4, 0, 4, 0, nullptr, &third);
    EXPECT_EQ(clSetUserEventStatus(gate, -77), CL_SUCCESS);
    EXPECT_EQ(clWaitForEvents(1, &second), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_EQ(clWaitForEvents(1, &third), CL_SUCCESS);
    EXPECT_EQ(status_of(gate), -77);
    EXPECT_EQ(status_of(first), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_EQ(status_of(second), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_EQ(seen, 0);
    // A blocking command says so itself.
    EXPECT_EQ(clEnqueueReadBuffer(own, buffer, CL_TRUE, 0, 4, &seen, 1, &first, nullptr),
              CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_EQ(clFinish(own), CL_SUCCESS);
    for (cl_event event : {gate, first, second, third}) clReleaseEvent(event);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(own);
  }
}

TEST_F(Queues, CallbacksSeeEveryStepAndMayCallBack) {
  struct Seen {
    std::atomic<int> submitted{9}, running{9}, complete{9};
    cl_event gate;
    std::atomic<bool> done{false};
  } seen;
  seen.gate = user_event();
  cl_event second_gate = user_event();
  cl_mem buffer = make_buffer(4);
  int value = 3;
  cl_event event;
  clEnqueueFillBuffer(queue, buffer, &value, 4, 0, 4, 1, &second_gate, &event);
  clSetEventCallback(
      event, CL_SUBMITTED, [](cl_event, cl_int s, void* d) { static_cast<Seen*>(d)->submitted = s; }, &seen);
  clSetEventCallback(
      event, CL_RUNNING, [](cl_event, cl_int s, void* d) { static_cast<Seen*>(d)->running = s; }, &seen);
  // The callback releases the queue's next command from the queue's own thread.
  clSetEventCallback(
      event, CL_COMPLETE,
      [](cl_event, cl_int s, void* d) {
        auto* all = static_cast<Seen*>(d);
        all->complete = s;
        clSetUserEventStatus(all->gate, CL_COMPLETE);
        all->done = true;
      },
      &seen);
  cl_event last;
  clEnqueueFillBuffer(queue, buffer, &value, 4, 0, 4, 1, &seen.gate, &last);
  clSetUserEventStatus(second_gate, CL_COMPLETE);
  EXPECT_EQ(clWaitForEvents(1, &last), CL_SUCCESS);
  EXPECT_EQ(seen.submitted, CL_SUBMITTED);
  EXPECT_EQ(seen.running, CL_RUNNING);
  EXPECT_EQ(seen.complete, CL_COMPLETE);
  EXPECT_TRUE(seen.done);
  // Registered late: called at once.
  std::atomic<int> late{9};
  clSetEventCallback(
      last, CL_COMPLETE, [](cl_event, cl_int s, void* d) { *static_cast<std::atomic<int>*>(d) = s; }, &late);
  EXPECT_EQ(late, CL_COMPLETE);
  for (cl_event e : {seen.gate, second_gate, event, last}) clReleaseEvent(e);
  clReleaseMemObject(buffer);
}

TEST_F(Queues, CallbacksHaveRunWhenTheWaitReturns) {
  cl_mem buffer = make_buffer(4);
  int value = 3;
  for (int i = 0; i < 200; ++i) {
    cl_event event;
    int called = 0;
    cl_event gate = user_event();
    clEnqueueFillBuffer(queue, buffer, &value, 4, 0, 4, 1, &gate, &event);
    clSetEventCallback(
        event, CL_COMPLETE, [](cl_event, cl_int, void* d) { ++*static_cast<int*>(d); }, &called);
    clSetUserEventStatus(gate, CL_COMPLETE);
    if (i % 2 == 0)
      clWaitForEvents(1, &event);
    else
      clFinish(queue);
    ASSERT_EQ(called, 1);
    clReleaseEvent(event);
    clReleaseEvent(gate);
  }
  clReleaseMemObject(buffer);
}

TEST_F(Queues, ABlockingCallInACallbackNeverHangs) {
  struct Seen {
    cl_command_queue queue;
    cl_event event;
    std::atomic<cl_int> finish{99}, wait_own{99};
  } seen;
  seen.queue = queue;
  cl_event gate = user_event();
  cl_mem buffer = make_buffer(4);
  int value = 1;
  clEnqueueFillBuffer(queue, buffer, &value, 4, 0, 4, 1, &gate, &seen.event);
  clSetEventCallback(
      seen.event, CL_COMPLETE,
      [](cl_event event, cl_int, void* data) {
        auto* s = static_cast<Seen*>(data);
        s->wait_own = clWaitForEvents(1, &event);
        s->finish = clFinish(s->queue);
      },
      &seen);
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(clWaitForEvents(1, &seen.event), CL_SUCCESS);
  EXPECT_EQ(seen.wait_own, CL_SUCCESS);
  EXPECT_EQ(seen.finish, CL_INVALID_OPERATION);
  clReleaseEvent(gate);
  clReleaseEvent(seen.event);
  clReleaseMemObject(buffer);
}

TEST_F(Queues, ProfilingTimesRise) {
  cl_command_queue own = make_queue(CL_QUEUE_PROFILING_ENABLE);
  cl_mem buffer = make_buffer(1 << 20);
  int value = 1;
  cl_event event;
  clEnqueueFillBuffer(own, buffer, &value, 4, 0, 1 << 20, 0, nullptr, &event);
  clFinish(own);
  cl_ulong times[5];
  for (cl_uint i = 0; i < 5; ++i)
    ASSERT_EQ(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, 8, &times[i], nullptr),
              CL_SUCCESS);
  for (int i = 0; i < 4; ++i) EXPECT_LE(times[i], times[i + 1]) << i;
  cl_ulong device_time, host_time;
  EXPECT_EQ(clGetDeviceAndHostTimer(device, &device_time, &host_time), CL_SUCCESS);
  EXPECT_LE(times[4], device_time);
  EXPECT_LT(device_time - times[0], 10'000'000'000u);
  clReleaseEvent(event);
  clReleaseMemObject(buffer);
  clReleaseCommandQueue(own);
}

TEST_F(Queues, AFaultEndsTheEventAndNothingElse) {
  cl_event event = nullptr;
  ASSERT_EQ(launch_wild(queue, &event), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(status_of(event), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS) << "the event was looked at";
  // The same queue and a fresh one go on.
  cl_mem buffer = make_buffer(4);
  int value = 5;
  for (cl_command_queue on : {queue, make_queue(0)}) {
    EXPECT_EQ(clEnqueueFillBuffer(on, buffer, &value, 4, 0, 4, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(clFinish(on), CL_SUCCESS);
    if (on != queue) clReleaseCommandQueue(on);
  }
  // Unseen, a fault reaches the next clFinish, once.
  ASSERT_EQ(launch_wild(queue, nullptr), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  clReleaseEvent(event);
  clReleaseMemObject(buffer);
}

TEST_F(Queues, AKernelThatWaitsForTheHostStopsNoOtherQueue) {
  cl_kernel spin = make_kernel(program, "spin");
  auto* stop = static_cast<std::atomic<int>*>(
      clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 4096, 0));
  ASSERT_NE(stop, nullptr);
  stop->store(0);
  ASSERT_EQ(clSetKernelArgSVMPointer(spin, 0, stop), CL_SUCCESS);
  size_t one = 1;
  cl_event event;
  cl_command_queue busy = make_queue(0);
  ASSERT_EQ(clEnqueueNDRangeKernel(busy, spin, 1, nullptr, &one, nullptr, 0, nullptr, &event), CL_SUCCESS);
  cl_kernel add = make_kernel(program, "add");
  cl_mem buffer = make_buffer(64 * sizeof(int));
  int amount = 4;
  size_t items = 64;
  clSetKernelArg(add, 0, sizeof buffer, &buffer);
  clSetKernelArg(add, 1, sizeof amount, &amount);
  ASSERT_EQ(clEnqueueNDRangeKernel(queue, add, 1, nullptr, &items, nullptr, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(read<int>(buffer, 64)[63], 4);
  EXPECT_NE(status_of(event), CL_COMPLETE);
  stop->store(1);
  EXPECT_EQ(clWaitForEvents(1, &event), CL_SUCCESS);
  clReleaseEvent(event);
  clReleaseKernel(spin);
  clReleaseKernel(add);
  clReleaseMemObject(buffer);
  clReleaseCommandQueue(busy);
  clSVMFree(context, stop);
}

TEST_F(Queues, EverythingMayBeReleasedWithWorkInFlight) {
  static std::atomic<int> destroyed;
  destroyed = 0;
  cl_int error;
  cl_context own = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  cl_command_queue own_queue = clCreateCommandQueue(own, device, 0, &error);
  cl_event gate = clCreateUserEvent(own, &error);
  cl_mem buffer = clCreateBuffer(own, CL_MEM_READ_WRITE, 4096, nullptr, &error);
  clSetMemObjectDestructorCallback(buffer, [](cl_mem, void*) { ++destroyed; }, nullptr);
  clSetContextDestructorCallback(own, [](cl_context, void*) { ++destroyed; }, nullptr);
  int value = 1;
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(
        clEnqueueFillBuffer(own_queue, buffer, &value, 4, 0, 4096, i == 0, i == 0 ? &gate : nullptr, nullptr),
        CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(clReleaseCommandQueue(own_queue), CL_SUCCESS);
  EXPECT_EQ(clReleaseContext(own), CL_SUCCESS);
  EXPECT_EQ(destroyed, 0);
  clSetUserEventStatus(gate, CL_COMPLETE);
  clReleaseEvent(gate);
  for (int i = 0; i < 500 && destroyed != 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(destroyed, 2);
}

TEST_F(Queues, DependenciesCrossQueues) {
  cl_command_queue others[3] = {make_queue(0), make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE),
                                make_queue(0)};
  cl_kernel add = make_kernel(program, "add");
  cl_mem buffer = make_buffer(64 * sizeof(int));
  int amount = 1;
  size_t items = 64;
  clSetKernelArg(add, 0, sizeof buffer, &buffer);
  clSetKernelArg(add, 1, sizeof amount, &amount);
  cl_event previous = nullptr;
  for (int i = 0; i < 300; ++i) {
    cl_event event;
    ASSERT_EQ(clEnqueueNDRangeKernel(others[i % 3], add, 1, nullptr, &items, nullptr, previous != nullptr,
                                     previous != nullptr ? &previous : nullptr, &event),
              CL_SUCCESS);
    if (previous != nullptr) clReleaseEvent(previous);
    previous = event;
  }
  ASSERT_EQ(clWaitForEvents(1, &previous), CL_SUCCESS);
  for (int value : read<int>(buffer, 64)) ASSERT_EQ(value, 300);
  clReleaseEvent(previous);
  clReleaseKernel(add);
  clReleaseMemObject(buffer);
  for (cl_command_queue other : others) clReleaseCommandQueue(other);
}

TEST_F(Queues, RectanglesAndSvmMoveTheRightBytes) {
  std::vector<uint8_t> source(4096), target(4096, 0);
  std::iota(source.begin(), source.end(), uint8_t{0});
  cl_mem a = make_buffer(4096, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, source.data());
  cl_mem b = make_buffer(4096);
  const size_t from[3] = {3, 2, 1}, to[3] = {5, 1, 0}, host_at[3] = {0, 0, 0}, region[3] = {7, 4, 3};
  ASSERT_EQ(clEnqueueCopyBufferRect(queue, a, b, from, to, region, 32, 320, 16, 160, 0, nullptr, nullptr),
            CL_SUCCESS);
  ASSERT_EQ(clEnqueueReadBufferRect(queue, b, CL_TRUE, to, host_at, region, 16, 160, 8, 64, target.data(), 0,
                                    nullptr, nullptr),
            CL_SUCCESS);
  for (size_t z = 0; z < 3; ++z)
    for (size_t y = 0; y < 4; ++y)
      for (size_t x = 0; x < 7; ++x)
        ASSERT_EQ(target[z * 64 + y * 8 + x], source[(1 + z) * 320 + (2 + y) * 32 + 3 + x]);
  auto* svm = static_cast<uint8_t*>(clSVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0));
  ASSERT_NE(svm, nullptr);
  EXPECT_EQ(clEnqueueSVMMemcpy(queue, CL_TRUE, svm, source.data(), 4096, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(svm[100], 100);
  uint16_t pattern = 0xabcd;
  EXPECT_EQ(clEnqueueSVMMemFill(queue, svm, &pattern, 2, 64, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, svm, 64, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(svm[62], 0xcd);
  EXPECT_EQ(clEnqueueSVMUnmap(queue, svm, 0, nullptr, nullptr), CL_SUCCESS);
  const void* list[] = {svm};
  EXPECT_EQ(clEnqueueSVMMigrateMem(queue, 1, list, nullptr, 0, 0, nullptr, nullptr), CL_SUCCESS);
  void* freed[] = {svm};
  EXPECT_EQ(clEnqueueSVMFree(queue, 1, freed, nullptr, nullptr, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  clReleaseMemObject(a);
  clReleaseMemObject(b);
}

}  // namespace
}  // namespace morgana::icd::test
