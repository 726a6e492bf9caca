// Agents: the devices that Morgana shows, as data, and the executing Device behind each.
//
// The list is made once, at first use, from the option `devices`, and never changes; Agents live until the
// process ends. Everything here may be called from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/target.h"
#include "device/device.h"
#include "device/limits.h"

namespace morgana::runtime {

// What one agent is. Sizes in bytes, clocks in MHz. Compute units times SIMDs times width times clock is what
// the host can do at most; with MORGANA_IDENTITY=amd it is the chip's, but for the number of compute units.
struct AgentSpec {
  Target target{};
  std::string processor;   // "gfx950": what kernels are compiled for
  std::string target_id;   // "amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-"
  std::string board_name;  // "Morgana software GPU"
  uint32_t device_id = 0;  // PCI id of the chip that the agent stands for
  uint32_t compute_units = 0;
  uint32_t simds_per_cu = 0;
  uint32_t simd_width = 0;  // lanes
  uint32_t max_clock_mhz = 0;
  uint32_t wave_size = device::kLanes;  // of kernels that ask for none; gfx10 and later have 32 and 64
  uint32_t max_work_group_size = device::kMaxGroupItems;
  uint64_t global_memory = 0;
  uint64_t max_allocation = 0;
  uint32_t local_memory = 0;  // per work-group
  uint32_t cache_line = 128;
  uint64_t cache_bytes = 0;
};

class Agent {
 public:
  explicit Agent(AgentSpec spec);
  const AgentSpec& spec() const { return spec_; }
  Target target() const { return spec_.target; }
  device::Device& device() { return device_; }

 private:
  AgentSpec spec_;
  device::Device device_;
};

// The selected agents, in the order of MORGANA_DEVICES. Empty when the option names none that is known
// (which the log says once).
std::span<Agent* const> agents();

// The agents of a process that sets no MORGANA_DEVICES, for a door whose programs know other targets than the
// option's default. To be called before agents().
void set_default_devices(std::string_view names);

// The names in a list as MORGANA_DEVICES holds it: between commas, without the blanks around them.
std::vector<std::string_view> device_names(std::string_view list);

// The spec for a processor name, for tests and tools.
Result<AgentSpec> agent_spec(std::string_view processor);

}  // namespace morgana::runtime
