// Semaphores between queues, and memory and semaphores between processes. With `--partner MEMORY TAKE GIVE`
// (descriptors) the program is the other process.
#include "icd/sharing_support.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>

extern char** environ;  // NOLINT: what the C library calls it

namespace morgana::icd::test {
namespace {

constexpr const char* kSource = R"(
kernel void step(global uint* x, uint factor, uint add) {
  size_t i = get_global_id(0);
  x[i] = x[i] * factor + add;
}
)";
constexpr size_t kItems = 4096, kBytes = kItems * sizeof(cl_uint);
constexpr int kRounds = 20;

class Sharing : public OpenCl {
 public:
  void SetUp() override {
    OpenCl::SetUp();
    api = std::make_unique<SharingApi>(platform);
    program = make_program(kSource);
  }
  void TearDown() override {
    clReleaseProgram(program);
    OpenCl::TearDown();
  }
  void TestBody() override {}

  cl_semaphore_khr make_semaphore(std::vector<cl_semaphore_properties_khr> more = {}) {
    more.insert(more.begin(), {CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR});
    more.push_back(0);
    cl_int error;
    cl_semaphore_khr made = api->create(context, more.data(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  cl_semaphore_khr make_exportable() {
    return make_semaphore({CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, 0});
  }
  cl_semaphore_khr import(int descriptor) {
    return make_semaphore(
        {CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, static_cast<cl_semaphore_properties_khr>(descriptor)});
  }
  int export_of(cl_semaphore_khr semaphore) {
    int descriptor = -1;
    EXPECT_EQ(api->handle(semaphore, device, CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, sizeof descriptor,
                          &descriptor, nullptr),
              CL_SUCCESS);
    return descriptor;
  }
  cl_semaphore_payload_khr payload(cl_semaphore_khr semaphore) {
    cl_semaphore_payload_khr value = 99;
    EXPECT_EQ(api->info(semaphore, CL_SEMAPHORE_PAYLOAD_KHR, sizeof value, &value, nullptr), CL_SUCCESS);
    return value;
  }
  cl_int signal(cl_command_queue on, cl_semaphore_khr semaphore, cl_event* event = nullptr) {
    return api->signal(on, 1, &semaphore, nullptr, 0, nullptr, event);
  }
  cl_int wait(cl_command_queue on, cl_semaphore_khr semaphore, cl_event* event = nullptr) {
    return api->wait(on, 1, &semaphore, nullptr, 0, nullptr, event);
  }
  // A buffer in the memory of a descriptor, which it takes over.
  cl_mem import_memory(int descriptor) {
    const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                                            static_cast<cl_mem_properties>(descriptor), 0};
    cl_int error;
    cl_mem made =
        clCreateBufferWithProperties(context, properties, CL_MEM_READ_WRITE, kBytes, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  // Acquires the buffer, executes a step on it and gives it back.
  void step(cl_mem buffer, cl_uint factor, cl_uint add) {
    cl_kernel kernel = make_kernel(program, "step");
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    clSetKernelArg(kernel, 1, sizeof factor, &factor);
    clSetKernelArg(kernel, 2, sizeof add, &add);
    EXPECT_EQ(api->acquire(queue, 1, &buffer, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(api->give_back(queue, 1, &buffer, 0, nullptr, nullptr), CL_SUCCESS);
    clReleaseKernel(kernel);
  }
  static int memory_descriptor(size_t bytes = kBytes) {
    const int descriptor = memfd_create("shared", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(descriptor, static_cast<off_t>(bytes)), 0);
    return descriptor;
  }

  // What the other process does.
  int be_partner(int memory, int take, int give) {
    SetUp();
    cl_mem buffer = import_memory(memory);
    cl_semaphore_khr taken = import(take), given = import(give);
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_EQ(wait(queue, taken), CL_SUCCESS);
      step(buffer, 3, 0);
      EXPECT_EQ(signal(queue, given), CL_SUCCESS);
    }
    EXPECT_EQ(clFinish(queue), CL_SUCCESS);
    for (cl_semaphore_khr semaphore : {taken, given}) api->release(semaphore);
    clReleaseMemObject(buffer);
    TearDown();
    return HasFailure() ? 1 : 0;
  }

  std::unique_ptr<SharingApi> api;
  cl_program program = nullptr;
};

TEST_F(Sharing, ASignalReleasesOneWait) {
  cl_command_queue other = make_queue(0);
  cl_semaphore_khr semaphore = make_semaphore();
  EXPECT_EQ(payload(semaphore), 0u);
  ASSERT_EQ(signal(queue, semaphore), CL_SUCCESS);
  ASSERT_EQ(clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(payload(semaphore), 1u);
  ASSERT_EQ(wait(other, semaphore), CL_SUCCESS);
  ASSERT_EQ(clFinish(other), CL_SUCCESS);
  EXPECT_EQ(payload(semaphore), 0u);
  // Waiting first: the queue goes on when the signal comes.
  cl_event waited, after;
  ASSERT_EQ(wait(other, semaphore, &waited), CL_SUCCESS);
  ASSERT_EQ(clEnqueueMarkerWithWaitList(other, 0, nullptr, &after), CL_SUCCESS);
  ASSERT_EQ(clFlush(other), CL_SUCCESS);
  EXPECT_GT(status_of(waited), CL_COMPLETE);
  cl_command_type type;
  ASSERT_EQ(clGetEventInfo(waited, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr), CL_SUCCESS);
  EXPECT_EQ(type, static_cast<cl_command_type>(CL_COMMAND_SEMAPHORE_WAIT_KHR));
  ASSERT_EQ(signal(queue, semaphore), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &after), CL_SUCCESS);
  EXPECT_EQ(status_of(waited), CL_COMPLETE);
  for (cl_event event : {waited, after}) clReleaseEvent(event);
  EXPECT_EQ(api->release(semaphore), CL_SUCCESS);
  clReleaseCommandQueue(other);
}

// Each wait gets the signal that was enqueued for it, although the first wait comes to be executed last.
TEST_F(Sharing, SignalsAndWaitsMeetInTheOrderOfEnqueueing) {
  cl_command_queue first = make_queue(0), second = make_queue(0);
  cl_semaphore_khr semaphore = make_semaphore();
  cl_int error;
  cl_event slow = clCreateUserEvent(context, &error), late_signal, waited;
  ASSERT_EQ(signal(queue, semaphore), CL_SUCCESS);
  ASSERT_EQ(api->wait(first, 1, &semaphore, nullptr, 1, &slow, nullptr), CL_SUCCESS);
  cl_event gate = clCreateUserEvent(context, &error);
  ASSERT_EQ(api->signal(queue, 1, &semaphore, nullptr, 1, &gate, &late_signal), CL_SUCCESS);
  ASSERT_EQ(wait(second, semaphore, &waited), CL_SUCCESS);
  usleep(20000);
  EXPECT_GT(status_of(waited), CL_COMPLETE) << "it has taken the first signal";
  ASSERT_EQ(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &waited), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &late_signal), CL_SUCCESS);
  ASSERT_EQ(clSetUserEventStatus(slow, CL_COMPLETE), CL_SUCCESS);
  ASSERT_EQ(clFinish(first), CL_SUCCESS);
  for (cl_event event : {slow, gate, late_signal, waited}) clReleaseEvent(event);
  api->release(semaphore);
  for (cl_command_queue one : {first, second}) clReleaseCommandQueue(one);
}

TEST_F(Sharing, ASignalThatNeverHappensFailsItsWait) {
  cl_command_queue other = make_queue(0);
  cl_semaphore_khr semaphore = make_semaphore();
  cl_int error;
  cl_event gate = clCreateUserEvent(context, &error), waited;
  ASSERT_EQ(api->signal(queue, 1, &semaphore, nullptr, 1, &gate, nullptr), CL_SUCCESS);
  ASSERT_EQ(wait(other, semaphore, &waited), CL_SUCCESS);
  ASSERT_EQ(clSetUserEventStatus(gate, -5), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &waited), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(payload(semaphore), 0u);
  for (cl_event event : {gate, waited}) clReleaseEvent(event);
  api->release(semaphore);
  clReleaseCommandQueue(other);
}

TEST_F(Sharing, AnExportedSemaphoreIsTheSameInAnotherContext) {
  cl_semaphore_khr semaphore = make_exportable();
  cl_int error;
  cl_context other = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  cl_command_queue there = clCreateCommandQueue(other, device, 0, &error);
  const cl_semaphore_properties_khr properties[] = {
      CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR, CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR,
      static_cast<cl_semaphore_properties_khr>(export_of(semaphore)), 0};
  cl_semaphore_khr twin = api->create(other, properties, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_bool exportable;
  ASSERT_EQ(api->info(twin, kSemaphoreExportable, sizeof exportable, &exportable, nullptr), CL_SUCCESS);
  EXPECT_FALSE(exportable);
  cl_event waited;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(wait(there, twin, &waited), CL_SUCCESS);
    EXPECT_GT(status_of(waited), CL_COMPLETE);
    ASSERT_EQ(signal(queue, semaphore), CL_SUCCESS);
    EXPECT_EQ(clWaitForEvents(1, &waited), CL_SUCCESS);
    clReleaseEvent(waited);
    EXPECT_EQ(payload(semaphore), 0u);
  }
  ASSERT_EQ(signal(there, twin), CL_SUCCESS);
  ASSERT_EQ(clFinish(there), CL_SUCCESS);
  EXPECT_EQ(payload(semaphore), 1u);
  api->release(twin);
  api->release(semaphore);
  clReleaseCommandQueue(there);
  clReleaseContext(other);
}

TEST_F(Sharing, AWaitOfATerminatedContextTakesNoSignal) {
  cl_semaphore_khr semaphore = make_exportable();
  cl_int error;
  const cl_context_properties terminable[] = {CL_CONTEXT_TERMINATE_KHR, CL_TRUE, 0};
  cl_context other = clCreateContext(terminable, 1, &device, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_command_queue there = clCreateCommandQueue(other, device, 0, &error);
  const cl_semaphore_properties_khr properties[] = {
      CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR, CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR,
      static_cast<cl_semaphore_properties_khr>(export_of(semaphore)), 0};
  cl_semaphore_khr twin = api->create(other, properties, &error);
  ASSERT_EQ(wait(there, twin), CL_SUCCESS);
  const auto terminate = reinterpret_cast<cl_int (*)(cl_context)>(
      clGetExtensionFunctionAddressForPlatform(platform, "clTerminateContextKHR"));
  ASSERT_EQ(terminate(other), CL_SUCCESS);
  ASSERT_EQ(signal(queue, semaphore), CL_SUCCESS);
  ASSERT_EQ(clFinish(queue), CL_SUCCESS);
  usleep(20000);
  EXPECT_EQ(payload(semaphore), 1u);
  api->release(twin);
  api->release(semaphore);
  clReleaseCommandQueue(there);
  clReleaseContext(other);
}

TEST_F(Sharing, ABufferShowsTheDescriptorsMemory) {
  const int descriptor = memory_descriptor();
  auto* seen =
      static_cast<cl_uint*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
  ASSERT_NE(seen, MAP_FAILED);
  seen[5] = 7;
  cl_mem buffer = import_memory(descriptor);
  step(buffer, 2, 1);
  ASSERT_EQ(clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(seen[5], 15u);
  EXPECT_EQ(seen[6], 1u);
  // It took the descriptor over.
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
  clReleaseMemObject(buffer);
  EXPECT_EQ(seen[5], 15u);
  munmap(seen, kBytes);
}

TEST_F(Sharing, AnImageShowsTheDescriptorsMemory) {
  const int descriptor = memory_descriptor();
  auto* seen =
      static_cast<cl_uint*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
  const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                                          static_cast<cl_mem_properties>(descriptor),
                                          kMemoryDevices,
                                          reinterpret_cast<cl_mem_properties>(device),
                                          0,
                                          0};
  const cl_image_format format{CL_R, CL_UNSIGNED_INT32};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = desc.image_height = 16;
  desc.image_row_pitch = 256;
  cl_int error;
  cl_mem image = clCreateImageWithProperties(context, properties, 0, &format, &desc, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const cl_uint color[4] = {42, 0, 0, 0};
  const size_t origin[3] = {3, 2, 0}, region[3] = {1, 1, 1};
  ASSERT_EQ(api->acquire(queue, 1, &image, 0, nullptr, nullptr), CL_SUCCESS);
  ASSERT_EQ(clEnqueueFillImage(queue, image, color, origin, region, 0, nullptr, nullptr), CL_SUCCESS);
  ASSERT_EQ(api->give_back(queue, 1, &image, 0, nullptr, nullptr), CL_SUCCESS);
  ASSERT_EQ(clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(seen[2 * 64 + 3], 42u);
  clReleaseMemObject(image);
  munmap(seen, kBytes);
}

// This process adds, the other one multiplies; each waits for the other.
TEST_F(Sharing, TwoProcessesHandABufferOver) {
  const int memory = memory_descriptor();
  cl_semaphore_khr mine = make_exportable(), theirs = make_exportable();
  std::vector<std::string> words{"/proc/self/exe", "--partner"};
  for (int descriptor : {memory, export_of(mine), export_of(theirs)}) {
    // Without close-on-exec, for the other process.
    const int passed = dup(descriptor);
    words.push_back(std::to_string(passed));
    if (descriptor != memory) close(descriptor);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t partner;
  ASSERT_EQ(posix_spawn(&partner, words[0].c_str(), nullptr, nullptr, arguments.data(), environ), 0);
  for (size_t i = 2; i < words.size(); ++i) close(std::stoi(words[i]));

  cl_mem buffer = import_memory(memory);
  cl_uint wanted = 0;
  for (cl_uint i = 0; i < kRounds; ++i) {
    step(buffer, 1, i);
    ASSERT_EQ(signal(queue, mine), CL_SUCCESS);
    ASSERT_EQ(wait(queue, theirs), CL_SUCCESS);
    wanted = (wanted + i) * 3;
  }
  for (cl_uint x : read<cl_uint>(buffer, kItems)) ASSERT_EQ(x, wanted);
  int status = -1;
  ASSERT_EQ(waitpid(partner, &status, 0), partner);
  EXPECT_EQ(status, 0);
  clReleaseMemObject(buffer);
  for (cl_semaphore_khr semaphore : {mine, theirs}) api->release(semaphore);
}

}  // namespace
}  // namespace morgana::icd::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 5 && std::strcmp(argv[1], "--partner") == 0)
    return morgana::icd::test::Sharing().be_partner(std::stoi(argv[2]), std::stoi(argv[3]),
                                                    std::stoi(argv[4]));
  return RUN_ALL_TESTS();
}
