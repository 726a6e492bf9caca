// clGetDeviceInfo: one row per query of table 5 of the OpenCL 3.0 API specification, and those of
// cl_amd_device_attribute_query, cl_khr_device_uuid and cl_khr_pci_bus_info.
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "base/options.h"
#include "icd/device_info.h"
#include "icd/extensions.h"
#include "icd/identity.h"
#include "icd/image.h"
#include "icd/info.h"
#include "icd/platform.h"
#include "runtime/memory.h"
#include "runtime/printf.h"

namespace morgana::icd {
namespace {

constexpr cl_device_fp_config kFullFp = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST |
                                        CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA;
// Before gfx9 compiled code flushes f32 denormals (LLVM's default for those processors).
cl_device_fp_config single_fp(Target target) {
  cl_device_fp_config config = kFullFp | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  return info(target).generation >= Generation::gfx9 ? config : config & ~cl_device_fp_config{CL_FP_DENORM};
}

// Constant buffers and program-scope variables are plain memory; programs size test data by these two limits.
constexpr cl_ulong kConstantBytes = 64 * 1024 * 1024;

constexpr cl_device_atomic_capabilities kAtomicMemory =
    CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL | CL_DEVICE_ATOMIC_ORDER_SEQ_CST |
    CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP | CL_DEVICE_ATOMIC_SCOPE_DEVICE | CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES;
constexpr cl_device_atomic_capabilities kAtomicFence = kAtomicMemory | CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM;

constexpr cl_device_svm_capabilities kSvm = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER |
                                            CL_DEVICE_SVM_FINE_GRAIN_BUFFER |
                                            CL_DEVICE_SVM_FINE_GRAIN_SYSTEM | CL_DEVICE_SVM_ATOMICS;

cl_int c_versions(const InfoWriter& out) {
  std::vector<cl_name_version> versions;
  for (cl_version version : {CL_MAKE_VERSION(1, 0, 0), CL_MAKE_VERSION(1, 1, 0), CL_MAKE_VERSION(1, 2, 0)})
    versions.push_back(name_version("OpenCL C", version));
  if (identity().c_number == CL_MAKE_VERSION(2, 0, 0))
    versions.push_back(name_version("OpenCL C", identity().c_number));
  for (cl_version version : {CL_MAKE_VERSION(3, 0, 0), CL_MAKE_VERSION(3, 1, 0)})
    if (identity().newest_c >= version) versions.push_back(name_version("OpenCL C", version));
  return out.array<cl_name_version>(versions);
}

// cl_khr_device_uuid: the same device keeps its id between processes of one build.
cl_int uuid(const InfoWriter& out, std::string_view kind, std::string_view name, cl_uint index) {
  cl_uchar id[CL_UUID_SIZE_KHR];
  uint64_t hash[2] = {0xcbf29ce484222325, 0x84222325cbf29ce4};
  auto mix = [&](std::string_view text) {
    for (unsigned char c : text)
      for (uint64_t& h : hash) h = (h ^ c) * 0x100000001b3 + (h >> 29);
  };
  mix("morgana");
  mix(kind);
  mix(name);
  mix(std::string_view(reinterpret_cast<const char*>(&index), sizeof index));
  std::memcpy(id, hash, sizeof id);
  return out.bytes(id, sizeof id);
}

// The place on a PCI bus that each agent pretends to have.
cl_int topology(const Device& device, const InfoWriter& out) {
  cl_device_topology_amd place{};
  place.pcie.type = CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD;
  place.pcie.bus = static_cast<cl_char>(device.index() + 1);
  return out.value<cl_device_topology_amd>(place);
}

cl_int pci_bus(const Device& device, const InfoWriter& out) {
  cl_device_pci_bus_info_khr place{};
  place.pci_bus = device.index() + 1;
  return out.value<cl_device_pci_bus_info_khr>(place);
}

cl_int free_memory(const Device& device, const InfoWriter& out) {
  cl_ulong total = device.spec().global_memory;
  cl_ulong used = std::min<cl_ulong>(runtime::allocated_bytes(), total);
  const size_t kibibytes[2] = {(total - used) / 1024, (total - used) / 1024};
  return out.array<size_t>(kibibytes);
}

unsigned gfx_major(const Device& device) { return static_cast<unsigned>(info(device.target()).generation); }

// gfx90a is 9.0.10: the digit before the last.
unsigned gfx_minor(const Device& device) {
  const std::string& processor = device.spec().processor;
  // A generic processor is the first of its family.
  const std::string_view name =
      processor.ends_with("-generic") ? std::string_view(info(device.target()).name) : processor;
  return name.size() >= 2 ? static_cast<unsigned>(name[name.size() - 2] - '0') : 0;
}

// Of cl_amd_device_attribute_query, younger than the headers of Debian 12.
constexpr cl_device_info kMaxRealTimeComputeQueues = 0x404D;
constexpr cl_device_info kMaxRealTimeComputeUnits = 0x404E;

cl_int amd_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  const runtime::AgentSpec& spec = device.spec();
  switch (name) {
    case CL_DEVICE_PROFILING_TIMER_OFFSET_AMD: return out.value<cl_ulong>(0);
    case CL_DEVICE_TOPOLOGY_AMD: return topology(device, out);
    case CL_DEVICE_BOARD_NAME_AMD: return out.string(spec.board_name);
    case CL_DEVICE_GLOBAL_FREE_MEMORY_AMD: return free_memory(device, out);
    case CL_DEVICE_SIMD_PER_COMPUTE_UNIT_AMD: return out.value<cl_uint>(spec.simds_per_cu);
    case CL_DEVICE_SIMD_WIDTH_AMD: return out.value<cl_uint>(spec.simd_width);
    case CL_DEVICE_SIMD_INSTRUCTION_WIDTH_AMD: return out.value<cl_uint>(1);
    case CL_DEVICE_WAVEFRONT_WIDTH_AMD: return out.value<cl_uint>(spec.wave_size);
    case CL_DEVICE_GLOBAL_MEM_CHANNELS_AMD: return out.value<cl_uint>(1);
    case CL_DEVICE_GLOBAL_MEM_CHANNEL_BANKS_AMD: return out.value<cl_uint>(4);
    case CL_DEVICE_GLOBAL_MEM_CHANNEL_BANK_WIDTH_AMD: return out.value<cl_uint>(256);
    case CL_DEVICE_LOCAL_MEM_SIZE_PER_COMPUTE_UNIT_AMD: return out.value<cl_uint>(spec.local_memory);
    case CL_DEVICE_LOCAL_MEM_BANKS_AMD: return out.value<cl_uint>(32);
    case CL_DEVICE_THREAD_TRACE_SUPPORTED_AMD: return out.value<cl_bool>(CL_FALSE);
    case CL_DEVICE_GFXIP_MAJOR_AMD: return out.value<cl_uint>(gfx_major(device));
    case CL_DEVICE_GFXIP_MINOR_AMD: return out.value<cl_uint>(gfx_minor(device));
    case kMaxRealTimeComputeQueues:
    case kMaxRealTimeComputeUnits: return out.value<cl_uint>(0);
    case CL_DEVICE_AVAILABLE_ASYNC_QUEUES_AMD: return out.value<cl_uint>(8);
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_AMD: return out.value<size_t>(256);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE_AMD: return out.value<size_t>(spec.max_work_group_size);
    case CL_DEVICE_PREFERRED_CONSTANT_BUFFER_SIZE_AMD: return out.value<size_t>(16 * 1024);
    case CL_DEVICE_PCIE_ID_AMD: return out.value<cl_uint>(spec.device_id);
    case CL_DEVICE_UUID_KHR: return uuid(out, "device", spec.target_id, device.index());
    case CL_DRIVER_UUID_KHR: return uuid(out, "driver", kVersion, 0);
    case CL_DEVICE_LUID_VALID_KHR: return out.value<cl_bool>(CL_FALSE);
    case CL_DEVICE_LUID_KHR: {
      const cl_uchar none[CL_LUID_SIZE_KHR] = {};
      return out.bytes(none, sizeof none);
    }
    case CL_DEVICE_NODE_MASK_KHR: return out.value<cl_uint>(0);
    case CL_DEVICE_PCI_BUS_INFO_KHR: return pci_bus(device, out);
    default: return extension_info(device, name, out);
  }
}

// Limits of images and samplers; 0 on a device that has none.
cl_int image_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  const bool images = has_images(device.target());
  const auto count = [&](cl_uint value) { return out.value<cl_uint>(images ? value : 0); };
  const auto extent = [&](size_t value) { return out.value<size_t>(images ? value : 0); };
  switch (name) {
    case CL_DEVICE_IMAGE_SUPPORT: return out.value<cl_bool>(images);
    case CL_DEVICE_MAX_READ_IMAGE_ARGS: return count(kMaxReadImages);
    case CL_DEVICE_MAX_WRITE_IMAGE_ARGS: return count(kMaxWriteImages);
    case CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS: return count(kMaxReadWriteImages);
    case CL_DEVICE_MAX_SAMPLERS: return count(kMaxSamplers);
    case CL_DEVICE_IMAGE_PITCH_ALIGNMENT: return count(kImagePitchAlignment);
    case CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT: return count(kImageBaseAlignment);
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT: return extent(runtime::kMaxImageWidth);
    case CL_DEVICE_IMAGE3D_MAX_WIDTH:
    case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_DEPTH: return extent(runtime::kMaxVolumeExtent);
    case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: return extent(runtime::kMaxImageBufferTexels);
    case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: return extent(runtime::kMaxImageLayers);
    default: return amd_info(device, name, out);
  }
}

cl_int identity_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  switch (name) {
    case CL_DEVICE_TYPE: return out.value<cl_device_type>(CL_DEVICE_TYPE_GPU);
    case CL_DEVICE_VENDOR_ID: return out.value<cl_uint>(0x1002);
    case CL_DEVICE_NAME:
      return out.string(identity().device_name.empty() ? device.name() : identity().device_name);
    case CL_DEVICE_VENDOR: return out.string(identity().device_vendor);
    case CL_DRIVER_VERSION: return out.string(identity().driver_version);
    case CL_DEVICE_PROFILE: return out.string("FULL_PROFILE");
    case CL_DEVICE_VERSION: return out.string(identity().device_version);
    case CL_DEVICE_NUMERIC_VERSION: return out.value<cl_version>(identity().device_number);
    case CL_DEVICE_OPENCL_C_VERSION: return out.string(identity().c_version);
    case CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR: return out.value<cl_version>(identity().c_number);
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS: return c_versions(out);
    case CL_DEVICE_OPENCL_C_FEATURES: return out.array<cl_name_version>(device_features(device.target()));
    case CL_DEVICE_EXTENSIONS: return out.string(joined_names(device_extensions(device.target())));
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
      return out.array<cl_name_version>(device_extensions(device.target()));
    // The required form "vYYYY-MM-DD-NN", with a date that no suite has: no submission has been made.
    case CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED: return out.string("v0000-01-01-00");
    case CL_DEVICE_PLATFORM: return out.value<cl_platform_id>(Platform::get().handle());
    case CL_DEVICE_REFERENCE_COUNT:
    case CL_DEVICE_REFERENCE_COUNT_EXT:
      return out.value<cl_uint>(device.is_root() ? 1 : device.reference_count());
    case CL_DEVICE_PARENT_DEVICE:
    case CL_DEVICE_PARENT_DEVICE_EXT:
      return out.value<cl_device_id>(device.is_root() ? nullptr : device.parent()->handle());
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES: return out.value<cl_uint>(device.compute_units());
    case CL_DEVICE_PARTITION_PROPERTIES: {
      // A device of one compute unit cannot be partitioned.
      const cl_device_partition_property some[] = {CL_DEVICE_PARTITION_EQUALLY,
                                                   CL_DEVICE_PARTITION_BY_COUNTS};
      const cl_device_partition_property none[] = {0};
      return device.compute_units() > 1 ? out.array<cl_device_partition_property>(some)
                                        : out.array<cl_device_partition_property>(none);
    }
    case CL_DEVICE_PARTITION_TYPES_EXT:
    case CL_DEVICE_AFFINITY_DOMAINS_EXT:
    case CL_DEVICE_PARTITION_STYLE_EXT: return fission_info(device, name, out);
    case CL_DEVICE_PARTITION_AFFINITY_DOMAIN: return out.value<cl_device_affinity_domain>(0);
    case CL_DEVICE_PARTITION_TYPE: return out.array<cl_device_partition_property>(device.partition());
    default: return image_info(device, name, out);
  }
}

cl_int memory_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  const runtime::AgentSpec& spec = device.spec();
  switch (name) {
    case CL_DEVICE_ADDRESS_BITS: return out.value<cl_uint>(64);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return out.value<cl_ulong>(device.max_allocation());
    case CL_DEVICE_GLOBAL_MEM_SIZE: return out.value<cl_ulong>(spec.global_memory);
    case CL_DEVICE_GLOBAL_MEM_CACHE_TYPE: return out.value<cl_device_mem_cache_type>(CL_READ_WRITE_CACHE);
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE: return out.value<cl_uint>(spec.cache_line);
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE: return out.value<cl_ulong>(spec.cache_bytes);
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
      return out.value<cl_ulong>(std::min<cl_ulong>(device.max_allocation(), kConstantBytes));
    case CL_DEVICE_MAX_CONSTANT_ARGS: return out.value<cl_uint>(8);
    case CL_DEVICE_MAX_PARAMETER_SIZE: return out.value<size_t>(1024);
    case CL_DEVICE_LOCAL_MEM_TYPE: return out.value<cl_device_local_mem_type>(CL_LOCAL);
    case CL_DEVICE_LOCAL_MEM_SIZE: return out.value<cl_ulong>(spec.local_memory);
    case CL_DEVICE_ERROR_CORRECTION_SUPPORT: return out.value<cl_bool>(CL_FALSE);
    case CL_DEVICE_HOST_UNIFIED_MEMORY: return out.value<cl_bool>(CL_TRUE);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: return out.value<cl_uint>(kBaseAlignment * 8);
    case CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE: return out.value<cl_uint>(kBaseAlignment);
    case CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE:
    case CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE:
      return out.value<size_t>(std::min<cl_ulong>(device.max_allocation(), kConstantBytes));
    case CL_DEVICE_SVM_CAPABILITIES: return out.value<cl_device_svm_capabilities>(kSvm);
    case CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT: return out.value<cl_uint>(0);
    case CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES: return out.value<cl_device_atomic_capabilities>(kAtomicMemory);
    case CL_DEVICE_ATOMIC_FENCE_CAPABILITIES: return out.value<cl_device_atomic_capabilities>(kAtomicFence);
    case CL_DEVICE_PRINTF_BUFFER_SIZE: return out.value<size_t>(runtime::kPrintfBufferBytes);
    default: return identity_info(device, name, out);
  }
}

cl_int execution_info(const Device& device, cl_device_info name, const InfoWriter& out) {
  const runtime::AgentSpec& spec = device.spec();
  const bool fp16 = has_extension(device.target(), "cl_khr_fp16");
  switch (name) {
    case CL_DEVICE_MAX_COMPUTE_UNITS: return out.value<cl_uint>(device.compute_units());
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: return out.value<cl_uint>(spec.max_clock_mhz);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: return out.value<cl_uint>(3);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: return out.value<size_t>(kernel_group_size());
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
      const size_t sizes[3] = {spec.max_work_group_size, spec.max_work_group_size, spec.max_work_group_size};
      return out.array<size_t>(sizes);
    }
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: return out.value<size_t>(spec.wave_size);
    case CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT: return out.value<cl_bool>(CL_TRUE);
    case CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT:
      return out.value<cl_bool>(has_feature(device.target(), "__opencl_c_generic_address_space"));
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR: return out.value<cl_uint>(4);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT: return out.value<cl_uint>(2);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_INT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE: return out.value<cl_uint>(1);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF: return out.value<cl_uint>(fp16 ? 1 : 0);
    case CL_DEVICE_SINGLE_FP_CONFIG: return out.value<cl_device_fp_config>(single_fp(device.target()));
    case CL_DEVICE_DOUBLE_FP_CONFIG: return out.value<cl_device_fp_config>(kFullFp);
    case CL_DEVICE_HALF_FP_CONFIG: return out.value<cl_device_fp_config>(fp16 ? kFullFp : 0);
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION: return out.value<size_t>(1);
    case CL_DEVICE_ENDIAN_LITTLE: return out.value<cl_bool>(CL_TRUE);
    case CL_DEVICE_AVAILABLE: return out.value<cl_bool>(CL_TRUE);
    case CL_DEVICE_COMPILER_AVAILABLE: return out.value<cl_bool>(CL_TRUE);
    case CL_DEVICE_LINKER_AVAILABLE: return out.value<cl_bool>(CL_TRUE);
    case CL_DEVICE_EXECUTION_CAPABILITIES: return out.value<cl_device_exec_capabilities>(CL_EXEC_KERNEL);
    case CL_DEVICE_QUEUE_ON_HOST_PROPERTIES:
      return out.value<cl_command_queue_properties>(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE |
                                                    CL_QUEUE_PROFILING_ENABLE);
    case CL_DEVICE_PREFERRED_INTEROP_USER_SYNC: return out.value<cl_bool>(CL_TRUE);
    default: return memory_info(device, name, out);
  }
}

}  // namespace

unsigned kernel_group_size() {
  static const unsigned size = [] {
    constexpr unsigned kUsual = 256;
    const unsigned most = runtime::AgentSpec{}.max_work_group_size;
    const int64_t wanted = options().group_size;
    if (wanted >= kUsual && wanted <= most) return static_cast<unsigned>(wanted);
    log(LogLevel::error, "MORGANA_GROUP_SIZE: {} is not from {} to {}; using {}", wanted, kUsual, most,
        kUsual);
    return kUsual;
  }();
  return size;
}
}  // namespace morgana::icd

using namespace morgana::icd;

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                                   void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_DEVICE if device is not a valid device.
    Device* d = find<Device>(device);
    if (d == nullptr) return CL_INVALID_DEVICE;
    return execution_info(*d, param_name, InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}
