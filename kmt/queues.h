// Queues: the user-mode queues that runtimes have created, their doorbells, and what becomes of their faults.
//
// Callable from any thread; destroying a queue waits for its command processor.
#pragma once

#include <hsakmt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/hsa/user_queue.h"

namespace morgana::kmt {

class Queues : public runtime::QueueOwner {
 public:
  static Queues& get();

  HSAKMT_STATUS create(uint32_t node, HSA_QUEUE_TYPE type, void* ring, uint64_t bytes, HsaEvent* event,
                       HsaQueueResource& resource);
  // A percentage of 0 suspends the queue.
  HSAKMT_STATUS update(HSA_QUEUEID id, uint32_t percentage);
  HSAKMT_STATUS destroy(HSA_QUEUEID id);
  // In place of a write to the doorbell.
  HSAKMT_STATUS ring(HSA_QUEUEID id);
  bool exists(HSA_QUEUEID id);

  void raise_event(uint32_t event_id) override;
  bool enter_code(runtime::Agent& agent, uint64_t entry) override;
  void leave_code() override;
  std::string kernel_name(uint64_t kernel_object) override;
  void queue_failed(runtime::UserQueue& queue, const runtime::QueueFailure& failure) override;

 private:
  struct Entry {
    uint32_t node = 0, doorbell = 0;
    uint32_t event_id = 0;                      // 0: none
    volatile HSAint64* error_reason = nullptr;  // payload of the runtime's exception signal
    std::unique_ptr<uint64_t[]> indices;        // of an SDMA queue: read, write
    std::unique_ptr<runtime::UserQueue> queue;
  };
  // Doorbells of a node: a page of slots, as hardware has it.
  struct Page {
    uint64_t address = 0;
    std::vector<bool> taken;
  };
  bool take_doorbell(Entry& entry);
  uint64_t doorbell_address(const Entry& entry);
  void tell_runtime(const Entry& entry, const runtime::UserQueue& queue,
                    const runtime::QueueFailure& failure);

  std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::map<HSA_QUEUEID, std::shared_ptr<Entry>> entries_;
  std::map<uint32_t, Page> pages_;
};

}  // namespace morgana::kmt
