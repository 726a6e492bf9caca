// cl_ext_device_fission 1.0.0, which clCreateSubDevices came from: the same partitions under older names.
#include "icd/device_info.h"

namespace morgana::icd {
namespace {

// What an older name stands for. CL_INVALID_VALUE, as for partitions by names and affinity, if the list does
// not end as it has to.
cl_int read_partition(const cl_device_partition_property_ext* list,
                      std::vector<cl_device_partition_property>& partition) {
  if (list == nullptr) return CL_INVALID_VALUE;
  switch (list[0]) {
    case CL_DEVICE_PARTITION_EQUALLY_EXT:
      partition = {CL_DEVICE_PARTITION_EQUALLY, static_cast<cl_device_partition_property>(list[1]),
                   static_cast<cl_device_partition_property>(list[2])};
      return CL_SUCCESS;
    case CL_DEVICE_PARTITION_BY_COUNTS_EXT:
      partition = {CL_DEVICE_PARTITION_BY_COUNTS};
      for (++list; *list != CL_PARTITION_BY_COUNTS_LIST_END_EXT; ++list)
        partition.push_back(static_cast<cl_device_partition_property>(*list));
      partition.push_back(CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
      return list[1] == CL_PROPERTIES_LIST_END_EXT ? CL_SUCCESS : CL_INVALID_VALUE;
    default: return CL_INVALID_VALUE;
  }
}

}  // namespace

cl_int fission_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  constexpr cl_device_partition_property_ext kTypes[] = {CL_DEVICE_PARTITION_EQUALLY_EXT,
                                                         CL_DEVICE_PARTITION_BY_COUNTS_EXT};
  switch (name) {
    case CL_DEVICE_PARTITION_TYPES_EXT: {
      const std::span types(kTypes);
      return out.array<cl_device_partition_property_ext>(device.compute_units() < 2 ? types.first(0) : types);
    }
    case CL_DEVICE_AFFINITY_DOMAINS_EXT: return out.array<cl_device_partition_property_ext>({});
    case CL_DEVICE_PARTITION_STYLE_EXT: {
      std::vector<cl_device_partition_property_ext> style(device.partition().begin(),
                                                          device.partition().end());
      if (!style.empty()) {
        const bool is_equal = style[0] == CL_DEVICE_PARTITION_EQUALLY;
        style[0] = is_equal ? CL_DEVICE_PARTITION_EQUALLY_EXT : CL_DEVICE_PARTITION_BY_COUNTS_EXT;
        if (!is_equal) style.push_back(CL_PROPERTIES_LIST_END_EXT);
      }
      return out.array<cl_device_partition_property_ext>(style);
    }
    default: return CL_INVALID_VALUE;
  }
}

}  // namespace morgana::icd

using namespace morgana::icd;

cl_int CL_API_CALL clCreateSubDevicesEXT(cl_device_id in_device,
                                         const cl_device_partition_property_ext* properties,
                                         cl_uint num_entries, cl_device_id* out_devices,
                                         cl_uint* num_devices) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_DEVICE if in_device is not a valid device.
    if (find<Device>(in_device) == nullptr) return CL_INVALID_DEVICE;
    std::vector<cl_device_partition_property> partition;
    if (cl_int error = read_partition(properties, partition); error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if neither out_devices nor num_devices takes an answer.
    if (out_devices == nullptr && num_devices == nullptr) return CL_INVALID_VALUE;
    const cl_int code =
        clCreateSubDevices(in_device, partition.data(), num_entries, out_devices, num_devices);
    switch (code) {
      case CL_DEVICE_PARTITION_FAILED: return CL_DEVICE_PARTITION_FAILED_EXT;
      case CL_INVALID_DEVICE_PARTITION_COUNT: return CL_INVALID_PARTITION_COUNT_EXT;
      default: return code;
    }
  });
}

cl_int CL_API_CALL clRetainDeviceEXT(cl_device_id device) {
  return api(__func__, [&] { return clRetainDevice(device); });
}

cl_int CL_API_CALL clReleaseDeviceEXT(cl_device_id device) {
  return api(__func__, [&] { return clReleaseDevice(device); });
}
