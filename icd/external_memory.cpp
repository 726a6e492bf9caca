#include "icd/external_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "icd/checks.h"
#include "icd/entries_khr.h"
#include "runtime/memory.h"

namespace morgana::icd {
namespace {

// Moves `next` behind the list of devices and its end.
cl_int read_devices(const Context& context, const cl_mem_properties*& next) {
  for (; *next != 0; ++next) {
    const Device* device = find<Device>(reinterpret_cast<cl_device_id>(*next));  // NOLINT: a handle
    if (device == nullptr || !context.has(device)) return CL_INVALID_DEVICE;
  }
  ++next;
  return CL_SUCCESS;
}

// Whether the property list of an object made from outside allows the device.
bool is_associated(const Mem& mem, const Device& device) {
  const cl_mem_properties* listed = find_property(mem.properties(), kMemDeviceList);
  if (listed == nullptr) return true;
  for (; *listed != 0; ++listed)
    if (*listed == reinterpret_cast<cl_mem_properties>(device.handle())) return true;
  return false;
}

// Host memory needs no handing over: the command is there for what it waits for.
cl_int hand_over(cl_command_queue command_queue, cl_command_type type, cl_uint count, const cl_mem* list,
                 const Waits& waits) {
  // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue.
  Queue* queue = find_queue(command_queue);
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  // CL_INVALID_VALUE if num_mem_objects is zero and mem_objects is not NULL, or the reverse.
  if ((count == 0) != (list == nullptr)) return CL_INVALID_VALUE;
  std::vector<Ref<Mem>> holds;
  for (cl_uint i = 0; i < count; ++i) {
    // CL_INVALID_MEM_OBJECT if an object is not valid, or not made from an external memory handle.
    Mem* mem = find<Mem>(list[i]);
    if (mem == nullptr || !mem->is_external()) return CL_INVALID_MEM_OBJECT;
    // CL_INVALID_COMMAND_QUEUE if the object's context does not contain the queue's device, or its list of
    // devices does not.
    const Device& device = queue->device();
    if (!mem->context().has(&device) || !is_associated(*mem, device)) return CL_INVALID_COMMAND_QUEUE;
    holds.emplace_back(mem);
  }
  WaitList resolved;
  cl_int error = check_wait_list(queue->context(), waits.count, waits.list, resolved);
  if (error != CL_SUCCESS) return error;
  // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if an event of the list has failed.
  if (resolved.has_failed()) return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  return queue->enqueue(host_command(type, [holds = std::move(holds)] {}), resolved, waits.event);
}

}  // namespace

cl_int read_memory_properties(const Context& context, const cl_mem_properties* list, bool is_buffer,
                              MemoryProperties& properties) {
  if (list == nullptr) return CL_SUCCESS;
  bool has_address = false;
  const auto first = [](bool& seen) { return !std::exchange(seen, true); };
  const cl_mem_properties* next = list;
  while (*next != 0) switch (*next++) {
      case kMemDevicePrivateAddress:
        if (!is_buffer || !first(has_address) || *next++ > CL_TRUE) return CL_INVALID_PROPERTY;
        break;
      case CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR:
        if (properties.descriptor) return CL_INVALID_PROPERTY;
        properties.descriptor = static_cast<int>(*next++);
        break;
      case kMemDeviceList:
        if (!first(properties.has_devices)) return CL_INVALID_PROPERTY;
        if (cl_int error = read_devices(context, next); error != CL_SUCCESS) return error;
        break;
      default: return CL_INVALID_PROPERTY;
    }
  if (properties.has_devices && !properties.descriptor) return CL_INVALID_PROPERTY;
  properties.array.assign(list, next + 1);
  return CL_SUCCESS;
}

const cl_mem_properties* find_property(std::span<const cl_mem_properties> list, cl_mem_properties name) {
  for (size_t i = 0; i < list.size() && list[i] != 0; i += 2) {
    if (list[i] == name) return &list[i + 1];
    if (list[i] != kMemDeviceList) continue;
    while (list[i + 1] != 0) ++i;
  }
  return nullptr;
}

cl_int check_external(cl_mem_flags flags, const void* host_ptr) {
  if ((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0)
    return CL_INVALID_VALUE;
  return host_ptr == nullptr ? CL_SUCCESS : CL_INVALID_HOST_PTR;
}

Made<Mem::Storage> map_external(int descriptor, size_t size, cl_int too_small) {
  struct stat shown;
  if (fstat(descriptor, &shown) != 0 || shown.st_size < 0) return CL_INVALID_PROPERTY;
  if (static_cast<size_t>(shown.st_size) < size) return too_small;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return CL_INVALID_PROPERTY;
  close(descriptor);
  Mem::Storage storage;
  storage.address = static_cast<uint8_t*>(memory);
  storage.registered = memory;
  storage.mapped = size;
  runtime::register_host(memory, size, "external memory");
  return storage;
}

void unmap_external(const Mem::Storage& storage) {
  runtime::unregister_host(storage.registered);
  release_storage(storage);
}

cl_int CL_API_CALL clEnqueueAcquireExternalMemObjectsKHR(cl_command_queue command_queue,
                                                         cl_uint num_mem_objects, const cl_mem* mem_objects,
                                                         cl_uint num_events_in_wait_list,
                                                         const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return hand_over(command_queue, CL_COMMAND_ACQUIRE_EXTERNAL_MEM_OBJECTS_KHR, num_mem_objects, mem_objects,
                     {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueReleaseExternalMemObjectsKHR(cl_command_queue command_queue,
                                                         cl_uint num_mem_objects, const cl_mem* mem_objects,
                                                         cl_uint num_events_in_wait_list,
                                                         const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return hand_over(command_queue, CL_COMMAND_RELEASE_EXTERNAL_MEM_OBJECTS_KHR, num_mem_objects, mem_objects,
                     {num_events_in_wait_list, event_wait_list, event});
  });
}

}  // namespace morgana::icd
