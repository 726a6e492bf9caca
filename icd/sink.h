// Sink: where a checked operation goes: into a queue now, or into a command buffer that is being recorded.
//
// clEnqueueX and clCommandXKHR differ in it alone. Lives on the stack of one call.
#pragma once

#include <memory>
#include <utility>

#include "icd/checks.h"
#include "icd/command_buffer.h"

namespace morgana::icd {

class Sink {
 public:
  // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
  Sink(cl_command_queue command_queue, const Waits& waits, cl_bool blocking = CL_FALSE)
      : queue_(find_queue(command_queue)),
        waits_(waits),
        blocking_(blocking),
        error_(queue_ == nullptr ? CL_INVALID_COMMAND_QUEUE : CL_SUCCESS) {}
  // What CommandBuffer::resolve checks.
  explicit Sink(const RecordArguments& arguments) : arguments_(&arguments) {
    error_ = CommandBuffer::resolve(arguments, buffer_, queue_);
  }

  // To be asked first: with an error there is no queue.
  cl_int error() const { return error_; }
  Context& context() const { return queue_->context(); }
  Device& device() const { return queue_->device(); }
  Queue& queue() const { return *queue_; }
  const Waits& waits() const { return waits_; }

  // Checks the wait list, which comes last, and enqueues or records.
  template <typename Work>
  cl_int take(cl_command_type type, Work work) const {
    if (buffer_ == nullptr) return submit(*queue_, type, waits_, blocking_, std::move(work));
    return buffer_->record(*arguments_, std::make_shared<HostStep<Work>>(std::move(work)));
  }

 private:
  CommandBuffer* buffer_ = nullptr;
  Queue* queue_ = nullptr;
  Waits waits_{};
  cl_bool blocking_ = CL_FALSE;
  const RecordArguments* arguments_ = nullptr;
  cl_int error_ = CL_SUCCESS;
};

}  // namespace morgana::icd
