#include "icd/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "icd/checks.h"
#include "icd/external_memory.h"
#include "icd/identity.h"
#include "icd/info.h"
#include "icd/svm.h"
#include "runtime/checking.h"
#include "runtime/known_memory.h"
#include "runtime/memory.h"
#include "runtime/unwritten.h"

namespace morgana::icd {
namespace {

// Bytes of all buffers together: more than the device has must fail, although pages come only when touched.
constinit std::atomic<uint64_t> g_charged{0};

bool charge(const Context& context, uint64_t size) {
  uint64_t limit = 0;
  for (const Ref<Device>& device : context.devices()) limit = std::max(limit, device->spec().global_memory);
  uint64_t before = g_charged.fetch_add(size);
  if (size <= limit && before <= limit - size) return true;
  g_charged.fetch_sub(size);
  return false;
}

constexpr cl_mem_flags kKernelAccess = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
constexpr cl_mem_flags kWriters = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_HOST_WRITE_ONLY;
constexpr cl_mem_flags kHostPointer = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
constexpr cl_mem_flags kHostAccess = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

cl_mem_object_type type_of(const Mem& mem) {
  if (mem.is_image()) return mem.image().type();
  return mem.is_pipe() ? CL_MEM_OBJECT_PIPE : CL_MEM_OBJECT_BUFFER;
}

bool at_most_one(cl_mem_flags flags) { return std::popcount(flags) <= 1; }

Made<cl_mem> create_buffer(cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
                           size_t size, void* host_ptr) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  Context* c;
  if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
  MemoryProperties read;
  if (cl_int error = read_memory_properties(*c, properties, true, read); error != CL_SUCCESS) return error;
  flags &= ~identity().ignored_flags;
  // CL_MEM_KERNEL_READ_AND_WRITE stands in the table of valid flags, although it means something to
  // clGetSupportedImageFormats only.
  const bool external = read.descriptor.has_value();
  if (!are_memory_flags(flags & ~cl_mem_flags{CL_MEM_KERNEL_READ_AND_WRITE}) ||
      !(has_contents(flags) || external))
    return CL_INVALID_VALUE;
  // CL_INVALID_BUFFER_SIZE if size is 0 or greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE for all devices in
  // context.
  if (size == 0 || size > c->max_allocation()) return CL_INVALID_BUFFER_SIZE;
  if (external)
    if (cl_int error = check_external(flags, host_ptr); error != CL_SUCCESS) return error;
  if (!fits_flags(host_ptr, flags)) return CL_INVALID_HOST_PTR;
  // CL_INVALID_BUFFER_SIZE if host_ptr came from clSVMAlloc and size exceeds what is left of that allocation.
  const size_t svm = host_ptr != nullptr ? svm_extent(host_ptr) : 0;
  if (svm != 0 && size > svm) return CL_INVALID_BUFFER_SIZE;
  flags = with_kernel_access(flags);

  Mem::Storage storage;
  if (external) {
    Made<Mem::Storage> made = map_external(*read.descriptor, size, CL_INVALID_BUFFER_SIZE);
    if (made.code != CL_SUCCESS) return made.code;
    storage = made.value;
  } else if ((flags & CL_MEM_USE_HOST_PTR) != 0) {
    storage.address = static_cast<uint8_t*>(host_ptr);
    storage.host_ptr = storage.address;
    storage.svm = svm != 0;
    storage.registered = host_ptr;
    runtime::register_host(host_ptr, size, "buffer (host memory)");
  } else {
    // CL_MEM_OBJECT_ALLOCATION_FAILURE if there is a failure to allocate memory for the buffer object.
    Made<Mem::Storage> made = allocate_storage(*c, size, "buffer");
    if (made.code != CL_SUCCESS) return made.code;
    storage = made.value;
    if ((flags & CL_MEM_COPY_HOST_PTR) != 0)
      std::memcpy(storage.address, host_ptr, size);
    else
      storage.marked = runtime::mark_unwritten(storage.address, size);
  }
  return make<Mem>(*c, flags, size, storage, std::move(read.array)).publish();
}

}  // namespace

bool are_memory_flags(cl_mem_flags flags) {
  if ((flags & ~(kKernelAccess | kHostPointer | kHostAccess | kMemImmutable)) != 0) return false;
  if ((flags & kMemImmutable) != 0 && (flags & kWriters) != 0) return false;
  if (!at_most_one(flags & kKernelAccess) || !at_most_one(flags & kHostAccess)) return false;
  return (flags & CL_MEM_USE_HOST_PTR) == 0 || (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) == 0;
}

bool has_contents(cl_mem_flags flags) {
  return (flags & kMemImmutable) == 0 || (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
}

bool fits_flags(const void* host_ptr, cl_mem_flags flags) {
  const bool needs_pointer = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
  return needs_pointer == (host_ptr != nullptr);
}

cl_mem_flags with_kernel_access(cl_mem_flags flags) {
  return (flags & (kKernelAccess | kMemImmutable)) == 0 ? flags | CL_MEM_READ_WRITE : flags;
}

Made<cl_mem_flags> inherited_flags(cl_mem_flags parent, cl_mem_flags flags) {
  if (!are_memory_flags(flags) || (flags & kHostPointer) != 0) return CL_INVALID_VALUE;
  auto both = [&](cl_mem_flags of_parent, cl_mem_flags of_child) {
    return (parent & of_parent) != 0 && (flags & of_child) != 0;
  };
  if (both(CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE | CL_MEM_READ_ONLY) ||
      both(CL_MEM_READ_ONLY, CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY) ||
      both(CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY) ||
      both(CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY) ||
      both(CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY) ||
      both(kMemImmutable, kWriters))
    return CL_INVALID_VALUE;
  // What others may write through the parent is not immutable.
  if ((flags & ~parent & kMemImmutable) != 0) return CL_INVALID_VALUE;
  if ((flags & kKernelAccess) == 0) flags |= parent & kKernelAccess;
  if ((flags & kHostAccess) == 0) flags |= parent & kHostAccess;
  return static_cast<cl_mem_flags>(flags | (parent & (kHostPointer | kMemImmutable)));
}

Mem::Mem(Context& context, cl_mem_flags flags, size_t size, Storage storage,
         std::vector<cl_mem_properties> properties)
    : context_(&context), flags_(flags), size_(size), storage_(storage), properties_(std::move(properties)) {
  // A buffer's own, which it may share with sub-buffers: these are not told apart.
  const cl_mem_flags limit = flags & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | kMemImmutable);
  if (storage.owned == nullptr || limit == 0 || runtime::checks_wanted() == 0) return;
  runtime::limit_kernels(storage.owned, limit == CL_MEM_WRITE_ONLY ? runtime::KernelAccess::writes
                                                                   : runtime::KernelAccess::reads);
}

Made<Mem::Storage> allocate_storage(const Context& context, size_t size, const char* name, size_t alignment) {
  if (!charge(context, size)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  // Images that show a buffer's texels begin at multiples of what T# can say.
  static_assert(runtime::kImageBaseAlign % kBaseAlignment == 0);
  auto memory =
      runtime::allocate(size, std::max(alignment, runtime::kImageBaseAlign), name, runtime::Use::data);
  if (!memory.ok()) {
    g_charged.fetch_sub(size);
    return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  }
  Mem::Storage storage;
  storage.charged = size;
  storage.owned = *memory;
  storage.address = static_cast<uint8_t*>(storage.owned);
  return storage;
}

void release_storage(const Mem::Storage& storage) {
  if (storage.mapped != 0) munmap(storage.address, storage.mapped);
  if (storage.owned != nullptr) runtime::forget_unwritten(storage.owned, storage.charged);
  runtime::release(storage.owned);
  g_charged.fetch_sub(storage.charged);
}

Mem::Mem(Context& context, cl_mem_flags flags, size_t size, Storage storage, Pipe pipe)
    : context_(&context), flags_(flags), size_(size), storage_(storage), pipe_(pipe) {}

Mem::Mem(Context& context, Mem* parent, cl_mem_flags flags, size_t size, Storage storage, Image image,
         std::vector<cl_mem_properties> properties)
    : context_(&context),
      parent_(parent),
      flags_(flags),
      size_(size),
      storage_(storage),
      image_(std::move(image)),
      properties_(std::move(properties)) {}

Mem::Mem(Mem& parent, cl_mem_flags flags, size_t origin, size_t size)
    : context_(&parent.context()), parent_(&parent), flags_(flags), size_(size), origin_(origin) {
  storage_.address = parent.data() + origin;
  storage_.svm = parent.uses_svm();
  if (parent.host_ptr() != nullptr) storage_.host_ptr = static_cast<uint8_t*>(parent.host_ptr()) + origin;
}

Mem::~Mem() {
  // Once unregistered, the application may free its memory in the callback.
  if (storage_.registered != nullptr) runtime::unregister_host(storage_.registered);
  // Called in the reverse order in which they were registered (clSetMemObjectDestructorCallback).
  for (auto callback = destructors_.rbegin(); callback != destructors_.rend(); ++callback)
    callback->function(handle(), callback->user_data);
  release_storage(storage_);
}

bool Mem::has_device_address() const {
  if (parent_) return parent_->has_device_address();
  const cl_mem_properties* wanted = find_property(properties_, kMemDevicePrivateAddress);
  return wanted != nullptr && *wanted == CL_TRUE;
}

void Mem::add_destructor(Destructor callback, void* user_data) {
  std::lock_guard lock(mutex_);
  destructors_.push_back({callback, user_data});
}

bool Mem::is_mapped_for_writing() {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(mappings_, [](const auto& one) { return one.second.writes; });
}

cl_uint Mem::map_count() {
  std::lock_guard lock(mutex_);
  return static_cast<cl_uint>(mappings_.size());
}

Mem& Mem::writers() {
  if (is_image() && image().type() != CL_MEM_OBJECT_IMAGE1D_BUFFER) return *this;
  return parent_ ? parent_->writers() : *this;
}

bool Mem::add_mapping(void* pointer, const Mapping& mapping) {
  if (mapping.writes) {
    Mem& all = writers();
    std::lock_guard lock(all.mutex_);
    for (const auto& [other, box] : all.written_)
      if (boxes_overlap(box, mapping.box)) return false;
    all.written_.emplace(pointer, mapping.box);
  }
  std::lock_guard lock(mutex_);
  mappings_.emplace(pointer, mapping);
  return true;
}

std::optional<Mem::Mapping> Mem::remove_mapping(void* pointer) {
  Mapping mapping;
  {
    std::lock_guard lock(mutex_);
    auto found = mappings_.find(pointer);
    if (found == mappings_.end()) return std::nullopt;
    mapping = found->second;
    mappings_.erase(found);
  }
  if (mapping.writes) {
    Mem& all = writers();
    std::lock_guard lock(all.mutex_);
    all.written_.erase(pointer);
  }
  return mapping;
}

}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host_ptr,
                                  cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret,
                            [&] { return create_buffer(context, nullptr, flags, size, host_ptr); });
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context, const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host_ptr,
                                                cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret,
                            [&] { return create_buffer(context, properties, flags, size, host_ptr); });
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
                                     cl_buffer_create_type buffer_create_type, const void* buffer_create_info,
                                     cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&]() -> Made<cl_mem> {
    // CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object or is a sub-buffer object.
    Mem* parent = find_buffer(buffer);
    if (parent == nullptr || parent->parent() != nullptr) return CL_INVALID_MEM_OBJECT;
    if (parent->context().is_terminated()) return CL_CONTEXT_TERMINATED_KHR;
    Made<cl_mem_flags> own = inherited_flags(parent->flags(), flags & ~identity().ignored_flags);
    if (own.code != CL_SUCCESS) return own.code;
    // CL_INVALID_VALUE if buffer_create_type or buffer_create_info is not valid, or buffer_create_info is
    // NULL.
    if (buffer_create_type != CL_BUFFER_CREATE_TYPE_REGION || buffer_create_info == nullptr)
      return CL_INVALID_VALUE;
    const auto& region = *static_cast<const cl_buffer_region*>(buffer_create_info);
    // CL_INVALID_VALUE if the region is out of bounds in buffer.
    if (region.origin > parent->size() || region.size > parent->size() - region.origin)
      return CL_INVALID_VALUE;
    // CL_INVALID_BUFFER_SIZE if the size of the region is 0.
    if (region.size == 0) return CL_INVALID_BUFFER_SIZE;
    // CL_MISALIGNED_SUB_BUFFER_OFFSET if the origin is not aligned to CL_DEVICE_MEM_BASE_ADDR_ALIGN for any
    // device.
    if (region.origin % kBaseAlignment != 0) return CL_MISALIGNED_SUB_BUFFER_OFFSET;
    return make<Mem>(*parent, own.value, region.origin, region.size).publish();
  });
}

cl_int CL_API_CALL clRetainMemObject(cl_mem memobj) {
  return api(__func__, [&] { return retain_handle<Mem>(memobj); });
}

cl_int CL_API_CALL clReleaseMemObject(cl_mem memobj) {
  return api(__func__, [&] { return release_handle<Mem>(memobj); });
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem memobj,
                                                    void(CL_CALLBACK* pfn_notify)(cl_mem, void*),
                                                    void* user_data) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_MEM_OBJECT if memobj is not a valid memory object.
    Mem* mem = find<Mem>(memobj);
    if (mem == nullptr) return CL_INVALID_MEM_OBJECT;
    // CL_INVALID_VALUE if pfn_notify is NULL.
    if (pfn_notify == nullptr) return CL_INVALID_VALUE;
    mem->add_destructor(pfn_notify, user_data);
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem memobj, cl_mem_info param_name, size_t param_value_size,
                                      void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_MEM_OBJECT if memobj is not a valid memory object.
    Mem* mem = find<Mem>(memobj);
    if (mem == nullptr) return CL_INVALID_MEM_OBJECT;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_MEM_TYPE: return out.value<cl_mem_object_type>(type_of(*mem));
      case CL_MEM_FLAGS: return out.value<cl_mem_flags>(mem->flags());
      case CL_MEM_SIZE: return out.value<size_t>(mem->size());
      case CL_MEM_HOST_PTR: return out.value<void*>(mem->host_ptr());
      case CL_MEM_MAP_COUNT: return out.value<cl_uint>(mem->map_count());
      case CL_MEM_REFERENCE_COUNT: return out.value<cl_uint>(mem->reference_count());
      case CL_MEM_CONTEXT: return out.value<cl_context>(mem->context().handle());
      case CL_MEM_ASSOCIATED_MEMOBJECT:
        return out.value<cl_mem>(mem->parent() == nullptr ? nullptr : mem->parent()->handle());
      case CL_MEM_OFFSET: return out.value<size_t>(mem->origin());
      case CL_MEM_USES_SVM_POINTER: return out.value<cl_bool>(mem->uses_svm());
      case kMemDeviceAddress: {
        // CL_INVALID_OPERATION if the buffer was not created with CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT.
        if (!mem->has_device_address()) return CL_INVALID_OPERATION;
        // One address for each device of the context; here they share the memory.
        const std::vector<cl_ulong> addresses(mem->context().devices().size(),
                                              reinterpret_cast<cl_ulong>(mem->data()));
        return out.array<cl_ulong>(addresses);
      }
      case CL_MEM_PROPERTIES: return out.array<cl_mem_properties>(mem->properties());
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}
