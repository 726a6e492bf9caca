#include "icd/semaphore.h"

#include <algorithm>
#include <iterator>

#include "icd/checks.h"
#include "icd/entries_khr.h"
#include "icd/info.h"

namespace morgana::icd {

bool Semaphore::has(const Device& device) const {
  return std::any_of(options_.devices.begin(), options_.devices.end(),
                     [&](const Ref<Device>& own) { return own.get() == &device; });
}

namespace {

// Younger than the headers of Debian 12.
constexpr cl_semaphore_properties_khr kDeviceList = 0x2053;
constexpr cl_semaphore_info_khr kExportable = 0x2054;

// What clCreateSemaphoreWithPropertiesKHR is asked for.
struct SemaphoreRequest {
  Semaphore::Options options;
  bool has_type = false, has_devices = false, has_exports = false, has_handle = false;
  int handle = -1;
};

// CL_INVALID_DEVICE if the list does not name exactly one device of the context.
cl_int read_devices(const Context& context, const cl_semaphore_properties_khr*& next,
                    SemaphoreRequest& request) {
  std::vector<cl_device_id> ids;
  for (; *next != 0; ++next) ids.push_back(reinterpret_cast<cl_device_id>(*next));  // NOLINT: a handle
  ++next;
  Device* device = ids.size() == 1 ? find<Device>(ids[0]) : nullptr;
  if (device == nullptr || !context.has(device)) return CL_INVALID_DEVICE;
  request.options.devices.emplace_back(device);
  return CL_SUCCESS;
}

// CL_INVALID_VALUE if more than one type is listed; CL_INVALID_PROPERTY if it is not offered.
cl_int read_exports(const cl_semaphore_properties_khr*& next, SemaphoreRequest& request) {
  for (; *next != 0; ++next)
    request.options.exports.push_back(static_cast<cl_external_semaphore_handle_type_khr>(*next));
  ++next;
  if (request.options.exports.size() > 1) return CL_INVALID_VALUE;
  const bool known =
      request.options.exports.empty() || request.options.exports[0] == CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR;
  return known ? CL_SUCCESS : CL_INVALID_PROPERTY;
}

// CL_INVALID_PROPERTY if a property is not supported, given twice, or its value not valid.
cl_int read_property(const Context& context, const cl_semaphore_properties_khr*& next,
                     SemaphoreRequest& request) {
  const auto first = [](bool& seen) { return !std::exchange(seen, true); };
  switch (*next++) {
    case CL_SEMAPHORE_TYPE_KHR:
      return first(request.has_type) && *next++ == CL_SEMAPHORE_TYPE_BINARY_KHR ? CL_SUCCESS
                                                                                : CL_INVALID_PROPERTY;
    case kDeviceList:
      return first(request.has_devices) ? read_devices(context, next, request) : CL_INVALID_PROPERTY;
    case CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
      return first(request.has_exports) ? read_exports(next, request) : CL_INVALID_PROPERTY;
    case CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR:
      if (!first(request.has_handle)) return CL_INVALID_PROPERTY;
      request.handle = static_cast<int>(*next++);
      return CL_SUCCESS;
    default: return CL_INVALID_PROPERTY;
  }
}

Made<cl_semaphore_khr> create(cl_context context, const cl_semaphore_properties_khr* properties) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  Context* c;
  if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
  // CL_INVALID_VALUE if sema_props is NULL, or does not tell the type.
  if (properties == nullptr) return CL_INVALID_VALUE;
  SemaphoreRequest request;
  const cl_semaphore_properties_khr* next = properties;
  while (*next != 0)
    if (cl_int error = read_property(*c, next, request); error != CL_SUCCESS) return error;
  if (!request.has_type) return CL_INVALID_VALUE;
  request.options.array.assign(properties, next + 1);
  // CL_INVALID_PROPERTY if the context has several devices and sema_props names none.
  if (!request.has_devices && c->devices().size() > 1) return CL_INVALID_PROPERTY;
  if (!request.has_devices) request.options.devices.assign(c->devices().begin(), c->devices().end());
  // CL_INVALID_OPERATION if what is imported shall be exported.
  if (request.has_handle && request.has_exports) return CL_INVALID_OPERATION;
  std::shared_ptr<SemaphorePayload> payload;
  if (request.has_handle) {
    payload = import_payload(request.handle);
    if (!payload) return CL_INVALID_PROPERTY;
  } else {
    payload = request.options.exports.empty() ? make_local_payload() : make_shared_payload();
    if (!payload) return CL_OUT_OF_RESOURCES;
  }
  return make<Semaphore>(*c, std::move(request.options), std::move(payload)).publish();
}

// A list of semaphores and what an enqueue of it needs.
struct Resolved {
  Queue* queue = nullptr;
  std::vector<Ref<Semaphore>> semaphores;
  WaitList waits;
};

cl_int resolve_list(cl_command_queue command_queue, cl_uint count, const cl_semaphore_khr* list,
                    const Waits& waits, Resolved& resolved) {
  // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue.
  resolved.queue = find_queue(command_queue);
  if (resolved.queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  // CL_INVALID_VALUE if num_sema_objects is 0.
  if (count == 0) return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < count; ++i) {
    // CL_INVALID_SEMAPHORE_KHR if a semaphore is not valid.
    Semaphore* semaphore = list == nullptr ? nullptr : find<Semaphore>(list[i]);
    if (semaphore == nullptr) return CL_INVALID_SEMAPHORE_KHR;
    if (&semaphore->context() != &resolved.queue->context()) return CL_INVALID_CONTEXT;
    // CL_INVALID_COMMAND_QUEUE if the queue's device is none of those of the semaphore.
    if (!semaphore->has(resolved.queue->device())) return CL_INVALID_COMMAND_QUEUE;
    resolved.semaphores.emplace_back(semaphore);
  }
  cl_int error = check_wait_list(resolved.queue->context(), waits.count, waits.list, resolved.waits);
  if (error != CL_SUCCESS) return error;
  // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if an event of the list has failed.
  return resolved.waits.has_failed() ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

// Executes signals; where it is skipped they fail, so that nobody waits for them for good.
class SignalCommand final : public Command {
 public:
  explicit SignalCommand(std::vector<Ref<Semaphore>> semaphores)
      : Command(CL_COMMAND_SEMAPHORE_SIGNAL_KHR), semaphores_(std::move(semaphores)) {
    for (const Ref<Semaphore>& semaphore : semaphores_)
      signals_.push_back(semaphore->payload().announce(semaphore->context()));
  }
  void run() override {
    for (const auto& signal : signals_) signal->happen();
    signals_.clear();
  }

 private:
  void drop() override {
    for (const auto& signal : signals_) signal->fail();
    signals_.clear();
    semaphores_.clear();
  }

  std::vector<Ref<Semaphore>> semaphores_;
  std::vector<std::unique_ptr<SemaphorePayload::Signal>> signals_;
};

}  // namespace

cl_semaphore_khr CL_API_CALL clCreateSemaphoreWithPropertiesKHR(cl_context context,
                                                                const cl_semaphore_properties_khr* sema_props,
                                                                cl_int* errcode_ret) {
  return api_create<cl_semaphore_khr>(__func__, errcode_ret, [&] { return create(context, sema_props); });
}

cl_int CL_API_CALL clRetainSemaphoreKHR(cl_semaphore_khr sema_object) {
  return api(__func__, [&] { return retain_handle<Semaphore>(sema_object); });
}

cl_int CL_API_CALL clReleaseSemaphoreKHR(cl_semaphore_khr sema_object) {
  return api(__func__, [&] { return release_handle<Semaphore>(sema_object); });
}

cl_int CL_API_CALL clEnqueueWaitSemaphoresKHR(cl_command_queue command_queue, cl_uint num_sema_objects,
                                              const cl_semaphore_khr* sema_objects,
                                              const cl_semaphore_payload_khr* /*sema_payload_list*/,
                                              cl_uint num_events_in_wait_list,
                                              const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    Resolved all;
    cl_int error = resolve_list(command_queue, num_sema_objects, sema_objects,
                                {num_events_in_wait_list, event_wait_list, event}, all);
    if (error != CL_SUCCESS) return error;
    std::vector<Ref<Event>> claims;
    for (const Ref<Semaphore>& semaphore : all.semaphores) {
      claims.push_back(semaphore->payload().claim(semaphore->context()));
      all.waits.events.push_back(claims.back().get());
    }
    Queue& queue = *all.queue;
    return queue.enqueue(host_command(CL_COMMAND_SEMAPHORE_WAIT_KHR, [holds = std::move(all.semaphores)] {}),
                         all.waits, event);
  });
}

cl_int CL_API_CALL clEnqueueSignalSemaphoresKHR(cl_command_queue command_queue, cl_uint num_sema_objects,
                                                const cl_semaphore_khr* sema_objects,
                                                const cl_semaphore_payload_khr* /*sema_payload_list*/,
                                                cl_uint num_events_in_wait_list,
                                                const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    Resolved all;
    cl_int error = resolve_list(command_queue, num_sema_objects, sema_objects,
                                {num_events_in_wait_list, event_wait_list, event}, all);
    if (error != CL_SUCCESS) return error;
    Ref<Queue> queue(all.queue);
    error = queue->enqueue(std::make_unique<SignalCommand>(std::move(all.semaphores)), all.waits, event);
    // Whoever waits for the semaphore does not know which queue to help.
    queue->flush();
    return error;
  });
}

cl_int CL_API_CALL clGetSemaphoreInfoKHR(cl_semaphore_khr sema_object, cl_semaphore_info_khr param_name,
                                         size_t param_value_size, void* param_value,
                                         size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_SEMAPHORE_KHR if sema_object is not a valid semaphore.
    const Semaphore* s = find<Semaphore>(sema_object);
    if (s == nullptr) return CL_INVALID_SEMAPHORE_KHR;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_SEMAPHORE_CONTEXT_KHR: return out.value<cl_context>(s->context().handle());
      case CL_SEMAPHORE_REFERENCE_COUNT_KHR: return out.value<cl_uint>(s->reference_count());
      case CL_SEMAPHORE_PROPERTIES_KHR: return out.array<cl_semaphore_properties_khr>(s->options().array);
      case CL_SEMAPHORE_TYPE_KHR: return out.value<cl_semaphore_type_khr>(CL_SEMAPHORE_TYPE_BINARY_KHR);
      case CL_SEMAPHORE_PAYLOAD_KHR:
        return out.value<cl_semaphore_payload_khr>(s->payload().is_signaled() ? 1 : 0);
      case kDeviceList: {
        std::vector<cl_device_id> handles;
        for (const Ref<Device>& device : s->options().devices) handles.push_back(device->handle());
        return out.array<cl_device_id>(handles);
      }
      case CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
        return out.array<cl_external_semaphore_handle_type_khr>(s->options().exports);
      case kExportable: return out.value<cl_bool>(!s->options().exports.empty());
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}

cl_int CL_API_CALL clGetSemaphoreHandleForTypeKHR(cl_semaphore_khr sema_object, cl_device_id device,
                                                  cl_external_semaphore_handle_type_khr handle_type,
                                                  size_t handle_size, void* handle_ptr,
                                                  size_t* handle_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_SEMAPHORE_KHR if sema_object is not a valid semaphore.
    const Semaphore* s = find<Semaphore>(sema_object);
    if (s == nullptr) return CL_INVALID_SEMAPHORE_KHR;
    // CL_INVALID_DEVICE if device is not valid, or the semaphore cannot be shared with it.
    const Device* d = find<Device>(device);
    if (d == nullptr || !s->has(*d)) return CL_INVALID_DEVICE;
    // CL_INVALID_VALUE if the semaphore was not created to be exported so.
    const auto& exports = s->options().exports;
    if (std::find(exports.begin(), exports.end(), handle_type) == exports.end()) return CL_INVALID_VALUE;
    // CL_INVALID_VALUE if handle_size is less than the size of the handle and handle_ptr is not NULL.
    if (handle_ptr != nullptr && handle_size < sizeof(int)) return CL_INVALID_VALUE;
    if (handle_size_ret != nullptr) *handle_size_ret = sizeof(int);
    if (handle_ptr == nullptr) return CL_SUCCESS;
    const int descriptor = s->payload().export_descriptor();
    if (descriptor < 0) return CL_OUT_OF_RESOURCES;
    std::memcpy(handle_ptr, &descriptor, sizeof descriptor);
    return CL_SUCCESS;
  });
}

}  // namespace morgana::icd
