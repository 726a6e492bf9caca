// Waiting for signals in the place of AMD's runtime.
//
// The thread that waits for a launch spins in the runtime: HIP asks for an active wait, and of several that
// wait for one signal the runtime lets only the first sleep, which is its own handler. On hardware a
// processor is free for that; here it is one of those that execute the launch. The runtime hands its table of
// functions to the libraries that HSA_TOOLS_LIB names; this one is among them (tool_name.h), and puts a wait
// that sleeps where the table has the runtime's. The table's layout: hsa_api_trace.h, of which every version
// so far keeps these places.
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
struct TableVersion {
  uint32_t major, bytes, step, reserved;
};
struct CoreTable {
  TableVersion version;
  void* others[43];
  SignalWait wait_relaxed, wait_acquire;
};
static_assert(offsetof(CoreTable, wait_relaxed) == 360);
struct ApiTable {
  TableVersion version;
  CoreTable* core;
};

SignalWait runtimes_relaxed, runtimes_acquire;

// Whether this is a signal that may be waited for here, and how long a sleeper may go without looking at it.
// What has an event is told of by all that write to it but guest code.
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

// `timeout` counts by the clock of hsaKmtGetClockCounters: nanoseconds.
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
    // What is waited for may stand behind a doorbell that has just been rung.
    if (first) runtime::UserQueue::look_now();
    patience.wait(timeout - waited);
  }
}

}  // namespace
}  // namespace morgana::kmt

// Called by the runtime when it has initialised itself (hsa_api_trace.h, the tools' interface).
extern "C" __attribute__((visibility("default"))) bool OnLoad(void* api_table, uint64_t /*version*/,
                                                              uint64_t /*failed*/, const char* const*) {
  using namespace morgana::kmt;
  CoreTable* core = static_cast<ApiTable*>(api_table)->core;
  if (morgana::options().rocr_waits || core == nullptr || core->version.bytes < sizeof(CoreTable))
    return true;
  runtimes_relaxed = core->wait_relaxed;
  runtimes_acquire = core->wait_acquire;
  core->wait_relaxed = wait<runtimes_relaxed>;
  core->wait_acquire = wait<runtimes_acquire>;
  return true;
}
