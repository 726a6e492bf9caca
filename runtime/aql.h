// AQL packets and signals as guest code and the command processor see them.
//
// Layouts from the HSA Platform System Architecture specification 1.2, sections 2.8 (signals) and
// 2.9 (architected queueing language), and LLVM AMDGPUUsage for amd_queue_t.
#pragma once

#include <cstdint>

namespace morgana::runtime {

enum class PacketType : uint8_t {
  vendor_specific = 0,
  invalid = 1,
  kernel_dispatch = 2,
  barrier_and = 3,
  agent_dispatch = 4,
  barrier_or = 5,
};

// Header bits: type [7:0], barrier [8], acquire fence scope [10:9], release fence scope [12:11].
constexpr uint16_t packet_header(PacketType type, bool barrier) {
  return uint16_t(uint16_t(type) | uint16_t(barrier) << 8 | 2 << 9 | 2 << 11);
}

struct alignas(64) DispatchPacket {
  uint16_t header = 0;
  uint16_t setup = 0;  // dimensions [1:0]
  uint16_t workgroup_size_x = 0;
  uint16_t workgroup_size_y = 0;
  uint16_t workgroup_size_z = 0;
  uint16_t reserved0 = 0;
  uint32_t grid_size_x = 0;
  uint32_t grid_size_y = 0;
  uint32_t grid_size_z = 0;
  uint32_t private_segment_size = 0;
  uint32_t group_segment_size = 0;
  uint64_t kernel_object = 0;
  uint64_t kernarg_address = 0;
  uint64_t reserved2 = 0;
  uint64_t completion_signal = 0;
};
static_assert(sizeof(DispatchPacket) == 64);

// The part of amd_queue_t that compiled code reads through queue_ptr: offsets are ABI.
struct alignas(64) AmdQueue {
  uint32_t type = 0;
  uint32_t features = 0;
  uint64_t base_address = 0;
  uint64_t doorbell_signal = 0;
  uint32_t size = 0;
  uint32_t reserved1 = 0;
  uint64_t id = 0;
  uint32_t caps = 0;
  uint32_t reserved2[3] = {};
  uint64_t write_dispatch_id = 0;
  uint32_t group_segment_aperture_base_hi = 0;    // offset 0x40
  uint32_t private_segment_aperture_base_hi = 0;  // offset 0x44
  uint32_t max_cu_id = 0;
  uint32_t max_wave_id = 0;
  uint64_t max_legacy_doorbell_dispatch_id_plus_1 = 0;
  uint32_t legacy_doorbell_lock = 0;
  uint32_t reserved3[9] = {};
  uint64_t read_dispatch_id = 0;
  uint32_t read_dispatch_id_field_base_byte_offset = 0;
  uint32_t compute_tmpring_size = 0;
  uint32_t scratch_resource_descriptor[4] = {};
  uint64_t scratch_backing_memory_location = 0;
  uint64_t scratch_backing_memory_byte_size = 0;
  uint32_t scratch_wave64_lane_byte_size = 0;
  uint32_t queue_properties = 0;
  uint32_t reserved4[2] = {};
  uint64_t queue_inactive_signal = 0;
  uint32_t reserved5[14] = {};
};
static_assert(sizeof(AmdQueue) == 256);

}  // namespace morgana::runtime
