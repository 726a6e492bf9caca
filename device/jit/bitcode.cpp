#include "device/jit/bitcode.h"

// The files are MORGANA_FUNCTIONS_<LEVEL> and MORGANA_TABLES_<LEVEL>, named by the build, which defines
// MORGANA_HAS_<LEVEL> for the levels that it has.
#define EMBED(name, file)                                                                                    \
  __asm__(".section .rodata\n.balign 16\n.globl morgana_" #name "\n.hidden morgana_" #name                   \
          "\nmorgana_" #name ":\n.incbin \"" file "\"\n.globl morgana_" #name "_end\n.hidden morgana_" #name \
          "_end\nmorgana_" #name "_end:\n.previous\n");                                                      \
  extern "C" [[gnu::visibility("hidden")]] const char morgana_##name[], morgana_##name##_end[];
#define EMBED_LEVEL(level, functions, tables) \
  EMBED(functions_##level, functions) EMBED(tables_##level, tables)
#ifdef MORGANA_HAS_BASE
EMBED_LEVEL(base, MORGANA_FUNCTIONS_BASE, MORGANA_TABLES_BASE)
#endif
#ifdef MORGANA_HAS_AVX2
EMBED_LEVEL(avx2, MORGANA_FUNCTIONS_AVX2, MORGANA_TABLES_AVX2)
#endif
#ifdef MORGANA_HAS_AVX512
EMBED_LEVEL(avx512, MORGANA_FUNCTIONS_AVX512, MORGANA_TABLES_AVX512)
#endif

namespace morgana::device::jit {

EmbeddedBitcode embedded_bitcode(HostLevel level) {
#define RANGE(name) {morgana_##name, static_cast<size_t>(morgana_##name##_end - morgana_##name)}
#define CASE(level)                                                               \
  case HostLevel::level: return { RANGE(functions_##level), RANGE(tables_##level) \
    }
  switch (level) {
#ifdef MORGANA_HAS_BASE
    CASE(base);
#endif
#ifdef MORGANA_HAS_AVX2
    CASE(avx2);
#endif
#ifdef MORGANA_HAS_AVX512
    CASE(avx512);
#endif
    default: break;
  }
  return {};  // not in this build: level() never gives it
#undef CASE
#undef RANGE
}

}  // namespace morgana::device::jit
