// Native kernels, device-side enqueue and intermediate languages: no device offers them (device_info.cpp
// says so), and each entry point returns what the specification asks for in that case.
#include <mutex>
#include <set>
#include <string>

#include "icd/checks.h"
#include "icd/kernel.h"
#include "icd/program.h"

namespace morgana::icd {
namespace {

// A creating function on a context whose devices all lack the feature. The log says so once for each feature.
template <typename T>
Made<T> unsupported_in(cl_context context, const char* feature) {
  // CL_INVALID_CONTEXT if context is not a valid context.
  if (find<Context>(context) == nullptr) return CL_INVALID_CONTEXT;
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard lock(mutex);
  if (said.insert(feature).second) log(LogLevel::warn, "{} are not supported by any device", feature);
  // CL_INVALID_OPERATION if there are no devices in context that support the feature.
  return CL_INVALID_OPERATION;
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana::icd;

cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue command_queue, void(CL_CALLBACK*)(void*), void*,
                                         size_t, cl_uint, const cl_mem*, const void**, cl_uint,
                                         const cl_event*, cl_event*) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
    if (find_queue(command_queue) == nullptr) return CL_INVALID_COMMAND_QUEUE;
    // CL_INVALID_OPERATION if the device cannot execute the native kernel.
    return CL_INVALID_OPERATION;
  });
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void*, size_t, cl_int* errcode_ret) {
  return api_create<cl_program>(__func__, errcode_ret, [&] {
    return unsupported_in<cl_program>(context, "intermediate language programs");
  });
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program program, cl_uint, size_t, const void*) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PROGRAM if program is not a valid program object, or was not created from an intermediate
    // language.
    if (find<Program>(program) == nullptr) return CL_INVALID_PROGRAM;
    // CL_INVALID_OPERATION if no devices associated with program support intermediate language programs.
    return CL_INVALID_OPERATION;
  });
}

cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program program, void(CL_CALLBACK*)(cl_program, void*),
                                               void*) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_PROGRAM if program is not a valid program object.
    if (find<Program>(program) == nullptr) return CL_INVALID_PROGRAM;
    // CL_INVALID_OPERATION if no devices associated with program support destructors of program scope
    // variables.
    return CL_INVALID_OPERATION;
  });
}
