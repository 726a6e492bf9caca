// CommandBuffer: operations that are recorded once and enqueued many times (cl_khr_command_buffer 0.9.8 and
// its layers _multi_device 0.9.2 and _mutable_dispatch 0.9.5).
//
// Recording makes each operation ready to execute; an enqueue is one command, which executes the steps in the
// order in which they were recorded, on the first of its queues. Executions of one buffer follow each other,
// also where the program orders none of them (simultaneous use). A mutex guards all that changes. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "icd/checks.h"
#include "icd/queue.h"
#include "icd/step.h"

namespace morgana::icd {

// Of the extensions, in their latest form; Debian 12 has the headers of 2023.
inline constexpr cl_command_buffer_flags_khr kSimultaneousUse = 1;
inline constexpr cl_command_buffer_flags_khr kMutable = 2;
inline constexpr cl_command_buffer_flags_khr kDeviceSideSync = 4;
inline constexpr cl_command_buffer_properties_khr kBufferDispatchAsserts = 0x12B7;
inline constexpr cl_bitfield kAssertNoAdditionalGroups = 1;

// The arguments that every clCommandXKHR has.
struct RecordArguments {
  cl_command_buffer_khr buffer;
  cl_command_queue queue;
  const cl_properties* properties;
  cl_uint count;
  const cl_sync_point_khr* list;
  cl_sync_point_khr* sync_point;
  cl_mutable_command_khr* handle;
};

class CommandBuffer : public Object<CommandBuffer> {
 public:
  struct Options {
    cl_command_buffer_flags_khr flags = 0;
    cl_bitfield asserts = 0;
    std::vector<cl_command_buffer_properties_khr> array;
  };

  // `queues` is not empty, and all are of one context.
  CommandBuffer(std::vector<Ref<Queue>> queues, Options options);
  ~CommandBuffer();

  Context& context() const { return queues_.front()->context(); }
  std::span<const Ref<Queue>> queues() const { return queues_; }
  const Options& options() const { return options_; }
  bool is_mutable() const { return (options_.flags & kMutable) != 0; }
  // CL_COMMAND_BUFFER_STATE_*.
  cl_command_buffer_state_khr state();

  // The checks of a command's first arguments: CL_INVALID_COMMAND_BUFFER_KHR, CL_INVALID_OPERATION if the
  // buffer has been finalized, CL_INVALID_CONTEXT and CL_INVALID_COMMAND_QUEUE of the queue. With
  // `takes_properties` the caller reads properties and handle; else CL_INVALID_VALUE if there are any.
  static cl_int resolve(const RecordArguments& arguments, CommandBuffer*& buffer, Queue*& queue,
                        bool takes_properties = false);
  // Appends a step, or none where there is nothing to execute, and returns its sync point.
  // CL_INVALID_SYNC_POINT_WAIT_LIST_KHR if the list contradicts its length or names what has not been
  // recorded. `command` is the kernel launch that the step is of, if it has a handle.
  cl_int record(const RecordArguments& arguments, std::shared_ptr<Step> step);
  cl_int record(const RecordArguments& arguments, std::shared_ptr<Step> step,
                const Ref<MutableCommand>& command);

  cl_int finalize();
  // What the next enqueue executes.
  std::shared_ptr<const Steps> steps() {
    std::lock_guard lock(mutex_);
    return steps_;
  }
  // What clEnqueueCommandBufferKHR does behind its checks of handles. `queues` are the buffer's, or in their
  // place.
  cl_int enqueue(const std::vector<Queue*>& queues, const WaitList& waits, cl_event* event);

  // Runs `look` while no update changes what it looks at.
  template <typename Look>
  void read(Look look) {
    std::lock_guard lock(mutex_);
    look();
  }
  // Changes steps for later enqueues: `change(steps)` has them under the lock, and what it changed counts if
  // it returns CL_SUCCESS. CL_INVALID_OPERATION if the buffer is not finalized.
  template <typename Change>
  cl_int update(Change change) {
    std::lock_guard lock(mutex_);
    if (!finalized_) return CL_INVALID_OPERATION;
    auto fresh = std::make_shared<Steps>(*steps_);
    const cl_int error = change(*fresh);
    if (error == CL_SUCCESS) steps_ = std::move(fresh);
    return error;
  }

 private:
  bool is_complete() const;

  const std::vector<Ref<Queue>> queues_;
  const Options options_;
  std::mutex mutex_;  // taken before a queue's
  bool finalized_ = false;
  std::vector<Ref<MutableCommand>> commands_;
  cl_uint recorded_ = 0;          // sync points are 1 to this
  std::shared_ptr<Steps> steps_;  // what executions under way hold is never changed
  Ref<Event> last_;               // of the latest enqueue
};

}  // namespace morgana::icd
