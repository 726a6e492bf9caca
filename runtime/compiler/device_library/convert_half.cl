// Integers to half, rounded up, down and to zero. AMD's take them for at most 2^15, and round shorts to zero where down is
// asked for. What is beyond the largest half is as well represented by 65536.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define F __attribute__((overloadable, const))

#define VECTORS(T)                                                                                               \
  typedef T T##2 __attribute__((ext_vector_type(2)));                                                            \
  typedef T T##3 __attribute__((ext_vector_type(3)));                                                            \
  typedef T T##4 __attribute__((ext_vector_type(4)));                                                            \
  typedef T T##8 __attribute__((ext_vector_type(8)));                                                            \
  typedef T T##16 __attribute__((ext_vector_type(16)));
VECTORS(half) VECTORS(short) VECTORS(int) VECTORS(long)

#define SCALAR(T, R)                                                                                             \
  F half convert_half_##R(float);                                                                                \
  F half convert_half_##R(T x) {                                                                                 \
    const long wide = x, high = wide > 65536 ? 65536 : wide;                                                     \
    return convert_half_##R((float)(int)(high < -65536 ? -65536 : high));                                        \
  }
#define VECTOR(T, R, N)                                                                                          \
  F half##N convert_half##N##_##R(T##N x) {                                                                      \
    half##N result;                                                                                              \
    for (int i = 0; i < N; ++i) result[i] = convert_half_##R(x[i]);                                              \
    return result;                                                                                               \
  }
#define ALL(T, R) SCALAR(T, R) VECTOR(T, R, 2) VECTOR(T, R, 3) VECTOR(T, R, 4) VECTOR(T, R, 8) VECTOR(T, R, 16)
ALL(short, rtn)
ALL(int, rtn) ALL(int, rtp) ALL(int, rtz)
ALL(long, rtn) ALL(long, rtp) ALL(long, rtz)
