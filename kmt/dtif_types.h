// The thunk's structures as runtimes of 2025 lay them out, where hsakmt.h of ROCm 5 differs, and libdrm's
// description of a device. Read in ROCm/rocm-systems at commit 1b1610fc2 (August 2025) and libdrm 2.4.114.
#pragma once

#include <hsakmt.h>

#include <cstdint>

namespace morgana::kmt {

#pragma pack(push, 4)

struct DtifNodeProperties {
  HSAuint32 cpu_cores;
  HSAuint32 compute_cores;
  HSAuint32 neural_cores;
  HSAuint32 memory_banks;
  HSAuint32 caches;
  HSAuint32 links;
  HSAuint32 first_cpu;
  HSAuint32 first_simd;
  HSA_CAPABILITY capability;
  HSAuint32 capability2;
  HSAuint32 waves_per_simd;
  HSAuint32 lds_kilobytes;
  HSAuint32 gds_kilobytes;
  HSAuint32 wave_size;
  HSAuint32 shader_banks;
  HSAuint32 arrays;
  HSAuint32 cus_per_array;
  HSAuint32 simds_per_cu;
  HSAuint32 scratch_slots_per_cu;
  HSA_ENGINE_ID engine;
  HSA_ENGINE_ID override_engine;  // 0: none
  HSAuint16 vendor;
  HSAuint16 device;
  HSAuint32 location;
  HSAuint64 local_memory;
  HSAuint32 device_clock_mhz;
  HSAuint32 host_clock_mhz;
  HSAint32 render_minor;
  HSAuint16 marketing_name[HSA_PUBLIC_NAME_SIZE];
  HSAuint8 amd_name[HSA_PUBLIC_NAME_SIZE];
  HSA_ENGINE_VERSION firmware;
  HSA_DEBUG_PROPERTIES debug;
  HSAuint64 hive;
  HSAuint32 sdma_engines;
  HSAuint32 xgmi_sdma_engines;
  HSAuint8 queues_per_sdma_engine;
  HSAuint8 compute_queues;
  HSAuint8 gws;
  HSAuint8 integrated;
  HSAuint32 domain;
  HSAuint64 unique_id;
  HSAuint32 vgpr_bytes_per_cu;
  HSAuint32 sgpr_bytes_per_cu;
  HSAuint32 xccs;
  HSAuint32 gpu_id;
  HSAuint32 family;
};
// Runtimes of 2026 have further members behind these (the context save area's sizes, Windows' identifier, the
// clock, which hsaKmtGetNodeWallclockFrequency tells): they stay as the caller has cleared them, since
// nothing says which runtime it is. This structure is 12 bytes longer than ROCm 5's, and uses the 12 that
// were reserved at the end of the older one.
static_assert(sizeof(DtifNodeProperties) == sizeof(HsaNodeProperties) + 12);

struct DtifIoLinkProperties {
  HSA_IOLINKTYPE type;
  HSAuint32 version_major, version_minor;
  HSAuint32 from, to;
  HSAuint32 weight;
  HSAuint32 minimum_latency, maximum_latency;
  HSAuint32 minimum_bandwidth, maximum_bandwidth;
  HSAuint32 transfer_size;
  HSAuint32 sdma_engines;  // a mask of the engines that suit best; 0: any
  HSA_LINKPROPERTY flags;
};
static_assert(sizeof(DtifIoLinkProperties) == sizeof(HsaIoLinkProperties) + 4);

#pragma pack(pop)

// amdgpu_gpu_info.
struct DrmGpuInfo {
  uint32_t asic, revision, external_revision, family;
  uint64_t flags, engine_clock_khz, memory_clock_khz;
  uint32_t shader_engines, arrays_per_engine;
  uint32_t quad_pipes[2], cache_entries, contexts, render_backends[2];
  uint32_t counter_khz;
  uint32_t backends_off[4], memory_config, address_config, tile_modes[32], macro_tile_modes[16];
  uint32_t raster_configs[8];
  uint32_t cus, always_on_cus, cu_bitmap[16];
  uint32_t memory_type, memory_bits, ce_ram_bytes, vce_harvest, pci_revision;
};
static_assert(sizeof(DrmGpuInfo) == 416);

}  // namespace morgana::kmt
