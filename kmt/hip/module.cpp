// A program that knows nothing of HIP, and the module that it loads for itself alone, as Python does: the
// same file, compiled twice.
#ifdef IS_MODULE
#include "kmt/hip/fake_hip.h"

extern "C" __attribute__((visibility("default"))) int act() {
  void* memory = nullptr;
  return hipMalloc(&memory, 64);
}
#else
#include <dlfcn.h>

#include <cstdio>

int main(int, char** arguments) {
  void* const module = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return std::puts(dlerror()), 9;
  return reinterpret_cast<int (*)()>(dlsym(module, "act"))();
}
#endif
