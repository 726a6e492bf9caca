// clGetDeviceInfo: what the extensions and features of extensions.def bring along, and what is absent.
#include "icd/device_info.h"
#include "icd/extensions.h"
#include "icd/image.h"
#include "icd/mutable_command.h"
#include "icd/pipe.h"
#include "icd/queue_objects.h"
#include "runtime/compiler/spirv/spirv.h"
#include "runtime/device_queue.h"

namespace morgana::icd {
namespace {

// v_dot4_i32_i8 and v_dot4_u32_u8, which of gfx10.1 only gfx1011 and gfx1012 have; bytes of different signs
// are multiplied by the v_dot4_i32_iu8 of gfx11 and later, one by one before. The device library (integer.cl)
// goes by the same processors.
cl_device_integer_dot_product_acceleration_properties_khr dot_acceleration(const Device& device) {
  const Target target = device.target();
  const std::string& processor = device.spec().processor;
  const bool mixed = target >= Target::gfx1100;
  const bool fast = mixed || target == Target::gfx1030 ||
                    (target >= Target::gfx906 && target <= Target::gfx950) || processor == "gfx1011" ||
                    processor == "gfx1012";
  return {.signed_accelerated = fast,
          .unsigned_accelerated = fast,
          .mixed_signedness_accelerated = mixed,
          .accumulating_saturating_signed_accelerated = fast,
          .accumulating_saturating_unsigned_accelerated = fast,
          .accumulating_saturating_mixed_signedness_accelerated = mixed};
}

// Built-in kernels: absent.
cl_int absent_info(cl_device_info name, const InfoWriter& out) {
  switch (name) {
    case CL_DEVICE_BUILT_IN_KERNELS: return out.string("");
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION: return out.bytes(nullptr, 0);
    // CL_INVALID_VALUE if param_name is not one of the supported values.
    default: return CL_INVALID_VALUE;
  }
}

// CL_DEVICE_MAX_ON_DEVICE_QUEUES: there may be as many as there is memory for.
constexpr cl_uint kOnDeviceQueues = 64;

// __opencl_c_device_enqueue; 0 where it is absent.
cl_int device_enqueue_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  const bool offered = has_device_enqueue(device.target());
  const auto count = [&](cl_uint value) { return out.value<cl_uint>(offered ? value : 0); };
  switch (name) {
    case CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES:
      return out.value<cl_device_device_enqueue_capabilities>(
          offered ? CL_DEVICE_QUEUE_SUPPORTED | CL_DEVICE_QUEUE_REPLACEABLE_DEFAULT : 0);
    case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES:
      return out.value<cl_command_queue_properties>(
          offered ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE : 0);
    case CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE: return count(runtime::kPreferredDeviceQueueBytes);
    case CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE: return count(runtime::kMaxDeviceQueueBytes);
    case CL_DEVICE_MAX_ON_DEVICE_QUEUES: return count(kOnDeviceQueues);
    case CL_DEVICE_MAX_ON_DEVICE_EVENTS: return count(runtime::kMaxDeviceEvents);
    default: return absent_info(name, out);
  }
}

// Of cl_khr_spirv_queries, younger than the headers of Debian 12.
constexpr cl_device_info kSpirvInstructionSets = 0x12B9;
constexpr cl_device_info kSpirvExtensions = 0x12BA;
constexpr cl_device_info kSpirvCapabilities = 0x12BB;

// The versions of SPIR-V, the newest first, and what a module may name.
cl_int il_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  const auto support = [&] {
    return runtime::spirv_support(compiler_extensions(device.target()), has_images(device.target()));
  };
  switch (name) {
    case CL_DEVICE_IL_VERSION: {
      std::string versions;
      for (unsigned minor = runtime::kNewestSpirvMinor + 1; minor-- > 0;)
        versions += fmt::format("{}SPIR-V_1.{}", versions.empty() ? "" : " ", minor);
      return out.string(versions);
    }
    case CL_DEVICE_ILS_WITH_VERSION: {
      std::vector<cl_name_version> versions;
      for (unsigned minor = runtime::kNewestSpirvMinor + 1; minor-- > 0;)
        versions.push_back(name_version("SPIR-V", CL_MAKE_VERSION(1, minor, 0)));
      return out.array<cl_name_version>(versions);
    }
    case kSpirvInstructionSets: return out.array<const char*>(support().instruction_sets);
    case kSpirvExtensions: return out.array<const char*>(support().extensions);
    case kSpirvCapabilities: return out.array<cl_uint>(support().capabilities);
    default: return device_enqueue_info(device, name, out);
  }
}

// CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR, younger than the headers of
// Debian 12.
constexpr cl_device_info kLinearImageHandleTypes = 0x2052;

// cl_khr_semaphore, cl_khr_external_semaphore and cl_khr_external_memory: file descriptors, and images lie
// linearly in what they show.
cl_int sharing_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  switch (name) {
    case CL_DEVICE_SEMAPHORE_TYPES_KHR: return out.value<cl_semaphore_type_khr>(CL_SEMAPHORE_TYPE_BINARY_KHR);
    case CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR:
    case CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
      return out.value<cl_external_semaphore_handle_type_khr>(CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR);
    case CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
    case kLinearImageHandleTypes:
      return out.value<cl_external_memory_handle_type_khr>(CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR);
    default: return il_info(device, name, out);
  }
}

// cl_intel_unified_shared_memory: all memory of the process is everybody's.
cl_int intel_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  switch (name) {
    case CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL:
      return out.value<cl_device_unified_shared_memory_capabilities_intel>(
          CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL |
          CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL |
          CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ATOMIC_ACCESS_INTEL);
    // cl_intel_required_subgroup_size.
    case CL_DEVICE_SUB_GROUP_SIZES_INTEL: {
      const size_t sizes[] = {32, 64};
      return info(device.target()).generation >= Generation::gfx10 ? out.array<size_t>(sizes)
                                                                   : out.value<size_t>(64);
    }
    default: return sharing_info(device, name, out);
  }
}

// Of cl_ext_float_atomics and cl_khr_kernel_clock, younger than the headers of Debian 12.
constexpr cl_device_info kSingleFpAtomics = 0x4231;
constexpr cl_device_info kDoubleFpAtomics = 0x4232;
constexpr cl_device_info kHalfFpAtomics = 0x4233;
constexpr cl_device_info kKernelClock = 0x1076;
constexpr cl_device_info kCxxVersion = 0x4230;  // cl_ext_cxx_for_opencl
// Load and store, add, minimum and maximum, in global (bits 0 to 2) and in local memory (bits 16 to 18).
constexpr cl_bitfield kFpAtomics = 0x70007;

// Of cl_khr_command_buffer and cl_khr_command_buffer_multi_device, likewise.
constexpr cl_device_info kCommandBufferQueueProperties = 0x129A;
constexpr cl_device_info kCommandBufferSyncDeviceCount = 0x12AB;
constexpr cl_device_info kCommandBufferSyncDevices = 0x12AC;

// cl_khr_command_buffer and its layers: kernels may print, executions of a buffer may overlap (they follow
// each other); where there are several devices it may have several queues, and all synchronize with each
// other.
cl_int command_buffer_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  constexpr cl_bitfield kPrintf = 1, kDeviceEnqueue = 2, kSimultaneous = 4, kSeveralQueues = 16;
  const bool multi_device = has_extension(device.target(), "cl_khr_command_buffer_multi_device");
  switch (name) {
    case CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR:
      return out.value<cl_bitfield>(kPrintf | (has_device_enqueue(device.target()) ? kDeviceEnqueue : 0) |
                                    kSimultaneous | (multi_device ? kSeveralQueues : 0));
    case CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR:
      return out.value<cl_command_queue_properties>(0);
    case kCommandBufferQueueProperties:
      return out.value<cl_command_queue_properties>(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE |
                                                    CL_QUEUE_PROFILING_ENABLE);
    case kCommandBufferSyncDeviceCount:
      if (!multi_device) return CL_INVALID_VALUE;
      return out.value<cl_uint>(static_cast<cl_uint>(Platform::get().devices().size()));
    case kCommandBufferSyncDevices: {
      std::vector<cl_device_id> handles;
      if (!multi_device) return CL_INVALID_VALUE;
      for (const Device* other : Platform::get().devices()) handles.push_back(other->handle());
      return out.array<cl_device_id>(handles);
    }
    case CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES_KHR: return out.value<cl_bitfield>(kAllFields);
    default: return intel_info(device, name, out);
  }
}

}  // namespace

cl_int extension_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  const Target target = device.target();
  const runtime::AgentSpec& spec = device.spec();
  const bool pipes = has_pipes(target);
  switch (name) {
    case CL_DEVICE_PIPE_SUPPORT: return out.value<cl_bool>(pipes);
    case CL_DEVICE_MAX_PIPE_ARGS: return out.value<cl_uint>(pipes ? kMaxPipeArguments : 0);
    case CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS: return out.value<cl_uint>(pipes ? kMaxReservations : 0);
    case CL_DEVICE_PIPE_MAX_PACKET_SIZE: return out.value<cl_uint>(pipes ? kMaxPacketSize : 0);
    // As many as there is local memory for; that a work-group has any use for.
    case CL_DEVICE_MAX_NAMED_BARRIER_COUNT_KHR:
    case CL_DEVICE_MAX_NUM_SUB_GROUPS: return out.value<cl_uint>(spec.max_work_group_size / spec.wave_size);
    // Waves of a work-group that wait for each other are run in turn.
    case CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS: return out.value<cl_bool>(CL_TRUE);
    case CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT:
      return out.value<cl_bool>(has_feature(target, "__opencl_c_work_group_collective_functions"));
    case CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR:
      return out.value<cl_device_integer_dot_product_capabilities_khr>(
          CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_KHR |
          CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED_KHR);
    case CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT_KHR:
    case CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR:
      return out.value<cl_device_integer_dot_product_acceleration_properties_khr>(dot_acceleration(device));
    // Contexts can be terminated (cl_khr_terminate_context): CL_DEVICE_TERMINATE_CAPABILITY_CONTEXT_KHR.
    // The headers of OpenCL 1.2 had another number, which clinfo still asks for.
    case 0x200F:
    case CL_DEVICE_TERMINATE_CAPABILITY_KHR: return out.value<cl_bitfield>(1);
    case kSingleFpAtomics:
    case kDoubleFpAtomics: return out.value<cl_bitfield>(kFpAtomics);
    case kHalfFpAtomics: return out.value<cl_bitfield>(0);
    case kKernelClock:
      return out.value<cl_bitfield>(7);  // device, work-group and sub-group
    // CL_INVALID_VALUE where the extension is absent; -cl-std=CLC++ means C++ for OpenCL 1.0.
    case kCxxVersion:
      return has_extension(target, "cl_ext_cxx_for_opencl") ? out.value<cl_version>(CL_MAKE_VERSION(1, 0, 0))
                                                            : CL_INVALID_VALUE;
    default: return command_buffer_info(device, name, out);
  }
}

}  // namespace morgana::icd
