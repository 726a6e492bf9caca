#include "icd/queue.h"

#include "base/spin.h"
#include "icd/info.h"

namespace morgana::icd {

Queue::Queue(Context& context, Device& device, cl_command_queue_properties properties,
             std::vector<cl_queue_properties> property_array, std::unique_ptr<runtime::Queue> queue)
    : context_(&context),
      device_(&device),
      properties_(properties),
      property_array_(std::move(property_array)),
      queue_(std::move(queue)) {
  context.add(*this);
}

Queue::Queue(Context& context, Device& device, cl_command_queue_properties properties,
             std::vector<cl_queue_properties> property_array, OnDevice on_device)
    : context_(&context),
      device_(&device),
      properties_(properties),
      property_array_(std::move(property_array)),
      on_device_(std::move(on_device)) {}

Queue::~Queue() {
  if (is_on_device())
    context_->forget_default_queue(*this);
  else
    context_->remove(*this);
}

cl_int Queue::enqueue(std::unique_ptr<Command> command, const WaitList& waits, cl_event* event, bool blocking,
                      Order order) {
  if (context_->is_terminated()) return CL_CONTEXT_TERMINATED_KHR;
  if (blocking && would_block_itself()) {
    log(LogLevel::warn, "a blocking command in a callback would wait for the queue that runs the callback");
    return CL_INVALID_OPERATION;
  }
  Ref<Event> made;
  if (event != nullptr || blocking || !in_order()) made = make<Event>(*this, command->type());
  command->queue_ = Ref<Queue>(this);
  command->event_ = made;
  if (event != nullptr) *event = made.publish();
  {
    std::unique_lock lock = lock_briefly(mutex_);
    Command* owned = command.release();
    ++enqueued_;
    add_dependencies(*owned, waits, order);
    if (in_order())
      waiting_.push_back(owned);
    else
      link(*owned);
    if (owned->pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      if (!in_order()) waiting_.push_back(owned);
      pump(runtime::Queue::Start::soon);
    }
  }
  if (!blocking) return CL_SUCCESS;
  made->wait();
  // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the operation is blocking and an awaited event failed.
  if (made->status() < 0) return made->status();
  return take_fault();
}

void Queue::add_dependencies(Command& command, const WaitList& waits, Order order) {
  auto wait_for = [&](Event& event) {
    command.pending_.fetch_add(1, std::memory_order_relaxed);
    if (!event.add_dependent(command)) {
      command.pending_.fetch_sub(1, std::memory_order_relaxed);
    } else if (event.queue() != nullptr && event.queue() != this) {
      // Whoever waits for this command does not know that it should help there.
      event.queue()->flush();
    }
  };
  for (Event* event : waits.events) {
    command.awaited_.emplace_back(event);
    // Earlier commands of an in-order queue have ended anyway when this one begins.
    if (!in_order() || event->queue() != this) wait_for(*event);
  }
  if (waits.after != nullptr && (!in_order() || waits.after->queue() != this)) wait_for(*waits.after);
  if (in_order()) return;
  if (barrier_) wait_for(*barrier_);
  if (order != Order::none && waits.events.empty())
    for (Command* earlier = first_; earlier != nullptr; earlier = earlier->next_) wait_for(*earlier->event_);
  if (order == Order::barrier) barrier_ = command.event_;
}

void Queue::link(Command& command) {
  command.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &command;
  last_ = &command;
}

void Queue::pump(runtime::Queue::Start start) {
  while (!waiting_.empty() && in_flight_ < kInFlight) {
    Command* command = waiting_.front();
    if (in_order() && command->pending_.load(std::memory_order_acquire) != 0) return;
    waiting_.pop_front();
    ++in_flight_;
    if (command->event_) command->event_->submitted();
    queue_->submit(command, start);
  }
}

void Queue::make_ready(Command& command) {
  std::unique_lock lock = lock_briefly(mutex_);
  if (!in_order()) waiting_.push_back(&command);
  pump(runtime::Queue::Start::now);
}

void Queue::retire(Command& command) {
  std::unique_lock lock = lock_briefly(mutex_);
  if (!in_order()) {
    (command.previous_ == nullptr ? first_ : command.previous_->next_) = command.next_;
    (command.next_ == nullptr ? last_ : command.next_->previous_) = command.previous_;
    if (barrier_.get() == command.event_.get()) barrier_ = Ref<Event>();
  }
  --in_flight_;
  pump(runtime::Queue::Start::now);
  const uint64_t count = retired_.load(std::memory_order_relaxed) + 1;
  retired_.store(count, std::memory_order_release);
  if (count < wake_at_) return;
  wake_at_ = UINT64_MAX;
  retired_enough_.notify_all();
}

cl_int Queue::finish() {
  if (would_block_itself()) {
    log(LogLevel::warn, "clFinish in a callback would wait for the queue that runs the callback");
    return CL_INVALID_OPERATION;
  }
  wait_for_enqueued();
  return take_fault();
}

void Queue::wait_for_enqueued() {
  Ref<Queue> hold(this);
  if (in_order())
    wait_for_count();
  else
    wait_for_all();
}

// In order: all commands so far have ended when so many have.
void Queue::wait_for_count() {
  uint64_t target;
  {
    std::unique_lock lock = lock_briefly(mutex_);
    target = enqueued_;
  }
  auto done = [&] { return retired_.load(std::memory_order_acquire) >= target; };
  if (!Event::in_callback()) help(done);
  if (spin_until(done)) return;
  std::unique_lock lock = lock_briefly(mutex_);
  while (!done()) {
    wake_at_ = std::min(wake_at_, target);
    retired_enough_.wait(lock);
  }
}

void Queue::wait_for_all() {
  std::vector<Ref<Event>> events;
  {
    std::unique_lock lock = lock_briefly(mutex_);
    for (Command* command = first_; command != nullptr; command = command->next_)
      events.push_back(command->event_);
  }
  for (const Ref<Event>& event : events) event->wait();
}

namespace {

// Markers and barriers: nothing to execute, only dependencies.
cl_int enqueue_sync(cl_command_queue command_queue, cl_command_type type, Queue::Order order, cl_uint count,
                    const cl_event* list, cl_event* event) {
  // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
  Queue* queue = find_queue(command_queue);
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  WaitList waits;
  if (cl_int error = check_wait_list(queue->context(), count, list, waits); error != CL_SUCCESS) return error;
  return queue->enqueue(host_command(type, [] {}), waits, event, false, order);
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_int CL_API_CALL clFlush(cl_command_queue command_queue) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
    Queue* queue = find_queue(command_queue);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    queue->flush();
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clFinish(cl_command_queue command_queue) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
    Queue* queue = find_queue(command_queue);
    return queue == nullptr ? CL_INVALID_COMMAND_QUEUE : queue->finish();
  });
}

cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue command_queue,
                                               cl_uint num_events_in_wait_list,
                                               const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return enqueue_sync(command_queue, CL_COMMAND_MARKER, Queue::Order::marker, num_events_in_wait_list,
                        event_wait_list, event);
  });
}

cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue command_queue,
                                                cl_uint num_events_in_wait_list,
                                                const cl_event* event_wait_list, cl_event* event) {
  return api(__func__, [&] {
    return enqueue_sync(command_queue, CL_COMMAND_BARRIER, Queue::Order::barrier, num_events_in_wait_list,
                        event_wait_list, event);
  });
}

cl_int CL_API_CALL clEnqueueMarker(cl_command_queue command_queue, cl_event* event) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE comes before CL_INVALID_VALUE if event is NULL.
    if (find_queue(command_queue) == nullptr) return CL_INVALID_COMMAND_QUEUE;
    if (event == nullptr) return CL_INVALID_VALUE;
    return enqueue_sync(command_queue, CL_COMMAND_MARKER, Queue::Order::marker, 0, nullptr, event);
  });
}

cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue command_queue) {
  return api(__func__, [&] {
    return enqueue_sync(command_queue, CL_COMMAND_BARRIER, Queue::Order::barrier, 0, nullptr, nullptr);
  });
}

cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue command_queue, cl_uint num_events,
                                          const cl_event* event_list) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue.
    Queue* queue = find_queue(command_queue);
    if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_VALUE if num_events is zero or event_list is NULL.
    if (num_events == 0 || event_list == nullptr) return CL_INVALID_VALUE;
    // OpenCL 1.0 names CL_INVALID_EVENT where later functions name the wait list.
    WaitList waits;
    cl_int error = check_wait_list(queue->context(), num_events, event_list, waits);
    if (error == CL_INVALID_EVENT_WAIT_LIST) return CL_INVALID_EVENT;
    if (error != CL_SUCCESS) return error;
    return queue->enqueue(host_command(CL_COMMAND_BARRIER, [] {}), waits, nullptr, false,
                          Queue::Order::barrier);
  });
}
