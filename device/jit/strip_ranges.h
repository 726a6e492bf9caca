// Where the lanes of a wave are about to access memory in a strip (translate_strip.cpp). Plain data that
// compiled kernels, their translator and native code (paths.h) agree on.
#pragma once

#include <cstdint>

#include "device/limits.h"

namespace morgana::device::jit {

// The lowest and the highest address of every lane, over the iterations of one strip.
struct alignas(128) StripRange {
  uint64_t low[kLanes], high[kLanes];
};

// Bytes from low + from up to high + to of range number `range`.
struct StripAccess {
  uint32_t range;
  int32_t from, to;
  uint32_t stores;
};

}  // namespace morgana::device::jit
