#include "icd/mutable_command.h"

#include <algorithm>

#include "icd/api_check.h"
#include "icd/entries_khr.h"
#include "icd/info.h"

namespace morgana::icd {

MutableCommand::MutableCommand(CommandBuffer& buffer, Queue& queue, Kernel& kernel, cl_bitfield fields,
                               std::vector<cl_properties> properties, State state)
    : buffer_(&buffer),
      queue_(&queue),
      kernel_(&kernel),
      fields_(fields),
      properties_(std::move(properties)),
      state_(std::move(state)) {}

namespace {

constexpr cl_properties kUpdatableFields = 0x12B1;
constexpr cl_properties kDispatchAsserts = 0x12B8;
constexpr cl_uint kDispatchConfig = 0;  // CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR

// cl_mutable_dispatch_arg_khr, cl_mutable_dispatch_exec_info_khr and cl_mutable_dispatch_config_khr: the last
// has other members in the headers of Debian 12.
struct ArgumentUpdate {
  cl_uint index;
  size_t size;
  const void* value;
};
struct ExecInfoUpdate {
  cl_uint name;
  size_t size;
  const void* value;
};
struct Config {
  cl_mutable_command_khr command;
  cl_uint num_args, num_svm_args, num_exec_infos, work_dim;
  const ArgumentUpdate* arg_list;
  const ArgumentUpdate* arg_svm_list;
  const ExecInfoUpdate* exec_info_list;
  const size_t* global_work_offset;
  const size_t* global_work_size;
  const size_t* local_work_size;
};

struct LaunchProperties {
  cl_bitfield fields = 0;
  cl_bitfield asserts = 0;
  std::vector<cl_properties> array;
};

cl_int read_properties(const cl_properties* list, const CommandBuffer& buffer, LaunchProperties& properties) {
  // Without the property all fields may be updated, if the buffer is mutable at all.
  properties.fields = buffer.is_mutable() ? kAllFields : 0;
  properties.asserts = buffer.options().asserts;
  if (list == nullptr) return CL_SUCCESS;
  for (; *list != 0; list += 2) {
    for (size_t i = 0; i < properties.array.size(); i += 2)
      if (properties.array[i] == list[0]) return CL_INVALID_VALUE;
    switch (list[0]) {
      case kUpdatableFields:
        if ((list[1] & ~kAllFields) != 0) return CL_INVALID_VALUE;
        properties.fields = list[1];
        break;
      case kDispatchAsserts:
        if ((list[1] & ~kAssertNoAdditionalGroups) != 0) return CL_INVALID_VALUE;
        properties.asserts |= list[1];
        break;
      default: return CL_INVALID_VALUE;
    }
    properties.array.insert(properties.array.end(), list, list + 2);
  }
  properties.array.push_back(0);
  return CL_SUCCESS;
}

// Whether Morgana's choice of a local size is not what makes a range uniform or not.
bool tells_uniformity(const Launch& launch, const RangeValues& range) {
  return !launch.empty && !range.chosen;
}

// The launch as a new state has it, and its step.
cl_int prepare(const Context& context, const Device& device, MutableCommand::State& state,
               std::shared_ptr<Step>& step) {
  Launch launch;
  if (cl_int error = resolve_launch(context, device, state.kernel->handle(), launch); error != CL_SUCCESS)
    return error;
  if (cl_int error = read_range(state.range.range(), launch); error != CL_SUCCESS) return error;
  if (tells_uniformity(launch, state.range)) state.uniform = is_uniform(launch.geometry);
  state.complete = launch.kernel->check_arguments(*launch.variant) == CL_SUCCESS;
  return state.complete ? make_step(launch, step) : CL_SUCCESS;
}

cl_int record_launch(const RecordArguments& arguments, cl_kernel kernel, const Range& range) {
  CommandBuffer* buffer;
  Queue* queue;
  if (cl_int error = CommandBuffer::resolve(arguments, buffer, queue, true); error != CL_SUCCESS)
    return error;
  Launch launch;
  if (cl_int error = resolve_launch(queue->context(), queue->device(), kernel, launch); error != CL_SUCCESS)
    return error;
  LaunchProperties properties;
  if (cl_int error = read_properties(arguments.properties, *buffer, properties); error != CL_SUCCESS)
    return error;
  // CL_INVALID_KERNEL_ARGS if the kernel argument values have not been specified and properties do not let
  // them come later.
  const bool complete = launch.kernel->check_arguments(*launch.variant) == CL_SUCCESS;
  const bool may_come =
      buffer->is_mutable() && arguments.properties != nullptr && (properties.fields & kFieldArguments) != 0;
  if (!complete && !may_come) return CL_INVALID_KERNEL_ARGS;
  if (cl_int error = read_range(range, launch); error != CL_SUCCESS) return error;
  // CL_INVALID_VALUE if the number of work-groups is asserted and local_work_size is NULL.
  if (properties.asserts != 0 && range.local == nullptr) return CL_INVALID_VALUE;
  std::shared_ptr<Step> step;
  if (complete)
    if (cl_int error = make_step(launch, step); error != CL_SUCCESS) return error;
  if (step) api_check::look_at_released("clCommandNDRangeKernelKHR", launch.kernel->name(), step->memory());
  if (!buffer->is_mutable() && arguments.handle == nullptr) return buffer->record(arguments, std::move(step));
  MutableCommand::State state{make<Kernel>(*launch.kernel), RangeValues::of(range), true, complete};
  if (tells_uniformity(launch, state.range)) state.uniform = is_uniform(launch.geometry);
  return buffer->record(arguments, std::move(step),
                        make<MutableCommand>(*buffer, *queue, *launch.kernel, properties.fields,
                                             std::move(properties.array), std::move(state)));
}

// CL_INVALID_OPERATION if a field is changed that the command was not recorded to allow, or the dimensions.
// CL_INVALID_VALUE if a list contradicts its length.
cl_int check_config(const MutableCommand& command, const Config& config) {
  if (config.work_dim != 0 && config.work_dim != command.state().range.dimensions)
    return CL_INVALID_OPERATION;
  const auto changes = [&](bool given, cl_bitfield field) {
    return given && (command.fields() & field) == 0;
  };
  if (changes(config.global_work_offset != nullptr, kFieldOffset) ||
      changes(config.global_work_size != nullptr, kFieldGlobal) ||
      changes(config.local_work_size != nullptr, kFieldLocal) ||
      changes(config.num_args != 0 || config.num_svm_args != 0, kFieldArguments) ||
      changes(config.num_exec_infos != 0, kFieldExecInfo))
    return CL_INVALID_OPERATION;
  const auto contradicts = [](const void* list, cl_uint count) { return (list == nullptr) != (count == 0); };
  return contradicts(config.arg_list, config.num_args) ||
                 contradicts(config.arg_svm_list, config.num_svm_args) ||
                 contradicts(config.exec_info_list, config.num_exec_infos)
             ? CL_INVALID_VALUE
             : CL_SUCCESS;
}

cl_int set_arguments(Kernel& kernel, const Config& config) {
  for (cl_uint i = 0; i < config.num_args; ++i) {
    const ArgumentUpdate& update = config.arg_list[i];
    // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index.
    if (update.index >= kernel.argument_count()) return CL_INVALID_ARG_INDEX;
    if (cl_int error = kernel.set_argument(update.index, update.size, update.value); error != CL_SUCCESS)
      return error;
  }
  for (cl_uint i = 0; i < config.num_svm_args; ++i) {
    const ArgumentUpdate& update = config.arg_svm_list[i];
    if (update.index >= kernel.argument_count()) return CL_INVALID_ARG_INDEX;
    if (cl_int error = kernel.set_svm_pointer(update.index, update.value); error != CL_SUCCESS) return error;
  }
  for (cl_uint i = 0; i < config.num_exec_infos; ++i) {
    const ExecInfoUpdate& update = config.exec_info_list[i];
    if (cl_int error = Kernel::check_exec_info(update.name, update.size, update.value); error != CL_SUCCESS)
      return error;
  }
  return CL_SUCCESS;
}

// A command, and what becomes of it when all of an update is valid.
struct Staged {
  MutableCommand* command;
  MutableCommand::State state;
  std::shared_ptr<Step> step;
};

cl_int stage(const CommandBuffer& buffer, const Config& config, std::vector<Staged>& all) {
  // CL_INVALID_MUTABLE_COMMAND_KHR if command is not a valid handle of a kernel launch, or not of this
  // buffer.
  MutableCommand* command = find<MutableCommand>(config.command);
  if (command == nullptr || &command->buffer() != &buffer) return CL_INVALID_MUTABLE_COMMAND_KHR;
  if (cl_int error = check_config(*command, config); error != CL_SUCCESS) return error;
  auto known =
      std::find_if(all.begin(), all.end(), [&](const Staged& one) { return one.command == command; });
  if (known == all.end()) {
    known = all.insert(all.end(), {command, command->state(), nullptr});
    known->state.kernel = make<Kernel>(*command->state().kernel);
  }
  MutableCommand::State& state = known->state;
  if (cl_int error = set_arguments(*state.kernel, config); error != CL_SUCCESS) return error;
  const bool was_uniform = state.uniform;
  RangeValues& range = state.range;
  for (cl_uint i = 0; i < range.dimensions; ++i) {
    if (config.global_work_offset != nullptr) range.offset[i] = config.global_work_offset[i];
    if (config.global_work_size != nullptr) range.global[i] = config.global_work_size[i];
    if (config.local_work_size != nullptr) range.local[i] = config.local_work_size[i];
  }
  const bool knew = !range.chosen;
  if (config.local_work_size != nullptr) range.chosen = false;
  cl_int error = prepare(buffer.context(), command->queue().device(), state, known->step);
  if (error != CL_SUCCESS) return error;
  // CL_INVALID_OPERATION if the sizes change whether work-groups are uniform.
  return knew && state.uniform != was_uniform ? CL_INVALID_OPERATION : CL_SUCCESS;
}

cl_int update_commands(CommandBuffer& buffer, cl_uint count, const cl_uint* types, const void** configs) {
  return buffer.update([&](Steps& steps) -> cl_int {
    // CL_INVALID_OPERATION if the buffer was not created with CL_COMMAND_BUFFER_MUTABLE_KHR.
    if (!buffer.is_mutable()) return CL_INVALID_OPERATION;
    // CL_INVALID_VALUE if a list contradicts its length, or holds an unknown type or NULL.
    if ((types == nullptr) != (count == 0) || (configs == nullptr) != (count == 0)) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; ++i)
      if (types[i] != kDispatchConfig || configs[i] == nullptr) return CL_INVALID_VALUE;
    std::vector<Staged> all;
    for (cl_uint i = 0; i < count; ++i) {
      cl_int error = stage(buffer, *static_cast<const Config*>(configs[i]), all);
      if (error != CL_SUCCESS) return error;
    }
    for (Staged& one : all) {
      steps[one.command->index()] = std::move(one.step);
      one.command->set_state(std::move(one.state));
    }
    return CL_SUCCESS;
  });
}

// The lists may be NULL only where they are empty.
cl_int check_handles(const CommandBuffer& buffer, cl_uint count, const cl_mutable_command_khr* handles,
                     const cl_mutable_command_khr* handles_ret) {
  if ((handles == nullptr) != (count == 0) || (handles_ret == nullptr) != (count == 0))
    return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < count; ++i) {
    const MutableCommand* command = find<MutableCommand>(handles[i]);
    if (command == nullptr || &command->buffer() != &buffer) return CL_INVALID_VALUE;
  }
  return CL_SUCCESS;
}

}  // namespace

cl_int CL_API_CALL clCommandNDRangeKernelKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue, const cl_properties* properties,
    cl_kernel kernel, cl_uint work_dim, const size_t* global_work_offset, const size_t* global_work_size,
    const size_t* local_work_size, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle) {
  return api(__func__, [&] {
    return record_launch({command_buffer, command_queue, properties, num_sync_points_in_wait_list,
                          sync_point_wait_list, sync_point, mutable_handle},
                         kernel, {work_dim, global_work_offset, global_work_size, local_work_size});
  });
}

cl_int CL_API_CALL clUpdateMutableCommandsKHR(cl_command_buffer_khr command_buffer, cl_uint num_configs,
                                              const cl_uint* config_types, const void** configs) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer.
    CommandBuffer* buffer = find<CommandBuffer>(command_buffer);
    if (buffer == nullptr) return CL_INVALID_COMMAND_BUFFER_KHR;
    return update_commands(*buffer, num_configs, config_types, configs);
  });
}

cl_command_buffer_khr CL_API_CALL clRemapCommandBufferKHR(cl_command_buffer_khr command_buffer,
                                                          cl_bool /*automatic*/, cl_uint num_queues,
                                                          const cl_command_queue* queues, cl_uint num_handles,
                                                          const cl_mutable_command_khr* handles,
                                                          cl_mutable_command_khr* handles_ret,
                                                          cl_int* errcode_ret) {
  return api_create<cl_command_buffer_khr>(__func__, errcode_ret, [&]() -> Made<cl_command_buffer_khr> {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer.
    CommandBuffer* buffer = find<CommandBuffer>(command_buffer);
    if (buffer == nullptr) return CL_INVALID_COMMAND_BUFFER_KHR;
    // CL_INVALID_VALUE if there are no queues.
    if (num_queues == 0 || queues == nullptr) return CL_INVALID_VALUE;
    cl_int error = check_handles(*buffer, num_handles, handles, handles_ret);
    if (error != CL_SUCCESS) return error;
    for (cl_uint i = 0; i < num_queues; ++i) {
      const Queue* queue = find_queue(queues[i]);
      if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
      if (&queue->context() != &buffer->context()) return CL_INVALID_CONTEXT;
    }
    // CL_INVALID_OPERATION: CL_PLATFORM_COMMAND_BUFFER_CAPABILITIES_KHR does not name remapping.
    return CL_INVALID_OPERATION;
  });
}

cl_int CL_API_CALL clGetMutableCommandInfoKHR(cl_mutable_command_khr command,
                                              cl_mutable_command_info_khr param_name, size_t param_value_size,
                                              void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    constexpr cl_mutable_command_info_khr kPropertiesArray = 0x12A2;  // has another name in older headers
    // CL_INVALID_MUTABLE_COMMAND_KHR if command is not a valid mutable command object.
    const MutableCommand* c = find<MutableCommand>(command);
    if (c == nullptr) return CL_INVALID_MUTABLE_COMMAND_KHR;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    RangeValues range;
    c->buffer().read([&] { range = c->state().range; });
    const auto sizes = [&](const std::array<size_t, 3>& values) {
      return out.array<size_t>(std::span(values).first(range.dimensions));
    };
    switch (param_name) {
      case CL_MUTABLE_COMMAND_COMMAND_QUEUE_KHR: return out.value<cl_command_queue>(c->queue().handle());
      case CL_MUTABLE_COMMAND_COMMAND_BUFFER_KHR:
        return out.value<cl_command_buffer_khr>(c->buffer().handle());
      case CL_MUTABLE_COMMAND_COMMAND_TYPE_KHR: return out.value<cl_command_type>(CL_COMMAND_NDRANGE_KERNEL);
      case kPropertiesArray: return out.array<cl_properties>(c->properties());
      case CL_MUTABLE_DISPATCH_KERNEL_KHR: return out.value<cl_kernel>(c->kernel().handle());
      case CL_MUTABLE_DISPATCH_DIMENSIONS_KHR: return out.value<cl_uint>(range.dimensions);
      case CL_MUTABLE_DISPATCH_GLOBAL_WORK_OFFSET_KHR: return sizes(range.offset);
      case CL_MUTABLE_DISPATCH_GLOBAL_WORK_SIZE_KHR: return sizes(range.global);
      case CL_MUTABLE_DISPATCH_LOCAL_WORK_SIZE_KHR: return sizes(range.local);
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}

}  // namespace morgana::icd
