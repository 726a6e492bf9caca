// Mapping: buffers are host memory already, so a mapping is the buffer's own address and nothing is copied.
#include "icd/checks.h"

using namespace morgana::icd;

namespace {

constexpr cl_map_flags kMapFlags = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

bool are_map_flags(cl_map_flags flags) {
  bool invalidates = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  return (flags & ~kMapFlags) == 0 && !(invalidates && (flags & (CL_MAP_READ | CL_MAP_WRITE)) != 0);
}

}  // namespace

void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking_map,
                                     cl_map_flags map_flags, size_t offset, size_t size,
                                     cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                     cl_event* event, cl_int* errcode_ret) {
  return api_create<void*>(__func__, errcode_ret, [&]() -> Made<void*> {
    Queue* queue;
    Mem* mem;
    if (cl_int error = resolve(command_queue, buffer, queue, mem); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if the region is out of bounds, size is 0, or map_flags are not valid.
    if (!in_bounds(*mem, offset, size) || size == 0 || !are_map_flags(map_flags)) return CL_INVALID_VALUE;
    WaitList waits;
    cl_int error = check_wait_list(queue->context(), num_events_in_wait_list, event_wait_list, waits);
    if (error != CL_SUCCESS) return error;
    // CL_INVALID_OPERATION if the buffer's flags forbid the host this access.
    bool writes = (map_flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
    if ((map_flags & CL_MAP_READ) != 0 && !host_may_read(*mem)) return CL_INVALID_OPERATION;
    if (writes && !host_may_write(*mem)) return CL_INVALID_OPERATION;

    void* pointer = mem->data() + offset;
    mem->add_mapping(pointer);
    error = queue->enqueue(host_command(CL_COMMAND_MAP_BUFFER, [hold = Ref<Mem>(mem)] {}), waits, event,
                           blocking_map == CL_TRUE);
    if (error == CL_SUCCESS) return pointer;
    mem->remove_mapping(pointer);
    return error;
  });
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue command_queue, cl_mem memobj, void* mapped_ptr,
                                           cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                           cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    Queue* queue;
    Mem* mem;
    if (cl_int error = resolve(command_queue, memobj, queue, mem); error != CL_SUCCESS) return error;
    WaitList waits;
    cl_int error = check_wait_list(queue->context(), num_events_in_wait_list, event_wait_list, waits);
    if (error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if mapped_ptr is not a valid pointer returned by a map of memobj.
    if (!mem->remove_mapping(mapped_ptr)) return CL_INVALID_VALUE;
    return queue->enqueue(host_command(CL_COMMAND_UNMAP_MEM_OBJECT, [hold = Ref<Mem>(mem)] {}), waits, event);
  });
}

cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue command_queue, cl_uint num_mem_objects,
                                              const cl_mem* mem_objects, cl_mem_migration_flags flags,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
    Queue* queue = find_queue(command_queue);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_VALUE if num_mem_objects is zero or mem_objects is NULL, or flags is not 0 or a known flag.
    if (num_mem_objects == 0 || mem_objects == nullptr) return CL_INVALID_VALUE;
    if ((flags &
         ~cl_mem_migration_flags{CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED}) != 0)
      return CL_INVALID_VALUE;
    // CL_INVALID_MEM_OBJECT if any memory object is not valid; CL_INVALID_CONTEXT if its context is another.
    std::vector<Ref<Mem>> holds;
    for (cl_uint i = 0; i < num_mem_objects; ++i) {
      Mem* mem;
      if (cl_int error = resolve(command_queue, mem_objects[i], queue, mem); error != CL_SUCCESS)
        return error;
      holds.emplace_back(mem);
    }
    WaitList waits;
    cl_int error = check_wait_list(queue->context(), num_events_in_wait_list, event_wait_list, waits);
    if (error != CL_SUCCESS) return error;
    return queue->enqueue(host_command(CL_COMMAND_MIGRATE_MEM_OBJECTS, [holds = std::move(holds)] {}), waits,
                          event);
  });
}
