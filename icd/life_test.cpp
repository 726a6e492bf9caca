// Life in one process: who may release what and when, many contexts, many cycles, many threads.
//
// Arguments: --cycles=N of the memory test, --seconds=S and --threads=T of the stress test.
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

int g_cycles = 60;
int g_seconds = 3;
int g_threads = 24;

constexpr const char* kSource = R"(
kernel void add(global int* values, int amount) { values[get_global_id(0)] += amount; }
)";
constexpr size_t kItems = 64;

using Clock = std::chrono::steady_clock;

bool wait_until(const std::function<bool()>& done) {
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class Life : public OpenCl {
 protected:
  cl_context make_context() {
    cl_int error;
    cl_context made = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
};

// Everything that one launch needs, in a context of its own.
struct Work {
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;
  cl_mem buffer = nullptr;

  static Work make(cl_device_id device) {
    Work work;
    cl_int error;
    work.context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    work.queue = clCreateCommandQueue(work.context, device, 0, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    const char* source = kSource;
    work.program = clCreateProgramWithSource(work.context, 1, &source, nullptr, &error);
    EXPECT_EQ(clBuildProgram(work.program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    work.kernel = clCreateKernel(work.program, "add", &error);
    EXPECT_EQ(error, CL_SUCCESS);
    std::vector<int> zeros(kItems);
    work.buffer =
        clCreateBuffer(work.context, CL_MEM_COPY_HOST_PTR, kItems * sizeof(int), zeros.data(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    const int one = 1;
    clSetKernelArg(work.kernel, 0, sizeof work.buffer, &work.buffer);
    clSetKernelArg(work.kernel, 1, sizeof one, &one);
    return work;
  }
  cl_int launch(cl_uint waits = 0, const cl_event* list = nullptr, cl_event* event = nullptr) const {
    return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, waits, list, event);
  }
  int first() const {
    int value = -1;
    EXPECT_EQ(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof value, &value, 0, nullptr, nullptr),
              CL_SUCCESS);
    return value;
  }
  void release() const {
    EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
    EXPECT_EQ(clReleaseKernel(kernel), CL_SUCCESS);
    EXPECT_EQ(clReleaseProgram(program), CL_SUCCESS);
    EXPECT_EQ(clReleaseCommandQueue(queue), CL_SUCCESS);
    EXPECT_EQ(clReleaseContext(context), CL_SUCCESS);
  }
};

// The callback holds the last reference to everything, its own event and the queue that it runs on included.
TEST_F(Life, ACallbackMayReleaseEverything) {
  struct State {
    Work work;
    std::atomic<bool> buffer_gone{false}, context_gone{false};
  } state{Work::make(device)};
  auto note_buffer = [](cl_mem, void* data) { static_cast<State*>(data)->buffer_gone = true; };
  auto note_context = [](cl_context, void* data) { static_cast<State*>(data)->context_gone = true; };
  ASSERT_EQ(clSetMemObjectDestructorCallback(state.work.buffer, note_buffer, &state), CL_SUCCESS);
  ASSERT_EQ(clSetContextDestructorCallback(state.work.context, note_context, &state), CL_SUCCESS);
  cl_int error;
  cl_event gate = clCreateUserEvent(state.work.context, &error), event;
  ASSERT_EQ(state.work.launch(1, &gate, &event), CL_SUCCESS);
  auto release_all = [](cl_event e, cl_int status, void* data) {
    EXPECT_EQ(status, CL_COMPLETE);
    static_cast<State*>(data)->work.release();
    EXPECT_EQ(clReleaseEvent(e), CL_SUCCESS);
  };
  ASSERT_EQ(clSetEventCallback(event, CL_COMPLETE, release_all, &state), CL_SUCCESS);
  ASSERT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  ASSERT_EQ(clReleaseEvent(gate), CL_SUCCESS);
  EXPECT_TRUE(wait_until([&] { return state.buffer_gone && state.context_gone; }));
}

// clSetMemObjectDestructorCallback, clSetContextDestructorCallback: in reverse order, and free to call
// OpenCL.
TEST_F(Life, DestructorCallbacksMayMakeAndReleaseObjects) {
  struct State {
    cl_context context;
    cl_device_id device;
    std::vector<int> order;
  } state{make_context(), device, {}};
  auto on_buffer = [](cl_mem, void* data) {
    auto& s = *static_cast<State*>(data);
    cl_int e;
    cl_mem other = clCreateBuffer(s.context, 0, 64, nullptr, &e);
    EXPECT_EQ(e, CL_SUCCESS);
    auto nested = [](cl_mem, void* d) { static_cast<State*>(d)->order.push_back(2); };
    EXPECT_EQ(clSetMemObjectDestructorCallback(other, nested, data), CL_SUCCESS);
    EXPECT_EQ(clReleaseMemObject(other), CL_SUCCESS);
    s.order.push_back(3);
  };
  auto first = [](cl_mem, void* data) { static_cast<State*>(data)->order.push_back(1); };
  cl_int error;
  cl_mem buffer = clCreateBuffer(state.context, 0, 64, nullptr, &error);
  ASSERT_EQ(clSetMemObjectDestructorCallback(buffer, on_buffer, &state), CL_SUCCESS);
  ASSERT_EQ(clSetMemObjectDestructorCallback(buffer, first, &state), CL_SUCCESS);
  ASSERT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);

  auto on_context = [](cl_context gone, void* data) {
    auto& s = *static_cast<State*>(data);
    EXPECT_EQ(gone, s.context);
    Work work = Work::make(s.device);
    EXPECT_EQ(work.launch(), CL_SUCCESS);
    EXPECT_EQ(work.first(), 1);
    work.release();
    s.order.push_back(4);
  };
  ASSERT_EQ(clSetContextDestructorCallback(state.context, on_context, &state), CL_SUCCESS);
  ASSERT_EQ(clReleaseContext(state.context), CL_SUCCESS);
  EXPECT_EQ(state.order, (std::vector<int>{1, 2, 3, 4}));
}

// clSetProgramReleaseCallback, section 5.8.3: an error where no device has destructors of program scope
// variables.
TEST_F(Life, ProgramReleaseCallbacksAreRefused) {
  const char* source = kSource;
  cl_int error;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  auto never = [](cl_program, void*) { ADD_FAILURE() << "it was refused"; };
  EXPECT_EQ(clSetProgramReleaseCallback(program, never, nullptr), CL_INVALID_OPERATION);
  EXPECT_EQ(clReleaseProgram(program), CL_SUCCESS);
  EXPECT_EQ(clSetProgramReleaseCallback(program, never, nullptr), CL_INVALID_PROGRAM);
}

TEST_F(Life, ManyContextsWorkAtOnce) {
  std::vector<Work> all;
  for (int i = 0; i < 48; ++i) all.push_back(Work::make(device));
  for (int round = 1; round <= 3; ++round)
    for (const Work& work : all) ASSERT_EQ(work.launch(), CL_SUCCESS);
  for (const Work& work : all) EXPECT_EQ(work.first(), 3);
  for (const Work& work : all) work.release();
}

// A queue goes while its commands wait, run, or have not been looked at; they run all the same.
TEST_F(Life, QueuesMayGoWithWorkInFlight) {
  Work work = Work::make(device);
  cl_int error;
  for (int i = 0; i < 50; ++i) {
    cl_command_queue brief = clCreateCommandQueue(
        work.context, device, i % 2 == 0 ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    cl_event gate = clCreateUserEvent(work.context, &error), event;
    ASSERT_EQ(clEnqueueNDRangeKernel(brief, work.kernel, 1, nullptr, &kItems, nullptr, i % 3 == 0 ? 1 : 0,
                                     i % 3 == 0 ? &gate : nullptr, &event),
              CL_SUCCESS);
    ASSERT_EQ(clReleaseCommandQueue(brief), CL_SUCCESS);
    ASSERT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    ASSERT_EQ(clWaitForEvents(1, &event), CL_SUCCESS);
    ASSERT_EQ(clReleaseEvent(event), CL_SUCCESS);
    ASSERT_EQ(clReleaseEvent(gate), CL_SUCCESS);
  }
  EXPECT_EQ(work.first(), 50);
  work.release();
}

size_t resident_bytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Memory does not grow with the number of cycles. Under the address sanitizer freed memory stays away for a
// while, and its leak checker is the judge.
TEST_F(Life, CyclesOfCreateBuildRunReleaseLeaveNothing) {
  auto cycle = [&] {
    Work work = Work::make(device);
    EXPECT_EQ(work.launch(), CL_SUCCESS);
    EXPECT_EQ(work.first(), 1);
    work.release();
  };
  for (int i = 0; i < 40; ++i) cycle();
  const size_t before = resident_bytes();
  for (int i = 0; i < g_cycles; ++i) cycle();
  const size_t after = resident_bytes();
  RecordProperty("resident_kib_before", static_cast<int>(before / 1024));
  RecordProperty("resident_kib_after", static_cast<int>(after / 1024));
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  EXPECT_LT(after, before + 3 * 1024 * 1024 + size_t(g_cycles) * 1024)
      << before / 1024 << " KiB before, " << after / 1024 << " KiB after " << g_cycles << " cycles";
#endif
}

// What the threads of the stress test share.
struct Shared {
  cl_device_id device;
  cl_context context;
  cl_program program;
  std::vector<cl_command_queue> queues;
  cl_mem buffer;
  std::atomic<uint64_t> calls{0}, callbacks{0}, callbacks_due{0};
};

// One thread: random calls on shared objects and on its own, counting what its launches must have added.
class Caller {
 public:
  Caller(Shared& shared, unsigned seed) : shared_(shared), random_(seed) {
    cl_int error;
    kernel_ = clCreateKernel(shared.program, "add", &error);
    EXPECT_EQ(error, CL_SUCCESS);
    const int zero = 0;
    own_ = clCreateBuffer(shared.context, 0, kItems * sizeof(int), nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    ok(clEnqueueFillBuffer(queue(), own_, &zero, sizeof zero, 0, kItems * sizeof(int), 0, nullptr, nullptr));
    ok(clFinish(queue()));
  }

  void run(Clock::time_point end) {
    using Step = void (Caller::*)();
    constexpr Step kSteps[] = {
        &Caller::launch,     &Caller::launch, &Caller::launch, &Caller::transfer,      &Caller::transfer,
        &Caller::map,        &Caller::ask,    &Caller::ask,    &Caller::hold_and_free, &Caller::own_queue,
        &Caller::user_event, &Caller::svm,    &Caller::wait,   &Caller::build,         &Caller::misuse};
    while (Clock::now() < end && !::testing::Test::HasFailure())
      (this->*kSteps[random_() % std::size(kSteps)])();
    std::vector<int> values(kItems);
    for (cl_command_queue q : shared_.queues) ok(clFinish(q));
    ok(clEnqueueReadBuffer(queue(), own_, CL_TRUE, 0, kItems * sizeof(int), values.data(), 0, nullptr,
                           nullptr));
    for (int value : values) EXPECT_EQ(value, sum_);
    ok(clReleaseKernel(kernel_));
    ok(clReleaseMemObject(own_));
  }

 private:
  void ok(cl_int code) {
    EXPECT_EQ(code, CL_SUCCESS);
    shared_.calls.fetch_add(1, std::memory_order_relaxed);
  }
  // A thread keeps to one in-order queue for its own buffer; for the rest any will do.
  cl_command_queue queue() { return shared_.queues[reinterpret_cast<uintptr_t>(this) / 64 % 2]; }
  cl_command_queue any_queue() { return shared_.queues[random_() % shared_.queues.size()]; }

  void launch() {
    const int amount = static_cast<int>(random_() % 5);
    ok(clSetKernelArg(kernel_, 0, sizeof own_, &own_));
    ok(clSetKernelArg(kernel_, 1, sizeof amount, &amount));
    cl_event event;
    ok(clEnqueueNDRangeKernel(queue(), kernel_, 1, nullptr, &kItems, nullptr, 0, nullptr, &event));
    sum_ += amount;
    if (random_() % 2 == 0) {
      shared_.callbacks_due.fetch_add(1);
      auto count = [](cl_event, cl_int, void* data) { static_cast<Shared*>(data)->callbacks.fetch_add(1); };
      ok(clSetEventCallback(event, random_() % 2 == 0 ? CL_COMPLETE : CL_SUBMITTED, count, &shared_));
    }
    if (random_() % 4 == 0) ok(clWaitForEvents(1, &event));
    ok(clReleaseEvent(event));
  }

  void transfer() {
    cl_int error;
    int in[16], out[16] = {};
    for (int& value : in) value = static_cast<int>(random_());
    cl_mem buffer = clCreateBuffer(shared_.context, CL_MEM_COPY_HOST_PTR, sizeof in, in, &error);
    ok(error);
    cl_mem copy = clCreateBuffer(shared_.context, 0, sizeof in, nullptr, &error);
    ok(error);
    cl_event copied;
    ok(clEnqueueCopyBuffer(any_queue(), buffer, copy, 0, 0, sizeof in, 0, nullptr, &copied));
    ok(clEnqueueReadBuffer(any_queue(), copy, CL_TRUE, 0, sizeof out, out, 1, &copied, nullptr));
    EXPECT_EQ(std::memcmp(in, out, sizeof in), 0);
    ok(clReleaseEvent(copied));
    ok(clReleaseMemObject(buffer));
    ok(clReleaseMemObject(copy));
  }

  void map() {
    cl_int error;
    void* pointer = clEnqueueMapBuffer(queue(), own_, CL_TRUE, CL_MAP_READ, 0, kItems * sizeof(int), 0,
                                       nullptr, nullptr, &error);
    ok(error);
    if (error == CL_SUCCESS) {
      EXPECT_EQ(*static_cast<int*>(pointer), sum_);
      ok(clEnqueueUnmapMemObject(queue(), own_, pointer, 0, nullptr, nullptr));
    }
  }

  void ask() {
    cl_uint count;
    size_t size;
    char text[4096];
    ok(clGetContextInfo(shared_.context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr));
    EXPECT_GE(count, 1u);
    ok(clGetDeviceInfo(shared_.device, CL_DEVICE_EXTENSIONS, sizeof text, text, &size));
    ok(clGetProgramBuildInfo(shared_.program, shared_.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size));
    ok(clGetMemObjectInfo(shared_.buffer, CL_MEM_MAP_COUNT, sizeof count, &count, nullptr));
    ok(clGetKernelWorkGroupInfo(kernel_, shared_.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof size, &size,
                                nullptr));
    ok(clGetCommandQueueInfo(any_queue(), CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, nullptr));
  }

  void hold_and_free() {
    ok(clRetainContext(shared_.context));
    ok(clRetainProgram(shared_.program));
    ok(clRetainMemObject(shared_.buffer));
    cl_int error;
    const cl_buffer_region region{0, 128};
    cl_mem part = clCreateSubBuffer(shared_.buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    ok(error);
    ok(clReleaseMemObject(part));
    ok(clReleaseMemObject(shared_.buffer));
    ok(clReleaseProgram(shared_.program));
    ok(clReleaseContext(shared_.context));
  }

  void own_queue() {
    cl_int error;
    cl_command_queue brief =
        clCreateCommandQueue(shared_.context, shared_.device, CL_QUEUE_PROFILING_ENABLE, &error);
    ok(error);
    const int value = 7;
    // A buffer of its own: this queue may still be at work when the next one begins.
    cl_mem filled = clCreateBuffer(shared_.context, 0, 256, nullptr, &error);
    ok(error);
    ok(clEnqueueFillBuffer(brief, filled, &value, sizeof value, 0, 256, 0, nullptr, nullptr));
    ok(clReleaseMemObject(filled));
    ok(clReleaseCommandQueue(brief));
  }

  void user_event() {
    cl_int error;
    cl_event gate = clCreateUserEvent(shared_.context, &error), event;
    ok(error);
    cl_command_queue brief =
        clCreateCommandQueue(shared_.context, shared_.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    ok(error);
    ok(clEnqueueMarkerWithWaitList(brief, 1, &gate, &event));
    const bool fails = random_() % 2 == 0;
    ok(clSetUserEventStatus(gate, fails ? -7 : CL_COMPLETE));
    EXPECT_EQ(clWaitForEvents(1, &event), fails ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS);
    ok(clReleaseEvent(event));
    ok(clReleaseEvent(gate));
    ok(clReleaseCommandQueue(brief));
  }

  void svm() {
    auto* words = static_cast<int*>(clSVMAlloc(shared_.context, CL_MEM_READ_WRITE, 256, 0));
    ASSERT_NE(words, nullptr);
    const int value = static_cast<int>(random_());
    ok(clEnqueueSVMMemFill(queue(), words, &value, sizeof value, 256, 0, nullptr, nullptr));
    ok(clEnqueueSVMMap(queue(), CL_TRUE, CL_MAP_READ, words, 256, 0, nullptr, nullptr));
    EXPECT_EQ(words[63], value);
    ok(clEnqueueSVMUnmap(queue(), words, 0, nullptr, nullptr));
    void* list[] = {words};
    ok(clEnqueueSVMFree(queue(), 1, list, nullptr, nullptr, 0, nullptr, nullptr));
  }

  void wait() {
    if (random_() % 4 == 0)
      ok(clFinish(any_queue()));
    else
      ok(clFlush(any_queue()));
  }

  void build() {
    if (random_() % 8 != 0) return;  // a build costs as much as a thousand other calls
    const std::string source =
        "kernel void k" + std::to_string(random_() % 1000) + "(global int* p) { p[0] = 1; }";
    const char* text = source.c_str();
    cl_int error;
    cl_program program = clCreateProgramWithSource(shared_.context, 1, &text, nullptr, &error);
    ok(error);
    ok(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr));
    ok(clReleaseProgram(program));
  }

  // Handles that are none, while other threads make and release their like.
  void misuse() {
    EXPECT_EQ(clReleaseMemObject(nullptr), CL_INVALID_MEM_OBJECT);
    EXPECT_EQ(clFinish(reinterpret_cast<cl_command_queue>(own_)), CL_INVALID_COMMAND_QUEUE);
    EXPECT_EQ(clRetainEvent(reinterpret_cast<cl_event>(kernel_)), CL_INVALID_EVENT);
    EXPECT_EQ(clEnqueueReadBuffer(queue(), own_, CL_TRUE, 4096, 4, &sum_, 0, nullptr, nullptr),
              CL_INVALID_VALUE);
  }

  Shared& shared_;
  std::mt19937 random_;
  cl_kernel kernel_ = nullptr;
  cl_mem own_ = nullptr;
  int sum_ = 0;
};

TEST_F(Life, AnyEntryPointFromAnyThread) {
  Shared shared;
  shared.device = device;
  shared.context = context;
  shared.program = make_program(kSource);
  shared.buffer = make_buffer(1024);
  for (int i = 0; i < 4; ++i)
    shared.queues.push_back(make_queue(i < 2 ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
  const auto end = Clock::now() + std::chrono::seconds(g_seconds);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < g_threads; ++i)
      threads.emplace_back([&, i] { Caller(shared, static_cast<unsigned>(i)).run(end); });
  }
  EXPECT_TRUE(wait_until([&] { return shared.callbacks == shared.callbacks_due; }));
  RecordProperty("calls", static_cast<int>(shared.calls.load()));
  EXPECT_GT(shared.calls, 100u * static_cast<unsigned>(g_threads));
  for (cl_command_queue q : shared.queues) EXPECT_EQ(clReleaseCommandQueue(q), CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(shared.buffer), CL_SUCCESS);
  EXPECT_EQ(clReleaseProgram(shared.program), CL_SUCCESS);
  cl_uint references = 0;
  clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references, nullptr);
  EXPECT_EQ(references, 1u);
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
    bool known = read_argument(argv[i], "--cycles=", g_cycles) ||
                 read_argument(argv[i], "--seconds=", g_seconds) ||
                 read_argument(argv[i], "--threads=", g_threads);
    if (!known) {
      std::fprintf(stderr, "icd_life_test: no argument '%s'\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
