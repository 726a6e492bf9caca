#include "runtime/hsa/signal.h"

#include "device/guest_access.h"
#include "runtime/hsa/wake_hub.h"

namespace morgana::runtime {
namespace {

using device::try_guest;

// Changes a signal by `change`, then sets its event and wakes whoever waits.
template <typename Change>
bool change_signal(uint64_t handle, EventSink& events, const Change& change) {
  if (handle == 0) return true;
  uint32_t event = 0;
  const bool ok = try_guest([&] {
    auto* signal = reinterpret_cast<AmdSignal*>(handle);
    // As soon as the value has changed the program may free the signal, so the mailbox is read before.
    const uint64_t mailbox = signal->event_mailbox;
    const uint32_t id = signal->event_id;
    change(*signal);
    if (mailbox == 0) return;
    __atomic_store_n(reinterpret_cast<uint64_t*>(mailbox), uint64_t{id}, __ATOMIC_RELEASE);
    event = id;
  });
  if (!ok) return false;
  if (event != 0) events.raise_event(event);
  signal_hub().notify();
  return true;
}

}  // namespace

bool complete_signal(uint64_t handle, const Timestamps* times, EventSink& events) {
  return change_signal(handle, events, [times](AmdSignal& signal) {
    if (times != nullptr) {
      signal.start_ts = times->start;
      signal.end_ts = times->end;
    }
    __atomic_fetch_sub(&signal.value, 1, __ATOMIC_RELEASE);
  });
}

bool store_signal(uint64_t handle, int64_t value, EventSink& events) {
  return change_signal(handle, events, [value](AmdSignal& signal) {
    __atomic_store_n(&signal.value, value, __ATOMIC_RELEASE);
  });
}

bool load_signal(uint64_t handle, int64_t& value) {
  value = 0;
  if (handle == 0) return true;
  return try_guest(
      [&] { value = __atomic_load_n(&reinterpret_cast<const AmdSignal*>(handle)->value, __ATOMIC_ACQUIRE); });
}

bool signal_condition_holds(uint32_t condition, int64_t value, int64_t compared) {
  switch (condition) {
    case 0: return value == compared;
    case 1: return value != compared;
    case 2: return value < compared;
    default: return value >= compared;
  }
}

}  // namespace morgana::runtime
