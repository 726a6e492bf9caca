// Declarations of cl_amd_media_ops and cl_amd_media_ops2, which Clang's table of built-in functions lacks:
// the text of a header that every OpenCL C program includes where the extension is offered. Immutable.
#pragma once

namespace morgana::runtime {

inline constexpr char kMediaOpsHeader[] = R"(
#define __MORGANA_FN(R, name, ...) R __attribute__((overloadable, const)) name(__VA_ARGS__);
#define __MORGANA_ALL(F) F() F(2) F(3) F(4) F(8) F(16)
#ifdef cl_amd_media_ops
__MORGANA_FN(uint, amd_pack, float4)
__MORGANA_FN(uint, amd_sad4, uint4, uint4, uint)
#define __MORGANA_U(N)                                        \
  __MORGANA_FN(float##N, amd_unpack0, uint##N)                \
  __MORGANA_FN(float##N, amd_unpack1, uint##N)                \
  __MORGANA_FN(float##N, amd_unpack2, uint##N)                \
  __MORGANA_FN(float##N, amd_unpack3, uint##N)                \
  __MORGANA_FN(uint##N, amd_bitalign, uint##N, uint##N, uint##N)  \
  __MORGANA_FN(uint##N, amd_bytealign, uint##N, uint##N, uint##N) \
  __MORGANA_FN(uint##N, amd_lerp, uint##N, uint##N, uint##N)  \
  __MORGANA_FN(uint##N, amd_sad, uint##N, uint##N, uint##N)   \
  __MORGANA_FN(uint##N, amd_sadhi, uint##N, uint##N, uint##N)
__MORGANA_ALL(__MORGANA_U)
#undef __MORGANA_U
#endif
#ifdef cl_amd_media_ops2
#define __MORGANA_3(T, name) __MORGANA_FN(T, name, T, T, T)
#define __MORGANA_U(N)                                        \
  __MORGANA_3(uint##N, amd_msad)                              \
  __MORGANA_3(uint##N, amd_sadd)                              \
  __MORGANA_3(uint##N, amd_sadw)                              \
  __MORGANA_FN(ulong##N, amd_qsad, ulong##N, uint##N, ulong##N)  \
  __MORGANA_FN(ulong##N, amd_mqsad, ulong##N, uint##N, ulong##N) \
  __MORGANA_FN(uint##N, amd_bfm, uint##N, uint##N)            \
  __MORGANA_3(uint##N, amd_bfe)                               \
  __MORGANA_FN(int##N, amd_bfe, int##N, uint##N, uint##N)     \
  __MORGANA_3(float##N, amd_min3) __MORGANA_3(int##N, amd_min3) __MORGANA_3(uint##N, amd_min3)          \
  __MORGANA_3(float##N, amd_max3) __MORGANA_3(int##N, amd_max3) __MORGANA_3(uint##N, amd_max3)          \
  __MORGANA_3(float##N, amd_median3) __MORGANA_3(int##N, amd_median3) __MORGANA_3(uint##N, amd_median3)
__MORGANA_ALL(__MORGANA_U)
#undef __MORGANA_U
#undef __MORGANA_3
#endif
#undef __MORGANA_ALL
#undef __MORGANA_FN
)";

}  // namespace morgana::runtime
