#include "kmt/kfd/sysfs_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/options.h"
#include "kmt/nodes.h"
#include "runtime/cache.h"
#include "runtime/cache_digest.h"

namespace morgana::kmt::kfd {
namespace {

// Bits of `capability`: without them the thunk does not tell the driver of the runtime's list of code
// objects.
constexpr uint32_t kDebugTrap = 1u << 15, kDebugFirmware = 1u << 29;

namespace fs = std::filesystem;

// Paths below the root, and what each holds. A link's text begins with '>'.
using Tree = std::map<std::string, std::string>;

// A PCI domain that no host has.
constexpr uint32_t kPciDomain = 0x4d47;
constexpr const char* kTopology = "/sys/devices/virtual/kfd/kfd/topology";
constexpr uint32_t kLinkEnabled = 1;

class Properties {
 public:
  template <typename T>
  Properties& add(std::string_view name, const T& value) {
    text_ += fmt::format("{} {}\n", name, value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string node_text(uint32_t node, uint32_t host_links, uint32_t peer_links) {
  const HsaNodeProperties p = node_properties(node);
  const bool is_gpu = agent_of(node) != nullptr;
  Properties text;
  text.add("cpu_cores_count", p.NumCPUCores)
      .add("simd_count", p.NumFComputeCores)
      .add("mem_banks_count", 1)
      .add("caches_count", is_gpu ? p.NumCaches : 0)
      .add("io_links_count", host_links)
      .add("p2p_links_count", peer_links)
      .add("cpu_core_id_base", p.CComputeIdLo)
      .add("simd_id_base", p.FComputeIdLo)
      .add("max_waves_per_simd", p.MaxWavesPerSIMD)
      .add("lds_size_in_kb", p.LDSSizeInKB)
      .add("gds_size_in_kb", p.GDSSizeInKB)
      .add("num_gws", p.NumGws)
      .add("wave_front_size", p.WaveFrontSize)
      .add("array_count", p.NumShaderBanks * p.NumArrays)
      .add("simd_arrays_per_engine", p.NumArrays)
      .add("cu_per_simd_array", p.NumCUPerArray)
      .add("simd_per_cu", p.NumSIMDPerCU)
      .add("max_slots_scratch_cu", p.MaxSlotsScratchCU)
      .add("gfx_target_version",
           p.EngineId.ui32.Major * 10000 + p.EngineId.ui32.Minor * 100 + p.EngineId.ui32.Stepping)
      .add("vendor_id", p.VendorId)
      .add("device_id", p.DeviceId)
      .add("location_id", p.LocationId)
      .add("domain", is_gpu ? kPciDomain : 0)
      .add("drm_render_minor", is_gpu ? p.DrmRenderMinor : 0)
      .add("hive_id", HSAuint64{p.HiveID})
      .add("num_sdma_engines", p.NumSdmaEngines)
      .add("num_sdma_xgmi_engines", p.NumSdmaXgmiEngines)
      .add("num_sdma_queues_per_engine", p.NumSdmaQueuesPerEngine)
      .add("num_cp_queues", p.NumCpQueues)
      .add("max_engine_clk_ccompute", p.MaxEngineClockMhzCCompute);
  if (is_gpu)
    text.add("max_engine_clk_fcompute", p.MaxEngineClockMhzFCompute)
        .add("local_mem_size", HSAuint64{p.LocalMemSize})
        .add("fw_version", engine_firmware(node))
        .add("capability", p.Capability.Value | kDebugTrap | kDebugFirmware)
        .add("capability2", 0)
        .add("debug_prop", HSAuint64{p.DebugProperties.Value})
        .add("sdma_fw_version", p.uCodeEngineVersions.uCodeSDMA)
        .add("unique_id", HSAuint64{p.UniqueID})
        .add("num_xcc", 1);
  return text.text();
}

std::string link_text(const HsaIoLinkProperties& link) {
  return Properties()
      .add("type", static_cast<uint32_t>(link.IoLinkType))
      .add("version_major", link.VersionMajor)
      .add("version_minor", link.VersionMinor)
      .add("node_from", link.NodeFrom)
      .add("node_to", link.NodeTo)
      .add("weight", link.Weight)
      .add("min_latency", link.MinimumLatency)
      .add("max_latency", link.MaximumLatency)
      .add("min_bandwidth", link.MinimumBandwidth)
      .add("max_bandwidth", link.MaximumBandwidth)
      .add("recommended_transfer_size", link.RecTransferSize)
      .add("recommended_sdma_engine_id_mask", 0)
      .add("flags", kLinkEnabled)
      .text();
}

std::string cache_text(const HsaCacheProperties& cache) {
  std::string siblings = "sibling_map 1";
  for (int i = 1; i < HSA_CPU_SIBLINGS; ++i) siblings += ",0";
  return Properties()
             .add("processor_id_low", cache.ProcessorIdLow)
             .add("level", cache.CacheLevel)
             .add("size", cache.CacheSize)
             .add("cache_line_size", cache.CacheLineSize)
             .add("cache_lines_per_tag", cache.CacheLinesPerTag)
             .add("association", cache.CacheAssociativity)
             .add("latency", cache.CacheLatency)
             .add("type", cache.CacheType.Value)
             .text() +
         siblings + "\n";
}

std::string bank_text(const HsaMemoryProperties& bank) {
  return Properties()
      .add("heap_type", static_cast<uint32_t>(bank.HeapType))
      .add("size_in_bytes", HSAuint64{bank.SizeInBytes})
      .add("flags", bank.Flags.MemoryProperty)
      .add("width", bank.Width)
      .add("mem_clk_max", bank.MemoryClockMax)
      .text();
}

// One node of KFD's topology. The apertures among the banks are asked for by ioctl.
void add_node(Tree& tree, uint32_t node) {
  const std::string folder = fmt::format("{}/nodes/{}", kTopology, node);
  const runtime::Agent* agent = agent_of(node);
  uint32_t host_links = 0, peer_links = 0;
  for (const HsaIoLinkProperties& link : links(node)) {
    // Between two agents lies the host: newer runtimes read such links apart, older ones find them
    // themselves.
    const bool is_peer = node != kHostNode && link.NodeTo != kHostNode;
    uint32_t& number = is_peer ? peer_links : host_links;
    tree[fmt::format("{}/{}/{}/properties", folder, is_peer ? "p2p_links" : "io_links", number++)] =
        link_text(link);
  }
  tree[folder + "/gpu_id"] = fmt::format("{}\n", agent == nullptr ? 0 : node);
  tree[folder + "/name"] = agent == nullptr ? "\n" : agent->spec().processor + "\n";
  tree[folder + "/properties"] = node_text(node, host_links, peer_links);
  tree[folder + "/mem_banks/0/properties"] = bank_text(memory_banks(node).front());
  if (agent == nullptr) return;
  const auto list = caches(node);
  for (size_t i = 0; i < list.size(); ++i)
    tree[fmt::format("{}/caches/{}/properties", folder, i)] = cache_text(list[i]);
}

// A card and its render node, as children of a PCI device.
void add_card(Tree& tree, uint32_t node) {
  const runtime::Agent& agent = *agent_of(node);
  const HsaNodeProperties p = node_properties(node);
  const std::string slot = fmt::format("{:04x}:{:02x}:00.0", kPciDomain, node);
  const std::string device = "/sys/devices/pci4d47:00/" + slot;
  const std::string names[] = {fmt::format("card{}", node - 1),
                               fmt::format("renderD{}", kFirstRenderMinor + node - 1)};
  const uint32_t minors[] = {node - 1, kFirstRenderMinor + node - 1};
  tree[device + "/vendor"] = fmt::format("{:#06x}\n", p.VendorId);
  tree[device + "/device"] = fmt::format("{:#06x}\n", p.DeviceId);
  tree[device + "/subsystem_vendor"] = fmt::format("{:#06x}\n", p.VendorId);
  tree[device + "/subsystem_device"] = fmt::format("{:#06x}\n", p.DeviceId);
  tree[device + "/revision"] = "0x00\n";
  tree[device + "/class"] = "0x038000\n";
  tree[device + "/product_name"] = agent.spec().board_name + "\n";
  tree[device + "/unique_id"] = fmt::format("{:x}\n", HSAuint64{p.UniqueID});
  tree[device + "/mem_info_vram_total"] = fmt::format("{}\n", memory_size(node));
  tree[device + "/mem_info_vis_vram_total"] = fmt::format("{}\n", memory_size(node));
  tree[device + "/mem_info_gtt_total"] = fmt::format("{}\n", memory_size(kHostNode));
  tree[device + "/uevent"] = fmt::format(
      "DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
      "PCI_SLOT_NAME={}\n",
      p.VendorId, p.DeviceId, p.VendorId, p.DeviceId, slot);
  tree[device + "/subsystem"] = ">../../../bus/pci";
  tree[device + "/driver"] = ">../../../bus/pci/drivers/amdgpu";
  for (int i = 0; i < 2; ++i) {
    const std::string child = device + "/drm/" + names[i];
    tree[child + "/dev"] = fmt::format("{}:{}\n", kDrmMajor, minors[i]);
    tree[child + "/uevent"] = fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n",
                                          kDrmMajor, minors[i], names[i]);
    tree[child + "/device"] = ">../../../" + slot;
    tree[child + "/subsystem"] = ">../../../../../class/drm";
    tree["/sys/class/drm/" + names[i]] = ">../../devices/pci4d47:00/" + slot + "/drm/" + names[i];
    tree[fmt::format("/sys/dev/char/{}:{}", kDrmMajor, minors[i])] =
        ">../../devices/pci4d47:00/" + slot + "/drm/" + names[i];
    tree["/dev/dri/" + names[i]] = "";
  }
  tree["/sys/bus/pci/devices/" + slot] = ">../../../devices/pci4d47:00/" + slot;
}

// The host's caches as Linux shows them, for hosts that show none.
void add_host_caches(Tree& tree) {
  const auto list = caches(kHostNode);
  for (const char* processor : {"/sys/devices/system/node/node0/cpu0", "/sys/devices/system/cpu/cpu0"})
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string folder = fmt::format("{}/cache/index{}", processor, i);
      tree[folder + "/level"] = fmt::format("{}\n", list[i].CacheLevel);
      tree[folder + "/type"] = list[i].CacheLevel == 1 ? "Data\n" : "Unified\n";
      tree[folder + "/size"] = fmt::format("{}K\n", list[i].CacheSize);
      tree[folder + "/coherency_line_size"] = fmt::format("{}\n", list[i].CacheLineSize);
      tree[folder + "/ways_of_associativity"] = fmt::format("{}\n", list[i].CacheAssociativity);
      tree[folder + "/physical_line_partition"] = "1\n";
      tree[folder + "/shared_cpu_list"] = "0\n";
      tree[folder + "/shared_cpu_map"] = "1\n";
    }
}

Tree make_tree() {
  Tree tree;
  tree[std::string(kTopology) + "/generation_id"] = "1\n";
  tree[std::string(kTopology) + "/system_properties"] =
      Properties().add("platform_oem", 0).add("platform_id", 0).add("platform_rev", 0).text();
  tree["/sys/class/kfd/kfd"] = ">../../devices/virtual/kfd/kfd";
  tree["/sys/bus/pci/drivers/amdgpu/bind"] = "";
  tree["/sys/module/amdgpu/initstate"] = "live\n";
  tree["/sys/class/drm/version"] = "drm 1.1.0 20060810\n";
  tree["/dev/kfd"] = "";
  add_host_caches(tree);
  for (uint32_t node = 0; node < node_count(); ++node) add_node(tree, node);
  for (uint32_t node : gpu_nodes()) add_card(tree, node);
  return tree;
}

std::string digest_of(const Tree& tree) {
  std::string all;
  for (const auto& [path, text] : tree) all += fmt::format("{} {} {}\n", path, text.size(), text);
  return runtime::to_hex(runtime::sha256(all)).substr(0, 24);
}

bool write_tree(const Tree& tree, const fs::path& root) {
  std::error_code error;
  for (const auto& [path, text] : tree) {
    const fs::path file = root.string() + path;
    fs::create_directories(file.parent_path(), error);
    if (!text.empty() && text[0] == '>') {
      fs::create_symlink(text.substr(1), file, error);
      if (error) return false;
      continue;
    }
    std::ofstream out(file, std::ios::binary);
    out << text;
    if (!out.flush()) return false;
  }
  return true;
}

// Where the folder may lie: beside the cache; without one, where files of this boot lie.
std::vector<std::string> parents() {
  std::vector<std::string> list;
  if (const std::string cache = runtime::DiskCache::directory_of(options()); !cache.empty())
    list.push_back(cache + "/kfd");
  list.push_back(fmt::format("/dev/shm/morgana-kfd-{}", getuid()));
  list.push_back(fmt::format("/tmp/morgana-kfd-{}", getuid()));
  return list;
}

// Another user's folder of that name is not to be believed.
bool is_mine(const fs::path& folder) {
  struct stat status{};
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid();
}

}  // namespace

Result<std::string> make_sysfs_tree() {
  const Tree tree = make_tree();
  const std::string name = digest_of(tree);
  for (const std::string& parent : parents()) {
    std::error_code error;
    fs::create_directories(parent, error);
    if (!is_mine(parent)) continue;
    const fs::path root = fs::path(parent) / name;
    if (fs::exists(root, error)) return root.string();
    // Whole or not at all: under another name until it is complete. Another process may be first.
    const fs::path draft = fs::path(parent) / fmt::format("{}.{}", name, getpid());
    const bool written = write_tree(tree, draft);
    if (written) fs::rename(draft, root, error);
    if (!written || error) fs::remove_all(draft, error);
    if (fs::exists(root, error)) return root.string();
  }
  return make_error(ErrorCode::io, "no folder for the devices' files: {}", std::strerror(errno));
}

}  // namespace morgana::kmt::kfd
