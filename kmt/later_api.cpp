// What the thunk has got since ROCm 5.2 and the driver has as well: both libraries offer it, since runtimes
// from 5.7 on are linked with some of it.
#include "kmt/entry.h"
#include "kmt/events.h"
#include "kmt/memory_table.h"
#include "kmt/nodes.h"
#include "kmt/queues.h"

namespace morgana::kmt {

KMT_EXPORT hsaKmtGetRuntimeCapabilities(HSAuint32* mask) {
  return entry([&] {
    if (mask == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    *mask = 0;  // no core dumps
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtCheckRuntimeDebugSupport() {
  return entry([] { return HSAKMT_STATUS_NOT_SUPPORTED; });
}

KMT_EXPORT hsaKmtAllocMemoryAlign(HSAuint32 node, HSAuint64 size, HSAuint64 alignment, HsaMemFlags flags,
                                  void** address) {
  return entry([&] {
    if (address == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    return MemoryTable::get().allocate(node, size, flags, address, alignment);
  });
}

KMT_EXPORT hsaKmtAvailableMemory(HSAuint32 node, HSAuint64* bytes) {
  return entry([&] {
    if (bytes == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    *bytes = MemoryTable::get().available(node);
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtCreateQueueExt(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
                                HSA_QUEUE_PRIORITY priority, HSAuint32 /*any SDMA engine is as good*/,
                                void* ring, HSAuint64 bytes, HsaEvent* event, HsaQueueResource* resource) {
  constexpr auto kSdmaByEngine = static_cast<HSA_QUEUE_TYPE>(6);
  return hsaKmtCreateQueue(node, type == kSdmaByEngine ? HSA_QUEUE_SDMA : type, percentage, priority, ring,
                           bytes, event, resource);
}

KMT_EXPORT hsaKmtQueueRingDoorbell(HSA_QUEUEID id) {
  return entry([&] { return Queues::get().ring(id); });
}

KMT_EXPORT hsaKmtWaitOnMultipleEvents_Ext(HsaEvent* events[], HSAuint32 count, bool all,
                                          HSAuint32 milliseconds, uint64_t* ages) {
  return entry([&] {
    if (events == nullptr || count == 0) return HSAKMT_STATUS_INVALID_PARAMETER;
    return Events::get().wait(events, count, all, milliseconds, ages);
  });
}

KMT_EXPORT hsaKmtWaitOnEvent_Ext(HsaEvent* event, HSAuint32 milliseconds, uint64_t* age) {
  return entry([&] { return Events::get().wait(&event, 1, true, milliseconds, age); });
}

}  // namespace morgana::kmt
