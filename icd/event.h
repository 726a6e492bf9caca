// Event: the state of a command, or of a user event, and who waits for it.
//
// Life: queued -> submitted -> running -> complete or a negative error. On its end an event first releases
// the commands that wait for it, then runs the callbacks, then wakes the threads that wait for it: whoever
// waits sees the callbacks' effects. Callbacks run on the thread that ends the event (a queue's command
// processor, or the caller of clSetUserEventStatus), without any lock held. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "icd/context.h"

namespace morgana::icd {

class Command;

// While one lives, the thread is in a callback of the program, which may hold its own locks: it executes no
// other commands meanwhile.
class CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
};

class Event : public Object<Event> {
 public:
  using Callback = void(CL_CALLBACK*)(cl_event event, cl_int status, void* user_data);

  // A user event: submitted from the start.
  explicit Event(Context& context);
  // The event of a command, queued now.
  Event(Queue& queue, cl_command_type type);
  ~Event();

  Context& context() const { return *context_; }
  Queue* queue() const { return queue_.get(); }
  bool is_user() const { return !queue_; }
  cl_command_type type() const { return type_; }
  cl_int status() const { return status_.load(std::memory_order_acquire); }
  bool has_ended() const { return status() <= CL_COMPLETE; }

  // Steps of a command's life, called by its queue in this order. `submitted` runs no callbacks: the queue is
  // locked.
  void submitted();
  void running();
  // Ends the event with CL_COMPLETE or a negative status and releases dependents and callbacks; false when it
  // had ended.
  bool end(cl_int status);
  // Wakes the waiting threads. Apart from end(), so that a queue can forget the command in between.
  void settle();

  // Blocks until the event has ended and settled, executing what the queue holds before it when the queue's
  // thread has not begun. Inside a callback it returns as soon as the event has
  // ended.
  void wait();
  bool has_callbacks() const { return has_callbacks_.load(std::memory_order_relaxed); }
  // Releases all dependents and waiting threads of a user event that may never be set: its context was
  // terminated.
  void let_through();
  // Counts `command` among those that wait; false when the event has ended already.
  bool add_dependent(Command& command);
  // Runs `callback` when the status reaches `status` (at once when it has).
  void add_callback(cl_int status, Callback callback, void* user_data);

  // CL_PROFILING_COMMAND_QUEUED + index, in ns.
  cl_ulong time(size_t index) const { return times_[index].load(std::memory_order_relaxed); }
  // When a kernel had ended whose children may still have run; before end().
  void note_own_end(cl_ulong time) { own_end_.store(time, std::memory_order_relaxed); }
  // CL_PROFILING_COMMAND_END; CL_PROFILING_COMMAND_COMPLETE is time(3).
  cl_ulong own_end() const {
    const cl_ulong noted = own_end_.load(std::memory_order_relaxed);
    return noted != 0 ? noted : time(3);
  }

  // True on a thread that runs a callback of some event.
  static bool in_callback();

 private:
  struct Registration {
    cl_int status;
    Callback function;
    void* user_data;
  };
  void stamp(size_t index);
  void run_callbacks(cl_int reached);

  Ref<Context> context_;
  Ref<Queue> queue_;
  const cl_command_type type_;
  std::atomic<cl_int> status_;
  std::atomic<uint32_t> settled_{0};
  std::array<std::atomic<cl_ulong>, 4> times_{};
  std::atomic<cl_ulong> own_end_{0};
  std::atomic<bool> has_callbacks_{false};  // ever
  std::mutex mutex_;
  std::vector<Registration> callbacks_;
  std::vector<Command*> dependents_;
};

// A wait list as entry points receive it, resolved and checked.
struct WaitList {
  std::vector<Event*> events;
  // Of Morgana's own: a command that comes after it, however it ended; or nullptr.
  Event* after = nullptr;

  bool has_failed() const;  // an event of the list has
};

// CL_INVALID_EVENT_WAIT_LIST if event_wait_list is NULL and num_events_in_wait_list > 0, or the reverse, or
// if an event in it is not valid; CL_INVALID_CONTEXT if an event belongs to another context.
cl_int check_wait_list(const Context& context, cl_uint count, const cl_event* list, WaitList& waits);

}  // namespace morgana::icd
