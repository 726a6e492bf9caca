// best_host_level: asked by the program at its start, and by the build (best_host_level.cpp). Pure; any
// thread.
#pragma once

#include "device/host_level.h"

namespace morgana::device {

// What -march=x86-64-v3 and -v4 assume; __builtin_cpu_supports also asks whether the system saves the
// registers.
inline HostLevel best_host_level() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return HostLevel::avx512;
  return __builtin_cpu_supports("x86-64-v3") ? HostLevel::avx2 : HostLevel::base;
}

}  // namespace morgana::device
