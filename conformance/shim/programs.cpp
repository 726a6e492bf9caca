// The programs of a program: what their source becomes.
//
// MORGANA_SHIM_SOURCE: a file; a program whose source is the text of MORGANA_SHIM_INSTEAD_OF, another file,
// gets the first one's. MORGANA_SHIM_LEVEL: -O0 or -O2: what is compiled is SPIR-V that Clang makes of the
// source. Where Clang takes no SPIR-V of it the process ends with kNotTaken. FP_CONTRACT is always off.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "conformance/shim/shim.h"

namespace {

using shim::mutex;
using shim::setting;

constexpr int kNotTaken = 77;

std::map<cl_program, std::string> sources;
std::map<cl_program, cl_program> from_il;  // by the program from source, which holds its place

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

cl_program actual(cl_program program) {
  const auto found = from_il.find(program);
  return found == from_il.end() ? program : found->second;
}

// The module that Clang makes of a source.
std::string compile(const std::string& source, const std::string& options) {
  const std::string base = setting("MORGANA_SHIM_LOG") + "." + std::to_string(getpid());
  const std::string text = base + ".cl", module = base + ".spv";
  std::ofstream(text, std::ios::binary) << source;
  std::string standard = options.find("-cl-std=") == std::string::npos ? " -cl-std=CL1.2 " : " ";
  const std::string command = std::string(MORGANA_CLANG) + " --target=spirv64 -w -Xclang -cl-ext=+all " +
                              standard + options + " " + setting("MORGANA_SHIM_LEVEL") + " -c " + text +
                              " -o " + module + " 2>" + base + ".log";
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "%s\n", command.c_str());
    std::_Exit(kNotTaken);
  }
  std::string bytes = contents(module);
  for (const char* end : {".cl", ".spv", ".log"}) unlink((base + end).c_str());
  return bytes;
}

}  // namespace

extern "C" {

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                     const size_t* lengths, cl_int* error) {
  std::string source;
  for (cl_uint i = 0; i < count; ++i)
    source +=
        lengths != nullptr && lengths[i] != 0 ? std::string(strings[i], lengths[i]) : std::string(strings[i]);
  const std::string instead = setting("MORGANA_SHIM_SOURCE");
  if (!instead.empty() && source == contents(setting("MORGANA_SHIM_INSTEAD_OF"))) source = contents(instead);
  // LLVM's SPIR-V contracts to fused multiply-adds, which not all targets have from source.
  source = "#pragma OPENCL FP_CONTRACT OFF\n#line 1\n" + source;
  const char* text = source.c_str();
  cl_program program = NEXT(clCreateProgramWithSource)(context, 1, &text, nullptr, error);
  const std::lock_guard lock(mutex);
  sources[program] = source;
  return program;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                      void (*notify)(cl_program, void*), void* data) {
  const std::lock_guard lock(mutex);
  if (setting("MORGANA_SHIM_LEVEL").empty() || !sources.contains(program))
    return NEXT(clBuildProgram)(program, count, devices, options, notify, data);
  const std::string module = compile(sources[program], options == nullptr ? "" : options);
  cl_context context;
  clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, static_cast<void*>(&context), nullptr);
  cl_int error;
  cl_program made = clCreateProgramWithIL(context, module.data(), module.size(), &error);
  if (error == CL_SUCCESS) error = NEXT(clBuildProgram)(made, count, devices, "", nullptr, nullptr);
  if (error != CL_SUCCESS) {
    std::vector<char> log(1 << 16);
    clGetProgramBuildInfo(made, devices == nullptr ? nullptr : devices[0], CL_PROGRAM_BUILD_LOG, log.size(),
                          log.data(), nullptr);
    std::fprintf(stderr, "from SPIR-V: %d %s\n", error, log.data());
    std::_Exit(1);
  }
  from_il[program] = made;
  if (notify != nullptr) notify(program, data);
  return error;
}

cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* error) {
  const std::lock_guard lock(mutex);
  return NEXT(clCreateKernel)(actual(program), name, error);
}
cl_int clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel* kernels, cl_uint* told) {
  const std::lock_guard lock(mutex);
  return NEXT(clCreateKernelsInProgram)(actual(program), count, kernels, told);
}
cl_int clReleaseProgram(cl_program program) {
  const std::lock_guard lock(mutex);
  if (const auto found = from_il.find(program); found != from_il.end()) {
    NEXT(clReleaseProgram)(found->second);
    from_il.erase(found);
  }
  sources.erase(program);
  return NEXT(clReleaseProgram)(program);
}

}  // extern "C"
