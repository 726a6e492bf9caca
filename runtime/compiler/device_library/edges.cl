// Functions of AMD's library that miss the specification's results at some arguments (OpenCL C 7.4 and 7.5):
// sin of half was a NaN for every number; sinpi and cospi gave zeros of the wrong sign; tgamma of float was 0 from
// -31 down, where its result still is a normal number; atan2 and atan2pi of half were up to 2.2 ulp off, of 2.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define F __attribute__((const))

F float __ocml_sin_f32(float);
F float __ocml_atan2_f32(float, float);
F float __ocml_atan2pi_f32(float, float);
F double __ocml_tgamma_f64(double);
half __ocml_sincospi_f16(half, private half*);
float __ocml_sincospi_f32(float, private float*);
double __ocml_sincospi_f64(double, private double*);

F half __ocml_sin_f16(half x) { return (half)__ocml_sin_f32((float)x); }
F half __ocml_atan2_f16(half y, half x) { return (half)__ocml_atan2_f32((float)y, (float)x); }
F half __ocml_atan2pi_f16(half y, half x) { return (half)__ocml_atan2pi_f32((float)y, (float)x); }
F float __ocml_tgamma_f32(float x) { return (float)__ocml_tgamma_f64((double)x); }

// sinpi(n) has the sign of n, cospi(n + 1/2) is +0.
#define PI_FUNCTIONS(T, SUFFIX, COPYSIGN)                   \
  F T __ocml_sinpi_##SUFFIX(T x) {                          \
    T cosine, sine = __ocml_sincospi_##SUFFIX(x, &cosine);  \
    return sine == (T)0 ? COPYSIGN((T)0, x) : sine;         \
  }                                                         \
  F T __ocml_cospi_##SUFFIX(T x) {                          \
    T cosine;                                               \
    __ocml_sincospi_##SUFFIX(x, &cosine);                   \
    return cosine == (T)0 ? (T)0 : cosine;                  \
  }
PI_FUNCTIONS(half, f16, __builtin_copysignf16)
PI_FUNCTIONS(float, f32, __builtin_copysignf)
PI_FUNCTIONS(double, f64, __builtin_copysign)

// The vector forms of half go in pairs.
typedef half half2 __attribute__((ext_vector_type(2)));
#define PAIRS1(NAME) \
  F half2 __ocml_##NAME##_2f16(half2 x) { return (half2)(__ocml_##NAME##_f16(x.x), __ocml_##NAME##_f16(x.y)); }
#define PAIRS2(NAME)                                                                         \
  F half2 __ocml_##NAME##_2f16(half2 y, half2 x) {                                           \
    return (half2)(__ocml_##NAME##_f16(y.x, x.x), __ocml_##NAME##_f16(y.y, x.y));            \
  }
PAIRS1(sin) PAIRS1(sinpi) PAIRS1(cospi) PAIRS2(atan2) PAIRS2(atan2pi)
