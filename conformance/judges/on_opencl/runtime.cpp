// The host's half of hip/hip_runtime.h over OpenCL: kernels come from the code object that JUDGE_CODE
// names, and allocations are buffers with a device address.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

struct dim3 {
  unsigned x, y, z;
};
enum Error { success, no_memory = 2, launch_failed = 719 };

namespace {

using SetPointer = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, cl_ulong);

struct Call {
  dim3 grid, group;
  size_t shared;
};
std::map<const void*, std::string>& names() {
  static std::map<const void*, std::string> of_stubs;
  return of_stubs;
}
std::map<void*, cl_mem> buffers;
Call call;
Error last = success;

struct Device {
  cl_platform_id platform;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  SetPointer set_pointer;

  Device() {
    cl_int error;
    check(clGetPlatformIDs(1, &platform, nullptr), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr), "device");
    context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &error);
    check(error, "context");
    queue = clCreateCommandQueueWithProperties(context, id, nullptr, &error);
    check(error, "queue");
    std::ifstream file(std::getenv("JUDGE_CODE"), std::ios::binary);
    const std::vector<char> code((std::istreambuf_iterator<char>(file)), {});
    const size_t size = code.size();
    const auto* bytes = reinterpret_cast<const unsigned char*>(code.data());
    program = clCreateProgramWithBinary(context, 1, &id, &size, &bytes, nullptr, &error);
    check(error, "code");
    check(clBuildProgram(program, 1, &id, nullptr, nullptr, nullptr), "build");
    set_pointer = reinterpret_cast<SetPointer>(
        clGetExtensionFunctionAddressForPlatform(platform, "clSetKernelArgDevicePointerEXT"));
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
  }
  static void check(cl_int error, const char* what) {
    if (error == CL_SUCCESS) return;
    std::fprintf(stderr, "%s: OpenCL error %d\n", what, error);
    std::_Exit(99);
  }
};
Device& device() {
  static Device one;
  return one;
}

}  // namespace

extern "C" {

Error hipMalloc(void** to, size_t bytes) {
  constexpr cl_mem_properties wanted[] = {0x5000, CL_TRUE, 0};  // CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT
  cl_int error;
  cl_mem buffer =
      clCreateBufferWithProperties(device().context, wanted, CL_MEM_READ_WRITE, bytes, nullptr, &error);
  if (error != CL_SUCCESS) return last = no_memory;
  cl_ulong address = 0;
  Device::check(clGetMemObjectInfo(buffer, 0x5001, sizeof address, &address, nullptr), "address");
  *to = reinterpret_cast<void*>(address);
  buffers[*to] = buffer;
  return success;
}
Error hipFree(void* at) {
  clReleaseMemObject(buffers.at(at));
  buffers.erase(at);
  return success;
}
Error hipMemset(void* at, int value, size_t bytes) {
  const auto byte = static_cast<unsigned char>(value);
  Device::check(clEnqueueFillBuffer(device().queue, buffers.at(at), &byte, 1, 0, bytes, 0, nullptr, nullptr),
                "fill");
  return success;
}
Error hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  const bool writes = kind == 1;
  cl_command_queue queue = device().queue;
  Device::check(
      writes ? clEnqueueWriteBuffer(queue, buffers.at(to), CL_TRUE, 0, bytes, from, 0, nullptr, nullptr)
             : clEnqueueReadBuffer(queue, buffers.at(const_cast<void*>(from)), CL_TRUE, 0, bytes, to, 0,
                                   nullptr, nullptr),
      "copy");
  return success;
}
Error hipDeviceSynchronize() { return clFinish(device().queue) == CL_SUCCESS ? last : last = launch_failed; }
Error hipPeekAtLastError() { return last; }
const char* hipGetErrorString(Error error) { return error == success ? "no error" : "error"; }

unsigned __hipPushCallConfiguration(dim3 grid, dim3 group, size_t shared, void*) {
  call = {grid, group, shared};
  return 0;
}
Error __hipPopCallConfiguration(dim3* grid, dim3* group, size_t* shared, void** stream) {
  *grid = call.grid, *group = call.group, *shared = call.shared, *stream = nullptr;
  return success;
}
Error hipLaunchKernel(const void* stub, dim3 grid, dim3 group, void** arguments, size_t shared, void*) {
  cl_int error = shared == 0 ? CL_SUCCESS : CL_INVALID_VALUE;
  Device::check(error, "LDS that no argument points to");
  cl_kernel kernel = clCreateKernel(device().program, names().at(stub).c_str(), &error);
  Device::check(error, "kernel");
  cl_uint count = 0;
  clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  for (cl_uint i = 0; i < count; i++) {
    if (device().set_pointer(kernel, i, *static_cast<cl_ulong*>(arguments[i])) == CL_SUCCESS) continue;
    for (const size_t size : {4, 8, 1, 2})
      if ((error = clSetKernelArg(kernel, i, size, arguments[i])) == CL_SUCCESS) break;
    Device::check(error, "argument");
  }
  const size_t items = size_t{grid.x} * group.x, of_group = group.x;
  error = clEnqueueNDRangeKernel(device().queue, kernel, 1, nullptr, &items, &of_group, 0, nullptr, nullptr);
  clReleaseKernel(kernel);
  return error == CL_SUCCESS ? success : last = launch_failed;
}

// What the compiler asks for of the host's half of a program.
extern const char __hip_fatbin;
const char __hip_fatbin = 0;
void** __hipRegisterFatBinary(const void*) {
  static void* handle;
  return &handle;
}
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterFunction(void**, const void* stub, char*, const char* name, unsigned, void*, void*, void*,
                           void*, int*) {
  names()[stub] = name;
}
void __hipRegisterVar(void**, void*, char*, const char*, int, size_t, int, int) {}

}  // extern "C"
