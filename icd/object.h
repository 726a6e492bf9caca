// Object<T>: what every handle points to, and Ref<T>, a counted reference to it.
//
// The dispatch pointer comes first (cl_khr_icd 1.0; 2.0 puts data of the loader behind it, which
// ocl-icd 2.3.3, Debian 13's, moves when there is another platform). An object counts the application's
// references, which CL_*_REFERENCE_COUNT reports, apart from the sum of all references; it lives while any is
// left, so that a context outlives its queues. Counting is thread-safe; what else is, each type says.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "icd/api.h"
#include "icd/pool.h"

namespace morgana::icd {

// The table of OpenCL 3.1: the header of Debian 12 ends with 3.0.
struct DispatchTable {
  cl_icd_dispatch older;
  cl_int(CL_API_CALL* clGetKernelSuggestedLocalWorkSize)(cl_command_queue, cl_kernel, cl_uint, const size_t*,
                                                         const size_t*, size_t*);
};
static_assert(offsetof(DispatchTable, clGetKernelSuggestedLocalWorkSize) ==
              offsetof(cl_icd_dispatch, clSetContextDestructorCallback) + sizeof(void*));
extern const DispatchTable kDispatch;
// That of kDispatch, or of a table of the same functions that traces calls (MORGANA_TRACE) or checks them
// (MORGANA_CHECK=api). Set before the
// first object.
extern const cl_icd_dispatch* dispatch_in_use;

// The handle type of an object type, and the error that an invalid handle gives.
template <typename T>
struct HandleTraits;

template <typename T>
using HandleOf = typename HandleTraits<T>::Handle;

#define MORGANA_HANDLE(Type, CHandle, error)  \
  class Type;                                 \
  template <>                                 \
  struct HandleTraits<Type> {                 \
    using Handle = CHandle;                   \
    static constexpr cl_int kInvalid = error; \
  }

MORGANA_HANDLE(Platform, cl_platform_id, CL_INVALID_PLATFORM);
MORGANA_HANDLE(Device, cl_device_id, CL_INVALID_DEVICE);
MORGANA_HANDLE(Context, cl_context, CL_INVALID_CONTEXT);
MORGANA_HANDLE(Queue, cl_command_queue, CL_INVALID_COMMAND_QUEUE);
MORGANA_HANDLE(Mem, cl_mem, CL_INVALID_MEM_OBJECT);
MORGANA_HANDLE(Sampler, cl_sampler, CL_INVALID_SAMPLER);
MORGANA_HANDLE(Program, cl_program, CL_INVALID_PROGRAM);
MORGANA_HANDLE(Kernel, cl_kernel, CL_INVALID_KERNEL);
MORGANA_HANDLE(Event, cl_event, CL_INVALID_EVENT);
MORGANA_HANDLE(CommandBuffer, cl_command_buffer_khr, CL_INVALID_COMMAND_BUFFER_KHR);
MORGANA_HANDLE(Semaphore, cl_semaphore_khr, CL_INVALID_SEMAPHORE_KHR);
MORGANA_HANDLE(MutableCommand, cl_mutable_command_khr, CL_INVALID_MUTABLE_COMMAND_KHR);
#undef MORGANA_HANDLE

template <typename T>
class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  HandleOf<T> handle() const { return reinterpret_cast<HandleOf<T>>(const_cast<Object*>(this)); }
  cl_uint reference_count() const { return api_refs_.load(std::memory_order_relaxed); }
  // Differs for any two objects that ever had this type.
  uint64_t serial() const { return serial_; }

  // A reference of the application's.
  void retain() {
    acquire();
    api_refs_.fetch_add(1, std::memory_order_relaxed);
  }

  // Takes one of the application's references back; false when it holds none.
  bool release() {
    cl_uint count = api_refs_.load(std::memory_order_relaxed);
    do {
      if (count == 0) return false;
    } while (!api_refs_.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel));
    drop();
    return true;
  }

  // The same where only the object's own list holds it: false when it is about to be destroyed.
  bool try_acquire() {
    uint32_t count = refs_.load(std::memory_order_relaxed);
    do {
      if (count == 0) return false;
    } while (!refs_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel));
    return true;
  }

  void acquire() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      Pool<T>::instance().destroy(static_cast<T*>(this));
  }

 protected:
  Object() : serial_(next_serial().fetch_add(1, std::memory_order_relaxed)) {
    static_assert(!std::is_polymorphic_v<T>, "the dispatch pointer must come first");
  }
  ~Object() = default;

 private:
  static std::atomic<uint64_t>& next_serial() {
    static std::atomic<uint64_t> counter{1};
    return counter;
  }

  const cl_icd_dispatch* dispatch_ = dispatch_in_use;
  std::atomic<uint32_t> refs_{1};
  std::atomic<cl_uint> api_refs_{0};
  const uint64_t serial_;
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->acquire();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->drop();
  }

  // Takes over the reference that a new object is born with.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

  // The object's handle, with a reference for the application.
  HandleOf<T> publish() const {
    object_->retain();
    return object_->handle();
  }

 private:
  T* object_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> make(Args&&... args) {
  return Ref<T>::adopt(Pool<T>::instance().create(std::forward<Args>(args)...));
}

// The object behind a handle, or nullptr when it is no valid handle of that type.
template <typename T>
T* find(HandleOf<T> handle) {
  return Pool<T>::instance().holds(handle) ? reinterpret_cast<T*>(handle) : nullptr;
}

// clRetain*, clRelease*: CL_INVALID_<TYPE> if the handle is not valid.
template <typename T>
cl_int retain_handle(HandleOf<T> handle) {
  T* object = find<T>(handle);
  if (object == nullptr) return HandleTraits<T>::kInvalid;
  object->retain();
  return CL_SUCCESS;
}

template <typename T>
cl_int release_handle(HandleOf<T> handle) {
  T* object = find<T>(handle);
  if (object == nullptr || !object->release()) return HandleTraits<T>::kInvalid;
  return CL_SUCCESS;
}

}  // namespace morgana::icd
