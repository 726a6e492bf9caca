// The levels' bitcode of semantics.cpp, embedded in the program at build time.
#pragma once

#include <string_view>

#include "device/host_level.h"

namespace morgana::device::jit {

// Two modules: the functions, and the tables of which functions belong to which ops. Apart, because every
// compilation loads the functions, and reading the tables takes as long again.
struct EmbeddedBitcode {
  std::string_view functions, tables;
};

// Empty for a level that is not in this build.
EmbeddedBitcode embedded_bitcode(HostLevel level);

}  // namespace morgana::device::jit
