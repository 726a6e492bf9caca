// Context: devices that share buffers and programs.
//
// Immutable after creation but for its callbacks, which a mutex guards, and its termination
// (cl_khr_terminate_context 1.0.0). Any thread.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "icd/platform.h"

namespace morgana::icd {

// Of cl_khr_initialize_memory: bits that the headers of Debian 12 lack.
inline constexpr cl_context_properties kInitializeLocal = 1, kInitializePrivate = 2;

class Context : public Object<Context> {
 public:
  using Notify = void(CL_CALLBACK*)(const char* errinfo, const void* private_info, size_t cb,
                                    void* user_data);
  using Destructor = void(CL_CALLBACK*)(cl_context context, void* user_data);

  Context(std::vector<Ref<Device>> devices, std::vector<cl_context_properties> properties, Notify notify,
          void* user_data);
  ~Context();

  std::span<const Ref<Device>> devices() const { return devices_; }
  bool has(const Device* device) const;
  std::span<const cl_context_properties> properties() const { return properties_; }
  // The largest CL_DEVICE_MAX_MEM_ALLOC_SIZE of its devices.
  cl_ulong max_allocation() const;

  void add_destructor(Destructor callback, void* user_data);

  // What kernels find zeroed (cl_khr_initialize_memory 1.0.0).
  cl_context_properties initialized_memory() const { return initialized_memory_; }

  // CL_CONTEXT_TERMINATE_KHR. Only such a context knows its user events.
  bool may_terminate() const { return may_terminate_; }
  bool is_terminated() const { return terminated_.load(std::memory_order_acquire); }
  // Stops what is executing, and ends all that waits, also for user events, with CL_CONTEXT_TERMINATED_KHR.
  // CL_INVALID_OPERATION if it may not be; CL_CONTEXT_TERMINATED_KHR if it has been.
  cl_int terminate();
  // Those of the host that live now.
  std::vector<Ref<Queue>> queues();
  void add(Queue& queue);
  void remove(Queue& queue);
  void add(Event& user_event);
  void remove(Event& user_event);
  // The default on-device queue of a device, or none. It is not kept alive.
  Ref<Queue> default_queue(const Device& device);
  // The same; where there is none, `queue` becomes that of its device.
  Ref<Queue> default_queue_or(Queue& queue);
  void set_default_queue(Queue& queue);
  void forget_default_queue(Queue& queue);
  // Tells the application's pfn_notify, if it gave one.
  void report(const std::string& text) const;

 private:
  struct Callback {
    Destructor function;
    void* user_data;
  };

  std::vector<Ref<Device>> devices_;
  std::vector<cl_context_properties> properties_;
  Notify notify_;
  void* user_data_;
  std::mutex mutex_;
  std::vector<Callback> destructors_;
  const bool may_terminate_;
  const cl_context_properties initialized_memory_;
  std::atomic<bool> terminated_{false};
  std::mutex members_mutex_;  // of what follows
  std::set<Queue*> queues_;
  std::set<Event*> user_events_;
  std::map<const Device*, Queue*> default_queues_;
};

// For what creates objects: CL_INVALID_CONTEXT if context is not a valid context; CL_CONTEXT_TERMINATED_KHR
// if it has been terminated.
cl_int find_live(cl_context handle, Context*& context);

}  // namespace morgana::icd
