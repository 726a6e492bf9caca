// Opening, versions, topology, clocks and policy.
#include <time.h>

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "device/clock.h"
#include "kmt/entry.h"
#include "kmt/loaded_code.h"
#include "kmt/nodes.h"
#include "kmt/queues.h"
#include "runtime/hsa/signal.h"

namespace morgana::kmt {
namespace {

// The version of Linux's driver that we answer for: one with the events, SRAM ECC and exceptions that
// runtimes expect.
constexpr HSAuint32 kMajor = 1, kMinor = 9;
// The newest target that AMD's HIP 5.2 knows.
constexpr const char* kDefaultDevices = "gfx90a";
// GB_ADDR_CONFIG. Gfx9 and later: one pipe of 256 bytes, one bank, one shader engine, so that no tiling
// swizzles pipes or banks (device/semantics/image_tile.h computes addresses for this). Before: as Linux's
// driver programs it.
HSAuint32 address_config(Generation generation) {
  if (generation >= Generation::gfx9) return 0;
  return generation == Generation::gfx8 ? 0x2201'1003 : 0x1201'1003;
}
constexpr HSAuint32 kSixteenBanks = 2;
// GB_TILE_MODE: every tile mode is linear, aligned.
constexpr HSAuint32 kLinearAligned = 1 << 2;
constexpr HSAuint32 kTileModes = 32, kMacroTileModes = 16;

}  // namespace

std::atomic<int>& open_count() {
  static std::atomic<int> count{0};
  return count;
}

KMT_EXPORT hsaKmtOpenKFD() {
  static std::once_flag once;
  std::call_once(once, [] { runtime::set_default_devices(kDefaultDevices); });
  return open_count().fetch_add(1) == 0 ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_KERNEL_ALREADY_OPENED;
}

KMT_EXPORT hsaKmtCloseKFD() {
  return entry([] {
    open_count().fetch_sub(1);
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtGetVersion(HsaVersionInfo* version) {
  return entry([&] {
    if (version == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    *version = {kMajor, kMinor};
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtAcquireSystemProperties(HsaSystemProperties* properties) {
  return entry([&] {
    if (properties == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    *properties = {};
    properties->NumNodes = node_count();
    return HSAKMT_STATUS_SUCCESS;
  });
}

// The topology never changes: there is no snapshot to let go of.
KMT_EXPORT hsaKmtReleaseSystemProperties() {
  return entry([] { return HSAKMT_STATUS_SUCCESS; });
}

KMT_EXPORT hsaKmtGetNodeMemoryProperties(HSAuint32 node, HSAuint32 count, HsaMemoryProperties* properties) {
  return node_entry(node, [&] { return give(memory_banks(node), count, properties); });
}

KMT_EXPORT hsaKmtGetNodeCacheProperties(HSAuint32 node, HSAuint32 /*processor*/, HSAuint32 count,
                                        HsaCacheProperties* properties) {
  return node_entry(node, [&] { return give(caches(node), count, properties); });
}

KMT_EXPORT hsaKmtGetClockCounters(HSAuint32 node, HsaClockCounters* counters) {
  return node_entry(node, [&] {
    if (counters == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    counters->GPUClockCounter = agent_of(node) == nullptr ? 0 : device::device_clock();
    counters->CPUClockCounter = nanoseconds(CLOCK_MONOTONIC_RAW);
    counters->SystemClockCounter = nanoseconds(CLOCK_BOOTTIME);
    counters->SystemClockFrequencyHz = 1'000'000'000;
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtRuntimeEnable(void* r_debug, bool /*ttmps are always set up*/) {
  return entry([&] {
    set_loader_list(r_debug);
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtRuntimeDisable() {
  return entry([] {
    set_loader_list(nullptr);
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtSetMemoryPolicy(HSAuint32 node, HSAuint32 policy, HSAuint32 alternate, void* /*address*/,
                                 HSAuint64 /*size*/) {
  return entry([&] {
    if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    if (policy >= HSA_CACHING_NUM_CACHING || alternate >= HSA_CACHING_NUM_CACHING)
      return HSAKMT_STATUS_INVALID_PARAMETER;
    return HSAKMT_STATUS_SUCCESS;  // memory is coherent under every policy
  });
}

KMT_EXPORT hsaKmtGetTileConfig(HSAuint32 node, HsaGpuTileConfig* config) {
  return entry([&] {
    if (config == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    const Generation generation = info(agent_of(node)->target()).generation;
    config->GbAddrConfig = address_config(generation);
    config->NumBanks = generation >= Generation::gfx9 ? 0 : kSixteenBanks;
    config->NumRanks = 0;
    const bool has_tables = generation < Generation::gfx9;
    config->NumTileConfigs = has_tables ? std::min(config->NumTileConfigs, kTileModes) : 0;
    config->NumMacroTileConfigs = has_tables ? std::min(config->NumMacroTileConfigs, kMacroTileModes) : 0;
    if (config->TileConfig != nullptr)
      std::fill_n(config->TileConfig, config->NumTileConfigs, kLinearAligned);
    if (config->MacroTileConfig != nullptr)
      std::fill_n(config->MacroTileConfig, config->NumMacroTileConfigs, 0);
    return HSAKMT_STATUS_SUCCESS;
  });
}

KMT_EXPORT hsaKmtSetXNACKMode(HSAint32 enable) {
  // Code of both XNACK modes runs. XNACK is reported as off for good, as on a system that cannot retry
  // faults.
  return entry([&] { return enable == 0 ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_NOT_SUPPORTED; });
}

KMT_EXPORT hsaKmtGetXNACKMode(HSAint32* enable) {
  return entry([&] {
    if (enable == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    *enable = 0;
    return HSAKMT_STATUS_SUCCESS;
  });
}

}  // namespace morgana::kmt
