// Lives of objects: counts, handles after their end, callbacks, what an object keeps alive.
#include <set>
#include <thread>

#include "icd/test_support.h"

namespace morgana::icd::test {
namespace {

class Objects : public OpenCl {};

cl_uint count_of(cl_mem mem) {
  cl_uint count = 0;
  EXPECT_EQ(clGetMemObjectInfo(mem, CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr), CL_SUCCESS);
  return count;
}

TEST_F(Objects, CountsAreTheApplicationsOwn) {
  cl_uint count = 0;
  EXPECT_EQ(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr), CL_SUCCESS);
  EXPECT_EQ(count, 1u) << "the queue's own reference must not show";
  cl_mem buffer = make_buffer(64);
  EXPECT_EQ(count_of(buffer), 1u);
  EXPECT_EQ(clRetainMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(count_of(buffer), 2u);
  EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(buffer), CL_INVALID_MEM_OBJECT);
}

TEST_F(Objects, ADanglingHandleStaysInvalidForAWhile) {
  std::set<cl_mem> seen;
  for (int i = 0; i < 32; ++i) {
    cl_mem buffer = make_buffer(64);
    EXPECT_TRUE(seen.insert(buffer).second) << "handle reused at once";
    clReleaseMemObject(buffer);
  }
  for (cl_mem old : seen) EXPECT_EQ(clRetainMemObject(old), CL_INVALID_MEM_OBJECT);
}

TEST_F(Objects, ForeignPointersAreNoHandles) {
  int local = 0;
  auto heap = std::make_unique<char[]>(4096);
  for (void* pointer : {static_cast<void*>(&local), static_cast<void*>(heap.get()), static_cast<void*>(this),
                        reinterpret_cast<void*>(16), reinterpret_cast<void*>(UINTPTR_MAX),
                        static_cast<void*>(reinterpret_cast<char*>(queue) + 8)}) {
    // Through the library's own functions: a loader dereferences the handle first.
    void* flush = clGetExtensionFunctionAddressForPlatform(platform, "clFlush");
    ASSERT_NE(flush, nullptr);
    EXPECT_EQ(reinterpret_cast<cl_int(CL_API_CALL*)(cl_command_queue)>(flush)(
                  static_cast<cl_command_queue>(pointer)),
              CL_INVALID_COMMAND_QUEUE);
  }
}

TEST_F(Objects, AContextOutlivesItsQueue) {
  cl_int error;
  cl_context own = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  cl_command_queue own_queue = clCreateCommandQueue(own, device, 0, &error);
  bool destroyed = false;
  clSetContextDestructorCallback(
      own, [](cl_context, void* data) { *static_cast<bool*>(data) = true; }, &destroyed);
  EXPECT_EQ(clReleaseContext(own), CL_SUCCESS);
  EXPECT_FALSE(destroyed);
  cl_context of_queue = nullptr;
  EXPECT_EQ(clGetCommandQueueInfo(own_queue, CL_QUEUE_CONTEXT, sizeof of_queue, &of_queue, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(of_queue, own);
  EXPECT_EQ(clRetainContext(of_queue), CL_SUCCESS);
  EXPECT_EQ(clReleaseContext(of_queue), CL_SUCCESS);
  EXPECT_EQ(clReleaseCommandQueue(own_queue), CL_SUCCESS);
  EXPECT_TRUE(destroyed);
}

TEST_F(Objects, DestructorsRunInReverseAndAfterSubBuffers) {
  static std::vector<int> order;
  order.clear();
  cl_mem buffer = make_buffer(1024);
  for (int i = 0; i < 3; ++i)
    clSetMemObjectDestructorCallback(
        buffer,
        [](cl_mem, void* data) { order.push_back(static_cast<int>(reinterpret_cast<intptr_t>(data))); },
        reinterpret_cast<void*>(static_cast<intptr_t>(i)));
  cl_buffer_region region{128, 128};
  cl_int error;
  cl_mem sub = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(clReleaseMemObject(sub), CL_SUCCESS);
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
}

TEST_F(Objects, SubBuffersTakeWhatTheyDoNotSay) {
  std::vector<uint8_t> host(1024);
  cl_mem buffer =
      make_buffer(host.size(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR | CL_MEM_HOST_READ_ONLY, host.data());
  cl_buffer_region region{256, 64};
  cl_int error;
  cl_mem sub = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_mem_flags flags;
  void* pointer;
  cl_mem parent;
  size_t offset, size;
  clGetMemObjectInfo(sub, CL_MEM_FLAGS, sizeof flags, &flags, nullptr);
  clGetMemObjectInfo(sub, CL_MEM_HOST_PTR, sizeof pointer, &pointer, nullptr);
  clGetMemObjectInfo(sub, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, nullptr);
  clGetMemObjectInfo(sub, CL_MEM_OFFSET, sizeof offset, &offset, nullptr);
  clGetMemObjectInfo(sub, CL_MEM_SIZE, sizeof size, &size, nullptr);
  EXPECT_EQ(flags, cl_mem_flags{CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR | CL_MEM_HOST_READ_ONLY});
  EXPECT_EQ(pointer, host.data() + 256);
  EXPECT_EQ(parent, buffer);
  EXPECT_EQ(offset, 256u);
  EXPECT_EQ(size, 64u);
  clReleaseMemObject(sub);
  clReleaseMemObject(buffer);
}

TEST_F(Objects, MappingsAreTheBufferItselfAndAreCounted) {
  std::vector<int> host(256);
  cl_mem buffer = make_buffer(1024, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host.data());
  cl_int error;
  auto* first = static_cast<int*>(
      clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 16, 64, 0, nullptr, nullptr, &error));
  ASSERT_EQ(error, CL_SUCCESS);
  EXPECT_EQ(first, host.data() + 4);
  auto* second = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 16, 64, 0, nullptr, nullptr, &error);
  EXPECT_EQ(second, first);
  cl_uint mapped;
  clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof mapped, &mapped, nullptr);
  EXPECT_EQ(mapped, 2u);
  *first = 42;
  EXPECT_EQ(clEnqueueUnmapMemObject(queue, buffer, first, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(clEnqueueUnmapMemObject(queue, buffer, first, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(clEnqueueUnmapMemObject(queue, buffer, first, 0, nullptr, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(read<int>(buffer, 5)[4], 42);
  clReleaseMemObject(buffer);
}

TEST_F(Objects, MemoryThatIsNotThereIsRefused) {
  cl_ulong global, largest;
  clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof global, &global, nullptr);
  clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, nullptr);
  std::vector<cl_mem> buffers;
  cl_int error = CL_SUCCESS;
  for (cl_ulong total = 0; error == CL_SUCCESS && total <= 2 * global; total += largest) {
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, largest, nullptr, &error);
    if (error == CL_SUCCESS) buffers.push_back(buffer);
  }
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_FALSE(buffers.empty());
  for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
  cl_mem again = make_buffer(largest);
  clReleaseMemObject(again);
  // SVM comes from the same memory, and gives it back.
  void* svm = clSVMAlloc(context, CL_MEM_READ_WRITE, largest, 0);
  EXPECT_NE(svm, nullptr);
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_READ_WRITE, largest, 0), nullptr);
  EXPECT_EQ(clCreateBuffer(context, CL_MEM_READ_WRITE, largest, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  clSVMFree(context, svm);
  again = make_buffer(largest);
  clReleaseMemObject(again);
}

TEST_F(Objects, SubDevicesAreCountedAndWork) {
  cl_uint units = 0;
  clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
  const cl_device_partition_property by_one[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  std::vector<cl_device_id> parts(units);
  cl_uint count = 0;
  cl_int error = clCreateSubDevices(device, by_one, units, parts.data(), &count);
  if (units == 1) {
    EXPECT_EQ(error, CL_DEVICE_PARTITION_FAILED);
    return;
  }
  ASSERT_EQ(error, CL_SUCCESS);
  ASSERT_EQ(count, units);
  cl_device_id parent;
  clGetDeviceInfo(parts[0], CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, nullptr);
  EXPECT_EQ(parent, device);
  cl_device_partition_property type[3] = {};
  clGetDeviceInfo(parts[0], CL_DEVICE_PARTITION_TYPE, sizeof type, type, nullptr);
  EXPECT_EQ(type[0], CL_DEVICE_PARTITION_EQUALLY);
  const cl_device_partition_property counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1,
                                                 CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  cl_device_id counted;
  ASSERT_EQ(clCreateSubDevices(device, counts, 1, &counted, nullptr), CL_SUCCESS);
  size_t size = 0;
  clGetDeviceInfo(counted, CL_DEVICE_PARTITION_TYPE, 0, nullptr, &size);
  EXPECT_EQ(size, 3 * sizeof counts[0]) << "to the first 0";
  EXPECT_EQ(clReleaseDevice(counted), CL_SUCCESS);
  cl_context own = clCreateContext(nullptr, 1, &parts[0], nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_command_queue own_queue = clCreateCommandQueue(own, parts[0], 0, &error);
  EXPECT_EQ(error, CL_SUCCESS);
  cl_command_queue none = clCreateCommandQueue(own, device, 0, &error);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(error, CL_INVALID_DEVICE);
  for (cl_device_id part : parts) EXPECT_EQ(clReleaseDevice(part), CL_SUCCESS);
  EXPECT_EQ(clFinish(own_queue), CL_SUCCESS);
  clReleaseCommandQueue(own_queue);
  clReleaseContext(own);
  EXPECT_EQ(clReleaseDevice(parts[0]), CL_INVALID_DEVICE);
  EXPECT_EQ(clReleaseDevice(device), CL_SUCCESS) << "a root device ignores it";
}

TEST_F(Objects, SubDevicesHaveTheirOlderNames) {
  cl_uint units = 0;
  clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
  cl_device_partition_property_ext types[3] = {};
  size_t size = 0;
  EXPECT_EQ(clGetDeviceInfo(device, CL_DEVICE_PARTITION_TYPES_EXT, sizeof types, types, &size), CL_SUCCESS);
  if (units == 1) {
    EXPECT_EQ(size, 0u);
    const cl_device_partition_property_ext by_one[] = {CL_DEVICE_PARTITION_EQUALLY_EXT, 1,
                                                       CL_PROPERTIES_LIST_END_EXT};
    cl_uint none = 0;
    EXPECT_EQ(clCreateSubDevicesEXT(device, by_one, 0, nullptr, &none), CL_DEVICE_PARTITION_FAILED_EXT);
    return;
  }
  EXPECT_EQ(size, 2 * sizeof types[0]);
  EXPECT_EQ(types[0], cl_device_partition_property_ext{CL_DEVICE_PARTITION_EQUALLY_EXT});
  const cl_device_partition_property_ext counts[] = {CL_DEVICE_PARTITION_BY_COUNTS_EXT, 1, 1,
                                                     CL_PARTITION_BY_COUNTS_LIST_END_EXT,
                                                     CL_PROPERTIES_LIST_END_EXT};
  cl_device_id parts[2];
  cl_uint count = 0;
  ASSERT_EQ(clCreateSubDevicesEXT(device, counts, 2, parts, &count), CL_SUCCESS);
  EXPECT_EQ(count, 2u);
  cl_device_id parent = nullptr;
  EXPECT_EQ(clGetDeviceInfo(parts[1], CL_DEVICE_PARENT_DEVICE_EXT, sizeof parent, &parent, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(parent, device);
  cl_device_partition_property_ext style[5] = {};
  EXPECT_EQ(clGetDeviceInfo(parts[0], CL_DEVICE_PARTITION_STYLE_EXT, sizeof style, style, &size), CL_SUCCESS);
  EXPECT_EQ(size, sizeof style);
  EXPECT_TRUE(std::equal(std::begin(style), std::end(style), counts));
  EXPECT_EQ(clRetainDeviceEXT(parts[0]), CL_SUCCESS);
  cl_uint references = 0;
  clGetDeviceInfo(parts[0], CL_DEVICE_REFERENCE_COUNT_EXT, sizeof references, &references, nullptr);
  EXPECT_EQ(references, 2u);
  EXPECT_EQ(clReleaseDeviceEXT(parts[0]), CL_SUCCESS);
  for (cl_device_id part : parts) EXPECT_EQ(clReleaseDeviceEXT(part), CL_SUCCESS);
}

TEST_F(Objects, ManyThreadsMakeAndReleaseObjects) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        cl_int error;
        cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, nullptr, &error);
        EXPECT_EQ(error, CL_SUCCESS);
        EXPECT_EQ(clRetainMemObject(buffer), CL_SUCCESS);
        EXPECT_EQ(clEnqueueFillBuffer(queue, buffer, &t, sizeof t, 0, 256, 0, nullptr, nullptr), CL_SUCCESS);
        EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
        EXPECT_EQ(clReleaseMemObject(buffer), CL_SUCCESS);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
}

}  // namespace
}  // namespace morgana::icd::test
