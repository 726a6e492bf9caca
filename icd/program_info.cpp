#include <algorithm>
#include <cstring>

#include "icd/info.h"
#include "icd/program.h"

namespace morgana::icd {
namespace {

// The first successfully built executable among the program's devices, or nullptr.
std::shared_ptr<runtime::Executable> any_executable(const Program& program) {
  for (size_t i = 0; i < program.devices().size(); ++i) {
    Build build = program.build(i);
    if (build.is_executable()) return build.executable;
  }
  return nullptr;
}

// Without those of blocks, which only kernels enqueue.
size_t kernel_count(const runtime::Executable& executable) {
  return static_cast<size_t>(std::ranges::count_if(
      executable.kernels(), [](const runtime::Kernel& kernel) { return !kernel.is_block(); }));
}

std::string kernel_names(const runtime::Executable& executable) {
  std::string names;
  for (const runtime::Kernel& kernel : executable.kernels()) {
    if (kernel.is_block()) continue;
    if (!names.empty()) names += ';';
    names += kernel.name;
  }
  return names;
}

cl_int binary_sizes(const Program& program, const InfoWriter& out) {
  std::vector<size_t> sizes;
  for (size_t i = 0; i < program.devices().size(); ++i)
    sizes.push_back(program.build(i).binary_view().size());
  return out.array<size_t>(sizes);
}

// param_value points to an array of pointers, one per device; NULL entries are skipped.
cl_int binaries(const Program& program, const InfoWriter& out) {
  size_t size = program.devices().size() * sizeof(unsigned char*);
  auto** places = static_cast<unsigned char**>(out.destination());
  if (places != nullptr && out.size() < size) return CL_INVALID_VALUE;
  for (size_t i = 0; places != nullptr && i < program.devices().size(); ++i) {
    Build build = program.build(i);
    if (places[i] != nullptr && build.binary)
      std::memcpy(places[i], build.binary->data(), build.binary->size());
  }
  return out.written(size);
}

cl_int program_info(const Program& program, cl_program_info name, const InfoWriter& out) {
  switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT: return out.value<cl_uint>(program.reference_count());
    case CL_PROGRAM_CONTEXT: return out.value<cl_context>(program.context().handle());
    case CL_PROGRAM_NUM_DEVICES: return out.value<cl_uint>(static_cast<cl_uint>(program.devices().size()));
    case CL_PROGRAM_DEVICES: {
      std::vector<cl_device_id> handles;
      for (const Ref<Device>& device : program.devices()) handles.push_back(device->handle());
      return out.array<cl_device_id>(handles);
    }
    case CL_PROGRAM_SOURCE: return out.string(program.source());
    case CL_PROGRAM_IL: return out.bytes(program.il().data(), program.il().size());
    case CL_PROGRAM_BINARY_SIZES: return binary_sizes(program, out);
    case CL_PROGRAM_BINARIES: return binaries(program, out);
    case CL_PROGRAM_NUM_KERNELS:
    case CL_PROGRAM_KERNEL_NAMES: {
      // CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built program executable for any device.
      auto executable = any_executable(program);
      if (!executable) return CL_INVALID_PROGRAM_EXECUTABLE;
      return name == CL_PROGRAM_NUM_KERNELS ? out.value<size_t>(kernel_count(*executable))
                                            : out.string(kernel_names(*executable));
    }
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT:
      return any_executable(program) ? out.value<cl_bool>(CL_FALSE) : CL_INVALID_PROGRAM_EXECUTABLE;
    // CL_INVALID_VALUE if param_name is not one of the supported values.
    default: return CL_INVALID_VALUE;
  }
}

size_t global_variable_bytes(const Build& build) {
  size_t total = 0;
  if (build.executable)
    for (const runtime::Variable& variable : build.executable->variables()) total += variable.size;
  return total;
}

cl_int build_info(const Build& build, cl_program_build_info name, const InfoWriter& out) {
  switch (name) {
    case CL_PROGRAM_BUILD_STATUS: return out.value<cl_build_status>(build.status);
    case CL_PROGRAM_BUILD_OPTIONS: return out.string(build.options);
    case CL_PROGRAM_BUILD_LOG: return out.string(build.log);
    case CL_PROGRAM_BINARY_TYPE: return out.value<cl_program_binary_type>(build.type);
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: return out.value<size_t>(global_variable_bytes(build));
    // CL_INVALID_VALUE if param_name is not one of the supported values.
    default: return CL_INVALID_VALUE;
  }
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana::icd;

cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info param_name, size_t param_value_size,
                                    void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PROGRAM if program is not a valid program object.
    Program* p = find<Program>(program);
    if (p == nullptr) return CL_INVALID_PROGRAM;
    return program_info(*p, param_name, InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                         cl_program_build_info param_name, size_t param_value_size,
                                         void* param_value, size_t* param_value_size_ret) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PROGRAM if program is not a valid program object.
    Program* p = find<Program>(program);
    if (p == nullptr) return CL_INVALID_PROGRAM;
    // CL_INVALID_DEVICE if device is not in the list of devices associated with program.
    int index = p->index_of(find<Device>(device));
    if (index < 0) return CL_INVALID_DEVICE;
    return build_info(p->build(static_cast<size_t>(index)), param_name,
                      InfoWriter(param_value_size, param_value, param_value_size_ret));
  });
}
