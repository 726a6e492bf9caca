// The functions of libdrm that runtimes call on a device handle of the thunk's. A handle is an agent; there
// are no buffer objects behind this door, since no dma-buf is given out (absent.cpp).
#include <cerrno>
#include <new>

#include "device/clock.h"
#include "kmt/dtif_types.h"
#include "kmt/entry.h"
#include "kmt/nodes.h"

namespace morgana::kmt {
namespace {

runtime::Agent* agent_at(const void* handle) {
  for (const uint32_t node : gpu_nodes())
    if (agent_of(node) == handle) return agent_of(node);
  return nullptr;
}

// As `entry` for the thunk's functions: lets no exception out of the library.
template <typename Body>
int drm_entry(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  } catch (...) {
    return -EIO;
  }
}

}  // namespace

#define DRM_EXPORT extern "C" __attribute__((visibility("default"))) int

KMT_EXPORT hsaKmtGetAMDGPUDeviceHandle(HSAuint32 node, void** handle) {
  return entry([&] {
    if (handle == nullptr) return HSAKMT_STATUS_INVALID_PARAMETER;
    if (agent_of(node) == nullptr) return HSAKMT_STATUS_INVALID_NODE_UNIT;
    *handle = agent_of(node);
    return HSAKMT_STATUS_SUCCESS;
  });
}

DRM_EXPORT amdgpu_query_gpu_info(void* device, DrmGpuInfo* info) {
  return drm_entry([&] {
    const runtime::Agent* agent = agent_at(device);
    if (agent == nullptr || info == nullptr) return -EINVAL;
    *info = {};
    const runtime::AgentSpec& spec = agent->spec();
    info->asic = spec.device_id;
    info->engine_clock_khz = uint64_t{spec.max_clock_mhz} * 1000;
    info->shader_engines = 1;
    info->arrays_per_engine = 1;
    info->counter_khz = device::kClockHz / 1000;
    info->cus = compute_units(spec);
    return 0;
  });
}

// Devices come from the topology, never from a file.
DRM_EXPORT amdgpu_device_initialize(int, uint32_t*, uint32_t*, void**) { return -ENODEV; }
DRM_EXPORT amdgpu_device_deinitialize(void* device) {
  return drm_entry([&] { return agent_at(device) == nullptr ? -EINVAL : 0; });
}
DRM_EXPORT amdgpu_bo_cpu_map(void*, void**) { return -EINVAL; }
DRM_EXPORT amdgpu_bo_free(void*) { return -EINVAL; }
DRM_EXPORT amdgpu_bo_export(void*, int, uint32_t*) { return -EINVAL; }
DRM_EXPORT amdgpu_bo_import(void*, int, uint32_t, void*) { return -EINVAL; }
DRM_EXPORT amdgpu_bo_va_op(void*, uint64_t, uint64_t, uint64_t, uint64_t, uint32_t) { return -EINVAL; }
DRM_EXPORT amdgpu_bo_query_info(void*, void*) { return -EINVAL; }
DRM_EXPORT amdgpu_bo_set_metadata(void*, void*) { return -EINVAL; }
DRM_EXPORT drmCommandWriteRead(int, unsigned long, void*, unsigned long) { return -EINVAL; }

}  // namespace morgana::kmt
