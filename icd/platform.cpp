#include "icd/platform.h"

#include "base/clock.h"
#include "icd/entries.h"
#include "icd/extensions.h"
#include "icd/identity.h"
#include "icd/info.h"

namespace morgana::icd {

Platform::Platform() {
  cl_uint index = 0;
  for (runtime::Agent* agent : runtime::agents()) {
    auto device = make<Device>(*agent, index++);
    device->acquire();  // root devices live until the process ends
    devices_.push_back(device.get());
  }
}

Platform& Platform::get() {
  static Platform* platform = [] {
    Ref<Platform> made = make<Platform>();
    made->acquire();
    return made.get();
  }();
  return *platform;
}

namespace {

// Of cl_khr_command_buffer_multi_device, younger than the headers of Debian 12.
constexpr cl_platform_info kPlatformCommandBufferCapabilities = 0x0908;
// Of cl_khr_icd_unloadable, likewise.
constexpr cl_platform_info kPlatformUnloadable = 0x0921;

bool is_device_type(cl_device_type type) {
  constexpr cl_device_type kKnown = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                                    CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
  return type == CL_DEVICE_TYPE_ALL || (type != 0 && (type & ~kKnown) == 0);
}

cl_int get_platform_ids(cl_uint num_entries, cl_platform_id* platforms, cl_uint* num_platforms) {
  // CL_INVALID_VALUE if num_entries is zero and platforms is not NULL, or both num_platforms and platforms
  // are NULL.
  if ((num_entries == 0 && platforms != nullptr) || (platforms == nullptr && num_platforms == nullptr))
    return CL_INVALID_VALUE;
  if (platforms != nullptr) platforms[0] = Platform::get().handle();
  if (num_platforms != nullptr) *num_platforms = 1;
  return CL_SUCCESS;
}

}  // namespace

std::vector<Device*> devices_of_type(cl_device_type type, cl_int& error) {
  error = CL_SUCCESS;
  // CL_INVALID_DEVICE_TYPE if device_type is not a valid value.
  if (!is_device_type(type)) {
    error = CL_INVALID_DEVICE_TYPE;
    return {};
  }
  auto all = Platform::get().devices();
  std::vector<Device*> found;
  if (type & CL_DEVICE_TYPE_GPU)
    found.assign(all.begin(), all.end());
  else if ((type & CL_DEVICE_TYPE_DEFAULT) && !all.empty())
    found.push_back(all.front());
  // CL_DEVICE_NOT_FOUND if no OpenCL devices that matched device_type were found.
  if (found.empty()) error = CL_DEVICE_NOT_FOUND;
  return found;
}

}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_int CL_API_CALL clGetPlatformIDs(cl_uint num_entries, cl_platform_id* platforms, cl_uint* num_platforms) {
  return api(__func__, [&] { return get_platform_ids(num_entries, platforms, num_platforms); });
}

extern "C" MORGANA_EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint num_entries,
                                                                    cl_platform_id* platforms,
                                                                    cl_uint* num_platforms) {
  return api(__func__, [&] { return get_platform_ids(num_entries, platforms, num_platforms); });
}

extern "C" MORGANA_EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform,
                                                               cl_platform_info param_name,
                                                               size_t param_value_size, void* param_value,
                                                               size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PLATFORM if platform is not a valid platform.
    if (find<Platform>(platform) == nullptr) return CL_INVALID_PLATFORM;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_PLATFORM_PROFILE: return out.string("FULL_PROFILE");
      case CL_PLATFORM_VERSION: return out.string(identity().platform_version);
      case CL_PLATFORM_NUMERIC_VERSION: return out.value<cl_version>(identity().platform_number);
      case CL_PLATFORM_NAME: return out.string(identity().platform_name);
      case CL_PLATFORM_VENDOR: return out.string(identity().platform_vendor);
      case CL_PLATFORM_EXTENSIONS: return out.string(joined_names(platform_extensions()));
      case CL_PLATFORM_EXTENSIONS_WITH_VERSION: return out.array<cl_name_version>(platform_extensions());
      case CL_PLATFORM_HOST_TIMER_RESOLUTION: return out.value<cl_ulong>(1);
      case kPlatformCommandBufferCapabilities:
        // Of a platform with several devices: universal synchronization.
        return Platform::get().devices().size() > 1 ? out.value<cl_bitfield>(1) : CL_INVALID_VALUE;
      // Its threads live as long as the process, and so must the library.
      case kPlatformUnloadable: return out.value<cl_bool>(CL_FALSE);
      case CL_PLATFORM_SEMAPHORE_TYPES_KHR:
        return out.value<cl_semaphore_type_khr>(CL_SEMAPHORE_TYPE_BINARY_KHR);
      case CL_PLATFORM_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR:
      case CL_PLATFORM_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
        return out.value<cl_external_semaphore_handle_type_khr>(CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR);
      case CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
        return out.value<cl_external_memory_handle_type_khr>(CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR);
      case CL_PLATFORM_ICD_SUFFIX_KHR: return out.string(identity().platform_suffix);
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
                                  cl_device_id* devices, cl_uint* num_devices) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PLATFORM if platform is not a valid platform.
    if (find<Platform>(platform) == nullptr) return CL_INVALID_PLATFORM;
    // CL_INVALID_VALUE if num_entries is zero and devices is not NULL, or both num_devices and devices are
    // NULL.
    bool bad_list =
        (num_entries == 0 && devices != nullptr) || (devices == nullptr && num_devices == nullptr);
    cl_int error;
    std::vector<Device*> found = devices_of_type(device_type, error);
    if (error == CL_INVALID_DEVICE_TYPE) return error;
    if (bad_list) return CL_INVALID_VALUE;
    if (num_devices != nullptr) *num_devices = static_cast<cl_uint>(found.size());
    if (error != CL_SUCCESS) return error;
    for (size_t i = 0; devices != nullptr && i < found.size() && i < num_entries; ++i)
      devices[i] = found[i]->handle();
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clRetainDevice(cl_device_id device) {
  return api(__func__, [&]() -> cl_int {
    Device* d = find<Device>(device);
    // CL_INVALID_DEVICE if device is not a valid device. A root device's count is not changed.
    if (d == nullptr) return CL_INVALID_DEVICE;
    return d->is_root() ? CL_SUCCESS : retain_handle<Device>(device);
  });
}

cl_int CL_API_CALL clReleaseDevice(cl_device_id device) {
  return api(__func__, [&]() -> cl_int {
    Device* d = find<Device>(device);
    // CL_INVALID_DEVICE if device is not a valid device. A root device's count is not changed.
    if (d == nullptr) return CL_INVALID_DEVICE;
    return d->is_root() ? CL_SUCCESS : release_handle<Device>(device);
  });
}

cl_int CL_API_CALL clGetDeviceAndHostTimer(cl_device_id device, cl_ulong* device_timestamp,
                                           cl_ulong* host_timestamp) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_DEVICE if device is not a valid device.
    if (find<Device>(device) == nullptr) return CL_INVALID_DEVICE;
    // CL_INVALID_VALUE if host_timestamp or device_timestamp is NULL.
    if (device_timestamp == nullptr || host_timestamp == nullptr) return CL_INVALID_VALUE;
    *device_timestamp = *host_timestamp = now_ns();
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clGetHostTimer(cl_device_id device, cl_ulong* host_timestamp) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_DEVICE if device is not a valid device.
    if (find<Device>(device) == nullptr) return CL_INVALID_DEVICE;
    // CL_INVALID_VALUE if host_timestamp is NULL.
    if (host_timestamp == nullptr) return CL_INVALID_VALUE;
    *host_timestamp = now_ns();
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id platform) {
  // CL_INVALID_PLATFORM if platform is not a valid platform. The hint needs no action.
  return api(__func__, [&]() -> cl_int {
    return find<Platform>(platform) == nullptr ? CL_INVALID_PLATFORM : CL_SUCCESS;
  });
}

cl_int CL_API_CALL clUnloadCompiler(void) {
  return api(__func__, []() -> cl_int { return CL_SUCCESS; });
}
