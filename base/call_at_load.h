// For tests of what other threads do while a library's constructor, and with it the loader, waits for them.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <cstdint>
#include <string>

namespace morgana {

// Calls `function` under the loader's lock. Once in a process. False: the library is not there.
inline bool call_at_load(void (*function)()) {
  setenv("MORGANA_TEST_AT_LOAD", std::to_string(reinterpret_cast<uintptr_t>(function)).c_str(), 1);
  return dlopen(MORGANA_BINARY_DIR "/lib/libcall_at_load.so", RTLD_NOW) != nullptr;
}

}  // namespace morgana
