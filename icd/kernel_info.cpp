#include "icd/info.h"
#include "icd/kernel.h"

namespace morgana::icd {
namespace {

// "reqd_work_group_size(8,8,1) vec_type_hint(float4)", from the code object; empty for programs not made from
// source.
std::string attributes(const Kernel& kernel) {
  if (kernel.program().origin() == Program::Origin::binary) return "";
  const codeobj::KernelMetadata& metadata = kernel.metadata();
  std::string text;
  auto add = [&](std::string attribute) { text += (text.empty() ? "" : " ") + attribute; };
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
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
      return out.value<size_t>(variant.device->spec().wave_size);
    case CL_KERNEL_PRIVATE_MEM_SIZE: return out.value<cl_ulong>(metadata.private_segment_fixed_size);
    // CL_INVALID_VALUE if param_name is not one of the supported values; CL_KERNEL_GLOBAL_WORK_SIZE is for
    // custom devices and built-in kernels only.
    default: return CL_INVALID_VALUE;
  }
}

cl_int sub_group_info(cl_kernel kernel, cl_device_id device) {
  // CL_INVALID_KERNEL if kernel is not a valid kernel object.
  Kernel* k = find<Kernel>(kernel);
  if (k == nullptr) return CL_INVALID_KERNEL;
  if (find_variant(*k, device) == nullptr) return CL_INVALID_DEVICE;
  // CL_INVALID_OPERATION if device does not support sub-groups.
  return CL_INVALID_OPERATION;
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

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info,
                                           size_t, const void*, size_t, void*, size_t*) {
  return api(__func__, [&] { return sub_group_info(kernel, device); });
}

cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(cl_kernel in_kernel, cl_device_id in_device,
                                              cl_kernel_sub_group_info, size_t, const void*, size_t, void*,
                                              size_t*) {
  return api(__func__, [&] { return sub_group_info(in_kernel, in_device); });
}
