// Command buffers, semaphores and terminated contexts under many threads.
//
// Arguments: --seconds=S and --threads=T.
#include <atomic>
#include <charconv>
#include <chrono>
#include <memory>
#include <random>
#include <string_view>
#include <thread>

#include "icd/command_buffer_support.h"
#include "icd/sharing_support.h"

namespace morgana::icd::test {
namespace {

int g_seconds = 3;
int g_threads = 24;

constexpr const char* kSource = R"(
kernel void add(global int* values, int amount) { values[get_global_id(0)] += amount; }
)";
constexpr size_t kItems = 64;

using Clock = std::chrono::steady_clock;
using Terminate = cl_int (*)(cl_context);

// What all threads share.
struct Shared {
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_program program;
  std::vector<cl_command_queue> queues;  // in order, and out of order
  cl_command_buffer_khr recorded;        // adds 1 to all of `counted`
  cl_mem counted;
  std::atomic<int> replays{0};
};

class Caller {
 public:
  Caller(Shared& shared, unsigned seed)
      : shared_(shared), random_(seed), buffers_(shared.platform), sharing_(shared.platform) {
    terminate_ = reinterpret_cast<Terminate>(
        clGetExtensionFunctionAddressForPlatform(shared.platform, "clTerminateContextKHR"));
    cl_int error;
    kernel_ = clCreateKernel(shared.program, "add", &error);
    ok(error);
    std::vector<int> zeros(kItems);
    own_ = clCreateBuffer(shared.context, CL_MEM_COPY_HOST_PTR, kItems * sizeof(int), zeros.data(), &error);
    ok(error);
    ok(clSetKernelArg(kernel_, 0, sizeof own_, &own_));
    ok(clSetKernelArg(kernel_, 1, sizeof amount_, &amount_));
    const cl_properties properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR, kFlagMutable | kFlagSimultaneousUse, 0};
    mine_ = buffers_.create(1, &shared.queues[0], properties, &error);
    ok(error);
    ok(buffers_.launch(mine_, nullptr, nullptr, kernel_, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr,
                       &handle_));
    ok(buffers_.finalize(mine_));
  }

  void run(Clock::time_point end) {
    using Step = void (Caller::*)();
    constexpr Step kSteps[] = {&Caller::replay_shared, &Caller::replay_own, &Caller::update, &Caller::record,
                               &Caller::hand_over,     &Caller::terminate,  &Caller::ask};
    while (Clock::now() < end && !::testing::Test::HasFailure())
      (this->*kSteps[random_() % std::size(kSteps)])();
    for (cl_command_queue q : shared_.queues) ok(clFinish(q));
    std::vector<int> values(kItems);
    ok(clEnqueueReadBuffer(shared_.queues[0], own_, CL_TRUE, 0, kItems * sizeof(int), values.data(), 0,
                           nullptr, nullptr));
    for (int value : values) EXPECT_EQ(value, sum_);
    ok(buffers_.release(mine_));
    ok(clReleaseMemObject(own_));
    ok(clReleaseKernel(kernel_));
  }

 private:
  static void ok(cl_int code) { EXPECT_EQ(code, CL_SUCCESS); }
  cl_command_queue any_queue() { return shared_.queues[random_() % shared_.queues.size()]; }

  void replay_shared() {
    cl_command_queue on = any_queue();
    ok(buffers_.enqueue(1, &on, shared_.recorded, 0, nullptr, nullptr));
    shared_.replays.fetch_add(1);
    if (random_() % 4 == 0) ok(clFlush(on));
  }
  void replay_own() {
    cl_command_queue on = any_queue();
    cl_event event;
    ok(buffers_.enqueue(1, &on, mine_, 0, nullptr, &event));
    sum_ += amount_;
    if (random_() % 4 == 0) ok(clWaitForEvents(1, &event));
    ok(clReleaseEvent(event));
  }
  // While executions of it may be under way.
  void update() {
    amount_ = static_cast<int>(random_() % 5);
    const DispatchArgument argument{1, sizeof amount_, &amount_};
    DispatchConfig config;
    config.command = handle_;
    config.num_args = 1;
    config.arg_list = &argument;
    const cl_uint type = 0;
    const void* configs[] = {&config};
    ok(buffers_.update(mine_, 1, &type, configs));
  }
  void record() {
    cl_int error;
    cl_command_queue on = any_queue();
    cl_command_buffer_khr brief = buffers_.create(1, &on, nullptr, &error);
    ok(error);
    cl_mem filled = clCreateBuffer(shared_.context, 0, 256, nullptr, &error);
    ok(error);
    const int pattern = 3;
    cl_sync_point_khr point;
    ok(buffers_.fill(brief, nullptr, nullptr, filled, &pattern, sizeof pattern, 0, 256, 0, nullptr, &point,
                     nullptr));
    ok(buffers_.copy(brief, nullptr, nullptr, filled, filled, 0, 128, 64, 1, &point, nullptr, nullptr));
    ok(buffers_.finalize(brief));
    ok(buffers_.enqueue(0, nullptr, brief, 0, nullptr, nullptr));
    ok(clReleaseMemObject(filled));
    ok(buffers_.release(brief));
  }
  // A queue of its own signals, another waits, in either order; exported semaphores go through the system.
  void hand_over() {
    const bool exported = random_() % 2 == 0;
    const cl_semaphore_properties_khr properties[] = {
        CL_SEMAPHORE_TYPE_KHR,
        CL_SEMAPHORE_TYPE_BINARY_KHR,
        exported ? cl_semaphore_properties_khr{CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR} : 0,
        CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR,
        0,
        0};
    cl_int error;
    cl_semaphore_khr semaphore = sharing_.create(shared_.context, properties, &error);
    ok(error);
    cl_command_queue from = clCreateCommandQueue(shared_.context, shared_.device, 0, &error);
    cl_command_queue to = clCreateCommandQueue(shared_.context, shared_.device, 0, &error);
    cl_event waited;
    const bool first = random_() % 2 == 0;
    if (first) ok(sharing_.signal(from, 1, &semaphore, nullptr, 0, nullptr, nullptr));
    ok(sharing_.wait(to, 1, &semaphore, nullptr, 0, nullptr, &waited));
    if (!first) ok(sharing_.signal(from, 1, &semaphore, nullptr, 0, nullptr, nullptr));
    ok(sharing_.release(semaphore));
    ok(clWaitForEvents(1, &waited));
    ok(clReleaseEvent(waited));
    for (cl_command_queue q : {from, to}) ok(clReleaseCommandQueue(q));
  }
  void terminate() {
    if (random_() % 4 != 0) return;  // it takes a context and a queue
    cl_int error;
    const cl_context_properties properties[] = {CL_CONTEXT_TERMINATE_KHR, CL_TRUE, 0};
    cl_context brief = clCreateContext(properties, 1, &shared_.device, nullptr, nullptr, &error);
    ok(error);
    cl_command_queue queue =
        clCreateCommandQueue(brief, shared_.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    ok(error);
    cl_event gate = clCreateUserEvent(brief, &error), waiting, chained;
    ok(clEnqueueMarkerWithWaitList(queue, 1, &gate, &waiting));
    ok(clEnqueueMarkerWithWaitList(queue, 1, &waiting, &chained));
    ok(terminate_(brief));
    EXPECT_EQ(clWaitForEvents(1, &chained), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    for (cl_event event : {gate, waiting, chained}) ok(clReleaseEvent(event));
    ok(clReleaseCommandQueue(queue));
    ok(clReleaseContext(brief));
  }
  void ask() {
    cl_command_buffer_state_khr state;
    ok(buffers_.info(shared_.recorded, CL_COMMAND_BUFFER_STATE_KHR, sizeof state, &state, nullptr));
    size_t sizes[3];
    ok(buffers_.command_info(handle_, CL_MUTABLE_DISPATCH_GLOBAL_WORK_SIZE_KHR, sizeof sizes, sizes,
                             nullptr));
    EXPECT_EQ(sizes[0], kItems);
  }

  Shared& shared_;
  std::mt19937 random_;
  const CommandBufferApi buffers_;
  const SharingApi sharing_;
  Terminate terminate_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem own_ = nullptr;
  cl_command_buffer_khr mine_ = nullptr;
  cl_mutable_command_khr handle_ = nullptr;
  int amount_ = 1, sum_ = 0;
};

class RecordedLife : public OpenCl {};

TEST_F(RecordedLife, FromAnyThread) {
  Shared shared{platform, device, context, make_program(kSource), {}, nullptr, nullptr, {}};
  for (cl_command_queue_properties order : {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE})
    for (int i = 0; i < 2; ++i) shared.queues.push_back(make_queue(order));
  std::vector<int> zeros(kItems);
  shared.counted = make_buffer(kItems * sizeof(int), CL_MEM_COPY_HOST_PTR, zeros.data());
  cl_kernel kernel = make_kernel(shared.program, "add");
  const int one = 1;
  clSetKernelArg(kernel, 0, sizeof shared.counted, &shared.counted);
  clSetKernelArg(kernel, 1, sizeof one, &one);
  const CommandBufferApi api(platform);
  const cl_properties properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR, kFlagSimultaneousUse, 0};
  cl_int error;
  shared.recorded = api.create(1, &shared.queues[0], properties, &error);
  ASSERT_EQ(api.launch(shared.recorded, nullptr, nullptr, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr,
                       nullptr, nullptr),
            CL_SUCCESS);
  ASSERT_EQ(api.finalize(shared.recorded), CL_SUCCESS);
  const auto end = Clock::now() + std::chrono::seconds(g_seconds);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < g_threads; ++i)
      threads.emplace_back([&, i] { Caller(shared, static_cast<unsigned>(i)).run(end); });
  }
  // Executions of one buffer follow each other on whatever queues, so that no addition is lost.
  for (int value : read<int>(shared.counted, kItems)) EXPECT_EQ(value, shared.replays);
  EXPECT_GT(shared.replays, g_threads);
  EXPECT_EQ(api.release(shared.recorded), CL_SUCCESS);
  clReleaseKernel(kernel);
  clReleaseMemObject(shared.counted);
  clReleaseProgram(shared.program);
  for (cl_command_queue q : shared.queues) EXPECT_EQ(clReleaseCommandQueue(q), CL_SUCCESS);
}

// "--name=number" into `value`; false when the argument is another or not a number.
bool read_argument(std::string_view argument, std::string_view name, int& value) {
  if (!argument.starts_with(name)) return false;
  argument.remove_prefix(name.size());
  return std::from_chars(argument.begin(), argument.end(), value).ptr == argument.end();
}

}  // namespace
}  // namespace morgana::icd::test

int main(int argc, char** argv) {
  using namespace morgana::icd::test;
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (read_argument(argv[i], "--seconds=", g_seconds) || read_argument(argv[i], "--threads=", g_threads))
      continue;
    std::fprintf(stderr, "icd_recorded_life_test: no argument '%s'\n", argv[i]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
