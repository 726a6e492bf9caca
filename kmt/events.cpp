#include "kmt/events.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "runtime/hsa/user_queue.h"
#include "runtime/hsa/wake_hub.h"
#include "runtime/memory.h"

namespace morgana::kmt {
namespace {

constexpr uint64_t kLongestNap = 1'000'000;  // ns between looks at the mailboxes

}  // namespace

// Under mutex_.
struct Events::Event {
  HsaEvent event{};
  bool manual_reset = false;
  bool is_set = false;
  bool is_gone = false;  // destroyed
  uint32_t waiters = 0;  // but for those who wait for all of several
  uint64_t age = 1;      // times that it was set, and one
  // All who wait now see that it has aged. One that resets itself stays set for the next only where nobody
  // waits, as in Linux's driver: runtimes wait for one event in two threads, and both are to go on.
  void set() {
    is_set = manual_reset || waiters == 0;
    age++;
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

HSAKMT_STATUS Events::destroy(HsaEvent* event) {
  {
    std::lock_guard lock(mutex_);
    const auto found = slot_of(event);
    if (found == table_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
    (*found)->is_gone = true;
    found->reset();
  }
  runtime::signal_hub().notify();
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Events::set(HsaEvent* event) {
  {
    std::lock_guard lock(mutex_);
    const auto found = slot_of(event);
    if (found == table_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
    (*found)->set();
  }
  runtime::signal_hub().notify();
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Events::reset(HsaEvent* event) {
  std::lock_guard lock(mutex_);
  const auto found = slot_of(event);
  if (found == table_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
  (*found)->is_set = false;
  mailbox(event->EventId)->store(0);
  return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS Events::query(HsaEvent* event) {
  std::lock_guard lock(mutex_);
  const auto found = slot_of(event);
  if (found == table_.end()) return HSAKMT_STATUS_INVALID_HANDLE;
  return (*found)->is_set || has_mail(**found) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

void Events::raise(uint32_t id) {
  if (id == 0 || id >= kMaxEvents) return;
  {
    std::lock_guard lock(mutex_);
    if (Event* const event = table_[id].get()) {
      mailbox(id)->store(0);
      event->set();
    }
  }
  runtime::signal_hub().notify();
}

bool Events::has_mail(const Event& event) const { return mailbox(event.event.EventId)->load() != 0; }

// Sets the event if its mailbox says so. Under mutex_.
void Events::collect(Event& event) {
  if (has_mail(event) && mailbox(event.event.EventId)->exchange(0) != 0) event.set();
}

// What one thread waits for.
class Events::Waiter {
 public:
  // Under the table's mutex. `ages` as Events::wait has it.
  Waiter(Events& events, std::vector<std::shared_ptr<Event>> wanted, bool all, uint64_t* ages)
      : events_(events),
        wanted_(std::move(wanted)),
        all_(all && wanted_.size() != 1),
        ages_(ages),
        begun_(wanted_.size()) {
    for (size_t i = 0; i < wanted_.size(); i++) {
      wanted_[i]->waiters += all_ ? 0 : 1;
      begun_[i] = ages != nullptr && ages[i] != 0 ? ages[i] : wanted_[i]->age;
    }
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Whether the wait is over, and how; always if `is_last`. To be called until it is.
  std::optional<HSAKMT_STATUS> look(bool is_last) {
    std::lock_guard lock(events_.mutex_);
    size_t set = 0;
    bool is_gone = false;
    for (size_t i = 0; i < wanted_.size(); i++) {
      Event& event = *wanted_[i];
      is_gone = is_gone || event.is_gone;
      if (!event.is_gone) events_.collect(event);
      set += event.is_set || event.age != begun_[i] ? 1 : 0;
    }
    const bool is_done = all_ ? set == wanted_.size() : set != 0;
    if (!is_done && !is_gone && !is_last) return std::nullopt;
    for (size_t i = 0; i < wanted_.size(); i++) {
      Event& event = *wanted_[i];
      event.waiters -= all_ ? 0 : 1;
      if (is_done && !event.manual_reset) event.is_set = false;
      if (ages_ != nullptr) ages_[i] = event.age;
    }
    return is_done   ? HSAKMT_STATUS_SUCCESS
           : is_gone ? HSAKMT_STATUS_WAIT_FAILURE
                     : HSAKMT_STATUS_WAIT_TIMEOUT;
  }

 private:
  Events& events_;
  const std::vector<std::shared_ptr<Event>> wanted_;
  const bool all_;  // of several
  uint64_t* const ages_;
  std::vector<uint64_t> begun_;
};

HSAKMT_STATUS Events::wait(HsaEvent* events[], uint32_t count, bool all, uint32_t milliseconds,
                           uint64_t* ages) {
  std::optional<Waiter> waiter;
  {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Event>> wanted;
    wanted.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t id = events[i] == nullptr ? 0 : events[i]->EventId;
      if (id == 0 || id >= kMaxEvents || !table_[id] || &table_[id]->event != events[i])
        return HSAKMT_STATUS_INVALID_HANDLE;
      wanted.push_back(table_[id]);
    }
    waiter.emplace(*this, std::move(wanted), all, ages);
  }
  // The packet that sets the event may have been announced by a doorbell just now.
  runtime::UserQueue::look_now();
  constexpr uint64_t kMillisecond = 1'000'000;
  const bool is_endless = milliseconds == HSA_EVENTTIMEOUT_INFINITE;
  const uint64_t start = now_ns(), limit = uint64_t{milliseconds} * kMillisecond;
  runtime::Patience patience(runtime::signal_hub(), kLongestNap);
  while (true) {
    patience.look();
    const uint64_t waited = now_ns() - start;
    if (const auto status = waiter->look(!is_endless && waited >= limit)) return *status;
    patience.wait(is_endless ? ~uint64_t{0} : limit - waited);
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
