#include "tools/morgana/program.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <dlfcn.h>

#include <cstdlib>

#include "base/bytes.h"
#include "base/file.h"
#include "runtime/compiler/spirv/spirv.h"
#include "tools/morgana/doors.h"

namespace morgana::tools {
namespace {

// Through the library, so that this program needs no compiler of its own.
Result<std::vector<uint8_t>> build(const std::vector<uint8_t>& module, const std::string& target) {
  MORGANA_TRY(const Doors doors, find_doors());
  setenv("MORGANA_DEVICES", target.c_str(), 1);
  void* const library = dlopen(doors.opencl.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return make_error(ErrorCode::not_found, "{}", dlerror());
  using GetPlatforms = cl_int(cl_uint, cl_platform_id*, cl_uint*);
  auto* const platforms = reinterpret_cast<GetPlatforms*>(dlsym(library, "clIcdGetPlatformIDsKHR"));
  cl_platform_id platform = nullptr;
  if (platforms == nullptr || platforms(1, &platform, nullptr) != CL_SUCCESS)
    return make_error(ErrorCode::internal, "{} has no platform", doors.opencl);
  // As a loader calls them: objects begin with a table of entry points (cl_khr_icd).
  const auto& table = **reinterpret_cast<const cl_icd_dispatch* const*>(platform);
#define ENTRY(name) auto* const name##_ = table.name
  ENTRY(clGetDeviceIDs);
  ENTRY(clCreateContext);
  ENTRY(clCreateProgramWithIL);
  ENTRY(clBuildProgram);
  ENTRY(clGetProgramBuildInfo);
  ENTRY(clGetProgramInfo);
#undef ENTRY
  cl_int error = 0;
  cl_device_id device = nullptr;
  if (clGetDeviceIDs_(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS)
    return make_error(ErrorCode::invalid_argument, "no target '{}'", target);
  cl_context context = clCreateContext_(nullptr, 1, &device, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) return make_error(ErrorCode::internal, "no context can be made");
  cl_program program = clCreateProgramWithIL_(context, module.data(), module.size(), &error);
  if (error != CL_SUCCESS) return make_error(ErrorCode::malformed, "the SPIR-V is not valid");
  if (clBuildProgram_(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS) {
    size_t size = 0;
    clGetProgramBuildInfo_(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo_(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    return make_error(ErrorCode::build_failed, "{}", log.c_str());
  }
  size_t size = 0;
  clGetProgramInfo_(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  std::vector<uint8_t> object(size);
  uint8_t* place = object.data();
  if (clGetProgramInfo_(program, CL_PROGRAM_BINARIES, sizeof place, static_cast<void*>(&place), nullptr) !=
      CL_SUCCESS)
    return make_error(ErrorCode::internal, "the program has no binary");
  return object;
}

}  // namespace

Result<std::vector<uint8_t>> read_program(const std::string& path, const std::string& target) {
  MORGANA_TRY(std::vector<uint8_t> bytes, read_file(path));
  if (!runtime::is_spirv(Bytes(bytes).text())) return bytes;
  if (target.empty())
    return make_error(ErrorCode::invalid_argument, "{} is SPIR-V, which is built for a target: name one",
                      path);
  auto built = build(bytes, target);
  if (!built.ok()) return built.error().in(path);
  return built;
}

}  // namespace morgana::tools
