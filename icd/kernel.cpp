#include "icd/kernel.h"

#include <algorithm>

#include "icd/entries.h"
#include "icd/info.h"
#include "icd/queue.h"

namespace morgana::icd {

using codeobj::ArgKind;

Kernel::Kernel(Program& program, std::vector<Variant> variants)
    : program_(&program),
      variants_(std::move(variants)),
      memory_(variants_.front().arguments.count()),
      queues_(memory_.size()) {
  program_->attach_kernel();
}

Kernel::Kernel(const Kernel& other)
    : program_(other.program_), variants_(other.variants_), memory_(other.memory_), queues_(other.queues_) {
  program_->attach_kernel();
}

Kernel::~Kernel() { program_->detach_kernel(); }

const Kernel::Variant* Kernel::variant(const Device* device) const {
  for (const Variant& variant : variants_)
    if (variant.device.get() == device) return &variant;
  return nullptr;
}

uint64_t Kernel::local_bytes(const Variant& variant) {
  std::lock_guard lock(mutex_);
  return uint64_t{variant.kernel->metadata->group_segment_fixed_size} +
         variant.arguments.dynamic_local_bytes();
}

size_t Kernel::work_group_limit(const Variant& variant) const {
  size_t limit = variant.device->spec().max_work_group_size;
  uint32_t own = variant.kernel->metadata->max_flat_workgroup_size;
  return own == 0 ? limit : std::min<size_t>(limit, own);
}

cl_int Kernel::check_arguments(const Variant& variant) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < variant.arguments.count(); ++i)
    if (!variant.arguments.is_set(i)) return CL_INVALID_KERNEL_ARGS;
  return CL_SUCCESS;
}

cl_int Kernel::hold_memory(std::vector<HeldMemory>& memory) const {
  for (size_t i = 0; i < memory_.size(); i++) {
    const MemoryArgument& argument = memory_[i];
    if (argument.mem == nullptr) continue;
    if (find<Mem>(argument.mem->handle()) == nullptr || argument.mem->serial() != argument.serial)
      return CL_INVALID_KERNEL_ARGS;
    memory.push_back({i, Ref<Mem>(argument.mem)});
  }
  return CL_SUCCESS;
}

cl_int Kernel::make_dispatch(const Variant& variant, const runtime::Geometry& geometry,
                             std::unique_ptr<runtime::Dispatch>& dispatch, std::vector<HeldMemory>& memory) {
  std::lock_guard lock(mutex_);
  if (cl_int error = hold_memory(memory); error != CL_SUCCESS) return error;
  auto made = runtime::Dispatch::create(variant.executable, *variant.kernel, variant.arguments, geometry);
  if (!made.ok()) {
    log(LogLevel::info, "kernel '{}': {}", name(), made.error().message);
    return CL_OUT_OF_RESOURCES;
  }
  dispatch = std::move(made).value();
  if (dispatch->may_enqueue()) {
    const Ref<Queue> known = context().default_queue(*variant.device);
    dispatch->use_queues({known ? known->on_device().queue : nullptr, queues_});
  }
  return CL_SUCCESS;
}

cl_int Kernel::check_exec_info(cl_kernel_exec_info name, size_t size, const void* value) {
  // CL_INVALID_VALUE if param_name is not valid, param_value is NULL, or its size is not valid; an empty list
  // of pointers takes an earlier one back.
  switch (name) {
    case CL_KERNEL_EXEC_INFO_SVM_PTRS:
    case kExecInfoDevicePointers:
    case CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL:
      if (value == nullptr && size == 0) return CL_SUCCESS;
      return value == nullptr || size == 0 || size % sizeof(void*) != 0 ? CL_INVALID_VALUE : CL_SUCCESS;
    case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
    case CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL:
    case CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL:
      return value != nullptr && size == sizeof(cl_bool) ? CL_SUCCESS : CL_INVALID_VALUE;
    default: return CL_INVALID_VALUE;
  }
}

namespace {

// CL_INVALID_KERNEL_DEFINITION if the function's arguments differ between devices.
bool same_definition(const runtime::Arguments& a, const runtime::Arguments& b) {
  if (a.count() != b.count()) return false;
  for (size_t i = 0; i < a.count(); ++i)
    if (a.arg(i).kind != b.arg(i).kind || a.arg(i).size != b.arg(i).size) return false;
  return true;
}

// The kernel of that name in every executable of the program.
Made<cl_kernel> create_kernel(Program& program, std::string_view name) {
  if (program.context().is_terminated()) return CL_CONTEXT_TERMINATED_KHR;
  std::vector<Kernel::Variant> variants;
  bool any_executable = false;
  for (size_t i = 0; i < program.devices().size(); ++i) {
    Build build = program.build(i);
    if (!build.is_executable()) continue;
    any_executable = true;
    const runtime::Kernel* kernel = build.executable->kernel(name);
    if (kernel == nullptr || kernel->is_block()) continue;
    variants.push_back({program.devices()[i], build.executable, kernel, runtime::Arguments(*kernel)});
    if (!same_definition(variants.front().arguments, variants.back().arguments))
      return CL_INVALID_KERNEL_DEFINITION;
  }
  // CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built executable for program.
  if (!any_executable) return CL_INVALID_PROGRAM_EXECUTABLE;
  // CL_INVALID_KERNEL_NAME if kernel_name is not found in program.
  if (variants.empty()) return CL_INVALID_KERNEL_NAME;
  return make<Kernel>(program, std::move(variants)).publish();
}

std::vector<std::string> kernel_names(const Program& program) {
  std::vector<std::string> names;
  for (size_t i = 0; i < program.devices().size(); ++i) {
    Build build = program.build(i);
    if (!build.is_executable()) continue;
    for (const runtime::Kernel& kernel : build.executable->kernels())
      if (!kernel.is_block() && std::find(names.begin(), names.end(), kernel.name) == names.end())
        names.push_back(kernel.name);
  }
  return names;
}

// Any pointer is valid as an argument that is one to global or constant memory.
cl_int set_pointer(cl_kernel kernel, cl_uint arg_index, const void* arg_value) {
  // CL_INVALID_KERNEL if kernel is not a valid kernel object.
  Kernel* k = find<Kernel>(kernel);
  if (k == nullptr) return CL_INVALID_KERNEL;
  // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index.
  if (arg_index >= k->argument_count()) return CL_INVALID_ARG_INDEX;
  return k->set_svm_pointer(arg_index, arg_value);
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana;
using namespace morgana::icd;

cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char* kernel_name, cl_int* errcode_ret) {
  return api_create<cl_kernel>(__func__, errcode_ret, [&]() -> Made<cl_kernel> {
    // CL_INVALID_PROGRAM if program is not a valid program object.
    Program* p = find<Program>(program);
    if (p == nullptr) return CL_INVALID_PROGRAM;
    // CL_INVALID_VALUE if kernel_name is NULL.
    if (kernel_name == nullptr) return CL_INVALID_VALUE;
    return create_kernel(*p, kernel_name);
  });
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint num_kernels, cl_kernel* kernels,
                                            cl_uint* num_kernels_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PROGRAM if program is not a valid program object.
    Program* p = find<Program>(program);
    if (p == nullptr) return CL_INVALID_PROGRAM;
    // CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built executable for any device in program.
    bool built = false;
    for (size_t i = 0; i < p->devices().size(); ++i) built |= p->build(i).is_executable();
    if (!built) return CL_INVALID_PROGRAM_EXECUTABLE;
    std::vector<std::string> names = kernel_names(*p);
    // CL_INVALID_VALUE if kernels is not NULL and num_kernels is less than the number of kernels in program.
    if (kernels != nullptr && num_kernels < names.size()) return CL_INVALID_VALUE;
    for (size_t i = 0; kernels != nullptr && i < names.size(); ++i) {
      Made<cl_kernel> made = create_kernel(*p, names[i]);
      if (made.code != CL_SUCCESS) {
        while (i > 0) release_handle<Kernel>(kernels[--i]);
        return made.code;
      }
      kernels[i] = made.value;
    }
    if (num_kernels_ret != nullptr) *num_kernels_ret = static_cast<cl_uint>(names.size());
    return CL_SUCCESS;
  });
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel source_kernel, cl_int* errcode_ret) {
  return api_create<cl_kernel>(__func__, errcode_ret, [&]() -> Made<cl_kernel> {
    // CL_INVALID_KERNEL if source_kernel is not a valid kernel object.
    Kernel* source = find<Kernel>(source_kernel);
    if (source == nullptr) return CL_INVALID_KERNEL;
    if (source->context().is_terminated()) return CL_CONTEXT_TERMINATED_KHR;
    return make<Kernel>(*source).publish();
  });
}

cl_int CL_API_CALL clRetainKernel(cl_kernel kernel) {
  return api(__func__, [&] { return retain_handle<Kernel>(kernel); });
}

cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel) {
  return api(__func__, [&] { return release_handle<Kernel>(kernel); });
}

cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint arg_index, size_t arg_size,
                                  const void* arg_value) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object.
    Kernel* k = find<Kernel>(kernel);
    if (k == nullptr) return CL_INVALID_KERNEL;
    // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index.
    if (arg_index >= k->argument_count()) return CL_INVALID_ARG_INDEX;
    return k->set_argument(arg_index, arg_size, arg_value);
  });
}

cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint arg_index, const void* arg_value) {
  return api(__func__, [&] { return set_pointer(kernel, arg_index, arg_value); });
}

cl_int CL_API_CALL clSetKernelArgMemPointerINTEL(cl_kernel kernel, cl_uint arg_index, const void* arg_value) {
  return api(__func__, [&] { return set_pointer(kernel, arg_index, arg_value); });
}

cl_int CL_API_CALL clSetKernelArgDevicePointerEXT(cl_kernel kernel, cl_uint arg_index, cl_ulong arg_value) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object.
    Kernel* k = find<Kernel>(kernel);
    if (k == nullptr) return CL_INVALID_KERNEL;
    // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index, or the argument is not a pointer to
    // global memory.
    if (arg_index >= k->argument_count() || k->argument(arg_index).kind != codeobj::ArgKind::global_buffer)
      return CL_INVALID_ARG_INDEX;
    return k->set_svm_pointer(arg_index, reinterpret_cast<const void*>(arg_value));  // NOLINT: an address
  });
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info param_name,
                                       size_t param_value_size, const void* param_value) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object.
    if (find<Kernel>(kernel) == nullptr) return CL_INVALID_KERNEL;
    return Kernel::check_exec_info(param_name, param_value_size, param_value);
  });
}
