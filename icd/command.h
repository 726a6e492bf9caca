// Command: one enqueued operation, from clEnqueue* to the end of its event.
//
// Made by an entry point, then owned by its Queue; the runtime's command processor runs it. A command holds
// what it uses (memory, kernel) until just before its event ends.
#pragma once

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/block_cache.h"
#include "icd/event.h"
#include "icd/host_work.h"
#include "runtime/queue.h"

namespace morgana::icd {

class Command : public runtime::Task {
 public:
  explicit Command(cl_command_type type) : type_(type) {}
  ~Command() override = default;

  static void* operator new(size_t size) { return take_block(size); }
  static void operator delete(void* memory, size_t size) { give_block(memory, size); }

  cl_command_type type() const { return type_; }

  // runtime::Task, on the command processor's thread.
  const char* trace_name() const final;
  bool begin() final;
  // Callbacks are the queue's thread's: the application may hold locks where it waits.
  bool allows_helper() const final { return !event_ || !event_->has_callbacks(); }
  void finished(const device::Fault& fault) final;

  // A dependency has ended; the last one makes the command ready.
  void dependency_ended();

 protected:
  // Lets go of what the command uses.
  virtual void drop() = 0;
  // The dispatch that a fault came from, or nullptr.
  virtual runtime::Dispatch* faulty() { return dispatch(); }

 private:
  friend class Queue;

  const cl_command_type type_;
  Ref<Queue> queue_;
  Ref<Event> event_;  // none when nobody could look at it: an in-order queue, and not asked for
  std::vector<Ref<Event>> awaited_;   // the wait list
  std::atomic<uint32_t> pending_{1};  // dependencies that have not ended, and the enqueue itself
  bool skipped_ = false;              // an awaited event ended with an error
  bool terminated_ = false;           // the context was terminated
  Command* previous_ = nullptr;       // out of order: the queue's list of unfinished commands
  Command* next_ = nullptr;
};

// A command that runs `work` on the host (host_work.h); `work` holds references to what it uses.
template <typename Work>
class HostCommand final : public Command {
 public:
  HostCommand(cl_command_type type, Work work) : Command(type), work_(std::move(work)) {}
  device::Fault run_with(runtime::Launcher& /*launcher*/) override { return run_host_work(*work_); }

 private:
  void drop() override { work_.reset(); }
  std::optional<Work> work_;
};

template <typename Work>
std::unique_ptr<Command> host_command(cl_command_type type, Work work) {
  return std::make_unique<HostCommand<Work>>(type, std::move(work));
}

}  // namespace morgana::icd
