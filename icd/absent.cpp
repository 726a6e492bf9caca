// Native kernels and destructors of program-scope variables: no device offers them (device_info.cpp says so),
// and each entry point returns what the specification asks for in that case.
#include "icd/checks.h"
#include "icd/program.h"

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
