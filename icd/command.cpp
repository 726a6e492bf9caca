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

const char* Command::trace_name() const {
  switch (type_) {
    case CL_COMMAND_READ_BUFFER:
    case CL_COMMAND_READ_BUFFER_RECT:
    case CL_COMMAND_READ_IMAGE: return "read";
    case CL_COMMAND_WRITE_BUFFER:
    case CL_COMMAND_WRITE_BUFFER_RECT:
    case CL_COMMAND_WRITE_IMAGE: return "write";
    case CL_COMMAND_COPY_BUFFER:
    case CL_COMMAND_COPY_BUFFER_RECT:
    case CL_COMMAND_COPY_IMAGE:
    case CL_COMMAND_COPY_BUFFER_TO_IMAGE:
    case CL_COMMAND_COPY_IMAGE_TO_BUFFER:
    case CL_COMMAND_SVM_MEMCPY: return "copy";
    case CL_COMMAND_FILL_BUFFER:
    case CL_COMMAND_FILL_IMAGE:
    case CL_COMMAND_SVM_MEMFILL: return "fill";
    case CL_COMMAND_MAP_BUFFER:
    case CL_COMMAND_MAP_IMAGE:
    case CL_COMMAND_SVM_MAP: return "map";
    case CL_COMMAND_UNMAP_MEM_OBJECT:
    case CL_COMMAND_SVM_UNMAP: return "unmap";
    case CL_COMMAND_MARKER:
    case CL_COMMAND_BARRIER: return "barrier";
    case CL_COMMAND_COMMAND_BUFFER_KHR: return "command buffer";
    default: return "command";
  }
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
      const runtime::Dispatch& culprit = launch->culprit();
      const std::string report = runtime::fault_report(fault, culprit);
      runtime::print_report(fault, culprit.kernel().name, report);
      queue->context().report(report);
    }
  }
  if (const runtime::Dispatch* launch = dispatch(); launch != nullptr && event)
    event->note_own_end(launch->own_end());
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
