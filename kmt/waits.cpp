// What the ROCR runtime does with signals by itself, and this library in its place.
//
// A wait for a signal sleeps here; the runtime's spins.
//
// HIP asks for an active wait. Even for a blocked one the runtime lets only one thread sleep on a signal's
// event, and that is its own handler. On hardware the spinning thread has a processor to itself; here it
// takes one from the threads that execute the launch.
//
// A signal that is used again first waits for the queue. HIP gives a signal that has become 0 to another
// command and sets it to 1 without a look at the barrier that depends on the 0: it trusts that hardware has
// seen it by then. After a stream's callback nothing else keeps the two apart (the signal becomes 0 on the
// host), and the barrier would wait for ever, or for the wrong command.
//
// The runtime gives its table of functions to every library that HSA_TOOLS_LIB names. This library names
// itself there (tool_name.h) and replaces functions of the table. The layout is that of hsa_api_trace.h;
// every version so far has these functions at the same offsets.
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/options.h"
#include "device/guest_access.h"
#include "runtime/hsa/signal.h"
#include "runtime/hsa/user_queue.h"
#include "runtime/hsa/wake_hub.h"

namespace morgana::kmt {
namespace {

using SignalWait = int64_t (*)(uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
                               uint32_t state);
using SilentStore = void (*)(uint64_t signal, int64_t value);
struct TableVersion {
  uint32_t major, bytes, step, reserved;
};
struct CoreTable {
  TableVersion version;
  void* others[43];
  SignalWait wait_relaxed, wait_acquire;
  void* more[57];
  SilentStore silent_store_relaxed, silent_store_release;
};
static_assert(offsetof(CoreTable, wait_relaxed) == 360 && offsetof(CoreTable, more) == 376);
static_assert(offsetof(CoreTable, silent_store_relaxed) == 832);
struct ApiTable {
  TableVersion version;
  CoreTable* core;
};

SignalWait runtimes_relaxed, runtimes_acquire;
SilentStore runtimes_silent_relaxed, runtimes_silent_release;

// Whether `handle` is a user signal, the kind that can be waited for here. `longest_nap` is then how long a
// sleeper may go without looking at the value. Host code that writes a signal with an event also sets the
// event, which wakes the sleepers; guest code and signals without an event are only noticed by looking.
bool is_ours(uint64_t handle, uint64_t& longest_nap) {
  constexpr int64_t kUserSignal = 1;
  constexpr uint64_t kWithEvent = 500'000, kWithout = 50'000;  // ns
  int64_t kind = 0;
  const bool readable = device::try_guest([&] {
    const auto& signal = *reinterpret_cast<const runtime::AmdSignal*>(handle);
    kind = signal.kind;
    longest_nap = signal.event_mailbox != 0 ? kWithEvent : kWithout;
  });
  return readable && kind == kUserSignal;
}

// `timeout` is in ticks of the clock of hsaKmtGetClockCounters, which are nanoseconds.
template <SignalWait& runtimes>
int64_t wait(uint64_t handle, uint32_t condition, int64_t compared, uint64_t timeout, uint32_t state) {
  uint64_t longest_nap = 0;
  int64_t value = 0;
  if (handle == 0 || condition > 3 || !is_ours(handle, longest_nap))
    return runtimes(handle, condition, compared, timeout, state);
  const uint64_t start = now_ns();
  runtime::Patience patience(runtime::signal_hub(), longest_nap);
  for (bool first = true;; first = false) {
    patience.look();
    if (!runtime::load_signal(handle, value)) return runtimes(handle, condition, compared, timeout, state);
    if (runtime::signal_condition_holds(condition, value, compared)) return value;
    const uint64_t waited = now_ns() - start;
    if (waited >= timeout) return value;
    // A doorbell may have been rung that no thread has seen: its packets may complete this signal.
    if (first) runtime::UserQueue::look_now();
    patience.wait(timeout - waited);
  }
}

// A store that wakes nobody: how signals are made ready for another use.
template <SilentStore& runtimes>
void silent_store(uint64_t handle, int64_t value) {
  if (value != 0) runtime::UserQueue::let_barriers_see(handle);
  runtimes(handle, value);
}

}  // namespace
}  // namespace morgana::kmt

// The runtime calls it at the end of its initialisation (hsa_api_trace.h, the interface of tools).
extern "C" __attribute__((visibility("default"))) bool OnLoad(void* api_table, uint64_t /*version*/,
                                                              uint64_t /*failed*/, const char* const*) {
  using namespace morgana::kmt;
  CoreTable* core = static_cast<ApiTable*>(api_table)->core;
  if (morgana::options().rocr_waits || core == nullptr || core->version.bytes < offsetof(CoreTable, more))
    return true;
  runtimes_relaxed = core->wait_relaxed;
  runtimes_acquire = core->wait_acquire;
  core->wait_relaxed = wait<runtimes_relaxed>;
  core->wait_acquire = wait<runtimes_acquire>;
  if (core->version.bytes < sizeof(CoreTable)) return true;
  runtimes_silent_relaxed = core->silent_store_relaxed;
  runtimes_silent_release = core->silent_store_release;
  core->silent_store_relaxed = silent_store<runtimes_silent_relaxed>;
  core->silent_store_release = silent_store<runtimes_silent_release>;
  return true;
}
