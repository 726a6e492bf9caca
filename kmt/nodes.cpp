#include "kmt/nodes.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "device/apertures.h"
#include "runtime/memory.h"

namespace morgana::kmt {
namespace {

// HIP offers fine-grained device memory only on devices of an xGMI hive (a node with a hive id that is not
// 0).
constexpr uint64_t kHive = 0x4d6f7267616e61;
// Higher than every version that a runtime asks for before it uses a feature.
constexpr uint32_t kEngineFirmware = 1000, kSdmaFirmware = 1000;
constexpr uint32_t kLinkWeight = 20;  // one hop over PCIe
constexpr uint32_t kLinkBandwidth = 32'000;

const std::vector<uint32_t>& gpus() {
  static const std::vector<uint32_t> list = [] {
    std::vector<uint32_t> nodes;
    for (uint32_t i = 0; i < runtime::agents().size(); ++i) nodes.push_back(i + 1);
    return nodes;
  }();
  return list;
}

struct Version {
  uint32_t major, minor, stepping;
};

// "gfx90a" is 9.0.10: the last two digits are hexadecimal.
Version version_of(const std::string& processor) {
  const auto digit = [](char c) { return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  const size_t n = processor.size();
  if (n < 6) return {};
  return {static_cast<uint32_t>(std::stoul(processor.substr(3, n - 5))), digit(processor[n - 2]),
          digit(processor[n - 1])};
}

void set_name(HSAuint16 (&to)[HSA_PUBLIC_NAME_SIZE], const std::string& text) {
  for (size_t i = 0; i < text.size() && i + 1 < HSA_PUBLIC_NAME_SIZE; ++i)
    to[i] = static_cast<unsigned char>(text[i]);
}

std::string host_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name"))
      if (size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "host";
}

uint32_t host_cores() { return static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

uint64_t host_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) /
         kPage * kPage;
}

HsaNodeProperties host_properties() {
  HsaNodeProperties p{};
  p.NumCPUCores = host_cores();
  p.NumMemoryBanks = static_cast<HSAuint32>(memory_banks(kHostNode).size());
  p.NumCaches = static_cast<HSAuint32>(caches(kHostNode).size());
  p.NumIOLinks = static_cast<HSAuint32>(links(kHostNode).size());
  p.DrmRenderMinor = -1;
  set_name(p.MarketingName, host_name());
  return p;
}

// A compute unit as Linux's driver describes it. In RDNA one has two SIMDs.
struct Unit {
  uint32_t simds = 4, waves_per_simd = 8;
  uint32_t vgpr_bytes = 0x80000;  // kfd_get_vgpr_size_per_cu
};

Unit unit_of(Target target) {
  switch (target) {
    case Target::gfx1010: return {2, 20, 0x40000};
    case Target::gfx1030: return {2, 16, 0x40000};
    case Target::gfx1100:
    case Target::gfx1200: return {2, 16, 0x60000};
    default: return {};
  }
}

// Global wave sync, by which a grid waits for itself. Linux's driver offers it on gfx10.1 when its option
// hws_gws_support is set; gfx12 has no ds_gws_* instructions.
bool has_gws(Target target) {
  const Generation generation = info(target).generation;
  return generation >= Generation::gfx9 && generation < Generation::gfx12;
}

uint32_t first_simd(uint32_t node) { return 0x8000'0000u + (node << 16); }

HSA_CAPABILITY capability(const runtime::AgentSpec& spec) {
  HSA_CAPABILITY c{};
  const Generation generation = info(spec.target).generation;
  c.ui32.QueueSizePowerOfTwo = 1;
  c.ui32.AQLQueueDoubleMap = 0;
  // What a program writes to a doorbell: 2 is a 64-bit packet index, 1 a 32-bit one, 0 an offset in the ring.
  c.ui32.DoorbellType = generation >= Generation::gfx9 ? 2 : generation == Generation::gfx8 ? 1 : 0;
  c.ui32.SRAM_EDCSupport = spec.target_id.find("sramecc+") != std::string::npos;
  c.ui32.CoherentHostAccess = 1;
  c.ui32.SVMAPISupported = 1;
  return c;
}

// On hardware a write to this page flushes the host data path. Here it is memory that nobody reads.
uint64_t remapped_registers() {
  static const uint64_t page = [] {
    auto memory = runtime::allocate(kPage, kPage, "remapped registers");
    return memory.ok() ? reinterpret_cast<uint64_t>(*memory) : 0;
  }();
  return page;
}

HsaMemoryProperties bank(HSA_HEAPTYPE type, uint64_t size, uint64_t base = 0) {
  HsaMemoryProperties m{};
  m.HeapType = type;
  m.SizeInBytes = size;
  m.Width = type == HSA_HEAPTYPE_SYSTEM ? 64 : 4096;
  m.MemoryClockMax = 1600;
  m.VirtualBaseAddress = base;
  return m;
}

HsaCacheProperties cache(uint32_t processor, uint32_t level, uint64_t bytes, uint32_t line, bool is_host) {
  HsaCacheProperties c{};
  c.ProcessorIdLow = processor;
  c.CacheLevel = level;
  c.CacheSize = static_cast<HSAuint32>(bytes / 1024);
  c.CacheLineSize = line;
  c.CacheLinesPerTag = 1;
  c.CacheType.ui32.Data = 1;
  c.CacheType.ui32.CPU = is_host;
  c.CacheType.ui32.HSACU = !is_host;
  c.SiblingMap[0] = 1;
  return c;
}

}  // namespace

uint32_t node_count() { return static_cast<uint32_t>(gpus().size()) + 1; }

runtime::Agent* agent_of(uint32_t node) {
  if (node == kHostNode || node >= node_count()) return nullptr;
  return runtime::agents()[node - 1];
}

uint32_t node_of(const runtime::Agent& agent) {
  for (uint32_t node : gpus())
    if (agent_of(node) == &agent) return node;
  return kHostNode;
}

std::span<const uint32_t> gpu_nodes() { return gpus(); }

uint32_t family_of(uint32_t node) {
  const runtime::Agent* agent = agent_of(node);
  if (agent == nullptr) return 0;
  switch (info(agent->target()).generation) {
    case Generation::gfx6: return 110;
    case Generation::gfx7: return 120;
    case Generation::gfx8: return 130;
    case Generation::gfx9: return 141;
    case Generation::gfx10: return 143;
    case Generation::gfx11: return 145;
    case Generation::gfx12: return 152;
  }
}

uint32_t engine_firmware(uint32_t node) {
  constexpr uint32_t kBeforeScratchReclaim = 23;
  const HSA_ENGINE_ID engine = node_properties(node).EngineId;
  return engine.ui32.Major == 9 && engine.ui32.Minor >= 4 ? kBeforeScratchReclaim : engine.ui32.uCode;
}

uint64_t memory_size(uint32_t node) {
  const runtime::Agent* agent = agent_of(node);
  return agent == nullptr ? host_memory() : agent->spec().global_memory;
}

uint32_t compute_units(const runtime::AgentSpec& spec) {
  const uint32_t per_processor = info(spec.target).generation >= Generation::gfx10 ? 2 : 1;
  return (spec.compute_units + per_processor - 1) / per_processor * per_processor;
}

HsaNodeProperties node_properties(uint32_t node) {
  const runtime::Agent* agent = agent_of(node);
  if (agent == nullptr) return host_properties();
  const runtime::AgentSpec& spec = agent->spec();
  const TargetInfo& target = info(spec.target);
  HsaNodeProperties p{};
  const Unit unit = unit_of(spec.target);
  p.NumFComputeCores = compute_units(spec) * unit.simds;
  p.NumMemoryBanks = static_cast<HSAuint32>(memory_banks(node).size());
  p.NumCaches = static_cast<HSAuint32>(caches(node).size());
  p.NumIOLinks = static_cast<HSAuint32>(links(node).size());
  p.FComputeIdLo = first_simd(node);
  p.Capability = capability(spec);
  p.MaxWavesPerSIMD = unit.waves_per_simd;
  p.LDSSizeInKB = target.lds_bytes / 1024;
  p.WaveFrontSize = spec.wave_size;
  p.NumShaderBanks = 1;
  p.NumArrays = 1;
  p.NumCUPerArray = compute_units(spec);
  p.NumSIMDPerCU = unit.simds;
  p.MaxSlotsScratchCU = unit.waves_per_simd * unit.simds;
  const Version version = version_of(spec.processor);
  p.EngineId.ui32.uCode = kEngineFirmware;
  p.EngineId.ui32.Major = version.major;
  p.EngineId.ui32.Minor = version.minor;
  p.EngineId.ui32.Stepping = version.stepping;
  p.VendorId = 0x1002;
  p.DeviceId = static_cast<HSAuint16>(spec.device_id);
  p.LocationId = node << 8;  // bus `node`, device 0, function 0
  p.LocalMemSize = spec.global_memory;
  p.MaxEngineClockMhzFCompute = spec.max_clock_mhz;
  p.MaxEngineClockMhzCCompute = 0;
  p.DrmRenderMinor = static_cast<HSAint32>(127 + node);
  set_name(p.MarketingName, spec.board_name);
  std::memcpy(p.AMDName, spec.processor.c_str(),
              std::min<size_t>(spec.processor.size(), HSA_PUBLIC_NAME_SIZE - 1));
  p.uCodeEngineVersions.uCodeSDMA = kSdmaFirmware;
  p.HiveID = spec.target >= Target::gfx906 && spec.target <= Target::gfx950 ? kHive : 0;
  p.NumSdmaEngines = 2;
  p.NumSdmaQueuesPerEngine = 8;
  p.NumCpQueues = 128;
  p.NumGws = has_gws(spec.target) ? 64 : 0;
  p.UniqueID = 0x4d4f'5247'414e'4100 + node;
  p.VGPRSizePerCU = unit.vgpr_bytes;
  p.SGPRSizePerCU = 16 * 1024;
  return p;
}

std::vector<HsaMemoryProperties> memory_banks(uint32_t node) {
  if (agent_of(node) == nullptr) return {bank(HSA_HEAPTYPE_SYSTEM, host_memory())};
  std::vector<HsaMemoryProperties> list = {
      bank(HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC, memory_size(node)),
      bank(HSA_HEAPTYPE_GPU_LDS, info(agent_of(node)->target()).lds_bytes, device::kSharedBase),
      bank(HSA_HEAPTYPE_GPU_SCRATCH, device::kApertureBytes, device::kPrivateBase)};
  if (remapped_registers() != 0) list.push_back(bank(HSA_HEAPTYPE_MMIO_REMAP, kPage, remapped_registers()));
  return list;
}

std::vector<HsaCacheProperties> caches(uint32_t node) {
  const runtime::Agent* agent = agent_of(node);
  if (agent != nullptr) {
    const runtime::AgentSpec& spec = agent->spec();
    const uint32_t first = first_simd(node);
    return {cache(first, 1, 16 * 1024, 64, false), cache(first, 2, spec.cache_bytes, spec.cache_line, false)};
  }
  std::vector<HsaCacheProperties> list;
  const struct {
    uint32_t level;
    int size, line;
  } levels[] = {{1, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_LINESIZE},
                {2, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_LINESIZE},
                {3, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_LINESIZE}};
  for (const auto& [level, size, line] : levels) {
    const long bytes = sysconf(size), width = sysconf(line);
    if (bytes <= 0 && level > 1) continue;  // some hosts hide them; runtimes want one
    list.push_back(cache(0, level, bytes > 0 ? static_cast<uint64_t>(bytes) : 32 * 1024,
                         width > 0 ? static_cast<uint32_t>(width) : 64, true));
  }
  return list;
}

std::vector<HsaIoLinkProperties> links(uint32_t node) {
  std::vector<HsaIoLinkProperties> list;
  for (uint32_t other = 0; other < node_count(); ++other) {
    if (other == node) continue;
    HsaIoLinkProperties link{};
    link.IoLinkType = HSA_IOLINKTYPE_PCIEXPRESS;
    link.VersionMajor = 4;
    link.NodeFrom = node;
    link.NodeTo = other;
    // Between two agents a packet passes the host.
    link.Weight = node == kHostNode || other == kHostNode ? kLinkWeight : 2 * kLinkWeight;
    link.MaximumBandwidth = kLinkBandwidth;
    list.push_back(link);
  }
  return list;
}

}  // namespace morgana::kmt
