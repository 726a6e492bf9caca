// needs: cl_khr_work_group_uniform_arithmetic
#ifdef __SPIRV__
#define OP(T, NAME)                                                   \
  T __attribute__((overloadable)) work_group_reduce_##NAME(T);         \
  T __attribute__((overloadable)) work_group_scan_inclusive_##NAME(T); \
  T __attribute__((overloadable)) work_group_scan_exclusive_##NAME(T);
OP(int, mul) OP(uint, mul) OP(ulong, mul) OP(float, mul)
OP(uint, and) OP(uint, or) OP(long, xor)
OP(int, logical_and) OP(int, logical_or) OP(int, logical_xor)
#endif
kernel void uniform_groups(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const uint a = own[0] | 1, b = own[1];
  const long l = (long)own[2] << 9;
  own[0] = work_group_reduce_mul(a) ^ (uint)work_group_reduce_mul((int)b);
  own[1] = (uint)(work_group_scan_inclusive_mul((ulong)a) >> 17);
  own[2] = as_uint(work_group_scan_exclusive_mul((b & 1) != 0 ? 2.0f : -0.5f));
  own[3] = work_group_scan_exclusive_and(b | 0xfffff) ^ work_group_scan_inclusive_or(b & 0x80008);
  own[4] = (uint)(work_group_scan_exclusive_xor(l) >> 9);
  own[5] = (work_group_scan_inclusive_logical_and((int)(b & 7)) != 0) +
           2 * (work_group_scan_exclusive_logical_or((b & 7) == 0) != 0) +
           4 * (work_group_reduce_logical_xor((int)(b & 1)) != 0);
}
