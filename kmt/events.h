// Events: a runtime's threads sleep on them until a completion signal, a fault or the runtime itself wakes
// them.
//
// An event of kind SIGNAL has a slot in the mailbox page. Whoever writes the event's number there (a command
// processor, guest code before s_sendmsg, SDMA) sets the event. Command processors also call `raise`. Guest
// code cannot, so who waits looks at the mailbox from time to time. Callable from any thread.
#pragma once

#include <hsakmt.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "device/fault.h"

namespace morgana::kmt {

class Events {
 public:
  static Events& get();

  HSAKMT_STATUS create(const HsaEventDescriptor& descriptor, bool manual_reset, bool is_signaled,
                       HsaEvent** event);
  // The event of this number; nullptr: none.
  HsaEvent* at(uint32_t id);
  // Memory of the caller's for kMaxEvents mailboxes, in place of the table's own. Events that exist move.
  void use_mailboxes(std::atomic<uint64_t>* mailboxes);
  // The memory [address, address + size) goes: if the mailboxes lie there, back to the table's own.
  void leave_mailboxes(uint64_t address, uint64_t size);
  static constexpr uint32_t kMaxEvents = 4096;  // as Linux's driver; ids 1 to 4095
  HSAKMT_STATUS destroy(HsaEvent* event);
  HSAKMT_STATUS set(HsaEvent* event);
  HSAKMT_STATUS reset(HsaEvent* event);
  HSAKMT_STATUS query(HsaEvent* event);
  // `ages` may be null. It says how often each event had been set when the caller last looked (0: not known):
  // an event that has been set more often counts as set. On return it has today's numbers.
  HSAKMT_STATUS wait(HsaEvent* events[], uint32_t count, bool all, uint32_t milliseconds,
                     uint64_t* ages = nullptr);

  // Sets the event of this number, if there is one.
  void raise(uint32_t id);
  // Tells the events of kind MEMORY of a fault; false when there are none.
  bool report_memory_fault(uint32_t node, const device::Fault& fault, bool is_hang);

 private:
  struct Event;
  Events();
  using Table = std::vector<std::shared_ptr<Event>>;
  Table::iterator slot_of(const HsaEvent* event);  // under mutex_
  class Waiter;
  bool has_mail(const Event& event) const;
  void collect(Event& event);
  std::atomic<uint64_t>* mailbox(uint32_t id) const;

  std::mutex mutex_;
  Table table_;  // by id; null: free
  std::atomic<uint64_t>* own_mailboxes_ = nullptr;
  std::atomic<std::atomic<uint64_t>*> mailboxes_{nullptr};
};

}  // namespace morgana::kmt
