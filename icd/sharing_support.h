// The functions of cl_khr_semaphore, cl_khr_external_semaphore and cl_khr_external_memory, found by name.
#pragma once

#include <type_traits>

#include "icd/test_support.h"

namespace morgana::icd::test {

// Younger than the headers of Debian 12.
inline constexpr cl_semaphore_properties_khr kSemaphoreDevices = 0x2053;
inline constexpr cl_semaphore_info_khr kSemaphoreExportable = 0x2054;
inline constexpr cl_mem_properties kMemoryDevices = 0x2051;

struct SharingApi {
  explicit SharingApi(cl_platform_id platform) {
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          clGetExtensionFunctionAddressForPlatform(platform, name));
    };
    find(create, "clCreateSemaphoreWithPropertiesKHR");
    find(retain, "clRetainSemaphoreKHR");
    find(release, "clReleaseSemaphoreKHR");
    find(wait, "clEnqueueWaitSemaphoresKHR");
    find(signal, "clEnqueueSignalSemaphoresKHR");
    find(info, "clGetSemaphoreInfoKHR");
    find(handle, "clGetSemaphoreHandleForTypeKHR");
    find(acquire, "clEnqueueAcquireExternalMemObjectsKHR");
    find(give_back, "clEnqueueReleaseExternalMemObjectsKHR");
  }

  using List = cl_int (*)(cl_command_queue, cl_uint, const cl_semaphore_khr*, const cl_semaphore_payload_khr*,
                          cl_uint, const cl_event*, cl_event*);
  using Objects = cl_int (*)(cl_command_queue, cl_uint, const cl_mem*, cl_uint, const cl_event*, cl_event*);
  cl_semaphore_khr (*create)(cl_context, const cl_semaphore_properties_khr*, cl_int*);
  cl_int (*retain)(cl_semaphore_khr);
  cl_int (*release)(cl_semaphore_khr);
  List wait, signal;
  cl_int (*info)(cl_semaphore_khr, cl_semaphore_info_khr, size_t, void*, size_t*);
  cl_int (*handle)(cl_semaphore_khr, cl_device_id, cl_external_semaphore_handle_type_khr, size_t, void*,
                   size_t*);
  Objects acquire, give_back;
};

}  // namespace morgana::icd::test
