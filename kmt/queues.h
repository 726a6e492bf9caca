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

#include "device/queue_share.h"
#include "runtime/hsa/user_queue.h"

namespace morgana::kmt {

class Queues : public runtime::QueueOwner {
 public:
  static Queues& get();

  // `event`: the number of the one that exceptions set; 0: none. An SDMA queue whose resource names no
  // indices gets its own.
  HSAKMT_STATUS create(uint32_t node, HSA_QUEUE_TYPE type, device::Priority priority, void* ring,
                       uint64_t bytes, uint32_t event, HsaQueueResource& resource);
  // The file behind a node's doorbells, which stays the table's, and where one of them lies in it. -1: the
  // node has no queue yet.
  int doorbell_file(uint32_t node);
  uint64_t doorbell_place(HSA_QUEUEID id);
  // Before gfx9 a queue's number says where its doorbell lies.
  static bool numbers_doorbells(uint32_t node);
  static constexpr uint64_t kDoorbellBytes = 128 * 64;  // of a node
  // A percentage of 0 suspends the queue.
  HSAKMT_STATUS update(HSA_QUEUEID id, uint32_t percentage, device::Priority priority);
  // The compute units that the queue's work-groups may run on, a bit each.
  HSAKMT_STATUS set_units(HSA_QUEUEID id, const device::UnitMask& units);
  HSAKMT_STATUS destroy(HSA_QUEUEID id);
  // In place of a write to the doorbell.
  HSAKMT_STATUS ring(HSA_QUEUEID id);
  bool exists(HSA_QUEUEID id);

  void raise_event(uint32_t event_id) override;
  bool enter_code(runtime::Agent& agent, uint64_t entry) override;
  uint64_t pages_of(uint64_t address, uint64_t bytes) override;
  void leave_code() override;
  std::string kernel_name(uint64_t kernel_object) override;
  void find_place(uint64_t kernel_object, uint64_t pc, runtime::FaultPlace& place) override;
  runtime::CodeImage code_object(uint64_t kernel_object) override;
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
    int file = -1;
    std::vector<bool> taken;
  };
  bool make_page(Page& page);
  bool take_doorbell(Entry& entry);
  uint64_t doorbell_address(const Entry& entry);
  void tell_runtime(const Entry& entry, const runtime::UserQueue& queue,
                    const runtime::QueueFailure& failure);

  // Numbers that say where a doorbell lies are below.
  static constexpr uint64_t kFirstId = 1024;
  std::mutex mutex_;
  uint64_t next_id_ = kFirstId;
  std::map<HSA_QUEUEID, std::shared_ptr<Entry>> entries_;
  std::map<uint32_t, Page> pages_;
};

}  // namespace morgana::kmt
