// Sub-devices: partitions of a device's compute units, equally or by counts.
#include <algorithm>

#include "icd/info.h"
#include "icd/platform.h"

namespace morgana::icd {

Device::Device(runtime::Agent& agent, cl_uint index)
    : agent_(&agent), index_(index), compute_units_(agent.spec().compute_units) {}

Device::Device(Device& parent, cl_uint compute_units, std::vector<cl_device_partition_property> partition)
    : agent_(parent.agent_),
      parent_(&parent),
      index_(parent.index_),
      compute_units_(compute_units),
      partition_(std::move(partition)) {}

std::string Device::name() const {
  std::string_view id = spec().target_id;
  size_t triple = id.find("--");
  return std::string(triple == std::string_view::npos ? id : id.substr(triple + 2));
}

namespace {

struct Plan {
  std::vector<cl_uint> units;  // compute units of each sub-device
  // As given, to the first 0, which is CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, too.
  std::vector<cl_device_partition_property> partition;
};

cl_int plan_equally(const Device& device, const cl_device_partition_property* properties, Plan& plan) {
  // CL_INVALID_VALUE if values specified in properties are not valid.
  if (properties[1] <= 0 || properties[2] != 0) return CL_INVALID_VALUE;
  auto each = static_cast<cl_ulong>(properties[1]);
  // CL_INVALID_DEVICE_PARTITION_COUNT if more compute units are requested than in_device has.
  if (each > device.compute_units()) return CL_INVALID_DEVICE_PARTITION_COUNT;
  // CL_DEVICE_PARTITION_FAILED if in_device could not be further partitioned.
  if (each == device.compute_units()) return CL_DEVICE_PARTITION_FAILED;
  plan.units.assign(device.compute_units() / each, static_cast<cl_uint>(each));
  plan.partition.assign(properties, properties + 3);
  return CL_SUCCESS;
}

cl_int plan_by_counts(const Device& device, const cl_device_partition_property* properties, Plan& plan) {
  size_t count = 0;
  cl_ulong total = 0;
  for (; properties[1 + count] != CL_DEVICE_PARTITION_BY_COUNTS_LIST_END; ++count) {
    cl_device_partition_property units = properties[1 + count];
    // CL_INVALID_DEVICE_PARTITION_COUNT if a count is negative, if there are more than
    // CL_DEVICE_PARTITION_MAX_SUB_DEVICES, or if their sum exceeds the compute units of in_device.
    if (units < 0 || static_cast<cl_ulong>(units) > device.compute_units())
      return CL_INVALID_DEVICE_PARTITION_COUNT;
    total += static_cast<cl_ulong>(units);
    if (count + 1 > device.compute_units() || total > device.compute_units())
      return CL_INVALID_DEVICE_PARTITION_COUNT;
    plan.units.push_back(static_cast<cl_uint>(units));
  }
  // CL_INVALID_VALUE if values specified in properties are not valid.
  if (count == 0) return CL_INVALID_VALUE;
  plan.partition.assign(properties, properties + count + 2);
  return CL_SUCCESS;
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana::icd;

cl_int CL_API_CALL clCreateSubDevices(cl_device_id in_device, const cl_device_partition_property* properties,
                                      cl_uint num_devices, cl_device_id* out_devices,
                                      cl_uint* num_devices_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_DEVICE if in_device is not a valid device.
    Device* device = find<Device>(in_device);
    if (device == nullptr) return CL_INVALID_DEVICE;
    // CL_INVALID_VALUE if values specified in properties are not valid or not supported by the device.
    if (properties == nullptr) return CL_INVALID_VALUE;
    Plan plan;
    cl_int error = CL_INVALID_VALUE;
    if (properties[0] == CL_DEVICE_PARTITION_EQUALLY) error = plan_equally(*device, properties, plan);
    if (properties[0] == CL_DEVICE_PARTITION_BY_COUNTS) error = plan_by_counts(*device, properties, plan);
    if (error != CL_SUCCESS) return error;
    // CL_INVALID_VALUE if out_devices is not NULL and num_devices is less than the number of sub-devices
    // created.
    if (out_devices != nullptr && num_devices < plan.units.size()) return CL_INVALID_VALUE;
    // CL_DEVICE_PARTITION_FAILED if in_device could not be further partitioned.
    if (device->compute_units() < 2) return CL_DEVICE_PARTITION_FAILED;

    if (out_devices != nullptr)
      for (size_t i = 0; i < plan.units.size(); ++i)
        out_devices[i] = make<Device>(*device, plan.units[i], plan.partition).publish();
    if (num_devices_ret != nullptr) *num_devices_ret = static_cast<cl_uint>(plan.units.size());
    return CL_SUCCESS;
  });
}
