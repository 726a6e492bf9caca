// Queue: an OpenCL command-queue on a runtime queue of its own.
//
// A command goes to the runtime queue when the events that it waits for have ended, so the command processor
// never blocks; an in-order queue keeps later commands behind it. Commands that follow a failed one run,
// unless they wait for its event. A queue lives until its last command has finished. Any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "icd/command.h"

namespace morgana::icd {

class Queue : public Object<Queue> {
 public:
  // What an on-device queue has instead of a runtime queue.
  struct OnDevice {
    cl_uint size = 0;  // CL_QUEUE_SIZE
    std::shared_ptr<runtime::DeviceQueue> queue;
  };

  Queue(Context& context, Device& device, cl_command_queue_properties properties,
        std::vector<cl_queue_properties> property_array, std::unique_ptr<runtime::Queue> queue);
  Queue(Context& context, Device& device, cl_command_queue_properties properties,
        std::vector<cl_queue_properties> property_array, OnDevice on_device);
  ~Queue();

  Context& context() const { return *context_; }
  Device& device() const { return *device_; }
  cl_command_queue_properties properties() const { return properties_; }
  std::span<const cl_queue_properties> property_array() const { return property_array_; }
  bool in_order() const { return (properties_ & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0; }
  bool profiles() const { return (properties_ & CL_QUEUE_PROFILING_ENABLE) != 0; }

  // Kernels enqueue to it, the host does not: only what stands above may be called.
  bool is_on_device() const { return on_device_.queue != nullptr; }
  const OnDevice& on_device() const { return on_device_; }

  enum class Order { none, marker, barrier };

  // Takes the command over. Gives its event to `event` when not NULL; with `blocking`, returns after it has
  // ended. `order`: a marker or barrier without a wait list waits for all that came before; a barrier also
  // holds all that follows.
  cl_int enqueue(std::unique_ptr<Command> command, const WaitList& waits, cl_event* event,
                 bool blocking = false, Order order = Order::none);

  // Ends what is executing, and all that has been submitted: its context was terminated.
  void stop() { queue_->cancel(); }
  // Starts everything enqueued now; clFlush and what implies it.
  void flush() { queue_->flush(); }
  // Lets the calling thread, which waits for `done`, execute commands. Not for callbacks.
  template <typename Done>
  void help(const Done& done) {
    queue_->help(done);
  }
  // Waits for everything enqueued before. Not where it would block itself.
  void wait_for_enqueued();
  // The same. CL_OUT_OF_RESOURCES when a kernel faulted and nobody has seen it
  // yet.
  cl_int finish();
  // A blocking call here would wait for itself: on the command processor's own thread.
  bool would_block_itself() const { return queue_->on_processor_thread(); }

  // A command of this queue faulted; the next finish() or blocking call tells, unless its event was looked
  // at.
  void note_fault() { fault_.store(true, std::memory_order_relaxed); }
  void forget_fault() { fault_.store(false, std::memory_order_relaxed); }

 private:
  friend class Command;

  // How many commands may be in the runtime queue's ring: less than its size, so that submitting never
  // blocks.
  static constexpr size_t kInFlight = 512;

  void link(Command& command);
  void wait_for_count();
  void wait_for_all();
  void add_dependencies(Command& command, const WaitList& waits, Order order);
  // Submits what is ready. `mutex_` is held.
  void pump(runtime::Queue::Start start);
  // All dependencies of a command have ended.
  void make_ready(Command& command);
  void retire(Command& command);
  cl_int take_fault() {
    return fault_.exchange(false, std::memory_order_relaxed) ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
  }

  Ref<Context> context_;
  Ref<Device> device_;
  const cl_command_queue_properties properties_;
  const std::vector<cl_queue_properties> property_array_;
  std::unique_ptr<runtime::Queue> queue_;
  const OnDevice on_device_;
  std::atomic<bool> fault_{false};

  std::mutex mutex_;              // taken before an event's; its sections are short
  std::deque<Command*> waiting_;  // in order: all not yet submitted; out of order: those that are ready
  size_t in_flight_ = 0;
  uint64_t enqueued_ = 0;             // commands so far
  std::atomic<uint64_t> retired_{0};  // of them; in order: the first so many
  uint64_t wake_at_ = UINT64_MAX;     // the count that a thread in finish() sleeps for
  std::condition_variable retired_enough_;
  Command* first_ = nullptr;  // out of order: unfinished commands, oldest first
  Command* last_ = nullptr;
  Ref<Event> barrier_;  // out of order: what everything later waits for
};

// For entry points: CL_INVALID_COMMAND_QUEUE is the caller's to check. Where commands go, a host queue; else
// any.
inline Queue* find_any_queue(cl_command_queue queue) { return find<Queue>(queue); }
inline Queue* find_queue(cl_command_queue queue) {
  Queue* const found = find_any_queue(queue);
  return found == nullptr || found->is_on_device() ? nullptr : found;
}

}  // namespace morgana::icd
