#include "icd/command.h"

#include "icd/queue.h"
#include "runtime/report.h"

namespace morgana::icd {

bool Command::begin() {
  terminated_ = queue_->context().is_terminated();
  if (terminated_) return false;
  // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: a command that waits for a failed one does not run.
  for (const Ref<Event>& event : awaited_) skipped_ |= event->status() < 0;
  if (skipped_) return false;
  if (event_) event_->running();
  return true;
}

void Command::finished(const device::Fault& fault) {
  Ref<Queue> queue = queue_;
  Ref<Event> event = event_;
  cl_int status = skipped_ ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE;
  terminated_ |= fault.kind == device::FaultKind::cancelled && queue->context().is_terminated();
  if (terminated_) {
    status = CL_CONTEXT_TERMINATED_KHR;
  } else if (fault.kind != device::FaultKind::none) {
    // The specification leaves the status of an abnormal termination to the implementation: any negative
    // value.
    status = CL_OUT_OF_RESOURCES;
    queue->note_fault();
    if (runtime::Dispatch* launch = faulty()) {
      const std::string report = runtime::fault_report(fault, *launch);
      runtime::print_report(fault, launch->kernel().name, report);
      queue->context().report(report);
    }
  }
  drop();
  if (event) event->end(status);
  queue->retire(*this);
  delete this;
  if (event) event->settle();
}

void Command::dependency_ended() {
  // Once nothing is pending, another thread may run and delete the command of an in-order queue.
  const Ref<Queue> queue = queue_;
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) queue->make_ready(*this);
}

}  // namespace morgana::icd
