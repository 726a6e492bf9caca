// The three levels' bitcode of semantics.cpp, embedded in the program at build time.
#pragma once

#include <cstddef>

namespace morgana::device::jit {

struct EmbeddedBitcode {
  const char* data;
  size_t size;
};

// `level`: "base", "avx2" or "avx512".
EmbeddedBitcode embedded_bitcode(const char* level);

}  // namespace morgana::device::jit
