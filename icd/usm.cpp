// cl_intel_unified_shared_memory 1.1.0: allocations in one table, and what is done with them. Any thread.
//
// Since a device address is a host address, host, device and shared allocations are the same memory and
// differ in what queries say; and all memory of the process is a shared system allocation. An allocation
// lives until it is freed, as SVM does, also where its context is gone before it.
#include <bit>
#include <map>
#include <mutex>
#include <optional>

#include "base/fork_safe.h"
#include "icd/info.h"
#include "icd/operations.h"
#include "runtime/unwritten.h"

namespace morgana::icd {
namespace {

struct Allocation {
  Mem::Storage storage;
  uint64_t context = 0;  // its serial
  cl_unified_shared_memory_type_intel type = CL_MEM_TYPE_UNKNOWN_INTEL;
  Ref<Device> device;  // none: of nobody
  cl_mem_alloc_flags_intel flags = 0;

  size_t size() const { return storage.charged; }
};

class UsmTable {
 public:
  static UsmTable& get() {
    static auto* instance = new UsmTable;  // programs may still free at exit
    return *instance;
  }

  void add(Allocation allocation) {
    std::lock_guard lock(mutex_);
    blocks_.insert_or_assign(reinterpret_cast<uintptr_t>(allocation.storage.owned), std::move(allocation));
  }

  // The context's allocation that `pointer` points into.
  std::optional<Allocation> find(const Context& context, const void* pointer) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    std::lock_guard lock(mutex_);
    auto above = blocks_.upper_bound(address);
    if (above == blocks_.begin()) return std::nullopt;
    const auto& [start, allocation] = *std::prev(above);
    if (address - start >= allocation.size() || allocation.context != context.serial()) return std::nullopt;
    return allocation;
  }

  // The context's allocation that begins at `pointer`; it is no longer known then.
  std::optional<Allocation> take(const Context& context, const void* pointer) {
    std::lock_guard lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == blocks_.end() || found->second.context != context.serial()) return std::nullopt;
    Allocation allocation = std::move(found->second);
    blocks_.erase(found);
    return allocation;
  }

 private:
  ForkSafe<std::mutex> mutex_;
  std::map<uintptr_t, Allocation> blocks_;
};

// The specification ends at the largest data type, and asks itself whether pages should do; chipStar asks for
// them.
constexpr cl_uint kLargestAlignment = 2 << 20;

constexpr cl_mem_alloc_flags_intel kPlacements =
    CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;

bool are_allocation_flags(cl_unified_shared_memory_type_intel type, cl_mem_alloc_flags_intel flags) {
  if ((flags & ~(kPlacements | CL_MEM_ALLOC_WRITE_COMBINED_INTEL)) != 0) return false;
  return type == CL_MEM_TYPE_SHARED_INTEL ? std::popcount(flags & kPlacements) <= 1
                                          : (flags & kPlacements) == 0;
}

// CL_INVALID_PROPERTY if a property name is not supported or given twice, if its value is not valid, or if
// placements are asked for that contradict each other or that no host or device allocation has.
cl_int read_flags(cl_unified_shared_memory_type_intel type, const cl_mem_properties_intel* properties,
                  cl_mem_alloc_flags_intel& flags) {
  bool given = false;
  for (; properties != nullptr && *properties != 0; properties += 2) {
    if (properties[0] != CL_MEM_ALLOC_FLAGS_INTEL || given || !are_allocation_flags(type, properties[1]))
      return CL_INVALID_PROPERTY;
    given = true;
    flags = properties[1];
  }
  return CL_SUCCESS;
}

const char* label_of(cl_unified_shared_memory_type_intel type) {
  if (type == CL_MEM_TYPE_HOST_INTEL) return "host USM";
  return type == CL_MEM_TYPE_DEVICE_INTEL ? "device USM" : "shared USM";
}

// The largest allocation that the device, or without one every device of the context, can have.
cl_ulong largest_of(const Context& context, const Device* device) {
  if (device != nullptr) return device->max_allocation();
  cl_ulong largest = UINT64_MAX;
  for (const Ref<Device>& one : context.devices()) largest = std::min(largest, one->max_allocation());
  return largest;
}

struct UsmRequest {
  cl_context context;
  cl_unified_shared_memory_type_intel type;
  bool takes_null;  // as device
  cl_device_id device;
  const cl_mem_properties_intel* properties;
  size_t size;
  cl_uint alignment;
};

Made<void*> allocate(const UsmRequest& request) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  Context* c;
  if (cl_int error = find_live(request.context, c); error != CL_SUCCESS) return error;
  // CL_INVALID_DEVICE if device is not a valid device or is not associated with context.
  Device* const device = find<Device>(request.device);
  const bool is_nobodys = request.takes_null && request.device == nullptr;
  if (!is_nobodys && (device == nullptr || !c->has(device))) return CL_INVALID_DEVICE;
  // CL_INVALID_VALUE if alignment is not zero or a power of two, or too large.
  if (request.alignment != 0 &&
      (!std::has_single_bit(request.alignment) || request.alignment > kLargestAlignment))
    return CL_INVALID_VALUE;
  Allocation made;
  if (cl_int error = read_flags(request.type, request.properties, made.flags); error != CL_SUCCESS)
    return error;
  // CL_INVALID_BUFFER_SIZE if size is zero or greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE.
  if (request.size == 0 || request.size > largest_of(*c, device)) return CL_INVALID_BUFFER_SIZE;
  // CL_OUT_OF_RESOURCES if there is a failure to allocate resources on the device.
  Made<Mem::Storage> storage = allocate_storage(*c, request.size, label_of(request.type), request.alignment);
  if (storage.code != CL_SUCCESS) return CL_OUT_OF_RESOURCES;
  runtime::mark_unwritten(storage.value.owned, request.size);
  made.storage = storage.value;
  made.context = c->serial();
  made.type = request.type;
  made.device = Ref<Device>(device);
  UsmTable::get().add(std::move(made));
  return storage.value.owned;
}

cl_int free_allocation(const Context& context, void* pointer) {
  // CL_INVALID_VALUE if ptr is not a value returned by an allocating function, or a NULL pointer.
  if (pointer == nullptr) return CL_SUCCESS;
  const std::optional<Allocation> allocation = UsmTable::get().take(context, pointer);
  if (!allocation) return CL_INVALID_VALUE;
  release_storage(allocation->storage);
  return CL_SUCCESS;
}

// Waits for what uses the allocation: kernels reach all memory, so for everything that is enqueued.
cl_int wait_for_commands(Context& context) {
  const std::vector<Ref<Queue>> queues = context.queues();
  for (const Ref<Queue>& queue : queues)
    if (queue->would_block_itself()) {
      log(LogLevel::warn, "clMemBlockingFreeINTEL in a callback would wait for the queue that runs it");
      return CL_INVALID_OPERATION;
    }
  for (const Ref<Queue>& queue : queues) queue->wait_for_enqueued();
  return CL_SUCCESS;
}

// A command that only orders others: memory is where it is.
cl_int enqueue_hint(cl_command_queue command_queue, bool is_valid, cl_command_type type, const Waits& waits) {
  // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
  Queue* queue = find_queue(command_queue);
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  if (!is_valid) return CL_INVALID_VALUE;
  return submit(*queue, type, waits, CL_FALSE, [] {});
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

void* CL_API_CALL clHostMemAllocINTEL(cl_context context, const cl_mem_properties_intel* properties,
                                      size_t size, cl_uint alignment, cl_int* errcode_ret) {
  return api_create<void*>(__func__, errcode_ret, [&] {
    return allocate({context, CL_MEM_TYPE_HOST_INTEL, true, nullptr, properties, size, alignment});
  });
}

void* CL_API_CALL clDeviceMemAllocINTEL(cl_context context, cl_device_id device,
                                        const cl_mem_properties_intel* properties, size_t size,
                                        cl_uint alignment, cl_int* errcode_ret) {
  return api_create<void*>(__func__, errcode_ret, [&] {
    return allocate({context, CL_MEM_TYPE_DEVICE_INTEL, false, device, properties, size, alignment});
  });
}

void* CL_API_CALL clSharedMemAllocINTEL(cl_context context, cl_device_id device,
                                        const cl_mem_properties_intel* properties, size_t size,
                                        cl_uint alignment, cl_int* errcode_ret) {
  return api_create<void*>(__func__, errcode_ret, [&] {
    return allocate({context, CL_MEM_TYPE_SHARED_INTEL, true, device, properties, size, alignment});
  });
}

cl_int CL_API_CALL clMemFreeINTEL(cl_context context, void* ptr) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c = find<Context>(context);
    return c == nullptr ? CL_INVALID_CONTEXT : free_allocation(*c, ptr);
  });
}

cl_int CL_API_CALL clMemBlockingFreeINTEL(cl_context context, void* ptr) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c = find<Context>(context);
    if (c == nullptr) return CL_INVALID_CONTEXT;
    const Ref<Context> hold(c);
    if (ptr != nullptr && UsmTable::get().find(*c, ptr))
      if (cl_int error = wait_for_commands(*c); error != CL_SUCCESS) return error;
    return free_allocation(*c, ptr);
  });
}

cl_int CL_API_CALL clGetMemAllocInfoINTEL(cl_context context, const void* ptr, cl_mem_info_intel param_name,
                                          size_t param_value_size, void* param_value,
                                          size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c = find<Context>(context);
    if (c == nullptr) return CL_INVALID_CONTEXT;
    // Of other memory the type is unknown, and all else is nothing.
    const Allocation allocation = UsmTable::get().find(*c, ptr).value_or(Allocation{});
    const InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_MEM_ALLOC_TYPE_INTEL: return out.value<cl_unified_shared_memory_type_intel>(allocation.type);
      case CL_MEM_ALLOC_BASE_PTR_INTEL: return out.value<void*>(allocation.storage.owned);
      case CL_MEM_ALLOC_SIZE_INTEL: return out.value<size_t>(allocation.size());
      case CL_MEM_ALLOC_DEVICE_INTEL:
        return out.value<cl_device_id>(allocation.device ? allocation.device->handle() : nullptr);
      case CL_MEM_ALLOC_FLAGS_INTEL: return out.value<cl_mem_alloc_flags_intel>(allocation.flags);
      // CL_INVALID_VALUE if param_name is not a valid query.
      default: return CL_INVALID_VALUE;
    }
  });
}

cl_int CL_API_CALL clEnqueueMemFillINTEL(cl_command_queue command_queue, void* dst_ptr, const void* pattern,
                                         size_t pattern_size, size_t size, cl_uint num_events_in_wait_list,
                                         const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return fill_svm(Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}), dst_ptr,
                    {pattern, pattern_size, 0, size}, CL_COMMAND_MEMFILL_INTEL);
  });
}

cl_int CL_API_CALL clEnqueueMemcpyINTEL(cl_command_queue command_queue, cl_bool blocking, void* dst_ptr,
                                        const void* src_ptr, size_t size, cl_uint num_events_in_wait_list,
                                        const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    const Sink sink(command_queue, {num_events_in_wait_list, event_wait_list, event}, blocking);
    return copy_svm(sink, dst_ptr, src_ptr, size, CL_COMMAND_MEMCPY_INTEL);
  });
}

cl_int CL_API_CALL clEnqueueMigrateMemINTEL(cl_command_queue command_queue, const void* /*ptr*/,
                                            size_t /*size*/, cl_mem_migration_flags flags,
                                            cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                            cl_event* event) {
  return api(__func__, [&] {
    // CL_INVALID_VALUE if flags is not a supported combination of memory migration flags.
    return enqueue_hint(command_queue, are_migration_flags(flags), CL_COMMAND_MIGRATEMEM_INTEL,
                        {num_events_in_wait_list, event_wait_list, event});
  });
}

cl_int CL_API_CALL clEnqueueMemAdviseINTEL(cl_command_queue command_queue, const void* /*ptr*/,
                                           size_t /*size*/, cl_mem_advice_intel advice,
                                           cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                           cl_event* event) {
  return api(__func__, [&] {
    // CL_INVALID_VALUE if advice is not supported: the extension defines none yet, so only none is.
    return enqueue_hint(command_queue, advice == 0, CL_COMMAND_MEMADVISE_INTEL,
                        {num_events_in_wait_list, event_wait_list, event});
  });
}
