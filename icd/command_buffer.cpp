#include "icd/command_buffer.h"

#include <algorithm>

#include "icd/api_check.h"
#include "icd/entries_khr.h"
#include "icd/extensions.h"
#include "icd/info.h"
#include "icd/mutable_command.h"

namespace morgana::icd {
namespace {

// Whether cl_khr_command_buffer_multi_device is there, which is so for all devices or for none.
bool has_multi_device(const Device& device) {
  return has_extension(device.target(), "cl_khr_command_buffer_multi_device");
}

// One execution of a command buffer.
class Replay final : public Command {
 public:
  Replay(CommandBuffer& buffer, std::shared_ptr<const Steps> steps)
      : Command(CL_COMMAND_COMMAND_BUFFER_KHR), buffer_(&buffer), steps_(std::move(steps)) {}

  device::Fault run_with(runtime::Launcher& launcher) override {
    for (const std::shared_ptr<Step>& step : *steps_) {
      if (!step) continue;
      device::Fault fault = step->run(launcher);
      if (fault.kind == device::FaultKind::none) continue;
      faulty_ = step->dispatch();
      return fault;
    }
    return {};
  }

 private:
  void drop() override {
    steps_.reset();
    buffer_ = Ref<CommandBuffer>();
  }
  runtime::Dispatch* faulty() override { return faulty_; }

  Ref<CommandBuffer> buffer_;
  std::shared_ptr<const Steps> steps_;
  runtime::Dispatch* faulty_ = nullptr;
};

}  // namespace

CommandBuffer::CommandBuffer(std::vector<Ref<Queue>> queues, Options options)
    : queues_(std::move(queues)), options_(std::move(options)), steps_(std::make_shared<Steps>()) {}

CommandBuffer::~CommandBuffer() = default;

bool CommandBuffer::is_complete() const {
  return std::all_of(commands_.begin(), commands_.end(),
                     [](const Ref<MutableCommand>& command) { return command->state().complete; });
}

cl_command_buffer_state_khr CommandBuffer::state() {
  constexpr cl_command_buffer_state_khr kFinalized = 2;  // of _mutable_dispatch
  std::lock_guard lock(mutex_);
  if (!finalized_) return CL_COMMAND_BUFFER_STATE_RECORDING_KHR;
  return is_complete() ? CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR : kFinalized;
}

cl_int CommandBuffer::resolve(const RecordArguments& arguments, CommandBuffer*& buffer, Queue*& queue,
                              bool takes_properties) {
  buffer = find<CommandBuffer>(arguments.buffer);
  if (buffer == nullptr) return CL_INVALID_COMMAND_BUFFER_KHR;
  if (buffer->state() != CL_COMMAND_BUFFER_STATE_RECORDING_KHR) return CL_INVALID_OPERATION;
  if (arguments.queue == nullptr) {
    // CL_INVALID_COMMAND_QUEUE if command_queue is NULL and the buffer was created with several queues.
    if (buffer->queues_.size() != 1) return CL_INVALID_COMMAND_QUEUE;
    queue = buffer->queues_.front().get();
  } else {
    queue = find_queue(arguments.queue);
    // CL_INVALID_COMMAND_QUEUE without cl_khr_command_buffer_multi_device if command_queue is not NULL.
    if (queue == nullptr || !has_multi_device(queue->device())) return CL_INVALID_COMMAND_QUEUE;
    if (&queue->context() != &buffer->context()) return CL_INVALID_CONTEXT;
    // CL_INVALID_COMMAND_QUEUE if command_queue is not listed on the buffer's creation.
    const bool listed = std::any_of(buffer->queues_.begin(), buffer->queues_.end(),
                                    [&](const Ref<Queue>& own) { return own.get() == queue; });
    if (!listed) return CL_INVALID_COMMAND_QUEUE;
  }
  if (takes_properties) return CL_SUCCESS;
  // CL_INVALID_VALUE if values specified in properties are not valid, or mutable_handle is not NULL.
  const bool none = arguments.properties == nullptr || arguments.properties[0] == 0;
  return none && arguments.handle == nullptr ? CL_SUCCESS : CL_INVALID_VALUE;
}

cl_int CommandBuffer::record(const RecordArguments& arguments, std::shared_ptr<Step> step) {
  return record(arguments, std::move(step), Ref<MutableCommand>());
}

cl_int CommandBuffer::record(const RecordArguments& arguments, std::shared_ptr<Step> step,
                             const Ref<MutableCommand>& command) {
  if ((arguments.list == nullptr) != (arguments.count == 0)) return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
  std::lock_guard lock(mutex_);
  // Another thread may have finalized it meanwhile.
  if (finalized_) return CL_INVALID_OPERATION;
  for (cl_uint i = 0; i < arguments.count; ++i)
    if (arguments.list[i] == 0 || arguments.list[i] > recorded_) return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
  // CL_OUT_OF_RESOURCES when there are no more numbers for sync points.
  if (recorded_ == CL_UINT_MAX) return CL_OUT_OF_RESOURCES;
  if (command) {
    command->set_index(steps_->size());
    commands_.push_back(command);
    if (arguments.handle != nullptr) *arguments.handle = command->handle();
  }
  if (step || command) steps_->push_back(std::move(step));
  ++recorded_;
  if (arguments.sync_point != nullptr) *arguments.sync_point = recorded_;
  return CL_SUCCESS;
}

cl_int CommandBuffer::finalize() {
  std::lock_guard lock(mutex_);
  // CL_INVALID_OPERATION if command_buffer is not in the recording state.
  if (finalized_) return CL_INVALID_OPERATION;
  finalized_ = true;
  return CL_SUCCESS;
}

cl_int CommandBuffer::enqueue(const std::vector<Queue*>& queues, const WaitList& waits, cl_event* event) {
  std::lock_guard lock(mutex_);
  // CL_INVALID_OPERATION if command_buffer is not in the executable state.
  if (!finalized_ || !is_complete()) return CL_INVALID_OPERATION;
  WaitList all = waits;
  all.after = last_.get();
  // The other queues: the buffer comes behind what they hold, and before what follows.
  std::vector<Ref<Event>> reached;
  for (size_t i = 1; i < queues.size(); ++i) {
    if (queues[i] == queues[0]) continue;
    cl_event made = nullptr;
    cl_int error = queues[i]->enqueue(host_command(CL_COMMAND_MARKER, [] {}), {}, &made);
    if (error != CL_SUCCESS) return error;
    reached.emplace_back(find<Event>(made));
    release_handle<Event>(made);
    all.events.push_back(reached.back().get());
  }
  cl_event made = nullptr;
  cl_int error = queues[0]->enqueue(std::make_unique<Replay>(*this, steps_), all, &made);
  if (error != CL_SUCCESS) return error;
  last_ = Ref<Event>(find<Event>(made));
  for (size_t i = 1; i < queues.size(); ++i)
    if (queues[i] != queues[0])
      queues[i]->enqueue(host_command(CL_COMMAND_MARKER, [] {}), {{last_.get()}, nullptr}, nullptr);
  if (event != nullptr)
    *event = made;
  else
    release_handle<Event>(made);
  return CL_SUCCESS;
}

namespace {

cl_int read_properties(const cl_command_buffer_properties_khr* list, bool multi_device,
                       CommandBuffer::Options& options) {
  if (list == nullptr) return CL_SUCCESS;
  const cl_command_buffer_flags_khr known =
      kSimultaneousUse | kMutable | (multi_device ? kDeviceSideSync : cl_command_buffer_flags_khr{0});
  for (; *list != 0; list += 2) {
    for (size_t i = 0; i < options.array.size(); i += 2)
      if (options.array[i] == list[0]) return CL_INVALID_VALUE;
    switch (list[0]) {
      case CL_COMMAND_BUFFER_FLAGS_KHR:
        if ((list[1] & ~known) != 0) return CL_INVALID_VALUE;
        options.flags = list[1];
        break;
      case kBufferDispatchAsserts:
        if ((list[1] & ~kAssertNoAdditionalGroups) != 0) return CL_INVALID_VALUE;
        options.asserts = list[1];
        break;
      default: return CL_INVALID_VALUE;
    }
    options.array.insert(options.array.end(), list, list + 2);
  }
  options.array.push_back(0);
  return CL_SUCCESS;
}

// The queues in place of the buffer's, or the buffer's own.
cl_int substitute_queues(const CommandBuffer& buffer, cl_uint count, const cl_command_queue* queues,
                         std::vector<Queue*>& list) {
  // CL_INVALID_VALUE if queues is NULL and num_queues is > 0, or the reverse, or if num_queues is neither 0
  // nor what it was on the buffer's creation.
  if ((queues == nullptr) != (count == 0) || (count != 0 && count != buffer.queues().size()))
    return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < count; ++i) {
    Queue* queue = find_queue(queues[i]);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_CONTEXT and CL_INVALID_DEVICE if they differ from those of the queue in whose place it is.
    if (&queue->context() != &buffer.context()) return CL_INVALID_CONTEXT;
    if (&queue->device() != &buffer.queues()[i]->device()) return CL_INVALID_DEVICE;
    list.push_back(queue);
  }
  if (count == 0)
    for (const Ref<Queue>& queue : buffer.queues()) list.push_back(queue.get());
  return CL_SUCCESS;
}

// Under MORGANA_CHECK=api, before the buffer is enqueued and with none of its locks.
void look_at_mapped(CommandBuffer& buffer) {
  if (!runtime::api_check_wanted() || buffer.state() != CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR) return;
  const std::shared_ptr<const Steps> steps = buffer.steps();
  for (const std::shared_ptr<Step>& step : *steps)
    if (step && step->dispatch() != nullptr)
      api_check::look_at_mapped("clEnqueueCommandBufferKHR", step->dispatch()->kernel().name, step->memory());
}

}  // namespace

cl_command_buffer_khr CL_API_CALL clCreateCommandBufferKHR(cl_uint num_queues, const cl_command_queue* queues,
                                                           const cl_command_buffer_properties_khr* properties,
                                                           cl_int* errcode_ret) {
  return api_create<cl_command_buffer_khr>(__func__, errcode_ret, [&]() -> Made<cl_command_buffer_khr> {
    // CL_INVALID_VALUE if num_queues is zero or queues is NULL.
    if (num_queues == 0 || queues == nullptr) return CL_INVALID_VALUE;
    // CL_INVALID_COMMAND_QUEUE if a queue is not valid; CL_INVALID_CONTEXT if their contexts differ. Queues
    // of all devices synchronize with each other.
    std::vector<Ref<Queue>> list;
    for (cl_uint i = 0; i < num_queues; ++i) {
      Queue* queue = find_queue(queues[i]);
      if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
      if (i > 0 && &queue->context() != &list.front()->context()) return CL_INVALID_CONTEXT;
      list.emplace_back(queue);
    }
    if (list.front()->context().is_terminated()) return CL_CONTEXT_TERMINATED_KHR;
    // CL_INVALID_VALUE without cl_khr_command_buffer_multi_device if num_queues is not one.
    const bool multi_device = has_multi_device(list.front()->device());
    if (num_queues != 1 && !multi_device) return CL_INVALID_VALUE;
    // CL_INVALID_VALUE if values specified in properties are not valid, or a name is given twice.
    CommandBuffer::Options options;
    if (cl_int error = read_properties(properties, multi_device, options); error != CL_SUCCESS) return error;
    return make<CommandBuffer>(std::move(list), std::move(options)).publish();
  });
}

cl_int CL_API_CALL clFinalizeCommandBufferKHR(cl_command_buffer_khr command_buffer) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer.
    CommandBuffer* buffer = find<CommandBuffer>(command_buffer);
    return buffer == nullptr ? CL_INVALID_COMMAND_BUFFER_KHR : buffer->finalize();
  });
}

cl_int CL_API_CALL clRetainCommandBufferKHR(cl_command_buffer_khr command_buffer) {
  return api(__func__, [&] { return retain_handle<CommandBuffer>(command_buffer); });
}

cl_int CL_API_CALL clReleaseCommandBufferKHR(cl_command_buffer_khr command_buffer) {
  return api(__func__, [&] { return release_handle<CommandBuffer>(command_buffer); });
}

cl_int CL_API_CALL clEnqueueCommandBufferKHR(cl_uint num_queues, cl_command_queue* queues,
                                             cl_command_buffer_khr command_buffer,
                                             cl_uint num_events_in_wait_list, const cl_event* event_wait_list,
                                             cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer.
    CommandBuffer* buffer = find<CommandBuffer>(command_buffer);
    if (buffer == nullptr) return CL_INVALID_COMMAND_BUFFER_KHR;
    std::vector<Queue*> list;
    if (cl_int error = substitute_queues(*buffer, num_queues, queues, list); error != CL_SUCCESS)
      return error;
    WaitList waits;
    cl_int error = check_wait_list(buffer->context(), num_events_in_wait_list, event_wait_list, waits);
    if (error != CL_SUCCESS) return error;
    look_at_mapped(*buffer);
    return buffer->enqueue(list, waits, event);
  });
}

cl_int CL_API_CALL clGetCommandBufferInfoKHR(cl_command_buffer_khr command_buffer,
                                             cl_command_buffer_info_khr param_name, size_t param_value_size,
                                             void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    constexpr cl_command_buffer_info_khr kContext = 0x1299;
    // CL_INVALID_COMMAND_BUFFER_KHR if command_buffer is not a valid command-buffer.
    CommandBuffer* buffer = find<CommandBuffer>(command_buffer);
    if (buffer == nullptr) return CL_INVALID_COMMAND_BUFFER_KHR;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_COMMAND_BUFFER_NUM_QUEUES_KHR:
        return out.value<cl_uint>(static_cast<cl_uint>(buffer->queues().size()));
      case CL_COMMAND_BUFFER_QUEUES_KHR: {
        std::vector<cl_command_queue> handles;
        for (const Ref<Queue>& queue : buffer->queues()) handles.push_back(queue->handle());
        return out.array<cl_command_queue>(handles);
      }
      case CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR: return out.value<cl_uint>(buffer->reference_count());
      case CL_COMMAND_BUFFER_STATE_KHR: return out.value<cl_command_buffer_state_khr>(buffer->state());
      case CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR:
        return out.array<cl_command_buffer_properties_khr>(buffer->options().array);
      case kContext: return out.value<cl_context>(buffer->context().handle());
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}

}  // namespace morgana::icd
