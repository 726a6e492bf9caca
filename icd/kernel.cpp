#include "icd/kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "icd/entries.h"
#include "icd/identity.h"
#include "icd/info.h"
#include "icd/sampler.h"

namespace morgana::icd {

using codeobj::ArgKind;

Kernel::Kernel(Program& program, std::vector<Variant> variants)
    : program_(&program), variants_(std::move(variants)), memory_(variants_.front().arguments.count()) {
  program_->attach_kernel();
}

Kernel::Kernel(const Kernel& other)
    : program_(other.program_), variants_(other.variants_), memory_(other.memory_) {
  program_->attach_kernel();
}

Kernel::~Kernel() { program_->detach_kernel(); }

const Kernel::Variant* Kernel::variant(const Device* device) const {
  for (const Variant& variant : variants_)
    if (variant.device.get() == device) return &variant;
  return nullptr;
}

cl_int Kernel::store(Variant& variant, size_t index, Bytes value) {
  Status status = variant.arguments.set(index, value);
  if (status.ok()) return CL_SUCCESS;
  // A code object whose metadata gives a pointer or an image another size than it has.
  log(LogLevel::warn, "kernel '{}': {}", name(), status.error().message);
  return CL_INVALID_ARG_SIZE;
}

cl_int Kernel::store(size_t index, Bytes value) {
  for (Variant& variant : variants_)
    if (cl_int error = store(variant, index, value); error != CL_SUCCESS) return error;
  return CL_SUCCESS;
}

namespace {

// Whether the image is what a parameter of that type takes ("image2d_depth_t"); a name that is none of
// OpenCL's, a typedef's, tells nothing.
bool fits_type(const Image& image, std::string_view type) {
  struct Row {
    std::string_view name;
    cl_mem_object_type type;
    bool depth;
  };
  static constexpr Row kRows[] = {
      {"image1d_t", CL_MEM_OBJECT_IMAGE1D, false},
      {"image1d_array_t", CL_MEM_OBJECT_IMAGE1D_ARRAY, false},
      {"image1d_buffer_t", CL_MEM_OBJECT_IMAGE1D_BUFFER, false},
      {"image2d_t", CL_MEM_OBJECT_IMAGE2D, false},
      {"image2d_array_t", CL_MEM_OBJECT_IMAGE2D_ARRAY, false},
      {"image2d_depth_t", CL_MEM_OBJECT_IMAGE2D, true},
      {"image2d_array_depth_t", CL_MEM_OBJECT_IMAGE2D_ARRAY, true},
      {"image3d_t", CL_MEM_OBJECT_IMAGE3D, false},
  };
  if (type.find("_msaa_") != type.npos) return false;  // no image has several samples
  for (const Row& row : kRows)
    if (type == row.name)
      return image.type() == row.type && (!row.depth || image.format().image_channel_order == CL_DEPTH);
  return true;
}

constexpr uint32_t kLargestVectorOfThree = 32;

// By its type's name, which may also be that of a structure ("mat3").
bool is_vector_of_three(const codeobj::KernelArg& arg) {
  static constexpr std::string_view kTypes[] = {"char3", "uchar3", "short3", "ushort3", "int3",   "uint3",
                                                "long3", "ulong3", "half3",  "float3",  "double3"};
  return arg.size <= kLargestVectorOfThree &&
         std::find(std::begin(kTypes), std::end(kTypes), arg.type_name) != std::end(kTypes);
}

bool fits_access(const Mem& image, codeobj::Access access) {
  switch (access) {
    case codeobj::Access::write_only: return (image.flags() & (CL_MEM_READ_ONLY | kMemImmutable)) == 0;
    case codeobj::Access::read_write:
      return (image.flags() & (CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | kMemImmutable)) == 0;
    default: return (image.flags() & CL_MEM_WRITE_ONLY) == 0;
  }
}

}  // namespace

cl_int Kernel::set_image(size_t index, size_t size, const void* value) {
  // CL_INVALID_ARG_SIZE if the argument is a memory object and arg_size is not sizeof(cl_mem).
  if (size != sizeof(cl_mem)) return CL_INVALID_ARG_SIZE;
  cl_mem handle = nullptr;
  if (value != nullptr) std::memcpy(&handle, value, sizeof handle);
  // CL_INVALID_CONTEXT if the object belongs to another context than the kernel.
  const codeobj::KernelArg& arg = argument(index);
  Mem* mem = find<Mem>(handle);
  if (mem != nullptr && &mem->context() != &context()) return CL_INVALID_CONTEXT;
  // CL_INVALID_MEM_OBJECT if arg_value is not a valid memory object, or not valid for the argument.
  if (mem == nullptr || !mem->is_image() || !fits_type(mem->image(), arg.type_name))
    return CL_INVALID_MEM_OBJECT;
  // CL_INVALID_ARG_VALUE if the image's flags forbid what the argument's access qualifier asks for.
  if (!fits_access(*mem, arg.access)) return CL_INVALID_ARG_VALUE;
  for (Variant& variant : variants_) {
    const uint64_t record = mem->image().record(variant.device->target());
    if (cl_int error = store(variant, index, Bytes(&record, sizeof record)); error != CL_SUCCESS)
      return error;
  }
  memory_[index] = {mem, mem->serial()};
  return CL_SUCCESS;
}

cl_int Kernel::set_sampler(size_t index, size_t size, const void* value) {
  // CL_INVALID_ARG_SIZE if arg_size is not sizeof(cl_sampler) and the argument is a sampler.
  if (size != sizeof(cl_sampler)) return CL_INVALID_ARG_SIZE;
  cl_sampler handle = nullptr;
  if (value != nullptr) std::memcpy(&handle, value, sizeof handle);
  // CL_INVALID_SAMPLER if arg_value is not a valid sampler object.
  const Sampler* sampler = find<Sampler>(handle);
  if (sampler == nullptr) return CL_INVALID_SAMPLER;
  // CL_INVALID_CONTEXT if the object belongs to another context than the kernel.
  if (&sampler->context() != &context()) return CL_INVALID_CONTEXT;
  for (Variant& variant : variants_) {
    const uint64_t record = sampler->record(variant.device->target());
    if (cl_int error = store(variant, index, Bytes(&record, sizeof record)); error != CL_SUCCESS)
      return error;
  }
  return CL_SUCCESS;
}

cl_int Kernel::set_argument(size_t index, size_t size, const void* value) {
  const codeobj::KernelArg& arg = argument(index);
  std::lock_guard lock(mutex_);
  switch (arg.kind) {
    case ArgKind::dynamic_shared_pointer:
      // CL_INVALID_ARG_VALUE if arg_value is not NULL for an argument declared with __local.
      if (value != nullptr) return CL_INVALID_ARG_VALUE;
      // CL_INVALID_ARG_SIZE if arg_size is zero for an argument declared with __local, before OpenCL 3.1.
      if ((size == 0 && !is_at_least(CL_MAKE_VERSION(3, 1, 0))) || size > UINT32_MAX)
        return CL_INVALID_ARG_SIZE;
      for (Variant& variant : variants_)
        if (!variant.arguments.set_local(index, static_cast<uint32_t>(size)).ok())
          return CL_INVALID_ARG_VALUE;
      return CL_SUCCESS;
    case ArgKind::pipe:
    case ArgKind::global_buffer: {
      // CL_INVALID_ARG_SIZE if the argument is a memory object and arg_size is not sizeof(cl_mem).
      if (size != sizeof(cl_mem)) return CL_INVALID_ARG_SIZE;
      cl_mem handle = nullptr;
      if (value != nullptr) std::memcpy(&handle, value, sizeof handle);
      // CL_INVALID_MEM_OBJECT if the argument is a pipe and there is none.
      if (handle == nullptr && arg.kind == ArgKind::pipe) return CL_INVALID_MEM_OBJECT;
      uint64_t address = 0;
      MemoryArgument buffer;
      if (handle != nullptr) {
        // CL_INVALID_CONTEXT if the object belongs to another context than the kernel.
        Mem* mem = find<Mem>(handle);
        if (mem != nullptr && &mem->context() != &context()) return CL_INVALID_CONTEXT;
        // CL_INVALID_MEM_OBJECT if arg_value is not a valid memory object, or not valid for the argument.
        if (mem == nullptr || mem->is_image() || mem->is_pipe() != (arg.kind == ArgKind::pipe))
          return CL_INVALID_MEM_OBJECT;
        // CL_INVALID_ARG_VALUE if the buffer is immutable and the argument points to what is not const.
        const bool may_write = !arg.is_const && arg.address_space != codeobj::AddressSpace::constant;
        if ((mem->flags() & kMemImmutable) != 0 && may_write) return CL_INVALID_ARG_VALUE;
        buffer = {mem, mem->serial()};
        address = reinterpret_cast<uint64_t>(mem->data());
      }
      if (cl_int error = store(index, Bytes(&address, sizeof address)); error != CL_SUCCESS) return error;
      memory_[index] = buffer;
      return CL_SUCCESS;
    }
    case ArgKind::image: return set_image(index, size, value);
    case ArgKind::sampler: return set_sampler(index, size, value);
    // No queue of a device can exist.
    case ArgKind::queue: return CL_INVALID_DEVICE_QUEUE;
    default:
      // CL_INVALID_ARG_VALUE if arg_value is not a valid value.
      if (value == nullptr) return CL_INVALID_ARG_VALUE;
      // CL_INVALID_ARG_SIZE if arg_size does not match the size of the data type.
      if (size == arg.size) return store(index, Bytes(value, size));
      if (is_vector_of_three(arg) && size * 4 == size_t{arg.size} * 3) {
        // Programs give vectors of three without the fourth element that pads them.
        std::array<uint8_t, kLargestVectorOfThree> padded{};
        std::memcpy(padded.data(), value, size);
        return store(index, Bytes(padded.data(), arg.size));
      }
      return CL_INVALID_ARG_SIZE;
  }
}

cl_int Kernel::set_svm_pointer(size_t index, const void* pointer) {
  // CL_INVALID_ARG_VALUE if the argument is not a pointer to global or constant memory.
  if (argument(index).kind != ArgKind::global_buffer) return CL_INVALID_ARG_VALUE;
  auto address = reinterpret_cast<uint64_t>(pointer);
  std::lock_guard lock(mutex_);
  if (cl_int error = store(index, Bytes(&address, sizeof address)); error != CL_SUCCESS) return error;
  memory_[index] = {};
  return CL_SUCCESS;
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

cl_int Kernel::hold_memory(std::vector<Ref<Mem>>& memory) const {
  for (const MemoryArgument& argument : memory_) {
    if (argument.mem == nullptr) continue;
    if (find<Mem>(argument.mem->handle()) == nullptr || argument.mem->serial() != argument.serial)
      return CL_INVALID_KERNEL_ARGS;
    memory.emplace_back(argument.mem);
  }
  return CL_SUCCESS;
}

cl_int Kernel::make_dispatch(const Variant& variant, const runtime::Geometry& geometry,
                             std::unique_ptr<runtime::Dispatch>& dispatch, std::vector<Ref<Mem>>& memory) {
  std::lock_guard lock(mutex_);
  if (cl_int error = hold_memory(memory); error != CL_SUCCESS) return error;
  auto made = runtime::Dispatch::create(variant.executable, *variant.kernel, variant.arguments, geometry);
  if (!made.ok()) {
    log(LogLevel::info, "kernel '{}': {}", name(), made.error().message);
    return CL_OUT_OF_RESOURCES;
  }
  dispatch = std::move(made).value();
  return CL_SUCCESS;
}

cl_int Kernel::check_exec_info(cl_kernel_exec_info name, size_t size, const void* value) {
  // CL_INVALID_VALUE if param_name is not valid, param_value is NULL, or its size is not valid; an empty list
  // of pointers takes an earlier one back.
  switch (name) {
    case CL_KERNEL_EXEC_INFO_SVM_PTRS:
    case kExecInfoDevicePointers:
      if (value == nullptr && size == 0) return CL_SUCCESS;
      return value == nullptr || size == 0 || size % sizeof(void*) != 0 ? CL_INVALID_VALUE : CL_SUCCESS;
    case CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
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
    if (kernel == nullptr) continue;
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
      if (std::find(names.begin(), names.end(), kernel.name) == names.end()) names.push_back(kernel.name);
  }
  return names;
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
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_KERNEL if kernel is not a valid kernel object.
    Kernel* k = find<Kernel>(kernel);
    if (k == nullptr) return CL_INVALID_KERNEL;
    // CL_INVALID_ARG_INDEX if arg_index is not a valid argument index.
    if (arg_index >= k->argument_count()) return CL_INVALID_ARG_INDEX;
    return k->set_svm_pointer(arg_index, arg_value);
  });
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
