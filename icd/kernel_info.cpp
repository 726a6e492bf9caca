#include <algorithm>
#include <array>

#include "icd/info.h"
#include "icd/kernel.h"
#include "runtime/kernel_notes.h"

namespace morgana::icd {
namespace {

// "reqd_work_group_size(8,8,1) vec_type_hint(float4)", from the code object; empty for programs not made from
// source.
std::string attributes(const Kernel& kernel) {
  if (kernel.program().origin() == Program::Origin::binary) return "";
  const codeobj::KernelMetadata& metadata = kernel.metadata();
  std::string text;
  auto add = [&](const std::string& attribute) { text += (text.empty() ? "" : " ") + attribute; };
  auto size = [](const char* name, const codeobj::Dim3& d) {
    return fmt::format("{}({},{},{})", name, d[0], d[1], d[2]);
  };
  if (!metadata.vec_type_hint.empty()) add(fmt::format("vec_type_hint({})", metadata.vec_type_hint));
  if (metadata.workgroup_size_hint) add(size("work_group_size_hint", *metadata.workgroup_size_hint));
  if (metadata.reqd_workgroup_size) add(size("reqd_work_group_size", *metadata.reqd_workgroup_size));
  return text;
}

cl_kernel_arg_address_qualifier address_qualifier(const codeobj::KernelArg& arg) {
  switch (arg.address_space) {
    case codeobj::AddressSpace::global: return CL_KERNEL_ARG_ADDRESS_GLOBAL;
    case codeobj::AddressSpace::constant: return CL_KERNEL_ARG_ADDRESS_CONSTANT;
    case codeobj::AddressSpace::local: return CL_KERNEL_ARG_ADDRESS_LOCAL;
    default: break;
  }
  // Images and pipes live in global memory; everything else is passed by value.
  bool global = arg.kind == codeobj::ArgKind::image || arg.kind == codeobj::ArgKind::pipe;
  return global ? CL_KERNEL_ARG_ADDRESS_GLOBAL : CL_KERNEL_ARG_ADDRESS_PRIVATE;
}

cl_kernel_arg_access_qualifier access_qualifier(const codeobj::KernelArg& arg) {
  if (arg.kind != codeobj::ArgKind::image && arg.kind != codeobj::ArgKind::pipe)
    return CL_KERNEL_ARG_ACCESS_NONE;
  switch (arg.access) {
    case codeobj::Access::write_only: return CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
    case codeobj::Access::read_write: return CL_KERNEL_ARG_ACCESS_READ_WRITE;
    default: return CL_KERNEL_ARG_ACCESS_READ_ONLY;
  }
}

cl_kernel_arg_type_qualifier type_qualifier(const codeobj::KernelArg& arg) {
  cl_kernel_arg_type_qualifier qualifier = CL_KERNEL_ARG_TYPE_NONE;
  if (arg.is_const) qualifier |= CL_KERNEL_ARG_TYPE_CONST;
  if (arg.is_restrict) qualifier |= CL_KERNEL_ARG_TYPE_RESTRICT;
  if (arg.is_volatile) qualifier |= CL_KERNEL_ARG_TYPE_VOLATILE;
  if (arg.is_pipe) qualifier |= CL_KERNEL_ARG_TYPE_PIPE;
  return qualifier;
}

cl_int argument_info(const codeobj::KernelArg& arg, cl_kernel_arg_info name, const InfoWriter& out) {
  switch (name) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
      return out.value<cl_kernel_arg_address_qualifier>(address_qualifier(arg));
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
      return out.value<cl_kernel_arg_access_qualifier>(access_qualifier(arg));
    case CL_KERNEL_ARG_TYPE_QUALIFIER: return out.value<cl_kernel_arg_type_qualifier>(type_qualifier(arg));
    // CL_KERNEL_ARG_INFO_NOT_AVAILABLE if the argument information is not available for kernel.
    case CL_KERNEL_ARG_TYPE_NAME:
      return arg.type_name.empty() ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : out.string(arg.type_name);
    case CL_KERNEL_ARG_NAME:
      return arg.name.empty() ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : out.string(arg.name);
    // CL_INVALID_VALUE if param_name is not one of the supported values.
    default: return CL_INVALID_VALUE;
  }
}

// CL_INVALID_DEVICE if device is not in the list of devices associated with kernel, or is NULL while there
// are several.
const Kernel::Variant* find_variant(const Kernel& kernel, cl_device_id device) {
  if (device == nullptr) return kernel.variants().size() == 1 ? &kernel.variants().front() : nullptr;
  return kernel.variant(find<Device>(device));
}

cl_int work_group_info(Kernel& kernel, const Kernel::Variant& variant, cl_kernel_work_group_info name,
                       const InfoWriter& out) {
  const codeobj::KernelMetadata& metadata = *variant.kernel->metadata;
  switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE: return out.value<size_t>(kernel.work_group_limit(variant));
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: {
      codeobj::Dim3 required = metadata.reqd_workgroup_size.value_or(codeobj::Dim3{0, 0, 0});
      const size_t sizes[3] = {required[0], required[1], required[2]};
      return out.array<size_t>(sizes);
    }
    case CL_KERNEL_LOCAL_MEM_SIZE: return out.value<cl_ulong>(kernel.local_bytes(variant));
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: return out.value<size_t>(variant.kernel->wave_size());
    case CL_KERNEL_PRIVATE_MEM_SIZE: return out.value<cl_ulong>(metadata.private_segment_fixed_size);
    // Bytes of a work-item: what is spilled of scalar registers goes to vector registers.
    case CL_KERNEL_SPILL_MEM_SIZE_INTEL: return out.value<cl_ulong>(cl_ulong{metadata.vgpr_spill_count} * 4);
    // CL_INVALID_VALUE if param_name is not one of the supported values; CL_KERNEL_GLOBAL_WORK_SIZE is for
    // custom devices and built-in kernels only.
    default: return CL_INVALID_VALUE;
  }
}

struct SubGroupInput {
  size_t size;
  const void* value;
};

// The input of one to three size_t.
bool read_sizes(const SubGroupInput& input, size_t most, std::vector<size_t>& sizes) {
  size_t count = input.size / sizeof(size_t);
  if (input.value == nullptr || input.size % sizeof(size_t) != 0 || count < 1 || count > most) return false;
  auto* first = static_cast<const size_t*>(input.value);
  sizes.assign(first, first + count);
  return true;
}

// A one-dimensional work-group of `count` sub-groups; zeros when the kernel cannot have it.
cl_int local_size_for(const Kernel& kernel, const Kernel::Variant& variant, size_t count,
                      const InfoWriter& out) {
  const codeobj::KernelMetadata& metadata = *variant.kernel->metadata;
  const size_t wave = variant.kernel->wave_size();
  std::array<size_t, 3> sizes{};
  if (metadata.reqd_workgroup_size) {
    codeobj::Dim3 required = *metadata.reqd_workgroup_size;
    size_t items = size_t{required[0]} * required[1] * required[2];
    if ((items + wave - 1) / wave == count) sizes = {required[0], required[1], required[2]};
  } else if (count != 0 && count <= kernel.work_group_limit(variant) / wave) {
    sizes = {count * wave, 1, 1};
  }
  // One value for each dimension that the caller has room for.
  const size_t dimensions = std::clamp<size_t>(out.size() / sizeof(size_t), 1, 3);
  return out.bytes(sizes.data(), dimensions * sizeof(size_t));
}

cl_int sub_group_info(const Kernel& kernel, const Kernel::Variant& variant, cl_kernel_sub_group_info name,
                      const SubGroupInput& input, const InfoWriter& out) {
  const size_t wave = variant.kernel->wave_size();
  const size_t limit = kernel.work_group_limit(variant);
  std::vector<size_t> sizes;
  switch (name) {
    case CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE:
    case CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE: {
      // CL_INVALID_VALUE if input_value_size or input_value is not valid for param_name.
      if (!read_sizes(input, 3, sizes)) return CL_INVALID_VALUE;
      size_t items = 1;
      for (size_t size : sizes) {
        if (size == 0 || size > variant.device->spec().max_work_group_size) return CL_INVALID_VALUE;
        items *= size;
      }
      return out.value<size_t>(name == CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE ? (items + wave - 1) / wave
                                                                             : std::min(items, wave));
    }
    case CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT:
      if (!read_sizes(input, 1, sizes)) return CL_INVALID_VALUE;
      return local_size_for(kernel, variant, sizes[0], out);
    case CL_KERNEL_MAX_NUM_SUB_GROUPS: return out.value<size_t>((limit + wave - 1) / wave);
    // Asked for by an attribute of the kernel's, or by an execution mode.
    case CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL:
      return out.value<size_t>(
          variant.executable->symbol_address(kernel.name() + runtime::kSubGroupSizeEnding) ? wave : 0);
    case CL_KERNEL_COMPILE_NUM_SUB_GROUPS: return out.value<size_t>(variant.kernel->sub_groups);
    // CL_INVALID_VALUE if param_name is not one of the supported values.
    default: return CL_INVALID_VALUE;
  }
}

cl_int query_sub_group(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info name,
                       const SubGroupInput& input, const InfoWriter& out) {
  // CL_INVALID_KERNEL if kernel is not a valid kernel object.
  Kernel* k = find<Kernel>(kernel);
  if (k == nullptr) return CL_INVALID_KERNEL;
  const Kernel::Variant* variant = find_variant(*k, device);
  if (variant == nullptr) return CL_INVALID_DEVICE;
  return sub_group_info(*k, *variant, name, input, out);
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana::icd;

cl_int CL_API_CALL clGetKernelInfo(cl_kernel kernel, cl_kernel_info param_name, size_t param_value_size,
                                   void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object.
    Kernel* k = find<Kernel>(kernel);
    if (k == nullptr) return CL_INVALID_KERNEL;
    InfoWriter out(param_value_size, param_value, param_value_size_ret);
    switch (param_name) {
      case CL_KERNEL_FUNCTION_NAME: return out.string(k->name());
      case CL_KERNEL_NUM_ARGS: return out.value<cl_uint>(static_cast<cl_uint>(k->argument_count()));
      case CL_KERNEL_REFERENCE_COUNT: return out.value<cl_uint>(k->reference_count());
      case CL_KERNEL_CONTEXT: return out.value<cl_context>(k->context().handle());
      case CL_KERNEL_PROGRAM: return out.value<cl_program>(k->program().handle());
      case CL_KERNEL_ATTRIBUTES: return out.string(attributes(*k));
      // CL_INVALID_VALUE if param_name is not one of the supported values.
      default: return CL_INVALID_VALUE;
    }
  });
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel kernel, cl_uint arg_indx, cl_kernel_arg_info param_name,
                                      size_t param_value_size, void* param_value,
                                      size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object.
    Kernel* k = find<Kernel>(kernel);
    if (k == nullptr) return CL_INVALID_KERNEL;
    // CL_INVALID_ARG_INDEX if arg_indx is not a valid argument index.
    if (arg_indx >= k->argument_count()) return CL_INVALID_ARG_INDEX;
    return argument_info(k->argument(arg_indx), param_name,
                         InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                            cl_kernel_work_group_info param_name, size_t param_value_size,
                                            void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object.
    Kernel* k = find<Kernel>(kernel);
    if (k == nullptr) return CL_INVALID_KERNEL;
    const Kernel::Variant* variant = find_variant(*k, device);
    if (variant == nullptr) return CL_INVALID_DEVICE;
    return work_group_info(*k, *variant, param_name,
                           InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device,
                                           cl_kernel_sub_group_info param_name, size_t input_value_size,
                                           const void* input_value, size_t param_value_size,
                                           void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&] {
    return query_sub_group(kernel, device, param_name, {input_value_size, input_value},
                           InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(cl_kernel in_kernel, cl_device_id in_device,
                                              cl_kernel_sub_group_info param_name, size_t input_value_size,
                                              const void* input_value, size_t param_value_size,
                                              void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&] {
    return query_sub_group(in_kernel, in_device, param_name, {input_value_size, input_value},
                           InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}
