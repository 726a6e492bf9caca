// Images, samplers, native kernels, device-side enqueue and intermediate languages: no device offers
// them (device_info.cpp says so), and each entry point returns what the specification asks for in that case.
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

// An enqueue function that takes an image: no memory object is one.
cl_int no_image(cl_command_queue command_queue) {
  // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue.
  if (find_queue(command_queue) == nullptr) return CL_INVALID_COMMAND_QUEUE;
  // CL_INVALID_MEM_OBJECT if image is not a valid image object.
  return CL_INVALID_MEM_OBJECT;
}

}  // namespace
}  // namespace morgana::icd

using namespace morgana::icd;

cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags, const cl_image_format*,
                                 const cl_image_desc*, void*, cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] { return unsupported_in<cl_mem>(context, "images"); });
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context, const cl_mem_properties*, cl_mem_flags,
                                               const cl_image_format*, const cl_image_desc*, void*,
                                               cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] { return unsupported_in<cl_mem>(context, "images"); });
}

cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags, const cl_image_format*, size_t, size_t,
                                   size_t, void*, cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] { return unsupported_in<cl_mem>(context, "images"); });
}

cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags, const cl_image_format*, size_t, size_t,
                                   size_t, size_t, size_t, void*, cl_int* errcode_ret) {
  return api_create<cl_mem>(__func__, errcode_ret, [&] { return unsupported_in<cl_mem>(context, "images"); });
}

cl_int CL_API_CALL clGetSupportedImageFormats(cl_context context, cl_mem_flags, cl_mem_object_type image_type,
                                              cl_uint num_entries, cl_image_format* image_formats,
                                              cl_uint* num_image_formats) {
  return api(__func__, [&]() -> cl_int {
    // CL_INVALID_CONTEXT if context is not a valid context.
    if (find<Context>(context) == nullptr) return CL_INVALID_CONTEXT;
    // CL_INVALID_VALUE if image_type is not valid, or num_entries is 0 and image_formats is not NULL.
    if (image_type < CL_MEM_OBJECT_IMAGE2D || image_type > CL_MEM_OBJECT_IMAGE1D_BUFFER)
      return CL_INVALID_VALUE;
    if (num_entries == 0 && image_formats != nullptr) return CL_INVALID_VALUE;
    if (num_image_formats != nullptr) *num_image_formats = 0;
    return CL_SUCCESS;
  });
}

cl_int CL_API_CALL clGetImageInfo(cl_mem, cl_image_info, size_t, void*, size_t*) {
  // CL_INVALID_MEM_OBJECT if image is not a valid image object.
  return api(__func__, []() -> cl_int { return CL_INVALID_MEM_OBJECT; });
}

cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue command_queue, cl_mem, cl_bool, const size_t*,
                                      const size_t*, size_t, size_t, void*, cl_uint, const cl_event*,
                                      cl_event*) {
  return api(__func__, [&] { return no_image(command_queue); });
}

cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue command_queue, cl_mem, cl_bool, const size_t*,
                                       const size_t*, size_t, size_t, const void*, cl_uint, const cl_event*,
                                       cl_event*) {
  return api(__func__, [&] { return no_image(command_queue); });
}

cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue command_queue, cl_mem, const void*, const size_t*,
                                      const size_t*, cl_uint, const cl_event*, cl_event*) {
  return api(__func__, [&] { return no_image(command_queue); });
}

cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue command_queue, cl_mem, cl_mem, const size_t*,
                                      const size_t*, const size_t*, cl_uint, const cl_event*, cl_event*) {
  return api(__func__, [&] { return no_image(command_queue); });
}

cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue command_queue, cl_mem, cl_mem, const size_t*,
                                              const size_t*, size_t, cl_uint, const cl_event*, cl_event*) {
  return api(__func__, [&] { return no_image(command_queue); });
}

cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue command_queue, cl_mem, cl_mem, size_t,
                                              const size_t*, const size_t*, cl_uint, const cl_event*,
                                              cl_event*) {
  return api(__func__, [&] { return no_image(command_queue); });
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue command_queue, cl_mem, cl_bool, cl_map_flags,
                                    const size_t*, const size_t*, size_t*, size_t*, cl_uint, const cl_event*,
                                    cl_event*, cl_int* errcode_ret) {
  return api_create<void*>(__func__, errcode_ret, [&]() -> Made<void*> { return no_image(command_queue); });
}

cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool, cl_addressing_mode, cl_filter_mode,
                                       cl_int* errcode_ret) {
  return api_create<cl_sampler>(__func__, errcode_ret,
                                [&] { return unsupported_in<cl_sampler>(context, "samplers"); });
}

cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context context, const cl_sampler_properties*,
                                                     cl_int* errcode_ret) {
  return api_create<cl_sampler>(__func__, errcode_ret,
                                [&] { return unsupported_in<cl_sampler>(context, "samplers"); });
}

cl_int CL_API_CALL clRetainSampler(cl_sampler) {
  // CL_INVALID_SAMPLER if sampler is not a valid sampler object.
  return api(__func__, []() -> cl_int { return CL_INVALID_SAMPLER; });
}

cl_int CL_API_CALL clReleaseSampler(cl_sampler) {
  // CL_INVALID_SAMPLER if sampler is not a valid sampler object.
  return api(__func__, []() -> cl_int { return CL_INVALID_SAMPLER; });
}

cl_int CL_API_CALL clGetSamplerInfo(cl_sampler, cl_sampler_info, size_t, void*, size_t*) {
  // CL_INVALID_SAMPLER if sampler is not a valid sampler object.
  return api(__func__, []() -> cl_int { return CL_INVALID_SAMPLER; });
}

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
