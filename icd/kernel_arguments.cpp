// The arguments of kernels: clSetKernelArg and its relatives, behind the checks of kernel and index.
#include <algorithm>
#include <array>
#include <cstring>

#include "icd/identity.h"
#include "icd/kernel.h"
#include "icd/queue.h"
#include "icd/sampler.h"

namespace morgana::icd {

using codeobj::ArgKind;

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

cl_int Kernel::set_queue(size_t index, size_t size, const void* value) {
  // CL_INVALID_ARG_SIZE if arg_size does not match the size of the data type.
  if (size != sizeof(cl_command_queue)) return CL_INVALID_ARG_SIZE;
  cl_command_queue handle = nullptr;
  if (value != nullptr) std::memcpy(&handle, value, sizeof handle);
  // CL_INVALID_DEVICE_QUEUE if arg_value is not a valid device queue object.
  const Queue* queue = find_any_queue(handle);
  if (queue == nullptr || !queue->is_on_device() || &queue->context() != &context() ||
      variant(&queue->device()) == nullptr)
    return CL_INVALID_DEVICE_QUEUE;
  const uint64_t address = queue->on_device().queue->address();
  if (cl_int error = store(index, Bytes(&address, sizeof address)); error != CL_SUCCESS) return error;
  queues_[index] = queue->on_device().queue;
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
    case ArgKind::queue: return set_queue(index, size, value);
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

}  // namespace morgana::icd
