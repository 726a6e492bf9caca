// vstorea_half3 writes three halves; AMD's writes a fourth, of no value, where the next element's padding is.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define F __attribute__((overloadable))

typedef float float3 __attribute__((ext_vector_type(3)));
typedef double double3 __attribute__((ext_vector_type(3)));

#define STORE(ROUNDING, T, AS)                                                                                  \
  F void vstore_half3##ROUNDING(T, __SIZE_TYPE__, AS half*);                                                    \
  F void vstorea_half3##ROUNDING(T value, __SIZE_TYPE__ offset, AS half* p) {                                   \
    vstore_half3##ROUNDING(value, 0, p + offset * 4);                                                           \
  }
#define SPACES(ROUNDING, T) \
  STORE(ROUNDING, T, global) STORE(ROUNDING, T, local) STORE(ROUNDING, T, private) STORE(ROUNDING, T, generic)
#define TYPES(ROUNDING) SPACES(ROUNDING, float3) SPACES(ROUNDING, double3)
TYPES() TYPES(_rte) TYPES(_rtz) TYPES(_rtp) TYPES(_rtn)
