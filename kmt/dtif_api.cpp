// The entry points of libdtif.so that differ from ROCm 5's thunk. With HSA_ENABLE_DTIF=1 a ROCR runtime of
// 2025 loads libdtif.so and takes every thunk function from it. Most are those of libhsakmt.so; the ones
// below are new there, or take structures that have grown since (dtif_types.h).
#include <algorithm>

#include "kmt/dtif_types.h"
#include "kmt/entry.h"
#include "kmt/nodes.h"

namespace morgana::kmt {
namespace {

DtifNodeProperties translate(const HsaNodeProperties& p, uint32_t node) {
  DtifNodeProperties d{};
  d.cpu_cores = p.NumCPUCores;
  d.compute_cores = p.NumFComputeCores;
  d.memory_banks = p.NumMemoryBanks;
  d.caches = p.NumCaches;
  d.links = p.NumIOLinks;
  d.first_cpu = p.CComputeIdLo;
  d.first_simd = p.FComputeIdLo;
  d.capability = p.Capability;
  d.waves_per_simd = p.MaxWavesPerSIMD;
  d.lds_kilobytes = p.LDSSizeInKB;
  d.gds_kilobytes = p.GDSSizeInKB;
  d.wave_size = p.WaveFrontSize;
  d.shader_banks = p.NumShaderBanks;
  d.arrays = p.NumArrays;
  d.cus_per_array = p.NumCUPerArray;
  d.simds_per_cu = p.NumSIMDPerCU;
  d.scratch_slots_per_cu = p.MaxSlotsScratchCU;
  d.engine = p.EngineId;
  d.engine.ui32.uCode = engine_firmware(node) & 0x3ff;
  d.vendor = p.VendorId;
  d.device = p.DeviceId;
  d.location = p.LocationId;
  d.local_memory = p.LocalMemSize;
  d.device_clock_mhz = p.MaxEngineClockMhzFCompute;
  d.host_clock_mhz = p.MaxEngineClockMhzCCompute;
  d.render_minor = p.DrmRenderMinor;
  std::copy_n(p.MarketingName, HSA_PUBLIC_NAME_SIZE, d.marketing_name);
  std::copy_n(p.AMDName, HSA_PUBLIC_NAME_SIZE, d.amd_name);
  d.firmware = p.uCodeEngineVersions;
  d.debug = p.DebugProperties;
  d.hive = p.HiveID;
  d.sdma_engines = p.NumSdmaEngines;
  d.xgmi_sdma_engines = p.NumSdmaXgmiEngines;
  d.queues_per_sdma_engine = p.NumSdmaQueuesPerEngine;
  d.compute_queues = p.NumCpQueues;
  d.gws = p.NumGws;
  d.domain = p.Domain;
  d.unique_id = p.UniqueID;
  d.vgpr_bytes_per_cu = p.VGPRSizePerCU;
  d.sgpr_bytes_per_cu = p.SGPRSizePerCU;
  d.xccs = p.NumFComputeCores == 0 ? 0 : 1;
  d.gpu_id = node;
  d.family = family_of(node);
  return d;
}

DtifIoLinkProperties translate(const HsaIoLinkProperties& p) {
  DtifIoLinkProperties d{};
  d.type = p.IoLinkType;
  d.version_major = p.VersionMajor;
  d.version_minor = p.VersionMinor;
  d.from = p.NodeFrom;
  d.to = p.NodeTo;
  d.weight = p.Weight;
  d.minimum_latency = p.MinimumLatency;
  d.maximum_latency = p.MaximumLatency;
  d.minimum_bandwidth = p.MinimumBandwidth;
  d.maximum_bandwidth = p.MaximumBandwidth;
  d.transfer_size = p.RecTransferSize;
  d.flags = p.Flags;
  return d;
}

}  // namespace

// The runtime only asks whether the platform's handle is null.
extern "C" __attribute__((visibility("default"))) const void* DtifCreate(const char* /*user*/) {
  static const char kPlatform = 0;
  return &kPlatform;
}
extern "C" __attribute__((visibility("default"))) void DtifDestroy() {}

// hsakmt.h declares these two with the structures of ROCm 5. The caller passes pointers to today's.
KMT_EXPORT hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties* properties) {
  return give_node(node, reinterpret_cast<DtifNodeProperties*>(properties),
                   [&](const HsaNodeProperties& ours) { return translate(ours, node); });
}

KMT_EXPORT hsaKmtGetNodeIoLinkProperties(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties* properties) {
  return give_links(node, count, reinterpret_cast<DtifIoLinkProperties*>(properties),
                    [](const HsaIoLinkProperties& ours) { return translate(ours); });
}

KMT_EXPORT hsaKmtModelEnabled(bool* is_enabled) {
  return entry([&] {
    if (is_enabled == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    *is_enabled = false;  // the thunk's own emulator of a device
    return HSAKMT_STATUS_SUCCESS;
  });
}

}  // namespace morgana::kmt
