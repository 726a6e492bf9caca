// HSA signals as AMD lays them out, and what a command processor does with them.
//
// A signal is plain memory: an address from a packet, never trusted. Layout: LLVM AMDGPUUsage and the public
// amd_hsa_signal.h. Callable from any thread.
#pragma once

#include <cstdint>

namespace morgana::runtime {

struct alignas(64) AmdSignal {
  int64_t kind = 0;   // 1: user signal; -1, -2: doorbells
  int64_t value = 0;  // of a doorbell: the doorbell's address
  uint64_t event_mailbox = 0;
  uint32_t event_id = 0;
  uint32_t reserved1 = 0;
  uint64_t start_ts = 0;  // of the clock that s_memrealtime reads
  uint64_t end_ts = 0;
  uint64_t queue = 0;
  uint32_t reserved3[2] = {};
};
static_assert(sizeof(AmdSignal) == 64);

// Who is told that a signal with an event was written; on hardware an interrupt tells.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void raise_event(uint32_t event_id) = 0;
};

struct Timestamps {
  uint64_t start = 0, end = 0;
};

// What packets do to signals. A handle of 0 means no signal. False: the address is not readable and writable.
[[nodiscard]] bool complete_signal(uint64_t handle, const Timestamps* times, EventSink& events);
[[nodiscard]] bool store_signal(uint64_t handle, int64_t value, EventSink& events);
// Reads the value. Without a signal it is 0, which satisfies a dependency.
[[nodiscard]] bool load_signal(uint64_t handle, int64_t& value);
// hsa_signal_condition_t: equal, not equal, less; any other: greater or equal.
bool signal_condition_holds(uint32_t condition, int64_t value, int64_t compared);

}  // namespace morgana::runtime
