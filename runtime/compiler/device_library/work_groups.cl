// cl_khr_work_group_uniform_arithmetic (OpenCL C 3.1, 6.15.17): scans and reductions of a work-group that AMD's
// library lacks. Each sub-group reduces its own values; the results meet in the memory that AMD's functions use, which
// has a ulong for each sub-group.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef unsigned int uint;
typedef unsigned long ulong;

#define OVERLOADED __attribute__((overloadable))

local ulong* __get_scratch_lds(void);
void OVERLOADED work_group_barrier(uint);
uint OVERLOADED get_sub_group_id(void);
uint OVERLOADED get_num_sub_groups(void);
int OVERLOADED sub_group_elect(void);

#define LOCAL_MEMORY 1u  // CLK_LOCAL_MEM_FENCE

#define UNIFORM(T, OP, COMBINED, IDENTITY)                                                                     \
  T OVERLOADED sub_group_non_uniform_reduce_##OP(T);                                                           \
  T OVERLOADED sub_group_non_uniform_scan_inclusive_##OP(T);                                                   \
  T OVERLOADED sub_group_non_uniform_scan_exclusive_##OP(T);                                                   \
  /* What the sub-groups before `end` give together; that of the caller gives `own`. */                        \
  static T OVERLOADED gather_##OP(T own, uint end) {                                                           \
    local T* shared = (local T*)__get_scratch_lds();                                                           \
    if (sub_group_elect()) shared[get_sub_group_id()] = own;                                                   \
    work_group_barrier(LOCAL_MEMORY);                                                                          \
    T a = (T)(IDENTITY);                                                                                       \
    for (uint i = 0; i < end; ++i) {                                                                           \
      T b = shared[i];                                                                                         \
      a = (T)(COMBINED);                                                                                       \
    }                                                                                                          \
    work_group_barrier(LOCAL_MEMORY);                                                                          \
    return a;                                                                                                  \
  }                                                                                                            \
  T OVERLOADED work_group_reduce_##OP(T x) {                                                                   \
    return gather_##OP(sub_group_non_uniform_reduce_##OP(x), get_num_sub_groups());                            \
  }                                                                                                            \
  T OVERLOADED work_group_scan_inclusive_##OP(T x) {                                                           \
    T a = gather_##OP(sub_group_non_uniform_reduce_##OP(x), get_sub_group_id());                               \
    T b = sub_group_non_uniform_scan_inclusive_##OP(x);                                                        \
    return (T)(COMBINED);                                                                                      \
  }                                                                                                            \
  T OVERLOADED work_group_scan_exclusive_##OP(T x) {                                                           \
    T a = gather_##OP(sub_group_non_uniform_reduce_##OP(x), get_sub_group_id());                               \
    T b = sub_group_non_uniform_scan_exclusive_##OP(x);                                                        \
    return (T)(COMBINED);                                                                                      \
  }

#define REAL(T) UNIFORM(T, mul, a* b, 1)
#define INTEGER(T)               \
  UNIFORM(T, mul, a* b, 1)       \
  UNIFORM(T, and, a & b, ~(T)0)  \
  UNIFORM(T, or, a | b, 0)       \
  UNIFORM(T, xor, a ^ b, 0)

INTEGER(int)
INTEGER(uint)
INTEGER(long)
INTEGER(ulong)
REAL(half)
REAL(float)
REAL(double)
UNIFORM(int, logical_and, a != 0 && b != 0, 1)
UNIFORM(int, logical_or, a != 0 || b != 0, 0)
UNIFORM(int, logical_xor, (a != 0) != (b != 0), 0)
