// The nodes of the topology: node 0 is the host, nodes 1 and up are the agents of MORGANA_DEVICES.
//
// Made at first use, never changes. Callable from any thread.
#pragma once

#include <hsakmt.h>

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/agent.h"

namespace morgana::kmt {

inline constexpr uint32_t kHostNode = 0;
inline constexpr uint64_t kPage = 4096;  // what memory is allocated and mapped in

// Number of nodes, the host's included.
uint32_t node_count();
// The agent of a node; nullptr: the host's, or no node.
runtime::Agent* agent_of(uint32_t node);
uint32_t node_of(const runtime::Agent& agent);
// 1 to node_count() - 1.
std::span<const uint32_t> gpu_nodes();

// Compute units that programs are told of: the agent's, in RDNA rounded up to whole work-group processors of
// two. HIP counts those, and has nothing to execute its copies on where there is none.
uint32_t compute_units(const runtime::AgentSpec& spec);

HsaNodeProperties node_properties(uint32_t node);
std::vector<HsaMemoryProperties> memory_banks(uint32_t node);
std::vector<HsaCacheProperties> caches(uint32_t node);
std::vector<HsaIoLinkProperties> links(uint32_t node);

// The chip's family: AMDGPU_FAMILY_* of amdgpu_drm.h. 0 for the host's node.
uint32_t family_of(uint32_t node);
// The version of the command processor's firmware that runtimes of 2025 are told. For gfx94x and gfx95x it is
// lower than that of node_properties: above it these runtimes expect that scratch can be taken back from a
// queue that is working, which Morgana does not do.
uint32_t engine_firmware(uint32_t node);

// Bytes that may be allocated with this node preferred.
uint64_t memory_size(uint32_t node);

}  // namespace morgana::kmt
