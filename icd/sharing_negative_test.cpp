// What semaphores and external memory refuse: one row a condition.
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "icd/negative_support.h"
#include "icd/sharing_support.h"

namespace morgana::icd::test {
namespace {

class SharingRefusals : public Negative {
 protected:
  void SetUp() override {
    Negative::SetUp();
    api = std::make_unique<SharingApi>(platform);
    cl_int error;
    foreign_queue = clCreateCommandQueue(other_context, device, 0, &error);
    ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, devices, nullptr), CL_SUCCESS);
    both = clCreateContext(nullptr, 2, devices, nullptr, nullptr, &error);
    on_second = clCreateCommandQueue(both, devices[1], 0, &error);
    semaphore = make(context, {CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, 0});
    of_first = make(both, {kSemaphoreDevices, reinterpret_cast<cl_semaphore_properties_khr>(devices[0]), 0});
    failed = clCreateUserEvent(context, &error);
    clSetUserEventStatus(failed, -1);
    memory = memfd_create("negative", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(memory, 4096), 0);
    external = make_external(context, {}, 4096, dup(memory));
    of_first_only = make_external(both, {kMemoryDevices, reinterpret_cast<cl_mem_properties>(devices[0]), 0},
                                  4096, dup(memory));
  }
  void TearDown() override {
    for (cl_semaphore_khr s : {semaphore, of_first}) EXPECT_EQ(api->release(s), CL_SUCCESS);
    for (cl_mem m : {external, of_first_only}) clReleaseMemObject(m);
    for (cl_command_queue q : {foreign_queue, on_second}) clReleaseCommandQueue(q);
    clReleaseEvent(failed);
    clReleaseContext(both);
    close(memory);
    Negative::TearDown();
  }

  cl_semaphore_khr make(cl_context in, std::vector<cl_semaphore_properties_khr> more) {
    more.insert(more.begin(), {CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR});
    more.push_back(0);
    cl_int error;
    cl_semaphore_khr made = api->create(in, more.data(), &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  // The code of a creation with these properties.
  cl_int create(cl_context in, std::vector<cl_semaphore_properties_khr> list) {
    list.push_back(0);
    return code_of([&](cl_int* error) { return api->create(in, list.data(), error); });
  }
  static cl_mem make_external(cl_context in, std::vector<cl_mem_properties> more, size_t size,
                              int descriptor) {
    cl_int error;
    more.insert(more.begin(),
                {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, static_cast<cl_mem_properties>(descriptor)});
    more.push_back(0);
    cl_mem made = clCreateBufferWithProperties(in, more.data(), 0, size, nullptr, &error);
    EXPECT_EQ(error, CL_SUCCESS);
    return made;
  }
  cl_int import(std::vector<cl_mem_properties> list, cl_mem_flags flags = 0, size_t size = 64,
                void* pointer = nullptr) {
    list.push_back(0);
    return code_of([&](cl_int* error) {
      return clCreateBufferWithProperties(context, list.data(), flags, size, pointer, error);
    });
  }

  std::unique_ptr<SharingApi> api;
  cl_command_queue foreign_queue, on_second;
  cl_device_id devices[2];
  cl_context both;
  cl_semaphore_khr semaphore, of_first;
  cl_event failed;
  int memory;
  cl_mem external, of_first_only;
  static constexpr cl_semaphore_properties_khr kType = CL_SEMAPHORE_TYPE_KHR,
                                               kBinary = CL_SEMAPHORE_TYPE_BINARY_KHR,
                                               kExport = CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
                                               kOpaque = CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR;
  static constexpr cl_mem_properties kMemory = CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR;
};

TEST_F(SharingRefusals, CreationOfSemaphores) {
  const auto id = reinterpret_cast<cl_semaphore_properties_khr>(device);
  const auto second = reinterpret_cast<cl_semaphore_properties_khr>(devices[1]);
  const auto not_a_device = reinterpret_cast<cl_semaphore_properties_khr>(buffer);
  const auto descriptor = static_cast<cl_semaphore_properties_khr>(memory);
  check({
      {"no context", CL_INVALID_CONTEXT, [&] { return create(nullptr, {kType, kBinary}); }},
      {"no properties", CL_INVALID_VALUE,
       [&] { return code_of([&](cl_int* error) { return api->create(context, nullptr, error); }); }},
      {"no type", CL_INVALID_VALUE, [&] { return create(context, {kSemaphoreDevices, id, 0}); }},
      {"an unknown property", CL_INVALID_PROPERTY,
       [&] { return create(context, {kType, kBinary, 0x7777, 1}); }},
      {"an unknown type", CL_INVALID_PROPERTY, [&] { return create(context, {kType, 7}); }},
      {"a property twice", CL_INVALID_PROPERTY,
       [&] { return create(context, {kType, kBinary, kType, kBinary}); }},
      {"several devices, none named", CL_INVALID_PROPERTY, [&] { return create(both, {kType, kBinary}); }},
      {"a handle type that is not offered", CL_INVALID_PROPERTY,
       [&] { return create(context, {kType, kBinary, kExport, 0x2058, 0}); }},
      {"memory as handle", CL_INVALID_PROPERTY,
       [&] { return create(context, {kType, kBinary, kOpaque, descriptor}); }},
      {"two handles", CL_INVALID_PROPERTY,
       [&] { return create(context, {kType, kBinary, kOpaque, descriptor, kOpaque, descriptor}); }},
      {"another context's device", CL_INVALID_DEVICE,
       [&] { return create(context, {kType, kBinary, kSemaphoreDevices, second, 0}); }},
      {"no device", CL_INVALID_DEVICE,
       [&] { return create(context, {kType, kBinary, kSemaphoreDevices, not_a_device, 0}); }},
      {"two devices", CL_INVALID_DEVICE,
       [&] { return create(both, {kType, kBinary, kSemaphoreDevices, id, second, 0}); }},
      {"two handle types", CL_INVALID_VALUE,
       [&] { return create(context, {kType, kBinary, kExport, kOpaque, kOpaque, 0}); }},
      {"imported and exportable", CL_INVALID_OPERATION,
       [&] { return create(context, {kType, kBinary, kOpaque, descriptor, kExport, kOpaque, 0}); }},
  });
}

TEST_F(SharingRefusals, LifeAndQueriesOfSemaphores) {
  auto wrong = reinterpret_cast<cl_semaphore_khr>(buffer);
  cl_uint value;
  int descriptor;
  const auto handle = [&](cl_semaphore_khr s, cl_device_id d, cl_external_semaphore_handle_type_khr type,
                          size_t size) { return api->handle(s, d, type, size, &descriptor, nullptr); };
  check({
      {"retain", CL_INVALID_SEMAPHORE_KHR, [&] { return api->retain(wrong); }},
      {"release", CL_INVALID_SEMAPHORE_KHR, [&] { return api->release(nullptr); }},
      {"info", CL_INVALID_SEMAPHORE_KHR,
       [&] { return api->info(wrong, CL_SEMAPHORE_TYPE_KHR, sizeof value, &value, nullptr); }},
      {"info of nothing", CL_INVALID_VALUE,
       [&] { return api->info(semaphore, 0, sizeof value, &value, nullptr); }},
      {"info without room", CL_INVALID_VALUE,
       [&] { return api->info(semaphore, CL_SEMAPHORE_TYPE_KHR, 1, &value, nullptr); }},
      {"handle of nothing", CL_INVALID_SEMAPHORE_KHR, [&] { return handle(wrong, device, kOpaque, 4); }},
      {"handle for no device", CL_INVALID_DEVICE, [&] { return handle(semaphore, nullptr, kOpaque, 4); }},
      {"handle for another context's device", CL_INVALID_DEVICE,
       [&] { return handle(semaphore, devices[1], kOpaque, 4); }},
      {"handle for a device that it is not for", CL_INVALID_DEVICE,
       [&] { return handle(of_first, devices[1], kOpaque, 4); }},
      {"handle that was not asked for", CL_INVALID_VALUE,
       [&] { return handle(of_first, device, kOpaque, 4); }},
      {"handle without room", CL_INVALID_VALUE, [&] { return handle(semaphore, device, kOpaque, 2); }},
  });
}

TEST_F(SharingRefusals, WaitsAndSignals) {
  auto wrong = reinterpret_cast<cl_semaphore_khr>(buffer);
  auto no_queue = reinterpret_cast<cl_command_queue>(buffer);
  auto no_event = reinterpret_cast<cl_event>(buffer);
  for (const SharingApi::List call : {api->wait, api->signal})
    check({
        {"no queue", CL_INVALID_COMMAND_QUEUE,
         [&] { return call(no_queue, 1, &semaphore, nullptr, 0, nullptr, nullptr); }},
        {"a queue of another device", CL_INVALID_COMMAND_QUEUE,
         [&] { return call(on_second, 1, &of_first, nullptr, 0, nullptr, nullptr); }},
        {"no semaphores", CL_INVALID_VALUE,
         [&] { return call(queue, 0, &semaphore, nullptr, 0, nullptr, nullptr); }},
        {"a wrong semaphore", CL_INVALID_SEMAPHORE_KHR,
         [&] { return call(queue, 1, &wrong, nullptr, 0, nullptr, nullptr); }},
        {"another context", CL_INVALID_CONTEXT,
         [&] { return call(foreign_queue, 1, &semaphore, nullptr, 0, nullptr, nullptr); }},
        {"another context's event", CL_INVALID_CONTEXT,
         [&] { return call(queue, 1, &semaphore, nullptr, 1, &foreign_event, nullptr); }},
        {"a count without events", CL_INVALID_EVENT_WAIT_LIST,
         [&] { return call(queue, 1, &semaphore, nullptr, 1, nullptr, nullptr); }},
        {"events without a count", CL_INVALID_EVENT_WAIT_LIST,
         [&] { return call(queue, 1, &semaphore, nullptr, 0, &user_event, nullptr); }},
        {"no event", CL_INVALID_EVENT_WAIT_LIST,
         [&] { return call(queue, 1, &semaphore, nullptr, 1, &no_event, nullptr); }},
        {"an event that failed", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
         [&] { return call(queue, 1, &semaphore, nullptr, 1, &failed, nullptr); }},
    });
}

TEST_F(SharingRefusals, ExternalMemory) {
  const auto id = reinterpret_cast<cl_mem_properties>(device);
  const auto second = reinterpret_cast<cl_mem_properties>(devices[1]);
  const auto descriptor = static_cast<cl_mem_properties>(memory);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  check({
      {"devices without a handle", CL_INVALID_PROPERTY, [&] { return import({kMemoryDevices, id, 0}); }},
      {"two handles", CL_INVALID_PROPERTY,
       [&] { return import({kMemory, descriptor, kMemory, descriptor}); }},
      {"devices twice", CL_INVALID_PROPERTY,
       [&] { return import({kMemory, descriptor, kMemoryDevices, id, 0, kMemoryDevices, id, 0}); }},
      {"no descriptor", CL_INVALID_PROPERTY, [&] { return import({kMemory, 100000}); }},
      {"another context's device", CL_INVALID_DEVICE,
       [&] { return import({kMemory, descriptor, kMemoryDevices, second, 0}); }},
      {"no device", CL_INVALID_DEVICE,
       [&] { return import({kMemory, descriptor, kMemoryDevices, descriptor, 0}); }},
      {"from a pointer, too", CL_INVALID_VALUE,
       [&] { return import({kMemory, descriptor}, CL_MEM_COPY_HOST_PTR, 64, host); }},
      {"with a pointer", CL_INVALID_HOST_PTR, [&] { return import({kMemory, descriptor}, 0, 64, host); }},
      {"larger than it is", CL_INVALID_BUFFER_SIZE, [&] { return import({kMemory, descriptor}, 0, 8192); }},
      {"a pipe, which has no size", CL_INVALID_BUFFER_SIZE,
       [&] { return import({kMemory, static_cast<cl_mem_properties>(ends[0])}); }},
  });
  for (int end : ends) close(end);
}

TEST_F(SharingRefusals, ExternalImages) {
  const auto descriptor = static_cast<cl_mem_properties>(memory);
  const auto second = reinterpret_cast<cl_mem_properties>(devices[1]);
  const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
  const auto import_image = [&](std::vector<cl_mem_properties> list, size_t height = 4, size_t pitch = 256,
                                void* pointer = nullptr, cl_mem_flags flags = 0) {
    list.push_back(0);
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = 8;
    desc.image_height = height;
    desc.image_row_pitch = pitch;
    return code_of([&](cl_int* error) {
      return clCreateImageWithProperties(context, list.data(), flags, &format, &desc, pointer, error);
    });
  };
  check({
      {"an address", CL_INVALID_PROPERTY,
       [&] { return import_image({kMemory, descriptor, kPrivateAddressProperty, CL_TRUE}); }},
      {"two handles", CL_INVALID_PROPERTY,
       [&] { return import_image({kMemory, descriptor, kMemory, descriptor}); }},
      {"another context's device", CL_INVALID_DEVICE,
       [&] { return import_image({kMemory, descriptor, kMemoryDevices, second, 0}); }},
      {"larger than it is", CL_INVALID_IMAGE_SIZE, [&] { return import_image({kMemory, descriptor}, 1000); }},
      {"a pitch that is too small", CL_INVALID_IMAGE_DESCRIPTOR,
       [&] { return import_image({kMemory, descriptor}, 4, 16); }},
      {"a pointer", CL_INVALID_HOST_PTR, [&] { return import_image({kMemory, descriptor}, 4, 256, host); }},
      {"from a pointer", CL_INVALID_VALUE,
       [&] { return import_image({kMemory, descriptor}, 4, 256, host, CL_MEM_USE_HOST_PTR); }},
  });
}

TEST_F(SharingRefusals, HandingOver) {
  auto no_queue = reinterpret_cast<cl_command_queue>(buffer);
  auto no_event = reinterpret_cast<cl_event>(buffer);
  for (const SharingApi::Objects call : {api->acquire, api->give_back}) {
    check({
        {"no queue", CL_INVALID_COMMAND_QUEUE,
         [&] { return call(no_queue, 1, &external, 0, nullptr, nullptr); }},
        {"a queue of another device", CL_INVALID_COMMAND_QUEUE,
         [&] { return call(on_second, 1, &of_first_only, 0, nullptr, nullptr); }},
        {"a queue whose device the context lacks", CL_INVALID_COMMAND_QUEUE,
         [&] { return call(on_second, 1, &external, 0, nullptr, nullptr); }},
        {"objects without a count", CL_INVALID_VALUE,
         [&] { return call(queue, 0, &external, 0, nullptr, nullptr); }},
        {"a count without objects", CL_INVALID_VALUE,
         [&] { return call(queue, 1, nullptr, 0, nullptr, nullptr); }},
        {"an object of its own memory", CL_INVALID_MEM_OBJECT,
         [&] { return call(queue, 1, &buffer, 0, nullptr, nullptr); }},
        {"no object", CL_INVALID_MEM_OBJECT, [&] { return call(queue, 1, &dangling, 0, nullptr, nullptr); }},
        {"another context's event", CL_INVALID_CONTEXT,
         [&] { return call(queue, 1, &external, 1, &foreign_event, nullptr); }},
        {"a count without events", CL_INVALID_EVENT_WAIT_LIST,
         [&] { return call(queue, 1, &external, 1, nullptr, nullptr); }},
        {"events without a count", CL_INVALID_EVENT_WAIT_LIST,
         [&] { return call(queue, 1, &external, 0, &user_event, nullptr); }},
        {"no event", CL_INVALID_EVENT_WAIT_LIST,
         [&] { return call(queue, 1, &external, 1, &no_event, nullptr); }},
        {"an event that failed", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
         [&] { return call(queue, 1, &external, 1, &failed, nullptr); }},
    });
    EXPECT_EQ(call(queue, 0, nullptr, 0, nullptr, nullptr), CL_SUCCESS);
  }
}

}  // namespace
}  // namespace morgana::icd::test
