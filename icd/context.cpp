#include "icd/context.h"

#include <algorithm>

#include "icd/entries_khr.h"
#include "icd/info.h"
#include "icd/queue.h"
#include "icd/semaphore_payload.h"

namespace morgana::icd {

namespace {

// 0: not given.
cl_context_properties value_of(std::span<const cl_context_properties> properties,
                               cl_context_properties name) {
  for (size_t i = 0; i + 1 < properties.size(); i += 2)
    if (properties[i] == name) return properties[i + 1];
  return 0;
}

}  // namespace

Context::Context(std::vector<Ref<Device>> devices, std::vector<cl_context_properties> properties,
                 Notify notify, void* user_data)
    : devices_(std::move(devices)),
      properties_(std::move(properties)),
      notify_(notify),
      user_data_(user_data),
      may_terminate_(value_of(properties_, CL_CONTEXT_TERMINATE_KHR) == CL_TRUE),
      initialized_memory_(value_of(properties_, CL_CONTEXT_MEMORY_INITIALIZE_KHR)) {}

Context::~Context() {
  // Called in the reverse order in which they were registered (clSetContextDestructorCallback).
  for (auto callback = destructors_.rbegin(); callback != destructors_.rend(); ++callback)
    callback->function(handle(), callback->user_data);
}

bool Context::has(const Device* device) const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [&](const Ref<Device>& own) { return own.get() == device; });
}

cl_ulong Context::max_allocation() const {
  cl_ulong largest = 0;
  for (const Ref<Device>& device : devices_) largest = std::max(largest, device->max_allocation());
  return largest;
}

void Context::add_destructor(Destructor callback, void* user_data) {
  std::lock_guard lock(mutex_);
  destructors_.push_back({callback, user_data});
}

cl_int find_live(cl_context handle, Context*& context) {
  context = find<Context>(handle);
  if (context == nullptr) return CL_INVALID_CONTEXT;
  return context->is_terminated() ? CL_CONTEXT_TERMINATED_KHR : CL_SUCCESS;
}

void Context::add(Queue& queue) {
  std::lock_guard lock(members_mutex_);
  queues_.insert(&queue);
}

void Context::remove(Queue& queue) {
  std::lock_guard lock(members_mutex_);
  queues_.erase(&queue);
}

std::vector<Ref<Queue>> Context::queues() {
  std::vector<Ref<Queue>> queues;
  std::lock_guard lock(members_mutex_);
  for (Queue* queue : queues_)
    if (queue->try_acquire()) queues.push_back(Ref<Queue>::adopt(queue));
  return queues;
}

void Context::add(Event& user_event) {
  std::lock_guard lock(members_mutex_);
  user_events_.insert(&user_event);
}

void Context::remove(Event& user_event) {
  std::lock_guard lock(members_mutex_);
  user_events_.erase(&user_event);
}

cl_int Context::terminate() {
  if (!may_terminate_) return CL_INVALID_OPERATION;
  if (terminated_.exchange(true)) return CL_CONTEXT_TERMINATED_KHR;
  std::vector<Ref<Event>> user_events;
  {
    std::lock_guard lock(members_mutex_);
    for (Event* event : user_events_)
      if (event->try_acquire()) user_events.push_back(Ref<Event>::adopt(event));
  }
  for (const Ref<Queue>& queue : queues()) queue->stop();
  // Commands that wait for what the program may never set are let through, to be skipped.
  for (const Ref<Event>& event : user_events) event->let_through();
  forget_dead_waits();
  report("the context was terminated");
  return CL_SUCCESS;
}

void Context::report(const std::string& text) const {
  if (notify_ != nullptr) notify_(text.c_str(), nullptr, 0, user_data_);
}

Ref<Queue> Context::default_queue(const Device& device) {
  std::lock_guard lock(members_mutex_);
  const auto found = default_queues_.find(&device);
  return found != default_queues_.end() && found->second->try_acquire() ? Ref<Queue>::adopt(found->second)
                                                                        : Ref<Queue>();
}

Ref<Queue> Context::default_queue_or(Queue& queue) {
  std::lock_guard lock(members_mutex_);
  Queue*& known = default_queues_[&queue.device()];
  if (known != nullptr && known->try_acquire()) return Ref<Queue>::adopt(known);
  known = &queue;
  return Ref<Queue>(&queue);
}

void Context::set_default_queue(Queue& queue) {
  std::lock_guard lock(members_mutex_);
  default_queues_[&queue.device()] = &queue;
}

void Context::forget_default_queue(Queue& queue) {
  std::lock_guard lock(members_mutex_);
  const auto found = default_queues_.find(&queue.device());
  if (found != default_queues_.end() && found->second == &queue) default_queues_.erase(found);
}

namespace {

// The property list of clCreateContext and clCreateContextFromType, copied with its terminator.
cl_int read_properties(const cl_context_properties* properties, std::vector<cl_context_properties>& copy) {
  if (properties == nullptr) return CL_SUCCESS;
  for (; *properties != 0; properties += 2) {
    // CL_INVALID_PROPERTY if the same property name is specified more than once.
    for (size_t i = 0; i < copy.size(); i += 2)
      if (copy[i] == properties[0]) return CL_INVALID_PROPERTY;
    switch (properties[0]) {
      case CL_CONTEXT_PLATFORM:
        // CL_INVALID_PLATFORM if the platform value is not a valid platform.
        if (find<Platform>(reinterpret_cast<cl_platform_id>(properties[1])) == nullptr)
          return CL_INVALID_PLATFORM;
        break;
      case CL_CONTEXT_MEMORY_INITIALIZE_KHR:
        // CL_INVALID_PROPERTY if the value specified for a supported property name is not valid.
        if ((properties[1] & ~(kInitializeLocal | kInitializePrivate)) != 0) return CL_INVALID_PROPERTY;
        break;
      case CL_CONTEXT_TERMINATE_KHR:
      case CL_CONTEXT_INTEROP_USER_SYNC:
        // CL_INVALID_PROPERTY if the value specified for a supported property name is not valid.
        if (properties[1] != CL_TRUE && properties[1] != CL_FALSE) return CL_INVALID_PROPERTY;
        break;
      // CL_INVALID_PROPERTY if a context property name is not a supported property name.
      default: return CL_INVALID_PROPERTY;
    }
    copy.insert(copy.end(), properties, properties + 2);
  }
  copy.push_back(0);
  return CL_SUCCESS;
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana::icd;

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint num_devices,
                                       const cl_device_id* devices,
                                       void(CL_CALLBACK* pfn_notify)(const char*, const void*, size_t, void*),
                                       void* user_data, cl_int* errcode_ret) {
  return api_create<cl_context>(__func__, errcode_ret, [&]() -> Made<cl_context> {
    std::vector<cl_context_properties> copy;
    if (cl_int error = read_properties(properties, copy); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if devices is NULL, num_devices is zero, or pfn_notify is NULL but user_data is not
    // NULL.
    if (devices == nullptr || num_devices == 0) return CL_INVALID_VALUE;
    if (pfn_notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
    // CL_INVALID_DEVICE if any device in devices is not a valid device. Duplicates are ignored.
    std::vector<Ref<Device>> list;
    for (cl_uint i = 0; i < num_devices; ++i) {
      Device* device = find<Device>(devices[i]);
      if (device == nullptr) return CL_INVALID_DEVICE;
      bool known =
          std::any_of(list.begin(), list.end(), [&](const Ref<Device>& d) { return d.get() == device; });
      if (!known) list.emplace_back(device);
    }
    return make<Context>(std::move(list), std::move(copy), pfn_notify, user_data).publish();
  });
}

cl_context CL_API_CALL clCreateContextFromType(const cl_context_properties* properties,
                                               cl_device_type device_type,
                                               void(CL_CALLBACK* pfn_notify)(const char*, const void*, size_t,
                                                                             void*),
                                               void* user_data, cl_int* errcode_ret) {
  return api_create<cl_context>(__func__, errcode_ret, [&]() -> Made<cl_context> {
    std::vector<cl_context_properties> copy;
    if (cl_int error = read_properties(properties, copy); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL.
    if (pfn_notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
    // CL_INVALID_DEVICE_TYPE if device_type is not valid; CL_DEVICE_NOT_FOUND if no device matches.
    cl_int error;
    std::vector<Ref<Device>> list;
    for (Device* device : devices_of_type(device_type, error)) list.emplace_back(device);
    if (error != CL_SUCCESS) return error;
    return make<Context>(std::move(list), std::move(copy), pfn_notify, user_data).publish();
  });
}

namespace morgana::icd {

cl_int CL_API_CALL clTerminateContextKHR(cl_context context) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c = find<Context>(context);
    if (c == nullptr) return CL_INVALID_CONTEXT;
    const Ref<Context> hold(c);
    return c->terminate();
  });
}

}  // namespace morgana::icd

cl_int CL_API_CALL clRetainContext(cl_context context) {
  return api(__func__, [&] { return retain_handle<Context>(context); });
}

cl_int CL_API_CALL clReleaseContext(cl_context context) {
  return api(__func__, [&] { return release_handle<Context>(context); });
}

cl_int CL_API_CALL clGetContextInfo(cl_context context, cl_context_info param_name, size_t param_value_size,
                                    void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c = find<Context>(context);
    if (c == nullptr) return CL_INVALID_CONTEXT;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_CONTEXT_REFERENCE_COUNT: return out.value<cl_uint>(c->reference_count());
      case CL_CONTEXT_NUM_DEVICES: return out.value<cl_uint>(static_cast<cl_uint>(c->devices().size()));
      case CL_CONTEXT_DEVICES: {
        std::vector<cl_device_id> handles;
        for (const Ref<Device>& device : c->devices()) handles.push_back(device->handle());
        return out.array<cl_device_id>(handles);
      }
      case CL_CONTEXT_PROPERTIES: return out.array<cl_context_properties>(c->properties());
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}

cl_int CL_API_CALL clSetContextDestructorCallback(cl_context context,
                                                  void(CL_CALLBACK* pfn_notify)(cl_context, void*),
                                                  void* user_data) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c = find<Context>(context);
    if (c == nullptr) return CL_INVALID_CONTEXT;
    // CL_INVALID_VALUE if pfn_notify is NULL.
    if (pfn_notify == nullptr) return CL_INVALID_VALUE;
    c->add_destructor(pfn_notify, user_data);
    return CL_SUCCESS;
  });
}
