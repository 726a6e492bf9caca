// What clGetDeviceInfo answers for extensions and optional features. Pure; any thread.
#pragma once

#include "icd/info.h"
#include "icd/platform.h"

namespace morgana::icd {

// Work-items that every kernel can have in a group. With reqd_work_group_size or amdgpu_flat_work_group_size
// a kernel may have up to the agent's max_work_group_size.
unsigned kernel_group_size();

// CL_INVALID_VALUE if `name` is not one of the supported values.
cl_int extension_info(const Device& device, cl_device_info name, const InfoWriter& out);

// CL_DEVICE_PARTITION_TYPES_EXT, _AFFINITY_DOMAINS_EXT and _PARTITION_STYLE_EXT (cl_ext_device_fission).
cl_int fission_info(const Device& device, cl_device_info name, const InfoWriter& out);

}  // namespace morgana::icd
