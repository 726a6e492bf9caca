// SdmaQueue: the queue of a system DMA engine: copies, fills, fences, polls, atomics, timestamps.
//
// Packets have different lengths, and indices count bytes. From gfx9 on an index has 64 bits and grows
// without bound, and sizes are stored less one. Before gfx9 an index has 32 bits and wraps with the ring, and
// sizes are stored as they are. Packet layouts: Linux, vega10_sdma_pkt_open.h and cik_sdma.c.
#pragma once

#include <cstdint>
#include <string>

#include "base/trace.h"
#include "runtime/hsa/user_queue.h"

namespace morgana::runtime {

class SdmaQueue : public UserQueue {
 public:
  SdmaQueue(Agent& agent, const Memory& memory, QueueOwner& owner);
  ~SdmaQueue() override;

 protected:
  Progress step() override;

 private:
  enum class Outcome { done, stopped, failed };
  void find_limit();
  uint64_t load_index(uint64_t address) const;
  // The host's address of the `bytes` that a packet names.
  uint64_t address(const uint32_t* field, uint64_t bytes);
  void store_index(uint64_t value);
  Outcome execute(const uint32_t* packet, uint32_t available, uint32_t& length);
  Outcome copy_linear(const uint32_t* packet);
  Outcome copy_window(const uint32_t* packet);
  Outcome fill(const uint32_t* packet);
  Outcome write(uint64_t packet_address, const uint32_t* packet);
  Outcome poll(const uint32_t* packet);
  Outcome atomic(const uint32_t* packet);
  Outcome refuse(const std::string& text);
  Outcome access_failed(const device::Fault& fault, const char* what);

  const bool wide_;                // 64-bit indices, sizes stored less one
  uint64_t next_ = 0, limit_ = 0;  // bytes
  TraceTrack track_ = make_trace_track("copies");
};

}  // namespace morgana::runtime
