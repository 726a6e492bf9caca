// Preloaded into an OpenCL program: its programs from source are compiled by Clang to SPIR-V and built from
// that, and what its kernels leave in buffers is written down, so that a run can be compared with one from
// source (programs.py).
//
// MORGANA_IL_LEVEL: -O0 or -O2, or empty to leave the sources as they are. MORGANA_IL_LOG: the file to write:
// a kernel's name and a sum of its buffers, a line for each of the first launches. MORGANA_IL_LAUNCHES: the
// number after which the process ends; 0: never. Where Clang takes no SPIR-V of a source, the process ends
// with kNotTaken.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int kNotTaken = 77;
constexpr unsigned kMostLogged = 64;

std::recursive_mutex mutex;
std::map<cl_program, std::string> sources;
std::map<cl_program, cl_program> from_il;  // by the program from source, which holds its place
std::map<cl_mem, size_t> buffers;
std::map<cl_kernel, std::map<cl_uint, cl_mem>> arguments;
unsigned launches = 0;

template <typename F>
F* next(const char* name, F*) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
#define NEXT(function) next(#function, &function)

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

cl_program actual(cl_program program) {
  const auto found = from_il.find(program);
  return found == from_il.end() ? program : found->second;
}

// The module that Clang makes of a source.
std::string compile(const std::string& source, const std::string& options) {
  const std::string base = setting("MORGANA_IL_LOG") + "." + std::to_string(getpid());
  const std::string text = base + ".cl", module = base + ".spv";
  std::ofstream(text, std::ios::binary) << source;
  std::string standard = options.find("-cl-std=") == std::string::npos ? " -cl-std=CL1.2 " : " ";
  const std::string command = std::string(MORGANA_CLANG) + " --target=spirv64 -w -Xclang -cl-ext=+all " +
                              standard + options + " " + setting("MORGANA_IL_LEVEL") + " -c " + text +
                              " -o " + module + " 2>" + base + ".log";
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "%s\n", command.c_str());
    std::_Exit(kNotTaken);
  }
  std::ifstream file(module, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (const char* end : {".cl", ".spv", ".log"}) unlink((base + end).c_str());
  return bytes;
}

void log_launch(cl_command_queue queue, cl_kernel kernel) {
  if (launches >= kMostLogged) return;
  char name[128] = {};
  clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr);
  uint64_t sum = 14695981039346656037u;
  for (auto [index, buffer] : arguments[kernel]) {
    std::vector<uint8_t> bytes(buffers[buffer]);
    if (clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr) !=
        CL_SUCCESS)
      std::_Exit(1);
    for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, &bytes[i], std::min(sizeof word, bytes.size() - i));
      sum = (sum ^ word) * 1099511628211u;
    }
  }
  static std::FILE* const log = std::fopen(setting("MORGANA_IL_LOG").c_str(), "w");
  std::fprintf(log, "%s %016lx\n", name, sum);
  std::fflush(log);
  ++launches;
  const std::string most = setting("MORGANA_IL_LAUNCHES");
  if (!most.empty() && most != "0" && launches == std::stoul(most)) std::_Exit(0);
}

}  // namespace

extern "C" {

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** strings,
                                     const size_t* lengths, cl_int* error) {
  // LLVM's SPIR-V contracts to fused multiply-adds, which not all targets have from source.
  std::string source = "#pragma OPENCL FP_CONTRACT OFF\n#line 1\n";
  for (cl_uint i = 0; i < count; ++i)
    source +=
        lengths != nullptr && lengths[i] != 0 ? std::string(strings[i], lengths[i]) : std::string(strings[i]);
  const char* text = source.c_str();
  cl_program program = NEXT(clCreateProgramWithSource)(context, 1, &text, nullptr, error);
  const std::lock_guard lock(mutex);
  sources[program] = source;
  return program;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                      void (*notify)(cl_program, void*), void* data) {
  const std::lock_guard lock(mutex);
  if (setting("MORGANA_IL_LEVEL").empty() || !sources.contains(program))
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

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* error) {
  cl_mem buffer = NEXT(clCreateBuffer)(context, flags, size, host, error);
  const std::lock_guard lock(mutex);
  buffers[buffer] = size;
  return buffer;
}
cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  const cl_int error = NEXT(clSetKernelArg)(kernel, index, size, value);
  cl_mem buffer = nullptr;
  if (size == sizeof buffer && value != nullptr) std::memcpy(static_cast<void*>(&buffer), value, size);
  const std::lock_guard lock(mutex);
  arguments[kernel].erase(index);
  if (buffers.contains(buffer)) arguments[kernel][index] = buffer;
  return error;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local, cl_uint count,
                              const cl_event* wait, cl_event* event) {
  const cl_int error =
      NEXT(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count, wait, event);
  const std::lock_guard lock(mutex);
  if (error == CL_SUCCESS) log_launch(queue, kernel);
  return error;
}

}  // extern "C"
