// Events and queues.
#include <algorithm>

#include "base/options.h"
#include "kmt/entry.h"
#include "kmt/events.h"
#include "kmt/nodes.h"
#include "kmt/queues.h"

namespace morgana::kmt {
namespace {

// As Linux's driver divides the sixteen levels that the thunk makes of these among three of hardware's
// (priority_map of the thunk, pipe_priority_map of kfd_mqd_manager.c).
device::Priority level(HSA_QUEUE_PRIORITY priority) {
  if (priority < HSA_QUEUE_PRIORITY_NORMAL) return device::Priority::low;
  return priority < HSA_QUEUE_PRIORITY_HIGH ? device::Priority::normal : device::Priority::high;
}

}  // namespace

KMT_EXPORT hsaKmtCreateEvent(HsaEventDescriptor* descriptor, bool manual_reset, bool is_signaled,
                             HsaEvent** event) {
  return entry([&] {
    if (descriptor == nullptr || event == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    return Events::get().create(*descriptor, manual_reset, is_signaled, event);
  });
}

KMT_EXPORT hsaKmtDestroyEvent(HsaEvent* event) {
  return entry([&] { return Events::get().destroy(event); });
}

KMT_EXPORT hsaKmtSetEvent(HsaEvent* event) {
  return entry([&] { return Events::get().set(event); });
}

KMT_EXPORT hsaKmtResetEvent(HsaEvent* event) {
  return entry([&] { return Events::get().reset(event); });
}

KMT_EXPORT hsaKmtQueryEventState(HsaEvent* event) {
  return entry([&] { return Events::get().query(event); });
}

KMT_EXPORT hsaKmtWaitOnEvent(HsaEvent* event, HSAuint32 milliseconds) {
  return entry([&] { return Events::get().wait(&event, 1, true, milliseconds); });
}

KMT_EXPORT hsaKmtWaitOnMultipleEvents(HsaEvent* events[], HSAuint32 count, bool all, HSAuint32 milliseconds) {
  return entry([&] {
    if (events == nullptr || count == 0) return HSAKMT_STATUS_INVALID_PARAMETER;
    return Events::get().wait(events, count, all, milliseconds);
  });
}

KMT_EXPORT hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                             HSA_QUEUE_PRIORITY priority, void* ring, HSAuint64 bytes, HsaEvent* event,
                             HsaQueueResource* resource) {
  return entry([&] {
    if (resource == nullptr || percentage > 100 || priority < HSA_QUEUE_PRIORITY_MINIMUM ||
        priority > HSA_QUEUE_PRIORITY_MAXIMUM)
      return HSAKMT_STATUS_INVALID_PARAMETER;
    if (type == HSA_QUEUE_SDMA || type == HSA_QUEUE_SDMA_XGMI)  // the queue has indices of its own
      resource->Queue_read_ptr_aql = resource->Queue_write_ptr_aql = nullptr;
    return Queues::get().create(node, type, level(priority), ring, bytes,
                                event == nullptr ? 0 : event->EventId, *resource);
  });
}

KMT_EXPORT hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percentage, HSA_QUEUE_PRIORITY priority,
                             void* /*ring*/, HSAuint64 /*bytes*/, HsaEvent* /*event*/) {
  return entry([&] {
    if (priority < HSA_QUEUE_PRIORITY_MINIMUM || priority > HSA_QUEUE_PRIORITY_MAXIMUM)
      return HSAKMT_STATUS_INVALID_PARAMETER;
    return Queues::get().update(id, percentage, level(priority));
  });
}

KMT_EXPORT hsaKmtDestroyQueue(HSA_QUEUEID id) {
  return entry([&] { return Queues::get().destroy(id); });
}

// Bit n: compute unit n, of which hosts have one a thread.
KMT_EXPORT hsaKmtSetQueueCUMask(HSA_QUEUEID id, HSAuint32 count, HSAuint32* mask) {
  return entry([&] {
    if (mask == nullptr || count == 0 || count % 32 != 0) return HSAKMT_STATUS_INVALID_PARAMETER;
    device::UnitMask units;
    for (uint32_t i = 0; i < std::min(count, device::kMaxUnits); ++i) units[i] = mask[i / 32] >> i % 32 & 1;
    return Queues::get().set_units(id, units);
  });
}

KMT_EXPORT hsaKmtAllocQueueGWS(HSA_QUEUEID id, HSAuint32 count, HSAuint32* first) {
  return entry([&] {
    constexpr HSAuint32 kResources = 64;
    if (count > kResources) return HSAKMT_STATUS_INVALID_PARAMETER;
    if (!Queues::get().exists(id)) return HSAKMT_STATUS_INVALID_HANDLE;
    if (first != nullptr) *first = 0;
    return HSAKMT_STATUS_SUCCESS;
  });
}

// The handler's memory becomes code with the first dispatch. TBA counts in 256 bytes.
KMT_EXPORT hsaKmtSetTrapHandler(HSAuint32 node, void* code, HSAuint64 code_size, void* buffer,
                                HSAuint64 buffer_size) {
  return entry([&] {
    runtime::Agent* const agent = agent_of(node);
    if (agent == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    const auto base = reinterpret_cast<uint64_t>(code);
    if ((code == nullptr) != (code_size == 0) || (buffer == nullptr) != (buffer_size == 0) || base % 256 != 0)
      return HSAKMT_STATUS_INVALID_PARAMETER;
    if (options().trap_handler.empty())  // a handler of the user's own stays
      agent->device().set_trap_handler(base, reinterpret_cast<uint64_t>(buffer), device::TrapUse::reports);
    return HSAKMT_STATUS_SUCCESS;
  });
}

}  // namespace morgana::kmt
