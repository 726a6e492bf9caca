// The functions of cl_khr_command_buffer and its layers, in their latest form, found by name: the headers of
// Debian 12 declare others.
#pragma once

#include <type_traits>

#include "icd/test_support.h"

namespace morgana::icd::test {

using CommandProperties = const cl_properties*;

struct DispatchArgument {  // cl_mutable_dispatch_arg_khr
  cl_uint index;
  size_t size;
  const void* value;
};
struct DispatchExecInfo {  // cl_mutable_dispatch_exec_info_khr
  cl_uint name;
  size_t size;
  const void* value;
};
struct DispatchConfig {  // cl_mutable_dispatch_config_khr
  cl_mutable_command_khr command = nullptr;
  cl_uint num_args = 0, num_svm_args = 0, num_exec_infos = 0, work_dim = 0;
  const DispatchArgument* arg_list = nullptr;
  const DispatchArgument* arg_svm_list = nullptr;
  const DispatchExecInfo* exec_info_list = nullptr;
  const size_t* global_work_offset = nullptr;
  const size_t* global_work_size = nullptr;
  const size_t* local_work_size = nullptr;
};

inline constexpr cl_properties kFlagSimultaneousUse = 1, kFlagMutable = 2;
inline constexpr cl_properties kBufferAsserts = 0x12B7, kUpdatableFields = 0x12B1, kLaunchAsserts = 0x12B8;
inline constexpr cl_command_buffer_state_khr kStateFinalized = 2;
inline constexpr cl_command_buffer_info_khr kBufferContext = 0x1299;

#define MORGANA_SYNC_POINTS \
  cl_uint, const cl_sync_point_khr*, cl_sync_point_khr*, cl_mutable_command_khr* /* handle */
#define MORGANA_COMMAND cl_command_buffer_khr, cl_command_queue, CommandProperties

struct CommandBufferApi {
  explicit CommandBufferApi(cl_platform_id platform) {
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          clGetExtensionFunctionAddressForPlatform(platform, name));
    };
    find(create, "clCreateCommandBufferKHR");
    find(retain, "clRetainCommandBufferKHR");
    find(release, "clReleaseCommandBufferKHR");
    find(finalize, "clFinalizeCommandBufferKHR");
    find(enqueue, "clEnqueueCommandBufferKHR");
    find(info, "clGetCommandBufferInfoKHR");
    find(barrier, "clCommandBarrierWithWaitListKHR");
    find(copy, "clCommandCopyBufferKHR");
    find(copy_rect, "clCommandCopyBufferRectKHR");
    find(copy_to_image, "clCommandCopyBufferToImageKHR");
    find(copy_image, "clCommandCopyImageKHR");
    find(copy_from_image, "clCommandCopyImageToBufferKHR");
    find(fill, "clCommandFillBufferKHR");
    find(fill_image, "clCommandFillImageKHR");
    find(svm_copy, "clCommandSVMMemcpyKHR");
    find(svm_fill, "clCommandSVMMemFillKHR");
    find(launch, "clCommandNDRangeKernelKHR");
    find(remap, "clRemapCommandBufferKHR");
    find(update, "clUpdateMutableCommandsKHR");
    find(command_info, "clGetMutableCommandInfoKHR");
  }

  cl_command_buffer_khr (*create)(cl_uint, const cl_command_queue*, CommandProperties, cl_int*);
  cl_int (*retain)(cl_command_buffer_khr);
  cl_int (*release)(cl_command_buffer_khr);
  cl_int (*finalize)(cl_command_buffer_khr);
  cl_int (*enqueue)(cl_uint, cl_command_queue*, cl_command_buffer_khr, cl_uint, const cl_event*, cl_event*);
  cl_int (*info)(cl_command_buffer_khr, cl_command_buffer_info_khr, size_t, void*, size_t*);
  cl_int (*barrier)(MORGANA_COMMAND, MORGANA_SYNC_POINTS);
  cl_int (*copy)(MORGANA_COMMAND, cl_mem, cl_mem, size_t, size_t, size_t, MORGANA_SYNC_POINTS);
  cl_int (*copy_rect)(MORGANA_COMMAND, cl_mem, cl_mem, const size_t*, const size_t*, const size_t*, size_t,
                      size_t, size_t, size_t, MORGANA_SYNC_POINTS);
  cl_int (*copy_to_image)(MORGANA_COMMAND, cl_mem, cl_mem, size_t, const size_t*, const size_t*,
                          MORGANA_SYNC_POINTS);
  cl_int (*copy_image)(MORGANA_COMMAND, cl_mem, cl_mem, const size_t*, const size_t*, const size_t*,
                       MORGANA_SYNC_POINTS);
  cl_int (*copy_from_image)(MORGANA_COMMAND, cl_mem, cl_mem, const size_t*, const size_t*, size_t,
                            MORGANA_SYNC_POINTS);
  cl_int (*fill)(MORGANA_COMMAND, cl_mem, const void*, size_t, size_t, size_t, MORGANA_SYNC_POINTS);
  cl_int (*fill_image)(MORGANA_COMMAND, cl_mem, const void*, const size_t*, const size_t*,
                       MORGANA_SYNC_POINTS);
  cl_int (*svm_copy)(MORGANA_COMMAND, void*, const void*, size_t, MORGANA_SYNC_POINTS);
  cl_int (*svm_fill)(MORGANA_COMMAND, void*, const void*, size_t, size_t, MORGANA_SYNC_POINTS);
  cl_int (*launch)(MORGANA_COMMAND, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*,
                   MORGANA_SYNC_POINTS);
  cl_command_buffer_khr (*remap)(cl_command_buffer_khr, cl_bool, cl_uint, const cl_command_queue*, cl_uint,
                                 const cl_mutable_command_khr*, cl_mutable_command_khr*, cl_int*);
  cl_int (*update)(cl_command_buffer_khr, cl_uint, const cl_uint*, const void**);
  cl_int (*command_info)(cl_mutable_command_khr, cl_mutable_command_info_khr, size_t, void*, size_t*);
};

#undef MORGANA_SYNC_POINTS
#undef MORGANA_COMMAND

}  // namespace morgana::icd::test
