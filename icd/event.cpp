#include "icd/event.h"

#include <algorithm>
#include <iterator>

#include "base/spin.h"
#include "icd/command.h"
#include "icd/info.h"
#include "icd/queue.h"

namespace morgana::icd {
namespace {

thread_local int t_callback_depth = 0;

}  // namespace

CallbackScope::CallbackScope() { ++t_callback_depth; }
CallbackScope::~CallbackScope() { --t_callback_depth; }

bool Event::in_callback() { return t_callback_depth > 0; }

Event::Event(Context& context) : context_(&context), type_(CL_COMMAND_USER), status_(CL_SUBMITTED) {
  if (context.may_terminate()) context.add(*this);
}

Event::Event(Queue& queue, cl_command_type type)
    : context_(&queue.context()), queue_(&queue), type_(type), status_(CL_QUEUED) {
  stamp(0);
}

Event::~Event() {
  if (is_user() && context_->may_terminate()) context_->remove(*this);
}

void Event::stamp(size_t index) { times_[index].store(now_ns(), std::memory_order_relaxed); }

void Event::submitted() {
  stamp(1);
  status_.store(CL_SUBMITTED, std::memory_order_release);
}

void Event::running() {
  stamp(2);
  {
    std::lock_guard lock(mutex_);
    status_.store(CL_RUNNING, std::memory_order_release);
    if (callbacks_.empty()) return;
  }
  run_callbacks(CL_SUBMITTED);
  run_callbacks(CL_RUNNING);
}

bool Event::end(cl_int status) {
  std::vector<Command*> dependents;
  stamp(3);
  {
    std::lock_guard lock(mutex_);
    if (has_ended()) return false;
    status_.store(status, std::memory_order_release);
    dependents.swap(dependents_);
  }
  for (Command* dependent : dependents) dependent->dependency_ended();
  run_callbacks(CL_SUBMITTED);
  run_callbacks(CL_RUNNING);
  run_callbacks(CL_COMPLETE);
  return true;
}

void Event::run_callbacks(cl_int reached) {
  std::vector<Registration> ready;
  {
    std::lock_guard lock(mutex_);
    if (callbacks_.empty()) return;
    std::copy_if(callbacks_.begin(), callbacks_.end(), std::back_inserter(ready),
                 [&](const Registration& callback) { return callback.status == reached; });
    std::erase_if(callbacks_, [&](const Registration& callback) { return callback.status == reached; });
  }
  // clSetEventCallback: the callback is passed the status that was reached, or the error that ended the
  // command.
  cl_int status = std::min(reached, this->status());
  CallbackScope scope;
  for (const Registration& callback : ready)
    callback.function(handle(), status < 0 ? status : reached, callback.user_data);
}

void Event::settle() {
  settled_.store(1, std::memory_order_release);
  settled_.notify_all();
}

void Event::wait() {
  if (in_callback() && has_ended()) return;
  if (is_user() && context_->is_terminated()) return;
  auto settled = [this] { return settled_.load(std::memory_order_acquire) != 0; };
  if (queue_ && !in_callback()) queue_->help(settled);
  if (spin_until(settled)) return;
  while (!settled()) settled_.wait(0, std::memory_order_acquire);
}

void Event::let_through() {
  std::vector<Command*> dependents;
  {
    std::lock_guard lock(mutex_);
    dependents.swap(dependents_);
  }
  for (Command* dependent : dependents) dependent->dependency_ended();
  settle();
}

bool Event::add_dependent(Command& command) {
  std::lock_guard lock(mutex_);
  if (has_ended() || (is_user() && context_->is_terminated())) return false;
  dependents_.push_back(&command);
  return true;
}

void Event::add_callback(cl_int status, Callback callback, void* user_data) {
  {
    std::lock_guard lock(mutex_);
    if (this->status() > status) {
      callbacks_.push_back({status, callback, user_data});
      has_callbacks_.store(true, std::memory_order_relaxed);
      return;
    }
  }
  CallbackScope scope;
  cl_int reached = this->status();
  callback(handle(), reached < 0 ? reached : status, user_data);
}

bool WaitList::has_failed() const {
  return std::any_of(events.begin(), events.end(), [](const Event* event) { return event->status() < 0; });
}

cl_int check_wait_list(const Context& context, cl_uint count, const cl_event* list, WaitList& waits) {
  if ((list == nullptr) != (count == 0)) return CL_INVALID_EVENT_WAIT_LIST;
  waits.events.reserve(count);
  for (cl_uint i = 0; i < count; ++i) {
    Event* event = find<Event>(list[i]);
    if (event == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
    if (&event->context() != &context) return CL_INVALID_CONTEXT;
    waits.events.push_back(event);
  }
  return CL_SUCCESS;
}

}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_event CL_API_CALL clCreateUserEvent(cl_context context, cl_int* errcode_ret) {
  return api_create<cl_event>(__func__, errcode_ret, [&]() -> Made<cl_event> {
    // CL_INVALID_CONTEXT if context is not a valid context.
    Context* c;
    if (cl_int error = find_live(context, c); error != CL_SUCCESS) return error;
    return make<Event>(*c).publish();
  });
}

cl_int CL_API_CALL clSetUserEventStatus(cl_event event, cl_int execution_status) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_EVENT if event is not a valid user event.
    Event* e = find<Event>(event);
    if (e == nullptr || !e->is_user()) return CL_INVALID_EVENT;
    // CL_INVALID_VALUE if execution_status is not CL_COMPLETE or a negative integer value.
    if (execution_status > CL_COMPLETE) return CL_INVALID_VALUE;
    Ref<Event> hold(e);
    // CL_INVALID_OPERATION if the status has been set already.
    if (!e->end(execution_status)) return CL_INVALID_OPERATION;
    e->settle();
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clWaitForEvents(cl_uint num_events, const cl_event* event_list) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_VALUE if num_events is zero or event_list is NULL.
    if (num_events == 0 || event_list == nullptr) return CL_INVALID_VALUE;
    // CL_INVALID_EVENT if an event is not valid; CL_INVALID_CONTEXT if their contexts differ.
    std::vector<Ref<Event>> events;
    for (cl_uint i = 0; i < num_events; ++i) {
      Event* event = find<Event>(event_list[i]);
      if (event == nullptr) return CL_INVALID_EVENT;
      if (i > 0 && &event->context() != &events[0]->context()) return CL_INVALID_CONTEXT;
      events.emplace_back(event);
    }
    // The queues of all events work while this thread waits for the first.
    for (const Ref<Event>& event : events)
      if (event->queue() != nullptr && event->queue() != events[0]->queue()) event->queue()->flush();
    bool failed = false, terminated = false;
    for (const Ref<Event>& event : events) {
      if (event->queue() != nullptr && !event->has_ended() && event->queue()->would_block_itself()) {
        log(LogLevel::warn, "clWaitForEvents in a callback would wait for the queue that runs the callback");
        return CL_INVALID_OPERATION;
      }
      event->wait();
      if (event->is_user() && !event->has_ended()) terminated = true;
      if (event->status() < 0) failed = true;
      if (event->status() < 0 && event->queue() != nullptr) event->queue()->forget_fault();
    }
    // CL_CONTEXT_TERMINATED_KHR if the context was terminated before a user event was set.
    if (terminated) return CL_CONTEXT_TERMINATED_KHR;
    // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if an event's execution status is a negative value.
    return failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
  });
}

cl_int CL_API_CALL clGetEventInfo(cl_event event, cl_event_info param_name, size_t param_value_size,
                                  void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_EVENT if event is not a valid event.
    Event* e = find<Event>(event);
    if (e == nullptr) return CL_INVALID_EVENT;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_EVENT_COMMAND_QUEUE:
        return out.value<cl_command_queue>(e->is_user() ? nullptr : e->queue()->handle());
      case CL_EVENT_CONTEXT: return out.value<cl_context>(e->context().handle());
      case CL_EVENT_COMMAND_TYPE: return out.value<cl_command_type>(e->type());
      case CL_EVENT_REFERENCE_COUNT: return out.value<cl_uint>(e->reference_count());
      case CL_EVENT_COMMAND_EXECUTION_STATUS: {
        cl_int status = e->status();
        if (status < 0 && e->queue() != nullptr) e->queue()->forget_fault();
        // A program that polls expects progress.
        if (status > CL_COMPLETE && e->queue() != nullptr) e->queue()->flush();
        return out.value<cl_int>(status);
      }
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}

cl_int CL_API_CALL clRetainEvent(cl_event event) {
  return api(__func__, [&] { return retain_handle<Event>(event); });
}

cl_int CL_API_CALL clReleaseEvent(cl_event event) {
  return api(__func__, [&] { return release_handle<Event>(event); });
}

cl_int CL_API_CALL clSetEventCallback(cl_event event, cl_int command_exec_callback_type,
                                      void(CL_CALLBACK* pfn_notify)(cl_event, cl_int, void*),
                                      void* user_data) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_EVENT if event is not a valid event.
    Event* e = find<Event>(event);
    if (e == nullptr) return CL_INVALID_EVENT;
    // CL_INVALID_VALUE if pfn_event_notify is NULL or command_exec_callback_type is not CL_SUBMITTED,
    // CL_RUNNING or CL_COMPLETE.
    if (pfn_notify == nullptr || command_exec_callback_type < CL_COMPLETE ||
        command_exec_callback_type > CL_SUBMITTED)
      return CL_INVALID_VALUE;
    Ref<Event> hold(e);
    e->add_callback(command_exec_callback_type, pfn_notify, user_data);
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event, cl_profiling_info param_name,
                                           size_t param_value_size, void* param_value,
                                           size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_EVENT if event is not a valid event.
    Event* e = find<Event>(event);
    if (e == nullptr) return CL_INVALID_EVENT;
    // CL_PROFILING_INFO_NOT_AVAILABLE if the queue does not profile, the command is not complete, or it is a
    // user event.
    if (e->is_user() || !e->queue()->profiles() || e->status() != CL_COMPLETE)
      return CL_PROFILING_INFO_NOT_AVAILABLE;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_PROFILING_COMMAND_QUEUED:
      case CL_PROFILING_COMMAND_SUBMIT:
      case CL_PROFILING_COMMAND_START:
        return out.value<cl_ulong>(e->time(param_name - CL_PROFILING_COMMAND_QUEUED));
      case CL_PROFILING_COMMAND_END: return out.value<cl_ulong>(e->own_end());
      case CL_PROFILING_COMMAND_COMPLETE: return out.value<cl_ulong>(e->time(3));
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}
