// Queues as objects: creation, queries, and the default on-device queue of a device.
#include "icd/queue_objects.h"

#include <optional>

#include "icd/checks.h"
#include "icd/extensions.h"
#include "icd/info.h"

namespace morgana::icd {
namespace {

constexpr cl_command_queue_properties kHostProperties =
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
constexpr cl_command_queue_properties kDeviceProperties = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

struct QueueOptions {
  cl_command_queue_properties properties = 0;
  std::vector<cl_queue_properties> array;
  std::optional<cl_queue_properties> size;
  device::Priority priority = device::Priority::normal;
  bool has_hints = false;

  bool on_device() const { return (properties & CL_QUEUE_ON_DEVICE) != 0; }
};

cl_int check_properties(cl_command_queue_properties properties) {
  // CL_INVALID_VALUE if values specified in properties are not valid.
  if ((properties & ~(kHostProperties | kDeviceProperties)) != 0) return CL_INVALID_VALUE;
  // An on-device queue must be out of order, and only one can be the default.
  const bool on_device = (properties & CL_QUEUE_ON_DEVICE) != 0;
  if (on_device && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0) return CL_INVALID_VALUE;
  if (!on_device && (properties & CL_QUEUE_ON_DEVICE_DEFAULT) != 0) return CL_INVALID_VALUE;
  return CL_SUCCESS;
}

cl_int read_properties(const cl_queue_properties* list, QueueOptions& options) {
  if (list == nullptr) return CL_SUCCESS;
  for (; *list != 0; list += 2) {
    for (size_t i = 0; i < options.array.size(); i += 2)
      if (options.array[i] == list[0]) return CL_INVALID_VALUE;
    switch (list[0]) {
      case CL_QUEUE_PROPERTIES: options.properties = list[1]; break;
      case CL_QUEUE_SIZE: options.size = list[1]; break;
      case CL_QUEUE_PRIORITY_KHR:
        switch (list[1]) {
          case CL_QUEUE_PRIORITY_HIGH_KHR: options.priority = device::Priority::high; break;
          case CL_QUEUE_PRIORITY_MED_KHR: options.priority = device::Priority::normal; break;
          case CL_QUEUE_PRIORITY_LOW_KHR: options.priority = device::Priority::low; break;
          default: return CL_INVALID_VALUE;
        }
        options.has_hints = true;
        break;
      // cl_khr_throttle_hints: a hint; there is no clock to throttle.
      case CL_QUEUE_THROTTLE_KHR:
        if (list[1] != CL_QUEUE_THROTTLE_HIGH_KHR && list[1] != CL_QUEUE_THROTTLE_MED_KHR &&
            list[1] != CL_QUEUE_THROTTLE_LOW_KHR)
          return CL_INVALID_VALUE;
        options.has_hints = true;
        break;
      default: return CL_INVALID_VALUE;
    }
    options.array.insert(options.array.end(), list, list + 2);
  }
  options.array.push_back(0);
  if (cl_int error = check_properties(options.properties); error != CL_SUCCESS) return error;
  // CL_QUEUE_SIZE may only be given for an on-device queue, and must not be 0.
  return options.size && (!options.on_device() || *options.size == 0) ? CL_INVALID_VALUE : CL_SUCCESS;
}

Made<cl_command_queue> create_on_device(Context& context, Device& device, QueueOptions options) {
  // CL_INVALID_QUEUE_PROPERTIES if values specified in properties are valid but not supported by the device;
  // the hints are for host queues (cl_khr_priority_hints, cl_khr_throttle_hints).
  if (!has_device_enqueue(device.target()) || options.has_hints ||
      options.size.value_or(0) > runtime::kMaxDeviceQueueBytes)
    return CL_INVALID_QUEUE_PROPERTIES;
  const bool by_default = (options.properties & CL_QUEUE_ON_DEVICE_DEFAULT) != 0;
  // A default queue that there is already is returned, with its reference count incremented.
  if (by_default)
    if (const Ref<Queue> known = context.default_queue(device)) return known.publish();
  const auto size = static_cast<cl_uint>(options.size.value_or(runtime::kPreferredDeviceQueueBytes));
  auto made = runtime::DeviceQueue::create(size, device.spec().local_memory);
  if (!made.ok()) return CL_OUT_OF_RESOURCES;
  const Ref<Queue> queue = make<Queue>(context, device, options.properties, std::move(options.array),
                                       Queue::OnDevice{size, std::move(made).value()});
  // Another thread may have made one meanwhile.
  return (by_default ? context.default_queue_or(*queue) : queue).publish();
}

Made<cl_command_queue> create_queue(cl_context context, cl_device_id device, QueueOptions options,
                                    cl_int error) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  Context* c;
  if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
  // CL_INVALID_DEVICE if device is not a valid device or is not associated with context.
  Device* d = find<Device>(device);
  if (d == nullptr || !c->has(d)) return CL_INVALID_DEVICE;
  if (error != CL_SUCCESS) return error;
  if (options.on_device()) return create_on_device(*c, *d, std::move(options));
  auto made = runtime::Queue::create(d->agent(), options.priority);
  // CL_OUT_OF_RESOURCES if there is a failure to allocate resources on the device.
  if (!made.ok()) return CL_OUT_OF_RESOURCES;
  return make<Queue>(*c, *d, options.properties, std::move(options.array), std::move(made).value()).publish();
}

Made<cl_command_queue> create_with_properties(cl_context context, cl_device_id device,
                                              const cl_queue_properties* properties) {
  QueueOptions options;
  cl_int error = read_properties(properties, options);
  return create_queue(context, device, std::move(options), error);
}

// Those of clCreateCommandQueue are of a host queue.
cl_int check_old_properties(cl_command_queue_properties properties) {
  const cl_int error = check_properties(properties & ~kDeviceProperties);
  if (error != CL_SUCCESS) return error;
  return (properties & kDeviceProperties) != 0 ? CL_INVALID_QUEUE_PROPERTIES : CL_SUCCESS;
}

cl_int queue_info(Queue& queue, cl_command_queue_info name, const InfoWriter& out) {
  switch (name) {
    case CL_QUEUE_CONTEXT: return out.value<cl_context>(queue.context().handle());
    case CL_QUEUE_DEVICE: return out.value<cl_device_id>(queue.device().handle());
    case CL_QUEUE_REFERENCE_COUNT: return out.value<cl_uint>(queue.reference_count());
    case CL_QUEUE_PROPERTIES: return out.value<cl_command_queue_properties>(queue.properties());
    case CL_QUEUE_PROPERTIES_ARRAY: return out.array<cl_queue_properties>(queue.property_array());
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue for param_name.
    case CL_QUEUE_SIZE:
      return queue.is_on_device() ? out.value<cl_uint>(queue.on_device().size) : CL_INVALID_COMMAND_QUEUE;
    case CL_QUEUE_DEVICE_DEFAULT: {
      const Ref<Queue> known = queue.context().default_queue(queue.device());
      return out.value<cl_command_queue>(known ? known->handle() : nullptr);
    }
    // CL_INVALID_VALUE if param_name is not one of the supported values.
    default: return CL_INVALID_VALUE;
  }
}

}  // namespace

bool has_device_enqueue(Target target) { return has_feature(target, "__opencl_c_device_enqueue"); }

}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties,
                                                  cl_int* errcode_ret) {
  return api_create<cl_command_queue>(__func__, errcode_ret, [&] {
    return create_queue(context, device, {.properties = properties}, check_old_properties(properties));
  });
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* errcode_ret) {
  return api_create<cl_command_queue>(__func__, errcode_ret,
                                      [&] { return create_with_properties(context, device, properties); });
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithPropertiesKHR(cl_context context, cl_device_id device,
                                                                   const cl_queue_properties_khr* properties,
                                                                   cl_int* errcode_ret) {
  return api_create<cl_command_queue>(__func__, errcode_ret,
                                      [&] { return create_with_properties(context, device, properties); });
}

cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue command_queue) {
  return api(__func__, [&] { return retain_handle<Queue>(command_queue); });
}

cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue command_queue) {
  return api(__func__, [&] {
    // clReleaseCommandQueue performs an implicit flush.
    if (Queue* queue = find_queue(command_queue)) queue->flush();
    return release_handle<Queue>(command_queue);
  });
}

cl_int CL_API_CALL clGetCommandQueueInfo(cl_command_queue command_queue, cl_command_queue_info param_name,
                                         size_t param_value_size, void* param_value,
                                         size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue.
    Queue* queue = find_any_queue(command_queue);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    return queue_info(*queue, param_name, InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue command_queue,
                                             cl_command_queue_properties properties, cl_bool,
                                             cl_command_queue_properties*) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue.
    if (find_any_queue(command_queue) == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_VALUE if values specified in properties are not valid.
    if ((properties & ~kHostProperties) != 0) return CL_INVALID_VALUE;
    // Removed by OpenCL 1.1: devices of a later version may refuse.
    return CL_INVALID_OPERATION;
  });
}

cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue command_queue) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    // CL_INVALID_DEVICE if device is not a valid device or is not associated with context.
    Device* d = find<Device>(device);
    if (d == nullptr || !c->has(d)) return CL_INVALID_DEVICE;
    // CL_INVALID_OPERATION if device does not support a replaceable default on-device queue.
    if (!has_device_enqueue(d->target())) return CL_INVALID_OPERATION;
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue for device.
    Queue* queue = find_any_queue(command_queue);
    if (queue == nullptr || !queue->is_on_device() || &queue->context() != c || &queue->device() != d)
      return CL_INVALID_COMMAND_QUEUE;
    c->set_default_queue(*queue);
    return CL_SUCCESS;
  });
}
