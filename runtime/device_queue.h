// DeviceQueue: an on-device queue as kernels see it: something to name.
//
// What kernels enqueue lies elsewhere (children.h), and a queue's size bounds nothing: the room that a kernel
// has does, which is that of the largest queue. Immutable; callable from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

namespace morgana::runtime {

// Bytes of the largest queue, and of one that nobody gave a size.
inline constexpr uint32_t kMaxDeviceQueueBytes = 16 * 1024 * 1024;
inline constexpr uint32_t kPreferredDeviceQueueBytes = 256 * 1024;
// Events that the kernels of one command may have at a time.
inline constexpr uint32_t kMaxDeviceEvents = 65536;

class DeviceQueue {
 public:
  // `local_bytes`: local memory that a work-group of the device may have.
  static Result<std::shared_ptr<DeviceQueue>> create(uint32_t size, uint32_t local_bytes);
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  // What a queue_t is.
  uint64_t address() const { return reinterpret_cast<uint64_t>(head_); }

 private:
  explicit DeviceQueue(void* head) : head_(head) {}
  void* const head_;
};

// The queues that a launch uses, as long as it lives.
struct DeviceQueues {
  std::shared_ptr<DeviceQueue> by_default;  // get_default_queue(); null: none
  std::vector<std::shared_ptr<DeviceQueue>> arguments;
};

}  // namespace morgana::runtime
