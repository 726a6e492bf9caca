// cl_intel_unified_shared_memory: what kernels, commands and queries make of host, device and shared
// allocations. On two devices.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "icd/usm_support.h"

namespace morgana::icd::test {
namespace {

constexpr size_t kInts = 1000;
constexpr size_t kBytes = kInts * sizeof(cl_int);

constexpr const char* kSource = R"(
struct node { global struct node* next; int value; };
kernel void add(global int* to, int amount) { to[get_global_id(0)] += amount; }
kernel void count(global int* to) { atomic_inc(to); }
kernel void sum(global struct node* first, global int* to) {
  *to = 0;
  for (global struct node* at = first; at != 0; at = at->next) *to += at->value;
}
kernel void slow(global int* to, int rounds) {
  int x = 1;
  for (int i = 0; i < rounds; ++i) x = x * 3 + to[1];
  to[0] = 7;
  if (x == 0) to[2] = x;
}
)";

class Usm : public OpenCl {
 protected:
  void SetUp() override {
    OpenCl::SetUp();
    usm = std::make_unique<UsmApi>(platform);
    cl_uint count = 0;
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, both, &count);
    ASSERT_GE(count, 2u) << "is MORGANA_DEVICES set?";
    cl_int error;
    pair = clCreateContext(nullptr, 2, both, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    program = make_program(kSource);
  }
  void TearDown() override {
    EXPECT_EQ(clReleaseProgram(program), CL_SUCCESS);
    EXPECT_EQ(clReleaseContext(pair), CL_SUCCESS);
    OpenCl::TearDown();
  }

  // An allocation of that type, zero-filled.
  cl_int* allocate(cl_unified_shared_memory_type_intel type, size_t bytes = kBytes) {
    cl_int error = 1;
    void* memory = type == CL_MEM_TYPE_HOST_INTEL ? usm->host(context, nullptr, bytes, 0, &error)
                   : type == CL_MEM_TYPE_DEVICE_INTEL
                       ? usm->device(context, device, nullptr, bytes, 0, &error)
                       : usm->shared(context, device, nullptr, bytes, 0, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    const cl_int zero = 0;
    EXPECT_EQ(usm->fill(queue, memory, &zero, sizeof zero, bytes, 0, nullptr, nullptr), CL_SUCCESS);
    EXPECT_EQ(clFinish(queue), CL_SUCCESS);
    return static_cast<cl_int*>(memory);
  }
  void launch(cl_command_queue on, cl_kernel kernel, size_t items, cl_event* event = nullptr) {
    EXPECT_EQ(clEnqueueNDRangeKernel(on, kernel, 1, nullptr, &items, nullptr, 0, nullptr, event), CL_SUCCESS);
  }
  template <typename T>
  T ask(const void* pointer, cl_mem_info_intel name, cl_context of = nullptr) {
    T value{};
    size_t size = 0;
    EXPECT_EQ(usm->info(of != nullptr ? of : context, pointer, name, sizeof value, &value, &size),
              CL_SUCCESS);
    EXPECT_EQ(size, sizeof value);
    return value;
  }
  cl_unified_shared_memory_type_intel type_of(const void* pointer, cl_context of = nullptr) {
    return ask<cl_unified_shared_memory_type_intel>(pointer, CL_MEM_ALLOC_TYPE_INTEL, of);
  }
  static cl_command_type command_type(cl_event event) {
    cl_command_type type = 0;
    EXPECT_EQ(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr), CL_SUCCESS);
    EXPECT_EQ(clReleaseEvent(event), CL_SUCCESS);
    return type;
  }

  std::unique_ptr<UsmApi> usm;
  cl_device_id both[2] = {};
  cl_context pair;
  cl_program program;
};

TEST_F(Usm, EveryDeviceReachesEveryKind) {
  for (cl_device_id one : both)
    for (cl_device_info name :
         {CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
          CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
          CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
          CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL}) {
      cl_device_unified_shared_memory_capabilities_intel capabilities = 0;
      EXPECT_EQ(clGetDeviceInfo(one, name, sizeof capabilities, &capabilities, nullptr), CL_SUCCESS);
      EXPECT_EQ(capabilities, 0xfu) << name;
    }
}

TEST_F(Usm, KernelsUseEveryKind) {
  cl_kernel add = make_kernel(program, "add");
  const cl_int amount = 5;
  clSetKernelArg(add, 1, sizeof amount, &amount);
  for (cl_unified_shared_memory_type_intel type :
       {CL_MEM_TYPE_HOST_INTEL, CL_MEM_TYPE_DEVICE_INTEL, CL_MEM_TYPE_SHARED_INTEL}) {
    cl_int* memory = allocate(type);
    std::vector<cl_int> values(kInts);
    std::iota(values.begin(), values.end(), 0);
    EXPECT_EQ(usm->copy(queue, CL_TRUE, memory, values.data(), kBytes, 0, nullptr, nullptr), CL_SUCCESS);
    // A pointer into it.
    ASSERT_EQ(usm->argument(add, 0, memory + 10), CL_SUCCESS);
    launch(queue, add, kInts - 10);
    std::vector<cl_int> result(kInts);
    EXPECT_EQ(usm->copy(queue, CL_TRUE, result.data(), memory, kBytes, 0, nullptr, nullptr), CL_SUCCESS);
    for (size_t i = 10; i < kInts; ++i) values[i] += amount;
    EXPECT_EQ(result, values) << type;
    EXPECT_EQ(usm->free(context, memory), CL_SUCCESS);
  }
  EXPECT_EQ(clReleaseKernel(add), CL_SUCCESS);
}

TEST_F(Usm, QueriesTellWhatAnAllocationIs) {
  const cl_mem_properties_intel placed[] = {CL_MEM_ALLOC_FLAGS_INTEL,
                                            CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL, 0};
  cl_int error = 1;
  auto* host = static_cast<uint8_t*>(usm->host(context, nullptr, 100, 0, &error));
  auto* own = static_cast<uint8_t*>(usm->device(context, device, nullptr, 4096, 128, nullptr));
  auto* shared = static_cast<uint8_t*>(usm->shared(context, device, placed, 1, 4, &error));
  auto* nobodys = static_cast<uint8_t*>(usm->shared(context, nullptr, nullptr, 64, 0, &error));
  const struct {
    uint8_t* pointer;
    size_t size;
    cl_unified_shared_memory_type_intel type;
    cl_device_id device;
    cl_mem_alloc_flags_intel flags;
  } rows[] = {{host, 100, CL_MEM_TYPE_HOST_INTEL, nullptr, 0},
              {own, 4096, CL_MEM_TYPE_DEVICE_INTEL, device, 0},
              {shared, 1, CL_MEM_TYPE_SHARED_INTEL, device, placed[1]},
              {nobodys, 64, CL_MEM_TYPE_SHARED_INTEL, nullptr, 0}};
  for (const auto& row : rows) {
    ASSERT_NE(row.pointer, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(row.pointer) % 128, 0u);
    for (const uint8_t* inside : {row.pointer, row.pointer + row.size - 1}) {
      EXPECT_EQ(type_of(inside), row.type);
      EXPECT_EQ(ask<void*>(inside, CL_MEM_ALLOC_BASE_PTR_INTEL), row.pointer);
      EXPECT_EQ(ask<size_t>(inside, CL_MEM_ALLOC_SIZE_INTEL), row.size);
      EXPECT_EQ(ask<cl_device_id>(inside, CL_MEM_ALLOC_DEVICE_INTEL), row.device);
      EXPECT_EQ(ask<cl_mem_alloc_flags_intel>(inside, CL_MEM_ALLOC_FLAGS_INTEL), row.flags);
    }
  }
  void* svm = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
  int local = 0;
  for (const void* other : {static_cast<const void*>(host + 100), static_cast<const void*>(&local),
                            static_cast<const void*>(svm), static_cast<const void*>(nullptr)}) {
    EXPECT_EQ(type_of(other), static_cast<cl_uint>(CL_MEM_TYPE_UNKNOWN_INTEL));
    EXPECT_EQ(ask<void*>(other, CL_MEM_ALLOC_BASE_PTR_INTEL), nullptr);
    EXPECT_EQ(ask<size_t>(other, CL_MEM_ALLOC_SIZE_INTEL), 0u);
    EXPECT_EQ(ask<cl_device_id>(other, CL_MEM_ALLOC_DEVICE_INTEL), nullptr);
    EXPECT_EQ(ask<cl_mem_alloc_flags_intel>(other, CL_MEM_ALLOC_FLAGS_INTEL), 0u);
  }
  EXPECT_EQ(type_of(own, pair), static_cast<cl_uint>(CL_MEM_TYPE_UNKNOWN_INTEL));
  clSVMFree(context, svm);
  for (const auto& row : rows) {
    EXPECT_EQ(usm->free(context, row.pointer), CL_SUCCESS);
    EXPECT_EQ(type_of(row.pointer), static_cast<cl_uint>(CL_MEM_TYPE_UNKNOWN_INTEL));
  }
}

TEST_F(Usm, PagesMayBeAskedFor) {
  for (cl_uint alignment : {256u, 4096u, 65536u, 2u << 20}) {
    cl_int error = 1;
    void* memory = usm->host(context, nullptr, 100, alignment, &error);
    EXPECT_EQ(error, CL_SUCCESS) << alignment;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u) << alignment;
    EXPECT_EQ(usm->free(context, memory), CL_SUCCESS);
  }
}

TEST_F(Usm, CommandsMoveTheRightBytesAndHaveTheirTypes) {
  cl_int* memory = allocate(CL_MEM_TYPE_DEVICE_INTEL);
  cl_int* other = allocate(CL_MEM_TYPE_SHARED_INTEL);
  const cl_short pattern = 0x1234;
  cl_event filled, copied, moved, advised;
  EXPECT_EQ(usm->fill(queue, memory + 1, &pattern, sizeof pattern, 6, 0, nullptr, &filled), CL_SUCCESS);
  EXPECT_EQ(usm->copy(queue, CL_FALSE, other + 7, memory, 16, 1, &filled, &copied), CL_SUCCESS);
  EXPECT_EQ(usm->migrate(queue, other, kBytes, 0, 1, &copied, &moved), CL_SUCCESS);
  EXPECT_EQ(usm->advise(queue, other, kBytes, 0, 1, &moved, &advised), CL_SUCCESS);
  EXPECT_EQ(clWaitForEvents(1, &advised), CL_SUCCESS);
  EXPECT_EQ(std::vector<cl_int>(other + 6, other + 12),
            (std::vector<cl_int>{0, 0, 0x12341234, 0x1234, 0, 0}));
  EXPECT_EQ(command_type(filled), static_cast<cl_uint>(CL_COMMAND_MEMFILL_INTEL));
  EXPECT_EQ(command_type(copied), static_cast<cl_uint>(CL_COMMAND_MEMCPY_INTEL));
  EXPECT_EQ(command_type(moved), static_cast<cl_uint>(CL_COMMAND_MIGRATEMEM_INTEL));
  EXPECT_EQ(command_type(advised), static_cast<cl_uint>(CL_COMMAND_MEMADVISE_INTEL));
  for (void* one : {memory, other}) EXPECT_EQ(usm->free(context, one), CL_SUCCESS);
}

TEST_F(Usm, KernelsFollowPointers) {
  struct Node {
    Node* next;
    cl_int value;
  };
  cl_kernel sum = make_kernel(program, "sum");
  auto* result = allocate(CL_MEM_TYPE_HOST_INTEL, sizeof(cl_int));
  std::vector<void*> nodes;
  Node* next = nullptr;
  for (cl_int i = 1; i <= 9; ++i) {
    auto* node =
        reinterpret_cast<Node*>(allocate(CL_MEM_TYPE_HOST_INTEL + static_cast<cl_uint>(i % 3), sizeof(Node)));
    const Node value{next, i};
    EXPECT_EQ(usm->copy(queue, CL_TRUE, node, &value, sizeof value, 0, nullptr, nullptr), CL_SUCCESS);
    nodes.push_back(next = node);
  }
  const cl_bool yes = CL_TRUE;
  for (cl_kernel_exec_info name :
       {CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
        CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL})
    EXPECT_EQ(clSetKernelExecInfo(sum, name, sizeof yes, &yes), CL_SUCCESS);
  EXPECT_EQ(clSetKernelExecInfo(sum, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, nodes.size() * sizeof(void*),
                                nodes.data()),
            CL_SUCCESS);
  usm->argument(sum, 0, next);
  usm->argument(sum, 1, result);
  launch(queue, sum, 1);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(*result, 45);
  nodes.push_back(result);
  for (void* node : nodes) EXPECT_EQ(usm->free(context, node), CL_SUCCESS);
  EXPECT_EQ(clReleaseKernel(sum), CL_SUCCESS);
}

// Two devices and the host count at one place at the same time.
TEST_F(Usm, DevicesAndHostShareAnAllocation) {
  cl_int error;
  cl_program on_both =
      clCreateProgramWithSource(pair, 1, const_cast<const char**>(&kSource), nullptr, &error);
  ASSERT_EQ(clBuildProgram(on_both, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  auto* counter = static_cast<cl_int*>(usm->shared(pair, nullptr, nullptr, sizeof(cl_int), 0, &error));
  ASSERT_EQ(error, CL_SUCCESS);
  *counter = 0;
  cl_command_queue queues[2];
  cl_kernel kernels[2];
  for (int i = 0; i < 2; ++i) {
    queues[i] = clCreateCommandQueue(pair, both[i], 0, &error);
    kernels[i] = make_kernel(on_both, "count");
    EXPECT_EQ(usm->argument(kernels[i], 0, counter), CL_SUCCESS);
    launch(queues[i], kernels[i], 4096);
    clFlush(queues[i]);
  }
  for (int i = 0; i < 1000; ++i) std::atomic_ref(*counter).fetch_add(1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(clFinish(queues[i]), CL_SUCCESS);
    clReleaseKernel(kernels[i]);
    clReleaseCommandQueue(queues[i]);
  }
  EXPECT_EQ(*counter, 2 * 4096 + 1000);
  EXPECT_EQ(usm->free(pair, counter), CL_SUCCESS);
  clReleaseProgram(on_both);
}

TEST_F(Usm, ABlockingFreeWaitsForWhatIsEnqueued) {
  for (cl_command_queue_properties properties : {0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}) {
    cl_command_queue other = make_queue(properties);
    cl_kernel slow = make_kernel(program, "slow");
    cl_int* memory = allocate(CL_MEM_TYPE_SHARED_INTEL);
    const cl_int rounds = 200'000;
    usm->argument(slow, 0, memory);
    clSetKernelArg(slow, 1, sizeof rounds, &rounds);
    cl_int error, seen = 0;
    cl_event gate = clCreateUserEvent(context, &error), ended, copied;
    const size_t one = 1;
    ASSERT_EQ(clEnqueueNDRangeKernel(other, slow, 1, nullptr, &one, nullptr, 1, &gate, &ended), CL_SUCCESS);
    ASSERT_EQ(usm->copy(other, CL_FALSE, &seen, memory, sizeof seen, 1, &ended, &copied), CL_SUCCESS);
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      clSetUserEventStatus(gate, CL_COMPLETE);
    });
    EXPECT_EQ(usm->blocking_free(context, memory), CL_SUCCESS);
    EXPECT_EQ(status_of(copied), CL_COMPLETE);
    EXPECT_EQ(seen, 7);
    EXPECT_EQ(usm->blocking_free(context, memory), CL_INVALID_VALUE);
    opener.join();
    for (cl_event event : {gate, ended, copied}) clReleaseEvent(event);
    clReleaseKernel(slow);
    clReleaseCommandQueue(other);
  }
}

// A fault that a blocking free waits through is still the queue's to tell.
TEST_F(Usm, ABlockingFreeLeavesFaultsToTheirQueue) {
  cl_kernel add = make_kernel(program, "add");
  const cl_int amount = 1;
  clSetKernelArg(add, 1, sizeof amount, &amount);
  usm->argument(add, 0, nullptr);
  cl_int* memory = allocate(CL_MEM_TYPE_HOST_INTEL);
  testing::internal::CaptureStderr();
  launch(queue, add, 1);
  EXPECT_EQ(usm->blocking_free(context, memory), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_OUT_OF_RESOURCES);
  testing::internal::GetCapturedStderr();
  clReleaseKernel(add);
}

TEST_F(Usm, ABlockingFreeInACallbackNeverHangs) {
  struct Seen {
    UsmApi& usm;
    cl_context context;
    cl_int* memory;
    std::atomic<cl_int> answer{99};
  } seen{*usm, context, allocate(CL_MEM_TYPE_HOST_INTEL)};
  cl_int error, value = 0;
  cl_event gate = clCreateUserEvent(context, &error), event;
  EXPECT_EQ(usm->fill(queue, seen.memory, &value, 4, 4, 1, &gate, &event), CL_SUCCESS);
  clSetEventCallback(
      event, CL_COMPLETE,
      [](cl_event, cl_int, void* data) {
        auto* s = static_cast<Seen*>(data);
        s->answer = s->usm.blocking_free(s->context, s->memory);
      },
      &seen);
  clFlush(queue);
  clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(clWaitForEvents(1, &event), CL_SUCCESS);
  EXPECT_EQ(seen.answer, CL_INVALID_OPERATION);
  EXPECT_EQ(usm->free(context, seen.memory), CL_SUCCESS);
  for (cl_event one : {gate, event}) clReleaseEvent(one);
}

TEST_F(Usm, ComesFromTheDevicesMemoryAndGivesItBack) {
  cl_ulong largest;
  clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, nullptr);
  cl_int error = 1;
  void* memory = usm->device(context, device, nullptr, largest, 0, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(usm->host(context, nullptr, largest, 0, &error), nullptr);
  EXPECT_EQ(error, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(usm->free(context, memory), CL_SUCCESS);
  clReleaseMemObject(make_buffer(largest));
}

}  // namespace
}  // namespace morgana::icd::test
