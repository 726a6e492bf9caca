// Command buffers: what a recorded buffer does when it is replayed, updated, and shared by queues.
#include <memory>

#include "icd/command_buffer_support.h"

namespace morgana::icd::test {
namespace {

constexpr const char* kSource = R"(
kernel void step(global uint* x, uint add) {
  size_t i = get_global_id(0);
  x[i] = x[i] * 3 + add;
}
kernel void mark(global uint* x) { x[get_global_id(0)] = get_local_size(0); }
kernel void fault(global uint* x) { *(volatile global uint*)16 = x[0]; }
kernel void say(int number) { printf("number %d\n", number); }
)";

class CommandBuffers : public OpenCl {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    api = std::make_unique<CommandBufferApi>(platform);
    program = make_program(kSource, "-cl-std=CL3.0");
    data = make_buffer(kItems * sizeof(cl_uint));
    fill_now(1);
  }
  void TearDown() override {
    clReleaseMemObject(data);
    clReleaseProgram(program);
    OpenCl::TearDown();
  }

  void fill_now(cl_uint value) {
    ASSERT_EQ(
        clEnqueueFillBuffer(queue, data, &value, sizeof value, 0, kItems * sizeof value, 0, nullptr, nullptr),
        CL_SUCCESS);
    ASSERT_EQ(clFinish(queue), CL_SUCCESS);
  }
  cl_command_buffer_khr create(cl_properties flags = 0) { return create_of({queue}, flags); }
  cl_command_buffer_khr create_of(const std::vector<cl_command_queue>& queues, cl_properties flags = 0) {
    const cl_properties properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR, flags, 0};
    cl_int error;
    cl_command_buffer_khr made =
        api->create(static_cast<cl_uint>(queues.size()), queues.data(), properties, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  cl_kernel kernel_of(const char* name, cl_uint add = 0) {
    cl_kernel made = make_kernel(program, name);
    clSetKernelArg(made, 0, sizeof data, &data);
    if (std::string(name) == "step") clSetKernelArg(made, 1, sizeof add, &add);
    return made;
  }
  cl_int launch(cl_command_buffer_khr buffer, cl_kernel kernel, cl_mutable_command_khr* handle = nullptr,
                const cl_properties* properties = nullptr) {
    return api->launch(buffer, nullptr, properties, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr,
                       handle);
  }
  cl_int enqueue(cl_command_buffer_khr buffer, cl_event* event = nullptr) {
    return api->enqueue(0, nullptr, buffer, 0, nullptr, event);
  }
  cl_int update(cl_command_buffer_khr buffer, const DispatchConfig& config) {
    const cl_uint type = 0;
    const void* configs[] = {&config};
    return api->update(buffer, 1, &type, configs);
  }
  cl_command_buffer_state_khr state_of(cl_command_buffer_khr buffer) {
    cl_command_buffer_state_khr state = 99;
    EXPECT_EQ(api->info(buffer, CL_COMMAND_BUFFER_STATE_KHR, sizeof state, &state, nullptr), CL_SUCCESS);
    return state;
  }
  void expect_all(cl_uint value) {
    for (cl_uint x : read<cl_uint>(data, kItems)) ASSERT_EQ(x, value);
  }

  static constexpr size_t kItems = 256;
  std::unique_ptr<CommandBufferApi> api;
  cl_program program = nullptr;
  cl_mem data = nullptr;
};

TEST_F(CommandBuffers, ReplayRepeatsEverythingInOrder) {
  cl_mem other = make_buffer(kItems * sizeof(cl_uint));
  cl_kernel kernel = kernel_of("step", 1);
  cl_command_buffer_khr buffer = create();
  const cl_uint two = 2;
  const size_t bytes = kItems * sizeof two;
  cl_sync_point_khr filled, stepped;
  ASSERT_EQ(
      api->fill(buffer, nullptr, nullptr, other, &two, sizeof two, 0, bytes, 0, nullptr, &filled, nullptr),
      CL_SUCCESS);
  ASSERT_EQ(api->launch(buffer, nullptr, nullptr, kernel, 1, nullptr, &kItems, nullptr, 1, &filled, &stepped,
                        nullptr),
            CL_SUCCESS);
  ASSERT_EQ(api->barrier(buffer, nullptr, nullptr, 1, &stepped, nullptr, nullptr), CL_SUCCESS);
  // The upper half comes from the other buffer.
  ASSERT_EQ(
      api->copy(buffer, nullptr, nullptr, other, data, 0, bytes / 2, bytes / 2, 0, nullptr, nullptr, nullptr),
      CL_SUCCESS);
  // Arguments are those of the recording, and objects live as long as the buffer.
  const cl_uint later = 1000;
  clSetKernelArg(kernel, 1, sizeof later, &later);
  clReleaseKernel(kernel);
  clReleaseMemObject(other);
  ASSERT_EQ(state_of(buffer), static_cast<cl_uint>(CL_COMMAND_BUFFER_STATE_RECORDING_KHR));
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  ASSERT_EQ(state_of(buffer), static_cast<cl_uint>(CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR));
  cl_uint lower = 1;
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(enqueue(buffer), CL_SUCCESS);
    lower = lower * 3 + 1;
    const std::vector<cl_uint> now = read<cl_uint>(data, kItems);
    for (size_t k = 0; k < kItems; ++k) ASSERT_EQ(now[k], k < kItems / 2 ? lower : 2u);
  }
  EXPECT_EQ(api->release(buffer), CL_SUCCESS);
}

TEST_F(CommandBuffers, OneEventForTheWholeBuffer) {
  cl_command_queue profiled = make_queue(CL_QUEUE_PROFILING_ENABLE);
  cl_kernel kernel = kernel_of("step", 0);
  cl_command_buffer_khr buffer = create();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(buffer, kernel), CL_SUCCESS);
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  // It waits for its list, and what waits for it sees all of it.
  cl_int error;
  cl_event gate = clCreateUserEvent(context, &error), done;
  ASSERT_EQ(api->enqueue(1, &profiled, buffer, 1, &gate, &done), CL_SUCCESS);
  EXPECT_GT(status_of(done), CL_COMPLETE);
  // Released meanwhile, it is executed all the same.
  EXPECT_EQ(api->release(buffer), CL_SUCCESS);
  cl_command_type type;
  ASSERT_EQ(clGetEventInfo(done, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr), CL_SUCCESS);
  EXPECT_EQ(type, static_cast<cl_command_type>(CL_COMMAND_COMMAND_BUFFER_KHR));
  ASSERT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  ASSERT_EQ(clWaitForEvents(1, &done), CL_SUCCESS);
  expect_all(27);
  cl_ulong times[4];
  for (cl_uint i = 0; i < 4; ++i)
    ASSERT_EQ(
        clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_QUEUED + i, sizeof times[i], &times[i], nullptr),
        CL_SUCCESS);
  for (int i = 0; i < 3; ++i) EXPECT_LE(times[i], times[i + 1]);
  for (cl_event event : {gate, done}) clReleaseEvent(event);
  clReleaseKernel(kernel);
  clReleaseCommandQueue(profiled);
}

TEST_F(CommandBuffers, SimultaneousUsesFollowEachOther) {
  cl_command_queue loose = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_kernel kernel = kernel_of("step", 1);
  cl_command_buffer_khr buffer = create_of({loose}, kFlagSimultaneousUse);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(launch(buffer, kernel), CL_SUCCESS);
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  // No two of the 40 launches overlap, on either queue.
  cl_uint wanted = 1;
  for (int i = 0; i < 10; ++i) {
    if (i % 2 == 0)
      ASSERT_EQ(enqueue(buffer), CL_SUCCESS);
    else
      ASSERT_EQ(api->enqueue(1, &queue, buffer, 0, nullptr, nullptr), CL_SUCCESS);
    for (int k = 0; k < 4; ++k) wanted = wanted * 3 + 1;
  }
  ASSERT_EQ(clFinish(loose), CL_SUCCESS);
  expect_all(wanted);
  api->release(buffer);
  clReleaseKernel(kernel);
  clReleaseCommandQueue(loose);
}

TEST_F(CommandBuffers, AFaultEndsTheExecutionAndTheEvent) {
  cl_kernel wrong = kernel_of("fault"), after = kernel_of("mark");
  cl_command_buffer_khr buffer = create();
  ASSERT_EQ(launch(buffer, wrong), CL_SUCCESS);
  ASSERT_EQ(launch(buffer, after), CL_SUCCESS);
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  cl_event done;
  ASSERT_EQ(enqueue(buffer, &done), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &done), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(status_of(done), CL_OUT_OF_RESOURCES);
  expect_all(1);
  // A later execution does not wait for the failed one's success.
  cl_event again;
  ASSERT_EQ(enqueue(buffer, &again), CL_SUCCESS);
  EXPECT_NE(clWaitForEvents(1, &again), CL_SUCCESS);
  EXPECT_EQ(status_of(again), CL_OUT_OF_RESOURCES);
  for (cl_event event : {done, again}) clReleaseEvent(event);
  api->release(buffer);
  for (cl_kernel kernel : {wrong, after}) clReleaseKernel(kernel);
}

TEST_F(CommandBuffers, PrintsOnceAnExecution) {
  cl_kernel kernel = make_kernel(program, "say");
  const cl_int number = 7;
  clSetKernelArg(kernel, 0, sizeof number, &number);
  cl_command_buffer_khr buffer = create();
  const size_t one = 1;
  ASSERT_EQ(
      api->launch(buffer, nullptr, nullptr, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr, nullptr),
      CL_SUCCESS);
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  testing::internal::CaptureStdout();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(enqueue(buffer), CL_SUCCESS);
  clFinish(queue);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "number 7\nnumber 7\nnumber 7\n");
  api->release(buffer);
  clReleaseKernel(kernel);
}

TEST_F(CommandBuffers, MovesSvmRectanglesAndImages) {
  const cl_image_format format{CL_R, CL_UNSIGNED_INT32};
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = shape.image_height = 8;
  cl_int error;
  cl_mem first = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, nullptr, &error);
  cl_mem second = clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  auto* shared = static_cast<cl_uint*>(clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0));
  cl_command_buffer_khr buffer = create();
  const cl_uint color[4] = {5, 0, 0, 0}, pattern = 9;
  const size_t none[3] = {}, whole[3] = {8, 8, 1}, row[3] = {32, 1, 1}, lower[3] = {0, 4, 0};
  const auto ok = [](cl_int code) { ASSERT_EQ(code, CL_SUCCESS); };
  ok(api->fill_image(buffer, nullptr, nullptr, first, color, none, whole, 0, nullptr, nullptr, nullptr));
  ok(api->copy_image(buffer, nullptr, nullptr, first, second, none, none, whole, 0, nullptr, nullptr,
                     nullptr));
  ok(api->copy_from_image(buffer, nullptr, nullptr, second, data, none, whole, 0, 0, nullptr, nullptr,
                          nullptr));
  // Row 0 to row 4, as bytes; then the upper half of the buffer back into the first image.
  ok(api->svm_fill(buffer, nullptr, nullptr, shared, &pattern, sizeof pattern, 32, 0, nullptr, nullptr,
                   nullptr));
  ok(api->svm_copy(buffer, nullptr, nullptr, shared + 8, shared, 32, 0, nullptr, nullptr, nullptr));
  ok(api->copy_rect(buffer, nullptr, nullptr, data, data, none, lower, row, 32, 0, 32, 0, 0, nullptr, nullptr,
                    nullptr));
  ok(api->copy_to_image(buffer, nullptr, nullptr, data, first, 0, none, whole, 0, nullptr, nullptr, nullptr));
  ok(api->finalize(buffer));
  ok(enqueue(buffer));
  std::vector<cl_uint> texels(64);
  ok(clEnqueueReadImage(queue, first, CL_TRUE, none, whole, 0, 0, texels.data(), 0, nullptr, nullptr));
  for (cl_uint texel : texels) EXPECT_EQ(texel, 5u);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(shared[i], 9u);
  ok(api->release(buffer));
  for (cl_mem image : {first, second}) clReleaseMemObject(image);
  clSVMFree(context, shared);
}

TEST_F(CommandBuffers, UpdatesCountForLaterEnqueuesOnly) {
  cl_kernel kernel = kernel_of("step", 1);
  cl_command_buffer_khr buffer = create(kFlagMutable | kFlagSimultaneousUse);
  cl_mutable_command_khr handle = nullptr;
  ASSERT_EQ(launch(buffer, kernel, &handle), CL_SUCCESS);
  ASSERT_NE(handle, nullptr);
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  cl_int error;
  cl_event gate = clCreateUserEvent(context, &error);
  ASSERT_EQ(api->enqueue(0, nullptr, buffer, 1, &gate, nullptr), CL_SUCCESS);
  const cl_uint add = 100;
  const DispatchArgument argument{1, sizeof add, &add};
  DispatchConfig config;
  config.command = handle;
  config.num_args = 1;
  config.arg_list = &argument;
  ASSERT_EQ(update(buffer, config), CL_SUCCESS);
  ASSERT_EQ(enqueue(buffer), CL_SUCCESS);
  ASSERT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  expect_all((1 * 3 + 1) * 3 + 100);
  // The kernel itself has kept its arguments.
  ASSERT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr),
            CL_SUCCESS);
  expect_all(112 * 3 + 1);
  clReleaseEvent(gate);
  api->release(buffer);
  clReleaseKernel(kernel);
}

TEST_F(CommandBuffers, RangesAreUpdatedAndTold) {
  cl_kernel kernel = kernel_of("mark");
  cl_command_buffer_khr buffer = create(kFlagMutable);
  cl_mutable_command_khr handle;
  const size_t local = 16, half = kItems / 2, larger = 32;
  ASSERT_EQ(
      api->launch(buffer, nullptr, nullptr, kernel, 1, nullptr, &half, &local, 0, nullptr, nullptr, &handle),
      CL_SUCCESS);
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  ASSERT_EQ(enqueue(buffer), CL_SUCCESS);
  DispatchConfig config;
  config.command = handle;
  config.global_work_offset = &half;
  config.local_work_size = &larger;
  ASSERT_EQ(update(buffer, config), CL_SUCCESS);
  ASSERT_EQ(enqueue(buffer), CL_SUCCESS);
  const std::vector<cl_uint> sizes = read<cl_uint>(data, kItems);
  for (size_t i = 0; i < kItems; ++i) EXPECT_EQ(sizes[i], i < half ? local : larger);
  // An update that fails changes nothing, also where its first part would do.
  const size_t odd = 7;
  config.local_work_size = &odd;
  EXPECT_EQ(update(buffer, config), CL_INVALID_OPERATION);
  size_t told = 0;
  const auto ask = [&](cl_mutable_command_info_khr name) {
    EXPECT_EQ(api->command_info(handle, name, sizeof told, &told, nullptr), CL_SUCCESS);
    return told;
  };
  EXPECT_EQ(ask(CL_MUTABLE_DISPATCH_LOCAL_WORK_SIZE_KHR), larger);
  EXPECT_EQ(ask(CL_MUTABLE_DISPATCH_GLOBAL_WORK_SIZE_KHR), half);
  EXPECT_EQ(ask(CL_MUTABLE_DISPATCH_GLOBAL_WORK_OFFSET_KHR), half);
  cl_kernel kernel_told;
  ASSERT_EQ(
      api->command_info(handle, CL_MUTABLE_DISPATCH_KERNEL_KHR, sizeof kernel_told, &kernel_told, nullptr),
      CL_SUCCESS);
  EXPECT_EQ(kernel_told, kernel);
  api->release(buffer);
  clReleaseKernel(kernel);
}

TEST_F(CommandBuffers, ArgumentsMayComeAfterRecording) {
  cl_kernel kernel = make_kernel(program, "step");
  cl_command_buffer_khr buffer = create(kFlagMutable);
  const cl_properties fields[] = {kUpdatableFields, 8, 0};  // arguments
  cl_mutable_command_khr handle;
  ASSERT_EQ(launch(buffer, kernel, &handle, fields), CL_SUCCESS);
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  EXPECT_EQ(state_of(buffer), kStateFinalized);
  EXPECT_EQ(enqueue(buffer), CL_INVALID_OPERATION);
  const cl_uint add = 4;
  const DispatchArgument arguments[] = {{0, sizeof data, &data}, {1, sizeof add, &add}};
  DispatchConfig config;
  config.command = handle;
  config.num_args = 2;
  config.arg_list = arguments;
  ASSERT_EQ(update(buffer, config), CL_SUCCESS);
  EXPECT_EQ(state_of(buffer), static_cast<cl_uint>(CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR));
  ASSERT_EQ(enqueue(buffer), CL_SUCCESS);
  expect_all(7);
  api->release(buffer);
  clReleaseKernel(kernel);
}

// The fixture's platform has gfx950 and gfx90a.
TEST_F(CommandBuffers, SpanQueuesOfSeveralDevices) {
  cl_device_id devices[2];
  cl_uint count;
  ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, devices, &count), CL_SUCCESS);
  ASSERT_EQ(count, 2u);
  cl_int error;
  cl_context both = clCreateContext(nullptr, 2, devices, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  std::vector<cl_command_queue> queues;
  for (cl_device_id id : devices) queues.push_back(clCreateCommandQueue(both, id, 0, &error));
  const char* source = kSource;
  cl_program shared = clCreateProgramWithSource(both, 1, &source, nullptr, &error);
  ASSERT_EQ(clBuildProgram(shared, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  std::vector<cl_uint> host(kItems, 1);
  cl_mem numbers = clCreateBuffer(both, CL_MEM_COPY_HOST_PTR, kItems * sizeof(cl_uint), host.data(), &error);
  cl_kernel kernel = make_kernel(shared, "step");
  clSetKernelArg(kernel, 0, sizeof numbers, &numbers);
  cl_command_buffer_khr buffer = create_of(queues);
  for (cl_uint i = 0; i < 6; ++i) {
    clSetKernelArg(kernel, 1, sizeof i, &i);
    ASSERT_EQ(api->launch(buffer, queues[i % 2], nullptr, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr,
                          nullptr, nullptr),
              CL_SUCCESS);
  }
  ASSERT_EQ(api->finalize(buffer), CL_SUCCESS);
  // Behind what the second queue holds, and before what follows on it.
  const cl_uint two = 2;
  cl_event gate = clCreateUserEvent(both, &error);
  ASSERT_EQ(
      clEnqueueFillBuffer(queues[1], numbers, &two, sizeof two, 0, kItems * sizeof two, 1, &gate, nullptr),
      CL_SUCCESS);
  ASSERT_EQ(enqueue(buffer), CL_SUCCESS);
  clSetUserEventStatus(gate, CL_COMPLETE);
  ASSERT_EQ(clEnqueueReadBuffer(queues[1], numbers, CL_TRUE, 0, kItems * sizeof(cl_uint), host.data(), 0,
                                nullptr, nullptr),
            CL_SUCCESS);
  cl_uint wanted = 2;
  for (cl_uint i = 0; i < 6; ++i) wanted = wanted * 3 + i;
  for (cl_uint x : host) ASSERT_EQ(x, wanted);
  api->release(buffer);
  clReleaseEvent(gate);
  clReleaseKernel(kernel);
  clReleaseMemObject(numbers);
  clReleaseProgram(shared);
  for (cl_command_queue one : queues) clReleaseCommandQueue(one);
  clReleaseContext(both);
}

}  // namespace
}  // namespace morgana::icd::test
