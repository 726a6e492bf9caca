#include "icd/svm.h"

#include <bit>
#include <cstring>
#include <map>
#include <mutex>

#include "base/fork_safe.h"
#include "icd/checks.h"
#include "icd/operations.h"
#include "runtime/memory.h"
#include "runtime/unwritten.h"

namespace morgana::icd {
namespace {

struct SvmTable {
  ForkSafe<std::mutex> mutex;
  std::map<uintptr_t, Mem::Storage> blocks;
};

SvmTable& table() {
  static auto* instance = new SvmTable;  // queues may still free at exit
  return *instance;
}

constexpr cl_svm_mem_flags kAccess = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
constexpr cl_svm_mem_flags kSvmFlags = kAccess | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;

bool are_svm_flags(cl_svm_mem_flags flags) {
  if ((flags & ~kSvmFlags) != 0 || std::popcount(flags & kAccess) > 1) return false;
  return (flags & CL_MEM_SVM_ATOMICS) == 0 || (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER) != 0;
}

}  // namespace

size_t svm_extent(const void* pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  SvmTable& all = table();
  std::lock_guard lock(all.mutex);
  auto above = all.blocks.upper_bound(address);
  if (above == all.blocks.begin()) return 0;
  const uintptr_t start = std::prev(above)->first;
  const size_t length = std::prev(above)->second.charged;
  return address - start < length ? length - (address - start) : 0;
}

bool is_svm_range(const void* pointer, size_t size) {
  size_t extent = svm_extent(pointer);
  return extent != 0 && size <= extent;
}

void free_svm(void* pointer) {
  Mem::Storage storage;
  {
    SvmTable& all = table();
    std::lock_guard lock(all.mutex);
    auto found = all.blocks.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == all.blocks.end()) return;
    storage = found->second;
    all.blocks.erase(found);
  }
  release_storage(storage);
}

cl_int copy_svm(const Sink& sink, void* dst_ptr, const void* src_ptr, size_t size, cl_command_type type) {
  if (sink.error() != CL_SUCCESS) return sink.error();
  // CL_INVALID_VALUE if dst_ptr or src_ptr is NULL.
  if (dst_ptr == nullptr || src_ptr == nullptr) return CL_INVALID_VALUE;
  // CL_MEM_COPY_OVERLAP if the regions overlap.
  auto to = reinterpret_cast<uintptr_t>(dst_ptr), from = reinterpret_cast<uintptr_t>(src_ptr);
  if (to < from ? size > from - to : size > to - from) return CL_MEM_COPY_OVERLAP;
  return sink.take(type, [dst_ptr, src_ptr, size] { copy_bytes(dst_ptr, src_ptr, size); });
}

cl_int fill_svm(const Sink& sink, void* svm_ptr, const Fill& fill, cl_command_type type) {
  if (sink.error() != CL_SUCCESS) return sink.error();
  // CL_INVALID_VALUE if svm_ptr or pattern is NULL, pattern_size is not one of 1, 2, 4 ... 128, svm_ptr is
  // not aligned to it, or size is not a multiple of it.
  if (svm_ptr == nullptr || fill.pattern == nullptr || !is_pattern_size(fill.pattern_size))
    return CL_INVALID_VALUE;
  if (reinterpret_cast<uintptr_t>(svm_ptr) % fill.pattern_size != 0 || fill.size % fill.pattern_size != 0)
    return CL_INVALID_VALUE;
  std::array<uint8_t, 128> copy{};
  std::memcpy(copy.data(), fill.pattern, fill.pattern_size);
  return sink.take(type, [svm_ptr, copy, pattern_size = fill.pattern_size, size = fill.size] {
    fill_pattern(static_cast<uint8_t*>(svm_ptr), size, copy.data(), pattern_size);
  });
}

}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

void* CL_API_CALL clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  return api_create<void*>(__func__, nullptr, [&]() -> Made<void*> {
    // NULL if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    // NULL if flags are not valid, or size is 0 or greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE.
    if (!are_svm_flags(flags) || size == 0 || size > c->max_allocation()) return CL_INVALID_VALUE;
    // NULL if alignment is not a power of two, or larger than the largest data type that the device supports.
    if (alignment != 0 && (!std::has_single_bit(alignment) || alignment > kBaseAlignment))
      return CL_INVALID_VALUE;
    // NULL if there is a failure to allocate resources: buffers, images and SVM share the device's memory.
    Made<Mem::Storage> memory = allocate_storage(*c, size, "SVM");
    if (memory.code != CL_SUCCESS) return memory.code;
    runtime::mark_unwritten(memory.value.owned, size);
    SvmTable& all = table();
    std::lock_guard lock(all.mutex);
    all.blocks.emplace(reinterpret_cast<uintptr_t>(memory.value.owned), memory.value);
    return memory.value.owned;
  });
}

void CL_API_CALL clSVMFree(cl_context context, void* svm_pointer) {
  api(__func__, [&]() -> cl_int {
    if (find<Context>(context) == nullptr) return CL_INVALID_CONTEXT;
    free_svm(svm_pointer);
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL
clEnqueueSVMFree(cl_command_queue command_queue, cl_uint num_svm_pointers, void* svm_pointers[],
                 void(CL_CALLBACK* pfn_free_func)(cl_command_queue, cl_uint, void*[], void*), void* user_data,
                 cl_uint num_events_in_wait_list, const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
    Queue* queue = find_queue(command_queue);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_VALUE if num_svm_pointers is 0 and svm_pointers is non-NULL, or the reverse.
    if ((num_svm_pointers == 0) != (svm_pointers == nullptr)) return CL_INVALID_VALUE;
    std::vector<void*> pointers(svm_pointers, svm_pointers + num_svm_pointers);
    return submit(*queue, CL_COMMAND_SVM_FREE, {num_events_in_wait_list, event_wait_list, event}, CL_FALSE,
                  [pointers = std::move(pointers), command_queue, pfn_free_func, user_data]() mutable {
                    if (pfn_free_func != nullptr) {
                      const CallbackScope scope;
                      pfn_free_func(command_queue, static_cast<cl_uint>(pointers.size()), pointers.data(),
                                    user_data);
                      return;
                    }
                    for (void* pointer : pointers) free_svm(pointer);
                  });
  });
}

cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue command_queue, cl_bool blocking_copy, void* dst_ptr,
                                      const void* src_ptr, size_t size, cl_uint num_events_in_wait_list,
                                      const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    const Sink sink(command_queue, {num_events_in_wait_list, event_wait_list, event}, blocking_copy);
    return copy_svm(sink, dst_ptr, src_ptr, size);
  });
}

cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue command_queue, void* svm_ptr, const void* pattern,
                                       size_t pattern_size, size_t size, cl_uint num_events_in_wait_list,
                                       const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return fill_svm(Sink(command_queue, {num_events_in_wait_list, event_wait_list, event}), svm_ptr,
                    {pattern, pattern_size, 0, size});
  });
}

cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue command_queue, cl_bool blocking_map, cl_map_flags flags,
                                   void* svm_ptr, size_t size, cl_uint num_events_in_wait_list,
                                   const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
    Queue* queue = find_queue(command_queue);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_VALUE if svm_ptr is NULL, size is 0, or flags are not valid.
    if (svm_ptr == nullptr || size == 0 || !are_map_flags(flags)) return CL_INVALID_VALUE;
    return submit(*queue, CL_COMMAND_SVM_MAP, {num_events_in_wait_list, event_wait_list, event}, blocking_map,
                  [] {});
  });
}

cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue command_queue, void* svm_ptr,
                                     cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                     cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
    Queue* queue = find_queue(command_queue);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_VALUE if svm_ptr is NULL.
    if (svm_ptr == nullptr) return CL_INVALID_VALUE;
    return submit(*queue, CL_COMMAND_SVM_UNMAP, {num_events_in_wait_list, event_wait_list, event}, CL_FALSE,
                  [] {});
  });
}

cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue command_queue, cl_uint num_svm_pointers,
                                          const void** svm_pointers, const size_t* sizes,
                                          cl_mem_migration_flags flags, cl_uint num_events_in_wait_list,
                                          const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
    Queue* queue = find_queue(command_queue);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_VALUE if num_svm_pointers is zero, svm_pointers is NULL, or flags are not valid.
    if (num_svm_pointers == 0 || svm_pointers == nullptr || !are_migration_flags(flags))
      return CL_INVALID_VALUE;
    // CL_INVALID_VALUE if a range is not contained within an allocation of clSVMAlloc.
    for (cl_uint i = 0; i < num_svm_pointers; ++i)
      if (!is_svm_range(svm_pointers[i], sizes == nullptr ? 0 : sizes[i])) return CL_INVALID_VALUE;
    return submit(*queue, CL_COMMAND_SVM_MIGRATE_MEM, {num_events_in_wait_list, event_wait_list, event},
                  CL_FALSE, [] {});
  });
}
