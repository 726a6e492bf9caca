// Preloaded into an OpenCL program that is not to know: gives its kernels another source or SPIR-V of it
// (programs.cpp), and writes down what its launches leave in buffers, so that two runs can be compared
// (launches.cpp).
//
// Settings are variables of the environment, MORGANA_SHIM_*: said where they are read. One lock for all.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string>

namespace shim {

inline std::recursive_mutex mutex;

template <typename F>
F* next(const char* name, F*) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
#define NEXT(function) shim::next(#function, &function)

// Empty: not set.
inline std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace shim
