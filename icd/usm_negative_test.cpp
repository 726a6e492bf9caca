// What the functions of cl_intel_unified_shared_memory refuse: one row a condition.
#include "icd/negative_support.h"
#include "icd/usm_support.h"

namespace morgana::icd::test {
namespace {

constexpr cl_mem_alloc_flags_intel kBothPlacements =
    CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
constexpr cl_mem_properties_intel kUnknown[] = {0x7777, 1, 0};
constexpr cl_mem_properties_intel kWrongFlags[] = {CL_MEM_ALLOC_FLAGS_INTEL, 1 << 8, 0};
constexpr cl_mem_properties_intel kTwice[] = {CL_MEM_ALLOC_FLAGS_INTEL, 1, CL_MEM_ALLOC_FLAGS_INTEL, 1, 0};
constexpr cl_mem_properties_intel kOnDevice[] = {CL_MEM_ALLOC_FLAGS_INTEL,
                                                 CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL, 0};
constexpr cl_mem_properties_intel kOnHost[] = {CL_MEM_ALLOC_FLAGS_INTEL,
                                               CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL, 0};
constexpr cl_mem_properties_intel kOnBoth[] = {CL_MEM_ALLOC_FLAGS_INTEL, kBothPlacements, 0};

class UsmNegative : public Negative {
 protected:
  void SetUp() override {
    Negative::SetUp();
    usm = std::make_unique<UsmApi>(platform);
    const cl_context_properties properties[] = {CL_CONTEXT_TERMINATE_KHR, CL_TRUE, 0};
    cl_int error;
    terminated = clCreateContext(properties, 1, &device, nullptr, nullptr, &error);
    const auto terminate = extension<cl_int (*)(cl_context)>("clTerminateContextKHR");
    ASSERT_EQ(terminate(terminated), CL_SUCCESS);
    clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, nullptr);
    cl_device_id devices[2] = {};
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, devices, nullptr);
    other_device = devices[1];
  }
  void TearDown() override {
    EXPECT_EQ(clReleaseContext(terminated), CL_SUCCESS);
    Negative::TearDown();
  }
  template <typename T>
  T no(cl_mem memory) {
    return reinterpret_cast<T>(memory);
  }

  // What all three functions refuse; they take context, device, properties, size and alignment.
  template <typename Allocate>
  void check_allocation(Allocate allocate) {
    const auto of = [&](cl_context c, const cl_mem_properties_intel* properties, size_t size,
                        cl_uint alignment) {
      return code_of([&](cl_int* e) { return allocate(c, device, properties, size, alignment, e); });
    };
    check({
        {"no context", CL_INVALID_CONTEXT, [&] { return of(no<cl_context>(buffer), nullptr, 64, 0); }},
        {"a terminated context", -1121, [&] { return of(terminated, nullptr, 64, 0); }},
        {"an alignment of three", CL_INVALID_VALUE, [&] { return of(context, nullptr, 64, 3); }},
        {"an alignment beyond 2 MiB", CL_INVALID_VALUE, [&] { return of(context, nullptr, 64, 4 << 20); }},
        {"an unknown property", CL_INVALID_PROPERTY, [&] { return of(context, kUnknown, 64, 0); }},
        {"unknown flags", CL_INVALID_PROPERTY, [&] { return of(context, kWrongFlags, 64, 0); }},
        {"flags twice", CL_INVALID_PROPERTY, [&] { return of(context, kTwice, 64, 0); }},
        {"both placements", CL_INVALID_PROPERTY, [&] { return of(context, kOnBoth, 64, 0); }},
        {"nothing", CL_INVALID_BUFFER_SIZE, [&] { return of(context, nullptr, 0, 0); }},
        {"too much", CL_INVALID_BUFFER_SIZE, [&] { return of(context, nullptr, largest + 1, 0); }},
    });
    // No error without a place for it.
    EXPECT_EQ(allocate(context, device, nullptr, 0, 0, nullptr), nullptr);
    void* whole = allocate(context, device, nullptr, largest, 0, nullptr);
    EXPECT_NE(whole, nullptr);
    EXPECT_EQ(of(context, nullptr, largest, 0), CL_OUT_OF_RESOURCES);
    EXPECT_EQ(usm->free(context, whole), CL_SUCCESS);
  }

  std::unique_ptr<UsmApi> usm;
  cl_context terminated;
  cl_device_id other_device;
  cl_ulong largest = 0;
};

TEST_F(UsmNegative, Host) {
  check_allocation([&](cl_context c, cl_device_id, const cl_mem_properties_intel* p, size_t size,
                       cl_uint alignment, cl_int* e) { return usm->host(c, p, size, alignment, e); });
  for (const auto* placement : {kOnDevice, kOnHost})
    EXPECT_EQ(code_of([&](cl_int* e) { return usm->host(context, placement, 64, 0, e); }),
              CL_INVALID_PROPERTY);
}

TEST_F(UsmNegative, Device) {
  check_allocation(usm->device);
  for (const auto* placement : {kOnDevice, kOnHost})
    EXPECT_EQ(code_of([&](cl_int* e) { return usm->device(context, device, placement, 64, 0, e); }),
              CL_INVALID_PROPERTY);
  for (cl_device_id wrong : {static_cast<cl_device_id>(nullptr), no<cl_device_id>(buffer), other_device})
    EXPECT_EQ(code_of([&](cl_int* e) { return usm->device(context, wrong, nullptr, 64, 0, e); }),
              CL_INVALID_DEVICE);
}

TEST_F(UsmNegative, Shared) {
  check_allocation(usm->shared);
  for (cl_device_id wrong : {no<cl_device_id>(buffer), other_device})
    EXPECT_EQ(code_of([&](cl_int* e) { return usm->shared(context, wrong, nullptr, 64, 0, e); }),
              CL_INVALID_DEVICE);
  // Without a device all of the context's count.
  EXPECT_EQ(code_of([&](cl_int* e) { return usm->shared(context, nullptr, nullptr, largest + 1, 0, e); }),
            CL_INVALID_BUFFER_SIZE);
  EXPECT_EQ(code_of([&](cl_int* e) { return usm->shared(context, nullptr, nullptr, 64, 4 << 20, e); }),
            CL_INVALID_VALUE);
}

TEST_F(UsmNegative, FreeAndInfo) {
  auto* memory = static_cast<uint8_t*>(usm->device(context, device, nullptr, 64, 0, nullptr));
  ASSERT_NE(memory, nullptr);
  for (clMemFreeINTEL_fn free : {usm->free, usm->blocking_free}) {
    check({
        {"no context", CL_INVALID_CONTEXT, [&] { return free(no<cl_context>(buffer), memory); }},
        {"memory of the program", CL_INVALID_VALUE, [&] { return free(context, host); }},
        {"a pointer into the middle", CL_INVALID_VALUE, [&] { return free(context, memory + 1); }},
        {"another context's", CL_INVALID_VALUE, [&] { return free(other_context, memory); }},
    });
    EXPECT_EQ(free(context, nullptr), CL_SUCCESS);
  }
  uint64_t value = 0;
  const auto ask = [&](cl_context c, cl_mem_info_intel name, size_t size) {
    return usm->info(c, memory, name, size, &value, nullptr);
  };
  check({
      {"no context", CL_INVALID_CONTEXT,
       [&] { return ask(no<cl_context>(buffer), CL_MEM_ALLOC_SIZE_INTEL, 8); }},
      {"an unknown name", CL_INVALID_VALUE, [&] { return ask(context, 0x1234, 8); }},
      {"no room", CL_INVALID_VALUE, [&] { return ask(context, CL_MEM_ALLOC_SIZE_INTEL, 4); }},
  });
  EXPECT_EQ(usm->free(context, memory), CL_SUCCESS);
  EXPECT_EQ(usm->free(context, memory), CL_INVALID_VALUE);
}

TEST_F(UsmNegative, Kernels) {
  void* pointers[] = {host};
  const cl_bool yes = CL_TRUE;
  const auto set = [&](cl_kernel_exec_info name, size_t size, const void* value) {
    return clSetKernelExecInfo(kernel, name, size, value);
  };
  check({
      {"no kernel", CL_INVALID_KERNEL, [&] { return usm->argument(no<cl_kernel>(buffer), 0, host); }},
      {"no such argument", CL_INVALID_ARG_INDEX, [&] { return usm->argument(kernel, 4, host); }},
      {"local memory", CL_INVALID_ARG_VALUE, [&] { return usm->argument(kernel, 1, host); }},
      {"a value", CL_INVALID_ARG_VALUE, [&] { return usm->argument(kernel, 2, host); }},
      {"no list", CL_INVALID_VALUE, [&] { return set(CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, 8, nullptr); }},
      {"a part of a pointer", CL_INVALID_VALUE,
       [&] { return set(CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, 4, pointers); }},
      {"no flag", CL_INVALID_VALUE,
       [&] { return set(CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL, sizeof yes, nullptr); }},
      {"a flag of another size", CL_INVALID_VALUE,
       [&] { return set(CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL, 8, pointers); }},
  });
  // Any pointer is valid to global and to constant memory.
  for (cl_uint index : {0u, 3u}) EXPECT_EQ(usm->argument(kernel, index, host), CL_SUCCESS);
  EXPECT_EQ(usm->argument(kernel, 0, nullptr), CL_SUCCESS);
}

TEST_F(UsmNegative, Commands) {
  const int word = 5;
  const auto fill = [&](void* to, const void* pattern, size_t pattern_size, size_t size) {
    return usm->fill(queue, to, pattern, pattern_size, size, 0, nullptr, nullptr);
  };
  const auto copy = [&](void* to, const void* from, size_t size) {
    return usm->copy(queue, CL_TRUE, to, from, size, 0, nullptr, nullptr);
  };
  check({
      {"fill nothing", CL_INVALID_VALUE, [&] { return fill(nullptr, &word, 4, 4); }},
      {"fill what is not aligned", CL_INVALID_VALUE, [&] { return fill(host + 1, &word, 4, 4); }},
      {"fill with nothing", CL_INVALID_VALUE, [&] { return fill(host, nullptr, 4, 4); }},
      {"a pattern of three bytes", CL_INVALID_VALUE, [&] { return fill(host, &word, 3, 6); }},
      {"a pattern beyond long16", CL_INVALID_VALUE, [&] { return fill(host, host, 256, 256); }},
      {"a part of a pattern", CL_INVALID_VALUE, [&] { return fill(host, &word, 4, 6); }},
      {"copy to nothing", CL_INVALID_VALUE, [&] { return copy(nullptr, host, 4); }},
      {"copy nothing", CL_INVALID_VALUE, [&] { return copy(host, nullptr, 4); }},
      {"copy onto itself", CL_MEM_COPY_OVERLAP, [&] { return copy(host, host + 4, 8); }},
      {"unknown migration flags", CL_INVALID_VALUE,
       [&] { return usm->migrate(queue, host, 64, 1 << 8, 0, nullptr, nullptr); }},
      {"unknown advice", CL_INVALID_VALUE,
       [&] { return usm->advise(queue, host, 64, 0x4208, 0, nullptr, nullptr); }},
  });
}

TEST_F(UsmNegative, QueuesAndWaitLists) {
  using Call = std::function<cl_int(cl_command_queue, cl_uint, const cl_event*)>;
  const int word = 5;
  const Call calls[] = {
      [&](auto q, auto n, auto w) { return usm->fill(q, host, &word, 4, 64, n, w, nullptr); },
      [&](auto q, auto n, auto w) { return usm->copy(q, CL_TRUE, host, host + 64, 4, n, w, nullptr); },
      [&](auto q, auto n, auto w) { return usm->migrate(q, host, 64, 0, n, w, nullptr); },
      [&](auto q, auto n, auto w) { return usm->advise(q, host, 64, 0, n, w, nullptr); }};
  const cl_event no_event[] = {no<cl_event>(buffer)};
  cl_int error;
  cl_event failed = clCreateUserEvent(context, &error);
  clSetUserEventStatus(failed, -5);
  for (const Call& call : calls) {
    EXPECT_EQ(call(no<cl_command_queue>(buffer), 0, nullptr), CL_INVALID_COMMAND_QUEUE);
    EXPECT_EQ(call(queue, 1, nullptr), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(call(queue, 0, &user_event), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(call(queue, 1, no_event), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(call(queue, 1, &foreign_event), CL_INVALID_CONTEXT);
  }
  EXPECT_EQ(calls[1](queue, 1, &failed), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(clReleaseEvent(failed), CL_SUCCESS);
}

}  // namespace
}  // namespace morgana::icd::test
