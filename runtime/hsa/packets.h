// The AQL packets besides kernel dispatch, as the command processor reads them.
//
// HSA Platform System Architecture specification 1.2, 2.9.8 and 2.9.9; AMD's vendor packets: hsa_ext_amd.h.
#pragma once

#include <cstdint>

namespace morgana::runtime {

struct BarrierPacket {
  uint16_t header;
  uint16_t reserved0;
  uint32_t reserved1;
  uint64_t dependency[5];
  uint64_t reserved2;
  uint64_t completion_signal;
};
static_assert(sizeof(BarrierPacket) == 64);

enum class VendorFormat : uint8_t { pm4_indirect_buffer = 1, barrier_value = 2 };

struct VendorPacket {
  uint16_t header;
  VendorFormat format;
  uint8_t reserved0;
  uint32_t body[13];
  uint64_t completion_signal;
};
static_assert(sizeof(VendorPacket) == 64);

struct BarrierValuePacket {
  uint16_t header;
  VendorFormat format;
  uint8_t reserved0;
  uint32_t reserved1;
  uint64_t signal;
  int64_t value;
  int64_t mask;
  uint32_t condition;  // hsa_signal_condition_t: equal, not equal, less, greater or equal
  uint32_t reserved2;
  uint64_t reserved3[2];
  uint64_t completion_signal;
};
static_assert(sizeof(BarrierValuePacket) == 64);

// amd_queue_t.queue_properties
inline constexpr uint32_t kQueueProfiling = 1u << 3;
inline constexpr uint32_t kQueueUseScratchOnce = 1u << 4;

// What the command processor writes to queue_inactive_signal, and then waits for 0.
inline constexpr int64_t kNeedScratch = 1;
inline constexpr int64_t kReclaimScratch = 512;

}  // namespace morgana::runtime
