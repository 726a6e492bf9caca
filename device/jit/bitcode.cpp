#include "device/jit/bitcode.h"

#include <cstring>

// The files are MORGANA_BITCODE_<LEVEL>, named by the build.
#define EMBED(level, file)                                                                                   \
  __asm__(".section .rodata\n.balign 16\n.globl morgana_bitcode_" #level "\n.hidden morgana_bitcode_" #level \
          "\nmorgana_bitcode_" #level ":\n.incbin \"" file "\"\n.globl morgana_bitcode_" #level              \
          "_end\n.hidden morgana_bitcode_" #level "_end\nmorgana_bitcode_" #level "_end:\n.previous\n");     \
  extern "C" [[gnu::visibility("hidden")]] const char morgana_bitcode_##level[],                             \
      morgana_bitcode_##level##_end[];
EMBED(base, MORGANA_BITCODE_BASE)
EMBED(avx2, MORGANA_BITCODE_AVX2)
EMBED(avx512, MORGANA_BITCODE_AVX512)

namespace morgana::device::jit {

EmbeddedBitcode embedded_bitcode(const char* level) {
#define CHOOSE(name)                  \
  if (std::strcmp(level, #name) == 0) \
    return {morgana_bitcode_##name,   \
            static_cast<size_t>(morgana_bitcode_##name##_end - morgana_bitcode_##name)};
  CHOOSE(avx512)
  CHOOSE(avx2)
  CHOOSE(base)
#undef CHOOSE
  return {nullptr, 0};
}

}  // namespace morgana::device::jit
