#include "runtime/agent.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "base/log.h"
#include "base/options.h"
#include "runtime/host_clock.h"
#include "runtime/jit_store.h"
#include "runtime/trap_handler.h"

namespace morgana::runtime {
namespace {

// The chip that stands behind each target: PCI device id (pci.ids), the name that AMD's drivers show for it
// (amdgpu.ids), engine clock in MHz, L2 in bytes.
struct Chip {
  Target target;
  const char* features;  // of the target id
  uint32_t device_id;
  const char* board;
  uint32_t clock_mhz;
  uint64_t l2_bytes;
};

constexpr uint64_t kMiB = 1024 * 1024;
constexpr Chip kChips[] = {
    {Target::gfx600, "", 0x6798, "AMD Radeon R9 200 / HD 7900 Series", 1000, kMiB * 3 / 4},
    {Target::gfx701, "", 0x67b0, "AMD Radeon R9 200 Series", 1000, kMiB},
    {Target::gfx803, "", 0x7300, "AMD Radeon R9 Fury Series", 1050, kMiB * 2},
    {Target::gfx900, ":xnack-", 0x687f, "AMD Radeon RX Vega", 1630, kMiB * 4},
    {Target::gfx906, ":sramecc+:xnack-", 0x66a1, "AMD Instinct MI60 / MI50", 1725, kMiB * 4},
    {Target::gfx908, ":sramecc+:xnack-", 0x738c, "AMD Instinct MI100", 1502, kMiB * 8},
    {Target::gfx90a, ":sramecc+:xnack-", 0x740f, "AMD Instinct MI210", 1700, kMiB * 8},
    {Target::gfx942, ":sramecc+:xnack-", 0x74a1, "AMD Instinct MI300X", 2100, kMiB * 4},
    {Target::gfx950, ":sramecc+:xnack-", 0x75a0, "AMD Instinct MI350X", 2400, kMiB * 4},
    {Target::gfx1010, ":xnack-", 0x731f, "AMD Radeon RX 5700 XT", 1905, kMiB * 4},
    {Target::gfx1030, "", 0x73bf, "AMD Radeon RX 6900 XT", 2250, kMiB * 4},
    {Target::gfx1100, "", 0x744c, "AMD Radeon RX 7900 XTX", 2500, kMiB * 6},
    {Target::gfx1200, "", 0x7590, "AMD Radeon RX 9060 XT", 3130, kMiB * 4},
};
static_assert(std::size(kChips) == kTargetCount);

std::string board_name(const Chip& chip) {
  if (options().identity == "amd") return chip.board;
  const bool given = options().identity == "custom" && !options().board_name.empty();
  return given ? options().board_name : "Morgana software GPU";
}

uint64_t host_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// The host's half, or what the option says, up to the whole address space.
uint64_t global_memory() {
  constexpr int64_t kMost = int64_t{1} << 27;  // MiB
  const auto wanted = static_cast<uint64_t>(std::min(options().memory, kMost));
  return wanted > 0 ? wanted * kMiB : host_memory() / 2 / kMiB * kMiB;
}

std::string& default_devices() {
  static std::string names;
  return names;
}

std::string_view selected_devices() {
  if (default_devices().empty()) return options().devices;
  for (const OptionRow& row : option_rows(options()))
    if (row.variable == "MORGANA_DEVICES" && row.is_set) return options().devices;
  return default_devices();
}

std::vector<Agent*> make_agents() {
  install_jit_store();
  std::vector<Agent*> list;
  for (std::string_view name : device_names(selected_devices())) {
    auto spec = agent_spec(name);
    if (!spec.ok()) {
      log(LogLevel::error, "MORGANA_DEVICES: {}", spec.error().message);
      continue;
    }
    Agent* agent = new Agent(std::move(spec).value());  // never freed: lives until the process ends
    auto handler = install_selected_trap_handler(*agent);
    static auto& handlers = *new std::vector<std::unique_ptr<TrapHandler>>;  // as long as their agents
    if (handler.ok())
      handlers.push_back(std::move(handler).value());
    else
      log(LogLevel::error, "{}", handler.error().message);
    list.push_back(agent);
  }
  return list;
}

// Programs compute a device's peak from these numbers (BOINC: two operations a lane and clock).
void set_speed(AgentSpec& spec, const Chip& chip) {
  if (options().identity == "amd") {
    // Of a compute unit: four of 16 lanes in GCN and CDNA, two of 32 in RDNA.
    const bool is_rdna = info(chip.target).generation >= Generation::gfx10;
    spec.simds_per_cu = is_rdna ? 2 : 4;
    spec.simd_width = is_rdna ? 32 : 16;
    spec.max_clock_mhz = chip.clock_mhz;
    return;
  }
  // The processors of today multiply and add two vectors a clock, or fewer.
  constexpr uint32_t kVectorUnits = 2;
  spec.simds_per_cu = kVectorUnits;
  spec.simd_width = device::Device::simd_lanes();
  static const uint32_t clock = host_clock_mhz();
  spec.max_clock_mhz = clock != 0 ? clock : chip.clock_mhz;
}

}  // namespace

std::vector<std::string_view> device_names(std::string_view list) {
  std::vector<std::string_view> names;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    names.push_back(name.substr(0, name.find_last_not_of(' ') + 1));
  }
  return names;
}

Result<AgentSpec> agent_spec(std::string_view processor) {
  auto target = find_target(processor);
  if (!target) {
    std::string known;
    for (int i = 0; i < kTargetCount; ++i) known += fmt::format(" {}", info(static_cast<Target>(i)).name);
    return make_error(ErrorCode::not_found, "'{}' is no known device; known are{}", processor, known);
  }
  const Chip& chip = kChips[static_cast<size_t>(*target)];
  AgentSpec spec;
  spec.target = *target;
  spec.processor = processor;
  spec.target_id = fmt::format("amdgcn-amd-amdhsa--{}{}", processor, chip.features);
  spec.board_name = board_name(chip);
  spec.device_id = chip.device_id;
  spec.wave_size = static_cast<uint32_t>(default_wave(*target));
  // The host's threads, not the chip's compute units: programs size their work by this number.
  spec.compute_units = static_cast<uint32_t>(device::Device::threads());
  set_speed(spec, chip);
  spec.global_memory = global_memory();
  spec.max_allocation = spec.global_memory / 4 * 3 / kMiB * kMiB;
  spec.local_memory = info(*target).lds_bytes;
  spec.cache_bytes = chip.l2_bytes;
  if (*target <= Target::gfx803) spec.cache_line = 64;
  return spec;
}

Agent::Agent(AgentSpec spec) : spec_(std::move(spec)), device_(spec_.target) {}

void set_default_devices(std::string_view names) { default_devices() = names; }

std::span<Agent* const> agents() {
  static const auto& list = *new std::vector<Agent*>(make_agents());  // like the agents, never freed
  return list;
}

}  // namespace morgana::runtime
