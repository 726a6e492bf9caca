#include "runtime/device_queue.h"

#include "runtime/enqueue_records.h"
#include "runtime/memory.h"

namespace morgana::runtime {

Result<std::shared_ptr<DeviceQueue>> DeviceQueue::create(uint32_t size, uint32_t local_bytes) {
  MORGANA_TRY(void* memory, allocate(sizeof(DeviceQueueHead), alignof(DeviceQueueHead), "on-device queue"));
  *static_cast<DeviceQueueHead*>(memory) = {MORGANA_DEVICE_QUEUE_MAGIC, size, local_bytes};
  return std::shared_ptr<DeviceQueue>(new DeviceQueue(memory));
}

DeviceQueue::~DeviceQueue() {
  static_cast<DeviceQueueHead*>(head_)->magic = 0;
  release(head_);
}

}  // namespace morgana::runtime
