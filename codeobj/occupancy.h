// Occupancy: how many waves of a kernel one SIMD holds at once, and what keeps it from more. The compiler's
// own answer, as `clang -Rpass-analysis=kernel-resource-usage` prints it. Pure.
#pragma once

#include <cstdint>

#include "base/target.h"
#include "codeobj/code_object.h"

namespace morgana::codeobj {

struct WaveResources {
  uint32_t sgprs = 0;  // with VCC, FLAT_SCRATCH and XNACK_MASK
  uint32_t vgprs = 0;  // with AccVGPRs where the file is unified; else the larger of both
  uint32_t lds = 0;    // bytes of a work-group
  WaveSize wave = WaveSize::wave64;
  bool wgp_mode =
      false;  // a work-group has the SIMDs and LDS of both compute units of a pair (gfx10 and later)
  // Sizes of work-groups that it may be launched with.
  uint32_t group_least = 1, group_most = 1024;
};

struct Occupancy {
  uint32_t waves = 0, most = 0;  // of a SIMD; of any kernel
  const char* limiter = "";      // "VGPRs", "SGPRs", "LDS", "the size of work-groups", or "nothing"
};

Occupancy occupancy(Target target, const WaveResources& resources);

// What the kernel's descriptor and metadata say, without dynamic LDS.
WaveResources resources_of(const Kernel& kernel);

}  // namespace morgana::codeobj
