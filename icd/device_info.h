// What clGetDeviceInfo answers for extensions and optional features. Pure; any thread.
#pragma once

#include "icd/info.h"
#include "icd/platform.h"

namespace morgana::icd {

// CL_INVALID_VALUE if `name` is not one of the supported values.
cl_int extension_info(const Device& device, cl_device_info name, const InfoWriter& out);

// CL_DEVICE_PARTITION_TYPES_EXT, _AFFINITY_DOMAINS_EXT and _PARTITION_STYLE_EXT (cl_ext_device_fission).
cl_int fission_info(const Device& device, cl_device_info name, const InfoWriter& out);

}  // namespace morgana::icd
