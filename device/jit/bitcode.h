// The three levels' bitcode of semantics.cpp, embedded in the program at build time.
#pragma once

#include <string_view>

namespace morgana::device::jit {

// Two modules: the functions, and the tables of which functions belong to which ops. Apart, because every
// compilation loads the functions, and reading the tables takes as long again.
struct EmbeddedBitcode {
  std::string_view functions, tables;
};

// `level`: "base", "avx2" or "avx512".
EmbeddedBitcode embedded_bitcode(const char* level);

}  // namespace morgana::device::jit
