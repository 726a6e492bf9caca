// Declarations of cl_khr_async_work_group_copy_fence, cl_khr_extended_async_copies and
// cl_khr_work_group_uniform_arithmetic (OpenCL C 3.1, 6.15.11 and 6.15.17).
#pragma once

namespace morgana::runtime {

inline constexpr char kGroupFunctionsHeader[] = R"(
#define __MORGANA_FN __attribute__((overloadable))
#ifdef cl_khr_async_work_group_copy_fence
void __MORGANA_FN async_work_group_copy_fence(cl_mem_fence_flags);
#endif
#ifdef cl_khr_extended_async_copies
#define __MORGANA_COPIES(TO, FROM)                                                                           \
  event_t __MORGANA_FN async_work_group_copy_2D2D(TO void*, size_t, const FROM void*, size_t, size_t,        \
                                                  size_t, size_t, size_t, size_t, event_t);                  \
  event_t __MORGANA_FN async_work_group_copy_3D3D(TO void*, size_t, const FROM void*, size_t, size_t,        \
                                                  size_t, size_t, size_t, size_t, size_t, size_t, size_t, event_t);
__MORGANA_COPIES(__local, __global)
__MORGANA_COPIES(__global, __local)
#undef __MORGANA_COPIES
#endif
#if defined(cl_khr_work_group_uniform_arithmetic) && (defined(__OPENCL_CPP_VERSION__) || __OPENCL_C_VERSION__ >= 200)
#define __MORGANA_OP(T, OP)                               \
  T __MORGANA_FN work_group_reduce_##OP(T);               \
  T __MORGANA_FN work_group_scan_inclusive_##OP(T);       \
  T __MORGANA_FN work_group_scan_exclusive_##OP(T);
#define __MORGANA_BITS(T) __MORGANA_OP(T, mul) __MORGANA_OP(T, and) __MORGANA_OP(T, or) __MORGANA_OP(T, xor)
__MORGANA_OP(int, logical_and) __MORGANA_OP(int, logical_or) __MORGANA_OP(int, logical_xor)
__MORGANA_BITS(int) __MORGANA_BITS(uint) __MORGANA_BITS(long) __MORGANA_BITS(ulong)
__MORGANA_OP(float, mul)
#ifdef cl_khr_fp64
__MORGANA_OP(double, mul)
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__MORGANA_OP(half, mul)
#pragma OPENCL EXTENSION cl_khr_fp16 : disable
#endif
#undef __MORGANA_BITS
#undef __MORGANA_OP
#endif
#undef __MORGANA_FN
)";

}  // namespace morgana::runtime
