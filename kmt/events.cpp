#include "kmt/events.h"

#include <algorithm>

#include "base/clock.h"
#include "runtime/hsa/user_queue.h"
#include "runtime/hsa/wake_hub.h"
#include "runtime/memory.h"

namespace morgana::kmt {
namespace {

constexpr uint64_t kLongestNap = 1'000'000;  // ns between looks at the mailboxes

}  // namespace

struct Events::Event {
  HsaEvent event{};
  bool manual_reset = false;
  std::atomic<bool> is_set{false};
  std::atomic<uint64_t> age{1};  // times that it was set, and one
  void set() {
    age.fetch_add(1);
    is_set.store(true);
  }
};

Events& Events::get() {
  static auto* events = new Events;  // outlives every static destructor: queues may still run at exit
  return *events;
}

Events::Events() : table_(kMaxEvents) {
  auto memory = runtime::allocate(kMaxEvents * sizeof(uint64_t), 4096, "event mailboxes");
  if (memory.ok()) own_mailboxes_ = static_cast<std::atomic<uint64_t>*>(*memory);
  mailboxes_ = own_mailboxes_;
}

std::atomic<uint64_t>* Events::mailbox(uint32_t id) const {
  return mailboxes_.load(std::memory_order_relaxed) + id;
}

HSAKMT_STATUS Events::create(const HsaEventDescriptor& descriptor, bool manual_reset, bool is_signaled,
                             HsaEvent** event) {
  if (descriptor.EventType >= HSA_EVENTTYPE_MAXID) return HSAKMT_STATUS_INVALID_PARAMETER;
  if (mailboxes_ == nullptr) return HSAKMT_STATUS_NO_MEMORY;
  std::lock_guard lock(mutex_);
  const auto free = std::find(table_.begin() + 1, table_.end(), nullptr);
  if (free == table_.end()) return HSAKMT_STATUS_OUT_OF_RESOURCES;
  const auto id = static_cast<uint32_t>(free - table_.begin());
  *free = std::make_shared<Event>();
  Event& made = **free;
  made.manual_reset = manual_reset;
  made.is_set = is_signaled;
  made.event.EventId = id;
  made.event.EventData.EventType = descriptor.EventType;
  made.event.EventData.EventData.SyncVar = descriptor.SyncVar;
  made.event.EventData.HWData1 = id;
  made.event.EventData.HWData3 = id;
  mailbox(id)->store(0);
  if (descriptor.EventType == HSA_EVENTTYPE_SIGNAL)
    made.event.EventData.HWData2 = reinterpret_cast<HSAuint64>(mailbox(id));
  *event = &made.event;
  return HSAKMT_STATUS_SUCCESS;
}

HsaEvent* Events::at(uint32_t id) {
  std::lock_guard lock(mutex_);
  return id < kMaxEvents && table_[id] ? &table_[id]->event : nullptr;
}

void Events::use_mailboxes(std::atomic<uint64_t>* mailboxes) {
  std::lock_guard lock(mutex_);
  for (uint32_t id = 1; id < kMaxEvents; ++id)
    if (table_[id]) {
      mailboxes[id].store(mailbox(id)->load());
      if (table_[id]->event.EventData.HWData2 != 0)
        table_[id]->event.EventData.HWData2 = reinterpret_cast<HSAuint64>(mailboxes + id);
    }
  mailboxes_ = mailboxes;
}

void Events::leave_mailboxes(uint64_t address, uint64_t size) {
  const auto now = reinterpret_cast<uint64_t>(mailboxes_.load());
  if (now >= address && now - address < size) use_mailboxes(own_mailboxes_);
}

Events::Table::iterator Events::slot_of(const HsaEvent* event) {
  return std::find_if(table_.begin(), table_.end(), [&](const auto& e) { return e && &e->event == event; });
}

std::shared_ptr<Events::Event> Events::find(const HsaEvent* event) {
  std::lock_guard lock(mutex_);
  const auto found = slot_of(event);
  return found == table_.end() ? nullptr : *found;
}

HSAKMT_STATUS Events::destroy(HsaEvent* event) {
  {
    std::lock_guard lock(mutex_);
    const auto found = slot_of(event);
    if (found == table_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
    found->reset();
  }
  runtime::signal_hub().notify();
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Events::set(HsaEvent* event) {
  const auto found = find(event);
  if (!found) return HSAKMT_STATUS_INVALID_HANDLE;
  found->set();
  runtime::signal_hub().notify();
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Events::reset(HsaEvent* event) {
  const auto found = find(event);
  if (!found) return HSAKMT_STATUS_INVALID_HANDLE;
  found->is_set.store(false);
  mailbox(event->EventId)->store(0);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Events::query(HsaEvent* event) {
  const auto found = find(event);
  if (!found) return HSAKMT_STATUS_INVALID_HANDLE;
  return is_set(*found) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

void Events::raise(uint32_t id) {
  if (id == 0 || id >= kMaxEvents) return;
  std::shared_ptr<Event> event;
  {
    std::lock_guard lock(mutex_);
    event = table_[id];
  }
  if (event) event->set();
  runtime::signal_hub().notify();
}

bool Events::is_set(const Event& event) const {
  return event.is_set.load() || mailbox(event.event.EventId)->load() != 0;
}

// Whether the event is set. Resets it if it is one that resets itself.
bool Events::take(Event& event) {
  if (event.manual_reset) return is_set(event);
  std::atomic<uint64_t>& mail = *mailbox(event.event.EventId);
  const bool by_mail = mail.load(std::memory_order_relaxed) != 0 && mail.exchange(0) != 0;
  return (event.is_set.load(std::memory_order_relaxed) && event.is_set.exchange(false)) || by_mail;
}

HSAKMT_STATUS Events::wait(HsaEvent* events[], uint32_t count, bool all, uint32_t milliseconds,
                           uint64_t* ages) {
  std::vector<std::shared_ptr<Event>> wanted;
  wanted.reserve(count);
  {
    std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t id = events[i] == nullptr ? 0 : events[i]->EventId;
      if (id == 0 || id >= kMaxEvents || !table_[id] || &table_[id]->event != events[i])
        return HSAKMT_STATUS_INVALID_HANDLE;
      wanted.push_back(table_[id]);
    }
  }
  // The packet that sets the event may have been announced by a doorbell just now.
  runtime::UserQueue::look_now();
  constexpr uint64_t kMillisecond = 1'000'000;
  const uint64_t start = now_ns(), limit = uint64_t{milliseconds} * kMillisecond;
  runtime::Patience patience(runtime::signal_hub(), kLongestNap);
  const auto has_aged = [&](uint32_t i) {
    return ages != nullptr && ages[i] != 0 && ages[i] != wanted[i]->age.load();
  };
  const auto note_ages = [&](HSAKMT_STATUS status) {
    for (uint32_t i = 0; ages != nullptr && i < count; ++i) ages[i] = wanted[i]->age.load();
    return status;
  };
  while (true) {
    patience.look();
    uint32_t ready = 0;
    for (uint32_t i = 0; i < count; ++i) ready += is_set(*wanted[i]) || has_aged(i);
    if (all ? ready == count : ready != 0) {
      // An event that resets itself goes to one waiter. A waiter that comes too late for one of several gives
      // back the others.
      std::vector<bool> taken(count);
      uint32_t got = 0;
      for (uint32_t i = 0; i < count; ++i) {
        taken[i] = take(*wanted[i]);
        got += taken[i] || has_aged(i);
      }
      if (all ? got == count : got != 0) return note_ages(HSAKMT_STATUS_SUCCESS);
      for (uint32_t i = 0; i < count; ++i)
        if (taken[i] && !wanted[i]->manual_reset) wanted[i]->is_set.store(true);
      runtime::signal_hub().notify();
    }
    const uint64_t waited = now_ns() - start;
    if (milliseconds != HSA_EVENTTIMEOUT_INFINITE && waited >= limit)
      return note_ages(HSAKMT_STATUS_WAIT_TIMEOUT);
    patience.wait(milliseconds == HSA_EVENTTIMEOUT_INFINITE ? ~uint64_t{0} : limit - waited);
  }
}

bool Events::report_memory_fault(uint32_t node, const device::Fault& fault, bool is_hang) {
  bool any = false;
  std::lock_guard lock(mutex_);
  for (const auto& event : table_) {
    if (!event || event->event.EventData.EventType != HSA_EVENTTYPE_MEMORY) continue;
    HsaMemoryAccessFault& report = event->event.EventData.EventData.MemoryAccessFault;
    constexpr uint32_t kHang = 3;
    report.NodeId = node;
    report.VirtualAddress = fault.kind == device::FaultKind::bad_jump ? fault.pc : fault.address;
    report.Failure = {};
    if (is_hang)
      report.Failure.ErrorType = kHang;
    else if (fault.kind == device::FaultKind::bad_jump)
      report.Failure.NoExecute = 1;
    else
      report.Failure.NotPresent = 1;
    // A runtime that polls looks at the flags, so they are written last.
    std::atomic_thread_fence(std::memory_order_release);
    report.Flags = HSA_EVENTID_MEMORY_FATAL_PROCESS;
    event->set();
    any = true;
  }
  if (any) runtime::signal_hub().notify();
  return any;
}

}  // namespace morgana::kmt
