#include "device/jit/bitcode.h"

// The files are MORGANA_FUNCTIONS_<LEVEL> and MORGANA_TABLES_<LEVEL>, named by the build.
#define EMBED(name, file)                                                                                    \
  __asm__(".section .rodata\n.balign 16\n.globl morgana_" #name "\n.hidden morgana_" #name                   \
          "\nmorgana_" #name ":\n.incbin \"" file "\"\n.globl morgana_" #name "_end\n.hidden morgana_" #name \
          "_end\nmorgana_" #name "_end:\n.previous\n");                                                      \
  extern "C" [[gnu::visibility("hidden")]] const char morgana_##name[], morgana_##name##_end[];
EMBED(functions_base, MORGANA_FUNCTIONS_BASE)
EMBED(functions_avx2, MORGANA_FUNCTIONS_AVX2)
EMBED(functions_avx512, MORGANA_FUNCTIONS_AVX512)
EMBED(tables_base, MORGANA_TABLES_BASE)
EMBED(tables_avx2, MORGANA_TABLES_AVX2)
EMBED(tables_avx512, MORGANA_TABLES_AVX512)

namespace morgana::device::jit {

EmbeddedBitcode embedded_bitcode(HostLevel level) {
#define RANGE(name)                                                            \
  {                                                                            \
    morgana_##name, static_cast<size_t>(morgana_##name##_end - morgana_##name) \
  }
  switch (level) {
    case HostLevel::avx512: return {RANGE(functions_avx512), RANGE(tables_avx512)};
    case HostLevel::avx2: return {RANGE(functions_avx2), RANGE(tables_avx2)};
    case HostLevel::base: break;
  }
  return {RANGE(functions_base), RANGE(tables_base)};
#undef RANGE
}

}  // namespace morgana::device::jit
