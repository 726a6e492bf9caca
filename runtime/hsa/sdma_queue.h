// SdmaQueue: a system DMA engine's queue: copies, fills, fences, polls, atomics, timestamps.
//
// The ring holds packets of varying length; indices count bytes. From gfx9 on they are 64 bits wide and grow
// without bound, before they have 32 bits and wrap with the ring, and sizes are not stored minus one. Packet
// layouts: Linux, vega10_sdma_pkt_open.h and cik_sdma.c.
#pragma once

#include <cstdint>
#include <string>

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
  void store_index(uint64_t value);
  Outcome execute(const uint32_t* packet, uint32_t available, uint32_t& length);
  Outcome copy_linear(const uint32_t* packet);
  Outcome copy_window(const uint32_t* packet);
  Outcome fill(const uint32_t* packet);
  Outcome write(uint64_t packet_address, const uint32_t* packet);
  Outcome poll(const uint32_t* packet);
  Outcome atomic(const uint32_t* packet);
  Outcome refuse(std::string text);
  Outcome access_failed(const device::Fault& fault, const char* what);

  const bool wide_;                // 64-bit indices, sizes stored minus one
  uint64_t next_ = 0, limit_ = 0;  // bytes
};

}  // namespace morgana::runtime
