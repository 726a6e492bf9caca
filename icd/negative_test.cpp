// One row a condition: an entry point, what is wrong, and the code that the OpenCL 3.0 specification names
// for it.
#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

TEST_F(Negative, PlatformAndDevice) {
  cl_device_id id;
  cl_uint count;
  cl_ulong time;
  auto wrong_platform = reinterpret_cast<cl_platform_id>(context);
  check({
      {"clGetPlatformInfo unknown name", CL_INVALID_VALUE,
       [&] { return clGetPlatformInfo(platform, 0, 0, nullptr, nullptr); }},
      {"clGetPlatformInfo small buffer", CL_INVALID_VALUE,
       [&] { return clGetPlatformInfo(platform, CL_PLATFORM_NAME, 3, host, nullptr); }},
      {"clGetDeviceIDs no type", CL_INVALID_DEVICE_TYPE,
       [&] { return clGetDeviceIDs(platform, 0, 1, &id, nullptr); }},
      {"clGetDeviceIDs unknown type", CL_INVALID_DEVICE_TYPE,
       [&] { return clGetDeviceIDs(platform, 1 << 20, 1, &id, nullptr); }},
      {"clGetDeviceIDs CPU", CL_DEVICE_NOT_FOUND,
       [&] { return clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &id, &count); }},
      {"clGetDeviceIDs no entries", CL_INVALID_VALUE,
       [&] { return clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 0, &id, nullptr); }},
      {"clGetDeviceIDs nothing asked", CL_INVALID_VALUE,
       [&] { return clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 0, nullptr, nullptr); }},
      {"clGetDeviceIDs other object", CL_INVALID_PLATFORM,
       [&] { return clGetDeviceIDs(wrong_platform, CL_DEVICE_TYPE_GPU, 1, &id, nullptr); }},
      {"clGetDeviceInfo unknown name", CL_INVALID_VALUE,
       [&] { return clGetDeviceInfo(device, 0, 0, nullptr, nullptr); }},
      {"clGetDeviceInfo small buffer", CL_INVALID_VALUE,
       [&] { return clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, 4, host, nullptr); }},
      {"clGetDeviceInfo other object", CL_INVALID_DEVICE,
       [&] {
         return clGetDeviceInfo(reinterpret_cast<cl_device_id>(buffer), CL_DEVICE_TYPE, 8, host, nullptr);
       }},
      {"clGetHostTimer NULL", CL_INVALID_VALUE, [&] { return clGetHostTimer(device, nullptr); }},
      {"clGetDeviceAndHostTimer NULL", CL_INVALID_VALUE,
       [&] { return clGetDeviceAndHostTimer(device, nullptr, &time); }},
      {"clCreateSubDevices no properties", CL_INVALID_VALUE,
       [&] { return clCreateSubDevices(device, nullptr, 0, nullptr, &count); }},
      {"clCreateSubDevices by affinity", CL_INVALID_VALUE,
       [&] {
         const cl_device_partition_property p[] = {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN,
                                                   CL_DEVICE_AFFINITY_DOMAIN_NUMA, 0};
         return clCreateSubDevices(device, p, 0, nullptr, &count);
       }},
      {"clCreateSubDevices too many units", CL_INVALID_DEVICE_PARTITION_COUNT,
       [&] {
         const cl_device_partition_property p[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1 << 20, 0, 0};
         return clCreateSubDevices(device, p, 0, nullptr, &count);
       }},
  });
}

TEST_F(Negative, Context) {
  auto create = [&](std::vector<cl_context_properties> list, cl_uint count, const cl_device_id* devices,
                    void* user_data) {
    return code_of([&](cl_int* error) {
      return clCreateContext(list.empty() ? nullptr : list.data(), count, devices, nullptr, user_data, error);
    });
  };
  auto as_property = reinterpret_cast<cl_context_properties>(platform);
  cl_device_id no_device = nullptr;
  auto wrong_device = reinterpret_cast<cl_device_id>(queue);
  check({
      {"no devices", CL_INVALID_VALUE, [&] { return create({}, 0, &device, nullptr); }},
      {"devices NULL", CL_INVALID_VALUE, [&] { return create({}, 1, nullptr, nullptr); }},
      {"user data without function", CL_INVALID_VALUE, [&] { return create({}, 1, &device, host); }},
      {"queue as device", CL_INVALID_DEVICE,
       [&] {
         const cl_device_id list[2] = {device, wrong_device};
         return create({}, 2, list, nullptr);
       }},
      {"NULL second device", CL_INVALID_DEVICE,
       [&] {
         const cl_device_id list[2] = {device, no_device};
         return create({}, 2, list, nullptr);
       }},
      {"unknown property", CL_INVALID_PROPERTY, [&] { return create({0x7777, 1, 0}, 1, &device, nullptr); }},
      {"property twice", CL_INVALID_PROPERTY,
       [&] {
         return create({CL_CONTEXT_PLATFORM, as_property, CL_CONTEXT_PLATFORM, as_property, 0}, 1, &device,
                       nullptr);
       }},
      {"bad user sync", CL_INVALID_PROPERTY,
       [&] { return create({CL_CONTEXT_INTEROP_USER_SYNC, 7, 0}, 1, &device, nullptr); }},
      {"clGetContextInfo unknown", CL_INVALID_VALUE,
       [&] { return clGetContextInfo(context, 0, 0, nullptr, nullptr); }},
      {"clRetainContext NULL", CL_INVALID_CONTEXT, [] { return clRetainContext(nullptr); }},
      {"clSetContextDestructorCallback NULL", CL_INVALID_VALUE,
       [&] { return clSetContextDestructorCallback(context, nullptr, nullptr); }},
  });
}

TEST_F(Negative, Queue) {
  auto create = [&](std::vector<cl_queue_properties> list) {
    return code_of([&](cl_int* error) {
      return clCreateCommandQueueWithProperties(context, device, list.data(), error);
    });
  };
  using CreateKhr = cl_command_queue (*)(cl_context, cl_device_id, const cl_queue_properties*, cl_int*);
  auto create_khr = extension<CreateKhr>("clCreateCommandQueueWithPropertiesKHR");
  auto khr = [&](cl_context c, cl_device_id d, std::vector<cl_queue_properties> list) {
    return code_of([&](cl_int* error) { return create_khr(c, d, list.data(), error); });
  };
  check({
      {"unknown property", CL_INVALID_VALUE, [&] { return create({0x1234, 1, 0}); }},
      {"unknown bit", CL_INVALID_VALUE, [&] { return create({CL_QUEUE_PROPERTIES, 1 << 20, 0}); }},
      {"property twice", CL_INVALID_VALUE,
       [&] { return create({CL_QUEUE_PROPERTIES, 0, CL_QUEUE_PROPERTIES, 0, 0}); }},
      {"priority of an on-device queue", CL_INVALID_QUEUE_PROPERTIES,
       [&] {
         return create({CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                        CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_HIGH_KHR, 0});
       }},
      {"no device for properties", CL_INVALID_DEVICE,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateCommandQueueWithProperties(context, reinterpret_cast<cl_device_id>(buffer), nullptr,
                                                     e);
         });
       }},
      {"on-device queue of the old function", CL_INVALID_QUEUE_PROPERTIES,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateCommandQueue(context, device, CL_QUEUE_ON_DEVICE, e); });
       }},
      {"KHR, no context", CL_INVALID_CONTEXT,
       [&] { return khr(reinterpret_cast<cl_context>(buffer), device, {0}); }},
      {"KHR, no device", CL_INVALID_DEVICE,
       [&] { return khr(context, reinterpret_cast<cl_device_id>(buffer), {0}); }},
      {"KHR, unknown property", CL_INVALID_VALUE, [&] { return khr(context, device, {0x1234, 1, 0}); }},
      {"KHR, on-device queue with a priority", CL_INVALID_QUEUE_PROPERTIES,
       [&] {
         return khr(context, device,
                    {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                     CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR, 0});
       }},
      {"size of a host queue", CL_INVALID_VALUE, [&] { return create({CL_QUEUE_SIZE, 4096, 0}); }},
      {"bad throttle", CL_INVALID_VALUE, [&] { return create({CL_QUEUE_THROTTLE_KHR, 3, 0}); }},
      {"bad priority", CL_INVALID_VALUE, [&] { return create({CL_QUEUE_PRIORITY_KHR, 9, 0}); }},
      {"no device", CL_INVALID_DEVICE,
       [&] { return code_of([&](cl_int* e) { return clCreateCommandQueue(context, nullptr, 0, e); }); }},
      {"bad bits of the old function", CL_INVALID_VALUE,
       [&] {
         return code_of([&](cl_int* e) { return clCreateCommandQueue(context, device, ~cl_ulong{0}, e); });
       }},
      {"CL_QUEUE_SIZE", CL_INVALID_COMMAND_QUEUE,
       [&] { return clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, 4, host, nullptr); }},
      {"unknown info", CL_INVALID_VALUE,
       [&] { return clGetCommandQueueInfo(queue, 1, 0, nullptr, nullptr); }},
      {"clSetDefaultDeviceCommandQueue", CL_INVALID_COMMAND_QUEUE,
       [&] { return clSetDefaultDeviceCommandQueue(context, device, queue); }},
      {"clSetCommandQueueProperty of an unknown bit", CL_INVALID_VALUE,
       [&] { return clSetCommandQueueProperty(queue, 1 << 20, CL_TRUE, nullptr); }},
      {"clSetCommandQueueProperty", CL_INVALID_OPERATION,
       [&] { return clSetCommandQueueProperty(queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, nullptr); }},
      {"clEnqueueMarker without event", CL_INVALID_VALUE, [&] { return clEnqueueMarker(queue, nullptr); }},
      {"clEnqueueWaitForEvents none", CL_INVALID_VALUE,
       [&] { return clEnqueueWaitForEvents(queue, 0, nullptr); }},
      {"marker with foreign event", CL_INVALID_CONTEXT,
       [&] { return clEnqueueMarkerWithWaitList(queue, 1, &foreign_event, nullptr); }},
      {"marker with count and no list", CL_INVALID_EVENT_WAIT_LIST,
       [&] { return clEnqueueMarkerWithWaitList(queue, 1, nullptr, nullptr); }},
      {"marker with list and no count", CL_INVALID_EVENT_WAIT_LIST,
       [&] { return clEnqueueMarkerWithWaitList(queue, 0, &user_event, nullptr); }},
      {"barrier with a buffer as event", CL_INVALID_EVENT_WAIT_LIST,
       [&] {
         auto wrong = reinterpret_cast<cl_event>(buffer);
         return clEnqueueBarrierWithWaitList(queue, 1, &wrong, nullptr);
       }},
      {"clWaitForEvents none", CL_INVALID_VALUE, [] { return clWaitForEvents(0, nullptr); }},
      {"clWaitForEvents two contexts", CL_INVALID_CONTEXT,
       [&] {
         const cl_event list[2] = {user_event, foreign_event};
         return clWaitForEvents(2, list);
       }},
      {"clSetUserEventStatus running", CL_INVALID_VALUE,
       [&] { return clSetUserEventStatus(user_event, CL_RUNNING); }},
      {"clSetEventCallback bad type", CL_INVALID_VALUE,
       [&] { return clSetEventCallback(user_event, CL_QUEUED, [](cl_event, cl_int, void*) {}, nullptr); }},
      {"clSetEventCallback NULL", CL_INVALID_VALUE,
       [&] { return clSetEventCallback(user_event, CL_COMPLETE, nullptr, nullptr); }},
      {"profiling of a user event", CL_PROFILING_INFO_NOT_AVAILABLE,
       [&] { return clGetEventProfilingInfo(user_event, CL_PROFILING_COMMAND_END, 8, host, nullptr); }},
  });
}

TEST_F(Negative, Buffer) {
  auto create = [&](cl_mem_flags flags, size_t size, void* pointer) {
    const cl_int code =
        code_of([&](cl_int* error) { return clCreateBuffer(context, flags, size, pointer, error); });
    EXPECT_EQ(code_of([&](cl_int* error) {
                return clCreateBufferWithProperties(context, nullptr, flags, size, pointer, error);
              }),
              code);
    return code;
  };
  auto sub = [&](cl_mem parent, cl_mem_flags flags, cl_buffer_region region) {
    return code_of([&](cl_int* error) {
      return clCreateSubBuffer(parent, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, error);
    });
  };
  auto with = [&](std::vector<cl_mem_properties> list) {
    return code_of(
        [&](cl_int* e) { return clCreateBufferWithProperties(context, list.data(), 0, 16, nullptr, e); });
  };
  cl_ulong largest = 0;
  clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, nullptr);
  void* shared = clSVMAlloc(context, 0, 64, 0);
  ASSERT_NE(shared, nullptr);
  check({
      {"property of a value it cannot have", CL_INVALID_PROPERTY,
       [&] { return with({kPrivateAddressProperty, 7, 0}); }},
      {"property twice", CL_INVALID_PROPERTY,
       [&] { return with({kPrivateAddressProperty, CL_TRUE, kPrivateAddressProperty, CL_TRUE, 0}); }},
      {"flag of shared memory", CL_INVALID_VALUE,
       [&] { return create(CL_MEM_SVM_FINE_GRAIN_BUFFER, 16, nullptr); }},
      {"read-write and read-only", CL_INVALID_VALUE,
       [&] { return create(CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, 16, nullptr); }},
      {"use and allocate", CL_INVALID_VALUE,
       [&] { return create(CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, 16, host); }},
      {"copy without pointer", CL_INVALID_HOST_PTR,
       [&] { return create(CL_MEM_COPY_HOST_PTR, 16, nullptr); }},
      {"more than the shared memory has", CL_INVALID_BUFFER_SIZE,
       [&] { return create(CL_MEM_USE_HOST_PTR, 65, shared); }},
      {"copy more than the shared memory has", CL_INVALID_BUFFER_SIZE,
       [&] { return create(CL_MEM_COPY_HOST_PTR, 65, shared); }},
      {"address of a buffer without the property", CL_INVALID_OPERATION,
       [&] { return clGetMemObjectInfo(buffer, kDeviceAddressInfo, sizeof host, host, nullptr); }},
      {"size 0", CL_INVALID_BUFFER_SIZE, [&] { return create(0, 0, nullptr); }},
      {"over-large", CL_INVALID_BUFFER_SIZE, [&] { return create(0, largest + 1, nullptr); }},
      {"all of memory", CL_INVALID_BUFFER_SIZE, [&] { return create(0, SIZE_MAX, nullptr); }},
      {"unknown flag", CL_INVALID_VALUE, [&] { return create(cl_mem_flags{1} << 40, 16, nullptr); }},
      {"read-only and write-only", CL_INVALID_VALUE,
       [&] { return create(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 16, nullptr); }},
      {"use and copy", CL_INVALID_VALUE,
       [&] { return create(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 16, host); }},
      {"two host accesses", CL_INVALID_VALUE,
       [&] { return create(CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY, 16, nullptr); }},
      {"use without pointer", CL_INVALID_HOST_PTR, [&] { return create(CL_MEM_USE_HOST_PTR, 16, nullptr); }},
      {"pointer without use", CL_INVALID_HOST_PTR, [&] { return create(CL_MEM_READ_WRITE, 16, host); }},
      {"unknown property", CL_INVALID_PROPERTY,
       [&] {
         const cl_mem_properties p[] = {0x999, 1, 0};
         return code_of(
             [&](cl_int* e) { return clCreateBufferWithProperties(context, p, 0, 16, nullptr, e); });
       }},
      {"no context", CL_INVALID_CONTEXT,
       [&] { return code_of([&](cl_int* e) { return clCreateBuffer(nullptr, 0, 16, nullptr, e); }); }},
      {"sub-buffer misaligned", CL_MISALIGNED_SUB_BUFFER_OFFSET, [&] { return sub(buffer, 0, {4, 16}); }},
      {"sub-buffer of size 0", CL_INVALID_BUFFER_SIZE, [&] { return sub(buffer, 0, {0, 0}); }},
      {"sub-buffer beyond the end", CL_INVALID_VALUE, [&] { return sub(buffer, 0, {896, 129}); }},
      {"sub-buffer far beyond", CL_INVALID_VALUE, [&] { return sub(buffer, 0, {SIZE_MAX - 127, 256}); }},
      {"sub-buffer with host pointer", CL_INVALID_VALUE,
       [&] { return sub(buffer, CL_MEM_ALLOC_HOST_PTR, {0, 16}); }},
      {"sub-buffer wider host access", CL_INVALID_VALUE,
       [&] { return sub(read_only, CL_MEM_HOST_WRITE_ONLY, {0, 16}); }},
      {"sub-buffer of no buffer", CL_INVALID_MEM_OBJECT, [&] { return sub(dangling, 0, {0, 16}); }},
      {"clGetMemObjectInfo unknown", CL_INVALID_VALUE,
       [&] { return clGetMemObjectInfo(buffer, 0, 0, nullptr, nullptr); }},
      {"clGetImageInfo of a buffer", CL_INVALID_MEM_OBJECT,
       [&] { return clGetImageInfo(buffer, CL_IMAGE_WIDTH, 8, host, nullptr); }},
      {"destructor NULL", CL_INVALID_VALUE,
       [&] { return clSetMemObjectDestructorCallback(buffer, nullptr, nullptr); }},
      {"retain dangling", CL_INVALID_MEM_OBJECT, [&] { return clRetainMemObject(dangling); }},
      {"release dangling", CL_INVALID_MEM_OBJECT, [&] { return clReleaseMemObject(dangling); }},
  });
  clSVMFree(context, shared);
}

TEST_F(Negative, Transfers) {
  auto read = [&](cl_command_queue q, cl_mem m, size_t offset, size_t size, void* p) {
    return clEnqueueReadBuffer(q, m, CL_TRUE, offset, size, p, 0, nullptr, nullptr);
  };
  auto fill = [&](const void* pattern, size_t pattern_size, size_t offset, size_t size) {
    return clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size, 0, nullptr, nullptr);
  };
  auto map = [&](cl_mem m, cl_map_flags flags, size_t offset, size_t size) {
    return code_of([&](cl_int* error) {
      return clEnqueueMapBuffer(queue, m, CL_TRUE, flags, offset, size, 0, nullptr, nullptr, error);
    });
  };
  const size_t zero[3] = {0, 0, 0}, one[3] = {64, 0, 0}, region[3] = {128, 2, 1}, flat[3] = {128, 0, 1};
  auto rect = [&](cl_mem src, cl_mem dst, const size_t* to, const size_t* r, size_t src_pitch,
                  size_t dst_pitch) {
    return clEnqueueCopyBufferRect(queue, src, dst, zero, to, r, src_pitch, 0, dst_pitch, 0, 0, nullptr,
                                   nullptr);
  };
  check({
      {"read NULL queue", CL_INVALID_COMMAND_QUEUE, [&] { return read(nullptr, buffer, 0, 4, host); }},
      {"read dangling", CL_INVALID_MEM_OBJECT, [&] { return read(queue, dangling, 0, 4, host); }},
      {"read foreign", CL_INVALID_CONTEXT, [&] { return read(queue, foreign, 0, 4, host); }},
      {"read beyond", CL_INVALID_VALUE, [&] { return read(queue, buffer, 1020, 5, host); }},
      {"read overflowing", CL_INVALID_VALUE, [&] { return read(queue, buffer, 8, SIZE_MAX - 4, host); }},
      {"read to NULL", CL_INVALID_VALUE, [&] { return read(queue, buffer, 0, 4, nullptr); }},
      {"read write-only", CL_INVALID_OPERATION, [&] { return read(queue, write_only, 0, 4, host); }},
      {"write read-only", CL_INVALID_OPERATION,
       [&] { return clEnqueueWriteBuffer(queue, read_only, CL_TRUE, 0, 4, host, 0, nullptr, nullptr); }},
      {"copy overlap", CL_MEM_COPY_OVERLAP,
       [&] { return clEnqueueCopyBuffer(queue, buffer, buffer, 0, 8, 16, 0, nullptr, nullptr); }},
      {"copy beyond", CL_INVALID_VALUE,
       [&] { return clEnqueueCopyBuffer(queue, buffer, read_only, 0, 1020, 8, 0, nullptr, nullptr); }},
      {"fill NULL", CL_INVALID_VALUE, [&] { return fill(nullptr, 4, 0, 16); }},
      {"fill size 3", CL_INVALID_VALUE, [&] { return fill(host, 3, 0, 12); }},
      {"fill size 256", CL_INVALID_VALUE, [&] { return fill(host, 256, 0, 256); }},
      {"fill odd offset", CL_INVALID_VALUE, [&] { return fill(host, 4, 2, 16); }},
      {"fill odd size", CL_INVALID_VALUE, [&] { return fill(host, 4, 0, 18); }},
      {"fill beyond", CL_INVALID_VALUE, [&] { return fill(host, 4, 1020, 8); }},
      {"map size 0", CL_INVALID_VALUE, [&] { return map(buffer, CL_MAP_READ, 0, 0); }},
      {"map bad flags", CL_INVALID_VALUE, [&] { return map(buffer, 1 << 9, 0, 4); }},
      {"map invalidate and read", CL_INVALID_VALUE,
       [&] { return map(buffer, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0, 4); }},
      {"map write-only for reading", CL_INVALID_OPERATION,
       [&] { return map(write_only, CL_MAP_READ, 0, 4); }},
      {"map read-only for writing", CL_INVALID_OPERATION, [&] { return map(read_only, CL_MAP_WRITE, 0, 4); }},
      {"unmap what is not mapped", CL_INVALID_VALUE,
       [&] { return clEnqueueUnmapMemObject(queue, buffer, host, 0, nullptr, nullptr); }},
      {"rect NULL region", CL_INVALID_VALUE, [&] { return rect(buffer, read_only, zero, nullptr, 0, 0); }},
      {"rect empty region", CL_INVALID_VALUE, [&] { return rect(buffer, read_only, zero, flat, 0, 0); }},
      {"rect small pitch", CL_INVALID_VALUE, [&] { return rect(buffer, read_only, zero, region, 100, 0); }},
      {"rect overlap", CL_MEM_COPY_OVERLAP, [&] { return rect(buffer, buffer, one, region, 256, 256); }},
      {"rect differing pitches", CL_INVALID_VALUE,
       [&] { return rect(buffer, buffer, one, region, 256, 128); }},
      {"migrate none", CL_INVALID_VALUE,
       [&] { return clEnqueueMigrateMemObjects(queue, 0, nullptr, 0, 0, nullptr, nullptr); }},
      {"migrate bad flag", CL_INVALID_VALUE,
       [&] { return clEnqueueMigrateMemObjects(queue, 1, &buffer, 64, 0, nullptr, nullptr); }},
  });
}

TEST_F(Negative, ProgramsAndKernels) {
  const char* source = kNegativeSource;
  const char* missing = nullptr;
  size_t one = 1;
  const unsigned char junk[] = "not a code object at all";
  const unsigned char* junks[] = {junk};
  const size_t junk_size[] = {sizeof junk};
  int value = 0;
  cl_uint count;
  check({
      {"source count 0", CL_INVALID_VALUE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateProgramWithSource(context, 0, &source, nullptr, e); });
       }},
      {"source NULL string", CL_INVALID_VALUE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateProgramWithSource(context, 1, &missing, nullptr, e); });
       }},
      {"junk binary", CL_INVALID_BINARY,
       [&] {
         cl_int status = CL_SUCCESS;
         cl_int code = code_of([&](cl_int* e) {
           return clCreateProgramWithBinary(context, 1, &device, junk_size, junks, &status, e);
         });
         EXPECT_EQ(status, CL_INVALID_BINARY);
         return code;
       }},
      {"binary of no length", CL_INVALID_VALUE,
       [&] {
         const size_t zero = 0;
         return code_of([&](cl_int* e) {
           return clCreateProgramWithBinary(context, 1, &device, &zero, junks, nullptr, e);
         });
       }},
      {"IL that is none", CL_INVALID_VALUE,
       [&] {
         return code_of([&](cl_int* e) { return clCreateProgramWithIL(context, junk, sizeof junk, e); });
       }},
      {"built-in kernels", CL_INVALID_VALUE,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateProgramWithBuiltInKernels(context, 1, &device, "nothing", e); });
       }},
      {"specialization constant of source text", CL_INVALID_PROGRAM,
       [&] { return clSetProgramSpecializationConstant(program, 0, 4, &value); }},
      {"build options", CL_INVALID_BUILD_OPTIONS,
       [&] { return clBuildProgram(unbuilt, 0, nullptr, "-no-such-option", nullptr, nullptr); }},
      {"compile options", CL_INVALID_COMPILER_OPTIONS,
       [&] {
         return clCompileProgram(unbuilt, 0, nullptr, "-no-such-option", 0, nullptr, nullptr, nullptr,
                                 nullptr);
       }},
      {"build with kernels attached", CL_INVALID_OPERATION,
       [&] { return clBuildProgram(program, 0, nullptr, "", nullptr, nullptr); }},
      {"build for nobody's device", CL_INVALID_DEVICE,
       [&] {
         auto wrong = reinterpret_cast<cl_device_id>(context);
         return clBuildProgram(unbuilt, 1, &wrong, "", nullptr, nullptr);
       }},
      {"build user data without function", CL_INVALID_VALUE,
       [&] { return clBuildProgram(unbuilt, 0, nullptr, "", nullptr, host); }},
      {"link what is not compiled", CL_INVALID_OPERATION,
       [&] {
         return code_of([&](cl_int* e) {
           return clLinkProgram(context, 0, nullptr, "", 1, &unbuilt, nullptr, nullptr, e);
         });
       }},
      {"link options", CL_INVALID_LINKER_OPTIONS,
       [&] {
         return code_of([&](cl_int* e) {
           return clLinkProgram(context, 0, nullptr, "-no-such-option", 1, &unbuilt, nullptr, nullptr, e);
         });
       }},
      {"kernel names before building", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] { return clGetProgramInfo(unbuilt, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, nullptr); }},
      {"kernel of an unbuilt program", CL_INVALID_PROGRAM_EXECUTABLE,
       [&] { return code_of([&](cl_int* e) { return clCreateKernel(unbuilt, "args", e); }); }},
      {"kernel of unknown name", CL_INVALID_KERNEL_NAME,
       [&] { return code_of([&](cl_int* e) { return clCreateKernel(program, "nothing", e); }); }},
      {"kernel name NULL", CL_INVALID_VALUE,
       [&] { return code_of([&](cl_int* e) { return clCreateKernel(program, nullptr, e); }); }},
      {"kernels into too small an array", CL_INVALID_VALUE,
       [&] {
         cl_kernel made;
         return clCreateKernelsInProgram(program, 1, &made, &count);
       }},
      {"argument index", CL_INVALID_ARG_INDEX, [&] { return clSetKernelArg(kernel, 4, 4, &value); }},
      {"buffer argument of wrong size", CL_INVALID_ARG_SIZE,
       [&] { return clSetKernelArg(kernel, 0, 4, &buffer); }},
      {"buffer argument that is none", CL_INVALID_MEM_OBJECT,
       [&] { return clSetKernelArg(kernel, 0, sizeof dangling, &dangling); }},
      {"local argument with a value", CL_INVALID_ARG_VALUE,
       [&] { return clSetKernelArg(kernel, 1, 4, &value); }},
      {"local argument beyond 32 bits", CL_INVALID_ARG_SIZE,
       [&] { return clSetKernelArg(kernel, 1, size_t{1} << 40, nullptr); }},
      {"value argument of wrong size", CL_INVALID_ARG_SIZE,
       [&] { return clSetKernelArg(kernel, 2, 8, host); }},
      {"value argument NULL", CL_INVALID_ARG_VALUE, [&] { return clSetKernelArg(kernel, 2, 4, nullptr); }},
      {"SVM pointer for a value", CL_INVALID_ARG_VALUE,
       [&] { return clSetKernelArgSVMPointer(kernel, 2, host); }},
      {"exec info unknown", CL_INVALID_VALUE, [&] { return clSetKernelExecInfo(kernel, 0, 8, host); }},
      {"argument info index", CL_INVALID_ARG_INDEX,
       [&] { return clGetKernelArgInfo(kernel, 9, CL_KERNEL_ARG_NAME, 0, nullptr, nullptr); }},
      {"work-group info of global size", CL_INVALID_VALUE,
       [&] {
         return clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_GLOBAL_WORK_SIZE, 0, nullptr, nullptr);
       }},
      {"sub-group info of no kernel", CL_INVALID_KERNEL,
       [&] {
         return clGetKernelSubGroupInfo(nullptr, device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, nullptr, 0, nullptr,
                                        nullptr);
       }},
      {"sub-group info of no device", CL_INVALID_DEVICE,
       [&] {
         return clGetKernelSubGroupInfo(kernel, reinterpret_cast<cl_device_id>(context),
                                        CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, nullptr, 0, nullptr, nullptr);
       }},
      {"sub-group info unknown", CL_INVALID_VALUE,
       [&] { return clGetKernelSubGroupInfo(kernel, device, 0, 0, nullptr, 0, nullptr, nullptr); }},
      {"sub-group info without its input", CL_INVALID_VALUE,
       [&] {
         return clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 0, nullptr, 0,
                                        nullptr, nullptr);
       }},
      {"sub-group info with four dimensions", CL_INVALID_VALUE,
       [&] {
         const size_t sizes[4] = {1, 1, 1, 1};
         return clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, sizeof sizes,
                                        sizes, 0, nullptr, nullptr);
       }},
      {"sub-group info into too little", CL_INVALID_VALUE,
       [&] {
         return clGetKernelSubGroupInfo(kernel, device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, nullptr, 4, host,
                                        nullptr);
       }},
      {"launch with arguments missing", CL_INVALID_KERNEL_ARGS,
       [&] { return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr); }},
  });
}

TEST_F(Negative, Launches) {
  auto launch = [&](cl_kernel k, cl_uint dimensions, std::vector<size_t> global, std::vector<size_t> local,
                    std::vector<size_t> offset = {}) {
    return clEnqueueNDRangeKernel(queue, k, dimensions, offset.empty() ? nullptr : offset.data(),
                                  global.data(), local.empty() ? nullptr : local.data(), 0, nullptr, nullptr);
  };
  check({
      {"no dimension", CL_INVALID_WORK_DIMENSION, [&] { return launch(none, 0, {1}, {}); }},
      {"four dimensions", CL_INVALID_WORK_DIMENSION, [&] { return launch(none, 4, {1, 1, 1, 1}, {}); }},
      {"global size beyond 2^32", CL_INVALID_GLOBAL_WORK_SIZE,
       [&] { return launch(none, 1, {size_t{1} << 33}, {}); }},
      {"offset overflow", CL_INVALID_GLOBAL_OFFSET,
       [&] { return launch(none, 1, {64}, {}, {SIZE_MAX - 3}); }},
      {"local size 0", CL_INVALID_WORK_GROUP_SIZE, [&] { return launch(none, 1, {64}, {0}); }},
      {"local size beyond the kernel's", CL_INVALID_WORK_GROUP_SIZE,
       [&] { return launch(none, 2, {1024, 1024}, {1024, 2}); }},
      {"local size beyond the device's", CL_INVALID_WORK_ITEM_SIZE,
       [&] { return launch(none, 1, {65536}, {4096}); }},
      {"not uniform in OpenCL C 1.2", CL_INVALID_WORK_GROUP_SIZE,
       [&] { return launch(none, 1, {100}, {64}); }},
      {"not the required size", CL_INVALID_WORK_GROUP_SIZE,
       [&] { return launch(required, 2, {64, 64}, {16, 1}); }},
      {"required size, fewer dimensions", CL_INVALID_WORK_GROUP_SIZE,
       [&] { return launch(required, 1, {64}, {16}); }},
      {"no kernel", CL_INVALID_KERNEL,
       [&] { return launch(reinterpret_cast<cl_kernel>(buffer), 1, {1}, {}); }},
      {"local memory beyond the device's", CL_OUT_OF_RESOURCES,
       [&] {
         int value = 1;
         clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
         clSetKernelArg(kernel, 1, size_t{1} << 30, nullptr);
         clSetKernelArg(kernel, 2, sizeof value, &value);
         clSetKernelArg(kernel, 3, sizeof buffer, &buffer);
         return launch(kernel, 1, {64}, {64});
       }},
      {"native kernel", CL_INVALID_OPERATION,
       [&] {
         return clEnqueueNativeKernel(
             queue, [](void*) {}, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr);
       }},
  });
}

TEST_F(Negative, Pipes) {
  cl_int error;
  cl_mem pipe = clCreatePipe(context, 0, 4, 4, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  const cl_pipe_properties properties[] = {0};
  auto create = [&](cl_mem_flags flags, cl_uint size, cl_uint count, const cl_pipe_properties* list) {
    return code_of([&](cl_int* e) { return clCreatePipe(context, flags, size, count, list, e); });
  };
  const cl_buffer_region region{0, 4};
  check({
      {"pipe without context", CL_INVALID_CONTEXT,
       [&] { return code_of([](cl_int* e) { return clCreatePipe(nullptr, 0, 4, 4, nullptr, e); }); }},
      {"pipe that the host may read", CL_INVALID_VALUE,
       [&] { return create(CL_MEM_HOST_READ_ONLY, 4, 4, nullptr); }},
      {"read-only pipe", CL_INVALID_VALUE, [&] { return create(CL_MEM_READ_ONLY, 4, 4, nullptr); }},
      {"immutable pipe", CL_INVALID_VALUE, [&] { return create(kImmutableFlag, 4, 4, nullptr); }},
      {"pipe with an unknown flag", CL_INVALID_VALUE,
       [&] { return create(cl_mem_flags{1} << 40, 4, 4, nullptr); }},
      {"pipe of terabytes", CL_MEM_OBJECT_ALLOCATION_FAILURE,
       [&] { return create(0, 1024, UINT32_MAX, nullptr); }},
      {"pipe with properties", CL_INVALID_VALUE, [&] { return create(0, 4, 4, properties); }},
      {"pipe of empty packets", CL_INVALID_PIPE_SIZE, [&] { return create(0, 0, 4, nullptr); }},
      {"pipe of no packets", CL_INVALID_PIPE_SIZE, [&] { return create(0, 4, 0, nullptr); }},
      {"pipe of large packets", CL_INVALID_PIPE_SIZE, [&] { return create(0, 1025, 4, nullptr); }},
      {"pipe info of a buffer", CL_INVALID_MEM_OBJECT,
       [&] { return clGetPipeInfo(buffer, CL_PIPE_PACKET_SIZE, 4, host, nullptr); }},
      {"pipe info into too little", CL_INVALID_VALUE,
       [&] { return clGetPipeInfo(pipe, CL_PIPE_PACKET_SIZE, 3, host, nullptr); }},
      {"pipe unmapped", CL_INVALID_MEM_OBJECT,
       [&] { return clEnqueueUnmapMemObject(queue, pipe, host, 0, nullptr, nullptr); }},
      {"pipe info unknown", CL_INVALID_VALUE, [&] { return clGetPipeInfo(pipe, 0, 4, host, nullptr); }},
      {"pipe read as a buffer", CL_INVALID_MEM_OBJECT,
       [&] { return clEnqueueReadBuffer(queue, pipe, CL_TRUE, 0, 4, host, 0, nullptr, nullptr); }},
      {"sub-buffer of a pipe", CL_INVALID_MEM_OBJECT,
       [&] {
         return code_of(
             [&](cl_int* e) { return clCreateSubBuffer(pipe, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, e); });
       }},
      {"pipe for a buffer argument", CL_INVALID_MEM_OBJECT,
       [&] { return clSetKernelArg(kernel, 0, sizeof pipe, &pipe); }},
  });
  EXPECT_EQ(clReleaseMemObject(pipe), CL_SUCCESS);
}

TEST_F(Negative, Svm) {
  int word = 0;
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_READ_WRITE, 0, 0), nullptr);
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 3), nullptr);
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 4096), nullptr);
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_ATOMICS, 64, 0), nullptr);
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64, 0), nullptr);
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE_MAX, 0), nullptr);
  EXPECT_EQ(clSVMAlloc(context, kImmutableFlag, 64, 0), nullptr);
  EXPECT_EQ(clSVMAlloc(context, CL_MEM_USE_HOST_PTR, 64, 0), nullptr);
  EXPECT_EQ(clSVMAlloc(context, cl_svm_mem_flags{1} << 40, 64, 0), nullptr);
  check({
      {"copy NULL", CL_INVALID_VALUE,
       [&] { return clEnqueueSVMMemcpy(queue, CL_TRUE, nullptr, &word, 4, 0, nullptr, nullptr); }},
      {"copy overlap", CL_MEM_COPY_OVERLAP,
       [&] { return clEnqueueSVMMemcpy(queue, CL_TRUE, host, host + 4, 8, 0, nullptr, nullptr); }},
      {"fill bad pattern", CL_INVALID_VALUE,
       [&] { return clEnqueueSVMMemFill(queue, host, &word, 3, 9, 0, nullptr, nullptr); }},
      {"map size 0", CL_INVALID_VALUE,
       [&] { return clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, host, 0, 0, nullptr, nullptr); }},
      {"unmap NULL", CL_INVALID_VALUE,
       [&] { return clEnqueueSVMUnmap(queue, nullptr, 0, nullptr, nullptr); }},
      {"free list without count", CL_INVALID_VALUE,
       [&] {
         void* list[] = {host};
         return clEnqueueSVMFree(queue, 0, list, nullptr, nullptr, 0, nullptr, nullptr);
       }},
      {"migrate what is no SVM", CL_INVALID_VALUE,
       [&] {
         const void* list[] = {host};
         return clEnqueueSVMMigrateMem(queue, 1, list, nullptr, 0, 0, nullptr, nullptr);
       }},
  });
}

}  // namespace
}  // namespace morgana::icd::test
