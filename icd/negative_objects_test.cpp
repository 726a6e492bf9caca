// Devices, contexts, queues and events: one row a condition, as in negative_test.cpp. Every function that
// takes a handle is given one of another type, and every query too little room.
#include <functional>

#include "icd/negative_support.h"

namespace morgana::icd::test {
namespace {

// A live object of another type.
template <typename T>
T as(void* other) {
  return reinterpret_cast<T>(other);
}

TEST_F(Negative, HandlesOfOtherTypes) {
  void* o = buffer;            // for everything but memory objects
  auto m = as<cl_mem>(queue);  // for memory objects
  size_t size;
  cl_ulong time;
  check({
      {"clGetPlatformInfo", CL_INVALID_PLATFORM,
       [&] { return clGetPlatformInfo(as<cl_platform_id>(o), CL_PLATFORM_NAME, 0, nullptr, &size); }},
      {"clUnloadPlatformCompiler", CL_INVALID_PLATFORM,
       [&] { return clUnloadPlatformCompiler(as<cl_platform_id>(o)); }},
      {"clRetainDevice", CL_INVALID_DEVICE, [&] { return clRetainDevice(as<cl_device_id>(o)); }},
      {"clReleaseDevice", CL_INVALID_DEVICE, [&] { return clReleaseDevice(as<cl_device_id>(o)); }},
      {"clCreateSubDevices", CL_INVALID_DEVICE,
       [&] {
         const cl_device_partition_property p[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
         cl_uint count;
         return clCreateSubDevices(as<cl_device_id>(o), p, 0, nullptr, &count);
       }},
      {"clRetainDeviceEXT", CL_INVALID_DEVICE, [&] { return clRetainDeviceEXT(as<cl_device_id>(o)); }},
      {"clReleaseDeviceEXT", CL_INVALID_DEVICE, [&] { return clReleaseDeviceEXT(as<cl_device_id>(o)); }},
      {"clCreateSubDevicesEXT", CL_INVALID_DEVICE,
       [&] {
         const cl_device_partition_property_ext p[] = {CL_DEVICE_PARTITION_EQUALLY_EXT, 1, 0};
         cl_uint count;
         return clCreateSubDevicesEXT(as<cl_device_id>(o), p, 0, nullptr, &count);
       }},
      {"clGetHostTimer", CL_INVALID_DEVICE, [&] { return clGetHostTimer(as<cl_device_id>(o), &time); }},
      {"clGetDeviceAndHostTimer", CL_INVALID_DEVICE,
       [&] { return clGetDeviceAndHostTimer(as<cl_device_id>(o), &time, &time); }},
      {"clRetainContext", CL_INVALID_CONTEXT, [&] { return clRetainContext(as<cl_context>(o)); }},
      {"clReleaseContext", CL_INVALID_CONTEXT, [&] { return clReleaseContext(as<cl_context>(o)); }},
      {"clGetContextInfo", CL_INVALID_CONTEXT,
       [&] { return clGetContextInfo(as<cl_context>(o), CL_CONTEXT_NUM_DEVICES, 0, nullptr, &size); }},
      {"clSetContextDestructorCallback", CL_INVALID_CONTEXT,
       [&] { return clSetContextDestructorCallback(as<cl_context>(o), [](cl_context, void*) {}, nullptr); }},
      {"clCreateCommandQueue", CL_INVALID_CONTEXT,
       [&] {
         return code_of([&](cl_int* e) { return clCreateCommandQueue(as<cl_context>(o), device, 0, e); });
       }},
      {"clCreateCommandQueueWithProperties", CL_INVALID_CONTEXT,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateCommandQueueWithProperties(as<cl_context>(o), device, nullptr, e);
         });
       }},
      {"clSetDefaultDeviceCommandQueue", CL_INVALID_CONTEXT,
       [&] { return clSetDefaultDeviceCommandQueue(as<cl_context>(o), device, queue); }},
      {"clSetDefaultDeviceCommandQueue, device", CL_INVALID_DEVICE,
       [&] { return clSetDefaultDeviceCommandQueue(context, as<cl_device_id>(o), queue); }},
      {"clRetainCommandQueue", CL_INVALID_COMMAND_QUEUE,
       [&] { return clRetainCommandQueue(as<cl_command_queue>(o)); }},
      {"clReleaseCommandQueue", CL_INVALID_COMMAND_QUEUE,
       [&] { return clReleaseCommandQueue(as<cl_command_queue>(o)); }},
      {"clGetCommandQueueInfo", CL_INVALID_COMMAND_QUEUE,
       [&] { return clGetCommandQueueInfo(as<cl_command_queue>(o), CL_QUEUE_CONTEXT, 0, nullptr, &size); }},
      {"clFlush", CL_INVALID_COMMAND_QUEUE, [&] { return clFlush(as<cl_command_queue>(o)); }},
      {"clFinish", CL_INVALID_COMMAND_QUEUE, [&] { return clFinish(as<cl_command_queue>(o)); }},
      {"clSetCommandQueueProperty", CL_INVALID_COMMAND_QUEUE,
       [&] { return clSetCommandQueueProperty(as<cl_command_queue>(o), 0, CL_TRUE, nullptr); }},
      {"clCreateBuffer", CL_INVALID_CONTEXT,
       [&] {
         return code_of([&](cl_int* e) { return clCreateBuffer(as<cl_context>(o), 0, 4, nullptr, e); });
       }},
      {"clCreateBufferWithProperties", CL_INVALID_CONTEXT,
       [&] {
         return code_of([&](cl_int* e) {
           return clCreateBufferWithProperties(as<cl_context>(o), nullptr, 0, 4, nullptr, e);
         });
       }},
      {"clRetainMemObject", CL_INVALID_MEM_OBJECT, [&] { return clRetainMemObject(m); }},
      {"clReleaseMemObject", CL_INVALID_MEM_OBJECT, [&] { return clReleaseMemObject(m); }},
      {"clGetMemObjectInfo", CL_INVALID_MEM_OBJECT,
       [&] { return clGetMemObjectInfo(m, CL_MEM_SIZE, 0, nullptr, &size); }},
      {"clGetPipeInfo", CL_INVALID_MEM_OBJECT,
       [&] { return clGetPipeInfo(m, CL_PIPE_MAX_PACKETS, 0, nullptr, &size); }},
      {"clSetMemObjectDestructorCallback", CL_INVALID_MEM_OBJECT,
       [&] { return clSetMemObjectDestructorCallback(m, [](cl_mem, void*) {}, nullptr); }},
      {"clCreateUserEvent", CL_INVALID_CONTEXT,
       [&] { return code_of([&](cl_int* e) { return clCreateUserEvent(as<cl_context>(o), e); }); }},
      {"clSetUserEventStatus", CL_INVALID_EVENT,
       [&] { return clSetUserEventStatus(as<cl_event>(o), CL_COMPLETE); }},
      {"clRetainEvent", CL_INVALID_EVENT, [&] { return clRetainEvent(as<cl_event>(o)); }},
      {"clReleaseEvent", CL_INVALID_EVENT, [&] { return clReleaseEvent(as<cl_event>(o)); }},
      {"clGetEventInfo", CL_INVALID_EVENT,
       [&] { return clGetEventInfo(as<cl_event>(o), CL_EVENT_CONTEXT, 0, nullptr, &size); }},
      {"clGetEventProfilingInfo", CL_INVALID_EVENT,
       [&] { return clGetEventProfilingInfo(as<cl_event>(o), CL_PROFILING_COMMAND_END, 0, nullptr, &size); }},
      {"clSetEventCallback", CL_INVALID_EVENT,
       [&] {
         return clSetEventCallback(as<cl_event>(o), CL_COMPLETE, [](cl_event, cl_int, void*) {}, nullptr);
       }},
      {"clWaitForEvents", CL_INVALID_EVENT,
       [&] {
         const cl_event list[] = {user_event, as<cl_event>(o)};
         return clWaitForEvents(2, list);
       }},
      {"clEnqueueWaitForEvents", CL_INVALID_EVENT,
       [&] {
         const cl_event list[] = {as<cl_event>(o)};
         return clEnqueueWaitForEvents(queue, 1, list);
       }},
      {"clEnqueueMarker", CL_INVALID_COMMAND_QUEUE,
       [&] {
         cl_event event;
         return clEnqueueMarker(as<cl_command_queue>(o), &event);
       }},
      {"clEnqueueBarrier", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueBarrier(as<cl_command_queue>(o)); }},
      {"clEnqueueWaitForEvents, queue", CL_INVALID_COMMAND_QUEUE,
       [&] { return clEnqueueWaitForEvents(as<cl_command_queue>(o), 1, &user_event); }},
  });
}

TEST_F(Negative, QueriesWithTooLittleRoom) {
  cl_char little;
  check({
      {"clGetContextInfo", CL_INVALID_VALUE,
       [&] { return clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof little, &little, nullptr); }},
      {"clGetCommandQueueInfo", CL_INVALID_VALUE,
       [&] { return clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof little, &little, nullptr); }},
      {"clGetMemObjectInfo", CL_INVALID_VALUE,
       [&] { return clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof little, &little, nullptr); }},
      {"clGetEventInfo", CL_INVALID_VALUE,
       [&] { return clGetEventInfo(user_event, CL_EVENT_CONTEXT, sizeof little, &little, nullptr); }},
      {"clGetEventInfo unknown", CL_INVALID_VALUE,
       [&] { return clGetEventInfo(user_event, 0, 0, nullptr, nullptr); }},
      {"clGetProgramInfo", CL_INVALID_VALUE,
       [&] { return clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof little, &little, nullptr); }},
      {"clGetProgramInfo unknown", CL_INVALID_VALUE,
       [&] { return clGetProgramInfo(program, 0, 0, nullptr, nullptr); }},
      {"clGetProgramBuildInfo", CL_INVALID_VALUE,
       [&] {
         return clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_STATUS, sizeof little, &little,
                                      nullptr);
       }},
      {"clGetProgramBuildInfo unknown", CL_INVALID_VALUE,
       [&] { return clGetProgramBuildInfo(program, device, 0, 0, nullptr, nullptr); }},
      {"clGetKernelInfo", CL_INVALID_VALUE,
       [&] { return clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof little, &little, nullptr); }},
      {"clGetKernelInfo unknown", CL_INVALID_VALUE,
       [&] { return clGetKernelInfo(kernel, 0, 0, nullptr, nullptr); }},
      {"clGetKernelArgInfo", CL_INVALID_VALUE,
       [&] { return clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_NAME, sizeof little, &little, nullptr); }},
      {"clGetKernelArgInfo unknown", CL_INVALID_VALUE,
       [&] { return clGetKernelArgInfo(kernel, 0, 0, 0, nullptr, nullptr); }},
      {"clGetKernelWorkGroupInfo", CL_INVALID_VALUE,
       [&] {
         return clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof little, &little,
                                         nullptr);
       }},
      {"clGetKernelWorkGroupInfo unknown", CL_INVALID_VALUE,
       [&] { return clGetKernelWorkGroupInfo(kernel, device, 0, 0, nullptr, nullptr); }},
  });
}

TEST_F(Negative, PlatformsAndPartitions) {
  cl_platform_id id;
  cl_device_id some[1];
  cl_ulong time;
  cl_uint units = 0;
  clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
  const cl_uint all_units = units;
  auto partition = [&](std::vector<cl_device_partition_property> list, cl_uint room, cl_device_id* out) {
    cl_uint count;
    list.push_back(0);
    return clCreateSubDevices(device, list.data(), room, out, &count);
  };
  const auto fission = [&](std::vector<cl_device_partition_property_ext> list, cl_uint* answer) {
    return clCreateSubDevicesEXT(device, list.data(), 0, nullptr, answer);
  };
  using GetPlatforms = cl_int (*)(cl_uint, cl_platform_id*, cl_uint*);
  auto icd_platforms = extension<GetPlatforms>("clIcdGetPlatformIDsKHR");
  check({
      {"clCreateSubDevicesEXT without properties", CL_INVALID_VALUE,
       [&] { return clCreateSubDevicesEXT(device, nullptr, 0, nullptr, &units); }},
      {"clCreateSubDevicesEXT by names", CL_INVALID_VALUE,
       [&] {
         return fission({CL_DEVICE_PARTITION_BY_NAMES_EXT, 0, CL_PARTITION_BY_NAMES_LIST_END_EXT, 0}, &units);
       }},
      {"clCreateSubDevicesEXT nothing asked", CL_INVALID_VALUE,
       [&] { return fission({CL_DEVICE_PARTITION_EQUALLY_EXT, 1, 0}, nullptr); }},
      {"clCreateSubDevicesEXT a list without an end", CL_INVALID_VALUE,
       [&] { return fission({CL_DEVICE_PARTITION_BY_COUNTS_EXT, 1, 0, 1}, &units); }},
      {"clCreateSubDevicesEXT too many units", CL_INVALID_PARTITION_COUNT_EXT,
       [&] { return fission({CL_DEVICE_PARTITION_EQUALLY_EXT, 1000000, 0}, &units); }},
      {"clCreateSubDevicesEXT all units", CL_DEVICE_PARTITION_FAILED_EXT,
       [&] { return fission({CL_DEVICE_PARTITION_EQUALLY_EXT, all_units, 0}, &units); }},
      {"clIcdGetPlatformIDsKHR without entries", CL_INVALID_VALUE,
       [&] { return icd_platforms(0, &id, nullptr); }},
      {"clIcdGetPlatformIDsKHR nothing asked", CL_INVALID_VALUE,
       [&] { return icd_platforms(1, nullptr, nullptr); }},
      {"clGetPlatformIDs without entries", CL_INVALID_VALUE,
       [&] { return clGetPlatformIDs(0, &id, nullptr); }},
      {"clGetPlatformIDs nothing asked", CL_INVALID_VALUE,
       [] { return clGetPlatformIDs(1, nullptr, nullptr); }},
      {"clGetDeviceAndHostTimer, host NULL", CL_INVALID_VALUE,
       [&] { return clGetDeviceAndHostTimer(device, &time, nullptr); }},
      {"partition in an unknown way", CL_INVALID_VALUE, [&] { return partition({0x9999, 1}, 0, nullptr); }},
      {"partition into parts of nothing", CL_INVALID_VALUE,
       [&] { return partition({CL_DEVICE_PARTITION_EQUALLY, 0}, 0, nullptr); }},
      {"partition by counts, of which one is too large", CL_INVALID_DEVICE_PARTITION_COUNT,
       [&] {
         return partition(
             {CL_DEVICE_PARTITION_BY_COUNTS, static_cast<cl_device_partition_property>(units) + 1, 0}, 0,
             nullptr);
       }},
      {"partition by a negative count", CL_INVALID_DEVICE_PARTITION_COUNT,
       [&] { return partition({CL_DEVICE_PARTITION_BY_COUNTS, -1, 0}, 0, nullptr); }},
  });
  if (units > 1) {
    const auto all = static_cast<cl_device_partition_property>(units);
    std::vector<cl_device_partition_property> too_many(units + 2, 1);
    too_many[0] = CL_DEVICE_PARTITION_BY_COUNTS;
    EXPECT_EQ(partition(too_many, 0, nullptr), CL_INVALID_DEVICE_PARTITION_COUNT);
    EXPECT_EQ(partition({CL_DEVICE_PARTITION_BY_COUNTS, all, 1}, 0, nullptr),
              CL_INVALID_DEVICE_PARTITION_COUNT)
        << "more in all than there are";
    EXPECT_EQ(partition({CL_DEVICE_PARTITION_EQUALLY, 1}, 1, some), CL_INVALID_VALUE) << "too little room";
    EXPECT_EQ(partition({CL_DEVICE_PARTITION_EQUALLY, static_cast<cl_device_partition_property>(units) + 1},
                        0, nullptr),
              CL_INVALID_DEVICE_PARTITION_COUNT);
    EXPECT_EQ(partition({CL_DEVICE_PARTITION_EQUALLY, static_cast<cl_device_partition_property>(units)}, 0,
                        nullptr),
              CL_DEVICE_PARTITION_FAILED);
  }
  EXPECT_EQ(clGetExtensionFunctionAddressForPlatform(platform, nullptr), nullptr);
  EXPECT_EQ(clGetExtensionFunctionAddressForPlatform(platform, "clNoSuchFunction"), nullptr);
}

TEST_F(Negative, ContextFromType) {
  auto create = [&](std::vector<cl_context_properties> list, cl_device_type type, void* user_data = nullptr) {
    return code_of([&](cl_int* e) {
      return clCreateContextFromType(list.empty() ? nullptr : list.data(), type, nullptr, user_data, e);
    });
  };
  auto wrong = reinterpret_cast<cl_context_properties>(context);
  auto right = reinterpret_cast<cl_context_properties>(platform);
  check({
      {"no type", CL_INVALID_DEVICE_TYPE, [&] { return create({}, 0); }},
      {"unknown type", CL_INVALID_DEVICE_TYPE, [&] { return create({}, 1 << 20); }},
      {"accelerator", CL_DEVICE_NOT_FOUND, [&] { return create({}, CL_DEVICE_TYPE_ACCELERATOR); }},
      {"custom device", CL_DEVICE_NOT_FOUND, [&] { return create({}, CL_DEVICE_TYPE_CUSTOM); }},
      {"user data without function", CL_INVALID_VALUE, [&] { return create({}, CL_DEVICE_TYPE_GPU, host); }},
      {"unknown property", CL_INVALID_PROPERTY,
       [&] { return create({CL_CONTEXT_PLATFORM, right, 0x7777, 1, 0}, CL_DEVICE_TYPE_GPU); }},
      {"property of a value it cannot have", CL_INVALID_PROPERTY,
       [&] {
         return create({CL_CONTEXT_PLATFORM, right, CL_CONTEXT_INTEROP_USER_SYNC, 7, 0}, CL_DEVICE_TYPE_GPU);
       }},
      {"property twice", CL_INVALID_PROPERTY,
       [&] {
         return create({CL_CONTEXT_PLATFORM, right, CL_CONTEXT_PLATFORM, right, 0}, CL_DEVICE_TYPE_GPU);
       }},
      {"no platform", CL_INVALID_PLATFORM,
       [&] { return create({CL_CONTEXT_PLATFORM, wrong, 0}, CL_DEVICE_TYPE_GPU); }},
      {"clCreateContext without platform", CL_INVALID_PLATFORM,
       [&] {
         const cl_context_properties list[] = {CL_CONTEXT_PLATFORM, wrong, 0};
         return code_of([&](cl_int* e) { return clCreateContext(list, 1, &device, nullptr, nullptr, e); });
       }},
  });
}

TEST_F(Negative, Events) {
  cl_int error;
  cl_ulong time;
  cl_event done = clCreateUserEvent(context, &error), failed = clCreateUserEvent(context, &error), marker,
           timed;
  ASSERT_EQ(clSetUserEventStatus(done, CL_COMPLETE), CL_SUCCESS);
  ASSERT_EQ(clSetUserEventStatus(failed, -99), CL_SUCCESS);
  ASSERT_EQ(clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker), CL_SUCCESS);
  ASSERT_EQ(clWaitForEvents(1, &marker), CL_SUCCESS);
  cl_command_queue profiling = make_queue(CL_QUEUE_PROFILING_ENABLE);
  ASSERT_EQ(clEnqueueMarkerWithWaitList(profiling, 1, &user_event, &timed), CL_SUCCESS);
  check({
      {"status of what is no user event", CL_INVALID_EVENT,
       [&] { return clSetUserEventStatus(marker, CL_COMPLETE); }},
      {"status twice", CL_INVALID_OPERATION, [&] { return clSetUserEventStatus(done, CL_COMPLETE); }},
      {"positive status", CL_INVALID_VALUE, [&] { return clSetUserEventStatus(user_event, 7); }},
      {"wait for a failed one", CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
       [&] { return clWaitForEvents(1, &failed); }},
      {"wait without list", CL_INVALID_VALUE, [] { return clWaitForEvents(1, nullptr); }},
      {"callback of an unknown status", CL_INVALID_VALUE,
       [&] { return clSetEventCallback(user_event, 17, [](cl_event, cl_int, void*) {}, nullptr); }},
      {"times of a queue that takes none", CL_PROFILING_INFO_NOT_AVAILABLE,
       [&] {
         return clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
       }},
      {"times of what has not ended", CL_PROFILING_INFO_NOT_AVAILABLE,
       [&] { return clGetEventProfilingInfo(timed, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr); }},
      {"clEnqueueWaitForEvents without list", CL_INVALID_VALUE,
       [&] { return clEnqueueWaitForEvents(queue, 1, nullptr); }},
      {"clEnqueueWaitForEvents of another context", CL_INVALID_CONTEXT,
       [&] { return clEnqueueWaitForEvents(queue, 1, &foreign_event); }},
  });
  ASSERT_EQ(clSetUserEventStatus(user_event, CL_COMPLETE), CL_SUCCESS);
  ASSERT_EQ(clWaitForEvents(1, &timed), CL_SUCCESS);
  check({
      {"unknown time", CL_INVALID_VALUE,
       [&] { return clGetEventProfilingInfo(timed, 0, sizeof time, &time, nullptr); }},
      {"time into too little", CL_INVALID_VALUE,
       [&] { return clGetEventProfilingInfo(timed, CL_PROFILING_COMMAND_END, 4, &time, nullptr); }},
  });
  for (cl_event event : {done, failed, marker, timed}) EXPECT_EQ(clReleaseEvent(event), CL_SUCCESS);
  EXPECT_EQ(clReleaseCommandQueue(profiling), CL_SUCCESS);
}

// Every function that enqueues: its queue, its objects' context, its wait list.
TEST_F(Negative, EveryEnqueueChecksQueueAndWaitList) {
  using Enqueue = std::function<cl_int(cl_command_queue, cl_uint, const cl_event*)>;
  const size_t zero[3] = {}, region[3] = {16, 2, 1}, items = 1;
  alignas(8) static uint8_t svm[64];
  void* list[] = {svm};
  const int pattern = 0;
  cl_int error;
  void* mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, 64, 0, nullptr, nullptr, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  void* shared = clSVMAlloc(context, 0, 64, 0);
  const void* migrated[] = {shared};
  struct Function {
    const char* name;
    bool has_objects;  // of the context that the queue must have, too
    bool blocks;       // and then tells of failed events in the wait list
    Enqueue call;
  };
  const std::vector<Function> functions = {
      {"clEnqueueReadBuffer", true, true,
       [&](auto q, auto n, auto w) {
         return clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, 4, host, n, w, nullptr);
       }},
      {"clEnqueueWriteBuffer", true, true,
       [&](auto q, auto n, auto w) {
         return clEnqueueWriteBuffer(q, buffer, CL_TRUE, 0, 4, host, n, w, nullptr);
       }},
      {"clEnqueueReadBufferRect", true, true,
       [&](auto q, auto n, auto w) {
         return clEnqueueReadBufferRect(q, buffer, CL_TRUE, zero, zero, region, 0, 0, 0, 0, host, n, w,
                                        nullptr);
       }},
      {"clEnqueueWriteBufferRect", true, true,
       [&](auto q, auto n, auto w) {
         return clEnqueueWriteBufferRect(q, buffer, CL_TRUE, zero, zero, region, 0, 0, 0, 0, host, n, w,
                                         nullptr);
       }},
      {"clEnqueueCopyBuffer", true, false,
       [&](auto q, auto n, auto w) {
         return clEnqueueCopyBuffer(q, buffer, read_only, 0, 0, 4, n, w, nullptr);
       }},
      {"clEnqueueCopyBufferRect", true, false,
       [&](auto q, auto n, auto w) {
         return clEnqueueCopyBufferRect(q, buffer, read_only, zero, zero, region, 0, 0, 0, 0, n, w, nullptr);
       }},
      {"clEnqueueFillBuffer", true, false,
       [&](auto q, auto n, auto w) {
         return clEnqueueFillBuffer(q, buffer, &pattern, sizeof pattern, 0, 64, n, w, nullptr);
       }},
      {"clEnqueueMapBuffer", true, true,
       [&](auto q, auto n, auto w) {
         return code_of([&](cl_int* e) {
           return clEnqueueMapBuffer(q, buffer, CL_TRUE, CL_MAP_READ, 0, 4, n, w, nullptr, e);
         });
       }},
      {"clEnqueueUnmapMemObject", true, false,
       [&](auto q, auto n, auto w) { return clEnqueueUnmapMemObject(q, buffer, mapped, n, w, nullptr); }},
      {"clEnqueueMigrateMemObjects", true, false,
       [&](auto q, auto n, auto w) { return clEnqueueMigrateMemObjects(q, 1, &buffer, 0, n, w, nullptr); }},
      {"clEnqueueNDRangeKernel", true, false,
       [&](auto q, auto n, auto w) {
         return clEnqueueNDRangeKernel(q, none, 1, nullptr, &items, nullptr, n, w, nullptr);
       }},
      {"clEnqueueTask", true, false,
       [&](auto q, auto n, auto w) { return clEnqueueTask(q, none, n, w, nullptr); }},
      {"clEnqueueMarkerWithWaitList", false, false,
       [&](auto q, auto n, auto w) { return clEnqueueMarkerWithWaitList(q, n, w, nullptr); }},
      {"clEnqueueBarrierWithWaitList", false, false,
       [&](auto q, auto n, auto w) { return clEnqueueBarrierWithWaitList(q, n, w, nullptr); }},
      {"clEnqueueSVMFree", false, false,
       [&](auto q, auto n, auto w) {
         return clEnqueueSVMFree(
             q, 1, list, [](cl_command_queue, cl_uint, void*[], void*) {}, nullptr, n, w, nullptr);
       }},
      {"clEnqueueSVMMemcpy", false, true,
       [&](auto q, auto n, auto w) {
         return clEnqueueSVMMemcpy(q, CL_TRUE, svm, svm + 32, 4, n, w, nullptr);
       }},
      {"clEnqueueSVMMemFill", false, false,
       [&](auto q, auto n, auto w) {
         return clEnqueueSVMMemFill(q, svm, &pattern, sizeof pattern, 64, n, w, nullptr);
       }},
      {"clEnqueueSVMMap", false, true,
       [&](auto q, auto n, auto w) {
         return clEnqueueSVMMap(q, CL_TRUE, CL_MAP_READ, svm, 4, n, w, nullptr);
       }},
      {"clEnqueueSVMUnmap", false, false,
       [&](auto q, auto n, auto w) { return clEnqueueSVMUnmap(q, svm, n, w, nullptr); }},
      {"clEnqueueSVMMigrateMem", false, false,
       [&](auto q, auto n, auto w) {
         return clEnqueueSVMMigrateMem(q, 1, migrated, nullptr, 0, n, w, nullptr);
       }},
  };
  cl_command_queue foreign_queue = clCreateCommandQueue(other_context, device, 0, &error);
  const cl_event no_event[] = {as<cl_event>(buffer)};
  cl_event failed = clCreateUserEvent(context, &error);
  clSetUserEventStatus(failed, -5);
  for (const Function& f : functions) {
    SCOPED_TRACE(f.name);
    EXPECT_EQ(f.call(as<cl_command_queue>(buffer), 0, nullptr), CL_INVALID_COMMAND_QUEUE);
    if (f.has_objects) EXPECT_EQ(f.call(foreign_queue, 0, nullptr), CL_INVALID_CONTEXT);
    EXPECT_EQ(f.call(queue, 1, nullptr), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(f.call(queue, 0, &user_event), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(f.call(queue, 1, no_event), CL_INVALID_EVENT_WAIT_LIST);
    EXPECT_EQ(f.call(queue, 1, &foreign_event), CL_INVALID_CONTEXT);
    if (f.blocks) EXPECT_EQ(f.call(queue, 1, &failed), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }
  EXPECT_EQ(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(clFinish(queue), CL_SUCCESS);
  clSVMFree(context, shared);
  clReleaseEvent(failed);
  clReleaseCommandQueue(foreign_queue);
}

}  // namespace
}  // namespace morgana::icd::test
