// hipRTC: HIP's run-time compiler (AMD's comgr) builds kernels from text, the ROCm door runs them. Saxpy, a template
// by its name expression, and the log of a program that is wrong.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

#define CHECK(call)                                                                            \
  do {                                                                                         \
    if (const auto status = (call); static_cast<int>(status) != 0) {                           \
      std::printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(status));     \
      return false;                                                                            \
    }                                                                                          \
  } while (false)

constexpr const char* kSource = R"(
extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
template <typename T, int kFactor>
__global__ void scale(T* x) {
  x[blockIdx.x * blockDim.x + threadIdx.x] *= kFactor;
}
)";

bool compile(const char* source, const char* name_expression, std::vector<char>& code, std::string& lowered,
             std::string& log, bool& built) {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  const std::string target = std::string("--gpu-architecture=") + properties.gcnArchName;
  const char* options[] = {target.c_str()};
  hiprtcProgram program;
  CHECK(hiprtcCreateProgram(&program, source, "text.hip", 0, nullptr, nullptr));
  if (name_expression != nullptr) CHECK(hiprtcAddNameExpression(program, name_expression));
  built = hiprtcCompileProgram(program, 1, options) == HIPRTC_SUCCESS;
  size_t size;
  CHECK(hiprtcGetProgramLogSize(program, &size));
  log.resize(size);
  if (size != 0) CHECK(hiprtcGetProgramLog(program, log.data()));
  if (built) {
    CHECK(hiprtcGetCodeSize(program, &size));
    code.resize(size);
    CHECK(hiprtcGetCode(program, code.data()));
    const char* name = nullptr;
    if (name_expression != nullptr) CHECK(hiprtcGetLoweredName(program, name_expression, &name));
    if (name != nullptr) lowered = name;
  }
  CHECK(hiprtcDestroyProgram(&program));
  return true;
}

bool runs() {
  std::vector<char> code;
  std::string lowered, log;
  bool built;
  if (!compile(kSource, "scale<double, 3>", code, lowered, log, built)) return false;
  if (!built) return std::printf("not built: %s\n", log.c_str()), false;
  hipModule_t module;
  hipFunction_t saxpy, scale;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&saxpy, module, "saxpy"));
  CHECK(hipModuleGetFunction(&scale, module, lowered.c_str()));

  constexpr unsigned kCount = 100'003, kGroup = 256;
  std::vector<float> x(kCount), y(kCount);
  for (unsigned i = 0; i < kCount; ++i) x[i] = static_cast<float>(i), y[i] = static_cast<float>(i % 7);
  float *device_x, *device_y;
  CHECK(hipMalloc(&device_x, kCount * sizeof(float)));
  CHECK(hipMalloc(&device_y, kCount * sizeof(float)));
  CHECK(hipMemcpy(device_x, x.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(device_y, y.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
  float a = 2;
  unsigned n = kCount;
  void* arguments[] = {&a, &device_x, &device_y, &n};
  CHECK(hipModuleLaunchKernel(saxpy, (kCount + kGroup - 1) / kGroup, 1, 1, kGroup, 1, 1, 0, nullptr, arguments,
                              nullptr));
  std::vector<float> out(kCount);
  CHECK(hipMemcpy(out.data(), device_y, kCount * sizeof(float), hipMemcpyDeviceToHost));
  for (unsigned i = 0; i < kCount; ++i)
    if (out[i] != 2 * x[i] + y[i]) return std::printf("saxpy %u: %g\n", i, static_cast<double>(out[i])), false;

  std::vector<double> z(kGroup);
  for (unsigned i = 0; i < kGroup; ++i) z[i] = i + 0.25;
  double* device_z;
  CHECK(hipMalloc(&device_z, kGroup * sizeof(double)));
  CHECK(hipMemcpy(device_z, z.data(), kGroup * sizeof(double), hipMemcpyHostToDevice));
  void* one[] = {&device_z};
  CHECK(hipModuleLaunchKernel(scale, 1, 1, 1, kGroup, 1, 1, 0, nullptr, one, nullptr));
  std::vector<double> scaled(kGroup);
  CHECK(hipMemcpy(scaled.data(), device_z, kGroup * sizeof(double), hipMemcpyDeviceToHost));
  for (unsigned i = 0; i < kGroup; ++i)
    if (scaled[i] != 3 * z[i]) return std::printf("scale %u: %g\n", i, scaled[i]), false;
  CHECK(hipModuleUnload(module));
  return true;
}

bool says_what_is_wrong() {
  std::vector<char> code;
  std::string lowered, log;
  bool built;
  if (!compile("__global__ void k(int* p) { p[0] = missing; }", nullptr, code, lowered, log, built)) return false;
  if (built || log.find("missing") == std::string::npos) return std::printf("log: '%s'\n", log.c_str()), false;
  return true;
}

}  // namespace

int main() {
  if (!runs() || !says_what_is_wrong()) return 1;
  std::puts("hipRTC: passed");
  return 0;
}
