// The frame of every entry point: OpenCL headers, tracing, out-of-memory and the error pointer.
//
// An entry point is `return api(__func__, [&]() -> cl_int { ... })`, or api_create for those that return an
// object and take errcode_ret. Nothing thrown inside leaves the library. Callable from any thread.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_icd.h>

#include <new>

#include "base/log.h"

// The few symbols that a loader looks up by name; everything else stays inside the library.
#define MORGANA_EXPORT __attribute__((visibility("default")))

namespace morgana::icd {

const char* error_name(cl_int code);

inline void trace(const char* function, cl_int code) {
  if (log_enabled(LogLevel::debug)) [[unlikely]]
    log_direct(LogLevel::debug, fmt::format("{} -> {}", function, error_name(code)));
}

// Runs the body of an entry point that returns an error code.
template <typename Body>
cl_int api(const char* function, Body&& body) noexcept {
  cl_int code;
  try {
    code = body();
  } catch (const std::bad_alloc&) {
    code = CL_OUT_OF_HOST_MEMORY;
  } catch (...) {
    log(LogLevel::error, "{}: an exception reached the API boundary", function);
    code = CL_OUT_OF_RESOURCES;
  }
  trace(function, code);
  return code;
}

// What a creating entry point yields: a value, or the error that takes its place.
template <typename T>
struct Made {
  T value{};
  cl_int code = CL_SUCCESS;
  Made(T made) : value(made) {}        // NOLINT: implicit by design
  Made(cl_int error) : code(error) {}  // NOLINT
  // clLinkProgram: a program that carries the log of its failure.
  Made(T made, cl_int error) : value(made), code(error) {}
};

// Runs the body (returning Made<T>) of an entry point that returns a T and reports through errcode_ret.
template <typename T, typename Body>
T api_create(const char* function, cl_int* errcode_ret, Body&& body) noexcept {
  Made<T> made(CL_OUT_OF_HOST_MEMORY);
  try {
    made = body();
  } catch (const std::bad_alloc&) {
    made = Made<T>(CL_OUT_OF_HOST_MEMORY);
  } catch (...) {
    log(LogLevel::error, "{}: an exception reached the API boundary", function);
    made = Made<T>(CL_OUT_OF_RESOURCES);
  }
  trace(function, made.code);
  if (errcode_ret != nullptr) *errcode_ret = made.code;
  return made.value;
}

}  // namespace morgana::icd
