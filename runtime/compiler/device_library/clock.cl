// cl_khr_kernel_clock: one counter, the same for every work-item of a device (s_memtime), serves all scopes.

typedef unsigned int uint;
typedef unsigned long ulong;
typedef uint uint2 __attribute__((ext_vector_type(2)));

static uint2 halves(ulong time) { return (uint2)((uint)time, (uint)(time >> 32)); }

#define CLOCK(SCOPE)                                                                                           \
  __attribute__((overloadable)) ulong clock_read_##SCOPE(void) { return __builtin_readcyclecounter(); }        \
  __attribute__((overloadable)) uint2 clock_read_hilo_##SCOPE(void) { return halves(__builtin_readcyclecounter()); }
CLOCK(device)
CLOCK(work_group)
CLOCK(sub_group)
