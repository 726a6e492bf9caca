// On-device queues: how much they hold, which one is the default, what they are to programs and binaries,
// what profiling tells, and damage to what lies in them.
#include <array>
#include <latch>
#include <random>
#include <thread>

#include "icd/device_enqueue_support.h"

namespace morgana::icd::test {
namespace {

// Every command that was accepted is executed, and all events can be had again.
TEST_F(DeviceEnqueue, FullQueueAndUsedUpEvents) {
  constexpr const char* kSource = R"(
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k(global int* out, int wanted) {
  queue_t q = get_default_queue();
  for (int i = 0; i < wanted; ++i) {
    int code = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ atomic_inc(out + 1); });
    if (code == CLK_SUCCESS) atomic_inc(out); else if (code == CLK_DEVICE_QUEUE_FULL) atomic_inc(out + 2);
  }
  int events = 0;
  clk_event_t event;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 300; ++i) {
      event = create_user_event();
      events += is_valid_event(event);
      if (round == 0 || i % 2) release_event(event);
    }
  atomic_add(out + 3, events);
  barrier(CLK_GLOBAL_MEM_FENCE);  // nobody takes what others still want
  for (int i = 0; i < 600; ++i) atomic_add(out + 4, is_valid_event(create_user_event()));
})";
  on_each_device([&] {
    const std::vector<int> out = run(kSource, 5, {600}, "-g", nullptr, 256);
    EXPECT_GT(out[0], 50'000);
    EXPECT_EQ(out[1], out[0]);
    EXPECT_EQ(out[0] + out[2], 600 * 256);
    EXPECT_EQ(out[3], 600 * 256);
    cl_uint most = 0;
    clGetDeviceInfo(device, CL_DEVICE_MAX_ON_DEVICE_EVENTS, sizeof most, &most, nullptr);
    EXPECT_EQ(out[4], static_cast<int>(most) - 150 * 256);
  });
}

TEST_F(DeviceEnqueue, QueriesOfBlocks) {
  constexpr const char* kSource = R"(
kernel void k(global int* out) {
  void (^plain)(void) = ^{ out[0] = 1; };
  ndrange_t range = ndrange_1D(1000, 100);
  out[0] = get_kernel_work_group_size(plain);
  out[1] = get_kernel_preferred_work_group_size_multiple(plain);
  out[2] = get_kernel_sub_group_count_for_ndrange(range, plain);
  out[3] = get_kernel_max_sub_group_size_for_ndrange(range, plain);
  out[4] = get_kernel_work_group_size(^(local void* p) { *(local int*)p = out[0]; });
  out[5] = get_kernel_max_sub_group_size_for_ndrange(ndrange_1D(20, 10), plain);
})";
  on_each_device([&] {
    size_t widths[2] = {};
    clGetDeviceInfo(device, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof widths, widths, nullptr);
    const int wave = static_cast<int>(widths[0]);  // the smallest is the default
    EXPECT_EQ(run(kSource, 6), (std::vector<int>{256, wave, (100 + wave - 1) / wave, wave, 256, 10}));
  });
}

TEST_F(DeviceEnqueue, ProfilingTellsTheKernelFromItsChildren) {
  constexpr const char* kSource = R"(
kernel void k(global int* out, global ulong* times) {
  queue_t q = get_default_queue();
  clk_event_t slow;
  enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(64), 0, NULL, &slow, ^{
    for (int i = 0; i < 20000; ++i) atomic_inc(out);
    enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(64),
                   ^{ for (int i = 0; i < 1000; ++i) atomic_inc(out); });
  });
  capture_event_profiling_info(slow, CLK_PROFILING_COMMAND_EXEC_TIME, times);
  capture_event_profiling_info(slow, CLK_PROFILING_COMMAND_EXEC_TIME, times + 2);
  enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), 1, &slow, NULL, ^{
    capture_event_profiling_info(slow, CLK_PROFILING_COMMAND_EXEC_TIME, times + 4);
    release_event(slow);
  });
})";
  on_each_device([&] {
    cl_program program = make_program(kSource, "-cl-std=CL3.0");
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem out = make_buffer(4), times = make_buffer(48);
    clSetKernelArg(kernel, 0, sizeof out, &out);
    clSetKernelArg(kernel, 1, sizeof times, &times);
    const size_t one = 1;
    cl_event event;
    ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, &event),
              CL_SUCCESS);
    ASSERT_EQ(clWaitForEvents(1, &event), CL_SUCCESS);
    std::array<cl_ulong, 3> host{};
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 8, &host[0], nullptr);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &host[1], nullptr);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_COMPLETE, 8, &host[2], nullptr);
    EXPECT_LT(host[0], host[1]);
    EXPECT_LT(host[1], host[2]);
    const std::vector<cl_ulong> told = read<cl_ulong>(times, 6);
    for (int i = 0; i < 6; i += 2) {
      EXPECT_GT(told[i], 0u) << i;
      EXPECT_LT(told[i], told[i + 1]) << i;
      EXPECT_EQ(told[i + 1], told[1]) << i;
    }
    EXPECT_LE(told[1], host[2] - host[1]);
    clReleaseEvent(event);
    clReleaseMemObject(out);
    clReleaseMemObject(times);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  });
}

TEST_F(DeviceEnqueue, QueuesAreArgumentsAndTheDefaultIsReplaceable) {
  on_each_device([&] {
    cl_command_queue other = make_on_device(0, 20'000), known = nullptr;
    cl_uint size = 0, count = 0;
    EXPECT_EQ(clGetCommandQueueInfo(other, CL_QUEUE_SIZE, sizeof size, &size, nullptr), CL_SUCCESS);
    EXPECT_EQ(size, 20'000u);
    EXPECT_EQ(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE_DEFAULT, sizeof known, &known, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(known, on_device);
    EXPECT_EQ(make_on_device(CL_QUEUE_ON_DEVICE_DEFAULT), on_device) << "there is one default queue";
    EXPECT_EQ(clGetCommandQueueInfo(on_device, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(count, 2u);
    clReleaseCommandQueue(on_device);
    EXPECT_EQ(clSetDefaultDeviceCommandQueue(context, device, other), CL_SUCCESS);
    EXPECT_EQ(clGetCommandQueueInfo(other, CL_QUEUE_DEVICE_DEFAULT, sizeof known, &known, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(known, other);

    cl_program program = make_program(R"(
kernel void k(queue_t q, global int* out) {
  out[1] = enqueue_kernel(q, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ out[0] += 1; });
})",
                                      "-cl-std=CL3.0");
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem out = make_buffer(8);
    EXPECT_EQ(clSetKernelArg(kernel, 0, sizeof on_device, &on_device), CL_SUCCESS);
    EXPECT_EQ(clSetKernelArg(kernel, 1, sizeof out, &out), CL_SUCCESS);
    const size_t one = 1;
    const int zero[2] = {0, 0};
    clEnqueueWriteBuffer(queue, out, CL_TRUE, 0, 8, zero, 0, nullptr, nullptr);
    // A queue lives as long as what was enqueued with it.
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    clReleaseCommandQueue(on_device);
    on_device = nullptr;
    EXPECT_EQ(read<int>(out, 2), (std::vector<int>{1, 0}));
    clReleaseCommandQueue(other);
    EXPECT_EQ(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE_DEFAULT, sizeof known, &known, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(known, nullptr);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
  });
}

TEST_F(DeviceEnqueue, ThreadsThatCreateTheDefaultQueueAtOnceGetTheSameOne) {
  constexpr int kThreads = 4;
  on_each_device([&] {
    for (int round = 0; round < 200; ++round) {
      clReleaseCommandQueue(on_device);
      std::array<cl_command_queue, kThreads> made{};
      std::latch start(kThreads);
      std::vector<std::thread> threads;
      for (cl_command_queue& one : made)
        threads.emplace_back([&] {
          start.arrive_and_wait();
          one = make_on_device(CL_QUEUE_ON_DEVICE_DEFAULT);
        });
      for (std::thread& thread : threads) thread.join();
      on_device = made[0];
      cl_uint references = 0;
      clGetCommandQueueInfo(on_device, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, nullptr);
      EXPECT_EQ(references, static_cast<cl_uint>(kThreads));
      for (cl_command_queue one : made) ASSERT_EQ(one, on_device) << round;
      for (int i = 1; i < kThreads; ++i) clReleaseCommandQueue(on_device);
    }
  });
}

TEST_F(DeviceEnqueue, BlocksAreNoKernelsOfTheProgramAndSurviveItsBinary) {
  on_each_device([&] {
    cl_program program = make_program(R"(
kernel void k(global int* out) {
  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ out[0] = 9; });
})",
                                      "-cl-std=CL3.0");
    size_t count = 0, length = 0;
    clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof count, &count, nullptr);
    EXPECT_EQ(count, 1u);
    char names[64] = {};
    clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, sizeof names, names, nullptr);
    EXPECT_STREQ(names, "k");
    cl_uint made = 0;
    EXPECT_EQ(clCreateKernelsInProgram(program, 0, nullptr, &made), CL_SUCCESS);
    EXPECT_EQ(made, 1u);
    cl_int error;
    EXPECT_EQ(clCreateKernel(program, "__k_block_invoke_kernel", &error), nullptr);
    EXPECT_EQ(error, CL_INVALID_KERNEL_NAME);

    clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof length, &length, nullptr);
    std::vector<unsigned char> bytes(length);
    unsigned char* place = bytes.data();
    clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof place, &place, nullptr);
    const unsigned char* from = bytes.data();
    cl_program loaded = clCreateProgramWithBinary(context, 1, &device, &length, &from, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    ASSERT_EQ(clBuildProgram(loaded, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    cl_kernel kernel = make_kernel(loaded, "k");
    cl_mem out = make_buffer(4);
    clSetKernelArg(kernel, 0, sizeof out, &out);
    const size_t one = 1;
    clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
    EXPECT_EQ(read<int>(out, 1), (std::vector<int>{9}));
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(loaded);
    clReleaseProgram(program);
  });
}

// A kernel that writes where only the device library should: the command may fail, the process goes on.
TEST_F(DeviceEnqueue, DamagedRecordsHarmNobody) {
  constexpr const char* kSource = R"(
kernel void k(global int* out, int in_header, int word, int value) {
  clk_event_t user = create_user_event(), event;
  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(8), 1, &user, &event,
                 ^(local void* p) { ((local int*)p)[get_local_id(0)] = out[0]; atomic_inc(out + 1); }, 64u);
  capture_event_profiling_info(event, CLK_PROFILING_COMMAND_EXEC_TIME, out + 2);
  set_user_event_status(user, CL_COMPLETE);
  constant ulong* implicit = (constant ulong*)__builtin_amdgcn_implicitarg_ptr();
  global uint* arena = (global uint*)implicit[ARENA];
  global uint* records = (global uint*)((global ulong*)arena)[2];
  if (in_header) arena[word] = value; else records[word] = value;
})";
  std::minstd_rand random(1);
  const std::vector<int> values = {0, 1, 8, 120, -1, 0x7fffffff, static_cast<int>(0x80000000), 1 << 24};
  // Of the numbers of work-items a few that do not take forever.
  const auto value_for = [&](int record_word) {
    return values[random() %
                  (record_word >= 16 && record_word < 22 && record_word % 2 == 0 ? 4 : values.size())];
  };
  on_each_device([&] {
    char name[256] = {};
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, nullptr);
    const bool is_old = std::string(name).starts_with("gfx7") || std::string(name).starts_with("gfx8");
    cl_program program =
        make_program(kSource, is_old ? "-cl-std=CL3.0 -DARENA=5" : "-cl-std=CL3.0 -DARENA=14");
    cl_kernel kernel = make_kernel(program, "k");
    cl_mem out = make_buffer(64);
    clSetKernelArg(kernel, 0, sizeof out, &out);
    const size_t one = 1;
    unsigned failed = 0;
    testing::internal::CaptureStderr();
    for (int word = 0; word < 80; ++word) {
      const std::array<int, 3> arguments = {word < 16 ? 1 : 0, word < 16 ? word : word - 16,
                                            value_for(word - 16)};
      for (cl_uint i = 0; i < 3; ++i) clSetKernelArg(kernel, i + 1, sizeof(int), &arguments[i]);
      cl_event event;
      ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, &event),
                CL_SUCCESS);
      clWaitForEvents(1, &event);
      failed += status_of(event) < 0 ? 1 : 0;
      clReleaseEvent(event);
    }
    testing::internal::GetCapturedStderr();
    EXPECT_GT(failed, 10u);
    EXPECT_LT(failed, 80u);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    EXPECT_EQ(run("kernel void k(global int* out) { out[0] = 3; }", 1), (std::vector<int>{3}));
  });
}

}  // namespace
}  // namespace morgana::icd::test
