// Rounding of double to whole numbers where there is no instruction for it (gfx6; backend.cpp puts these in). LLVM's
// substitutes subtract a fraction that is a little less than 1, so that the floor of a negative denormal is not -1, and
// give zeros of the wrong sign.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

typedef unsigned long ulong;

#define F __attribute__((const))

static double toward_zero(double x) {
  const ulong bits = __builtin_astype(x, ulong), sign = bits & 0x8000000000000000ul;
  const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  const ulong kept = exponent < 0    ? sign
                     : exponent < 52 ? bits & ~(0x000ffffffffffffful >> exponent)
                                     : bits;  // whole, infinite or not a number
  return __builtin_astype(kept, double);
}

F double __morgana_floor_f64(double x) {
  const double whole = toward_zero(x);
  return whole > x ? whole - 1.0 : whole;
}

F double __morgana_ceil_f64(double x) {
  const double whole = toward_zero(x);
  return whole < x ? whole + 1.0 : whole;
}

// To the nearest, as the addition rounds.
F double __morgana_rint_f64(double x) {
  const double size = __builtin_fabs(x);
  return size < 0x1.0p+52 ? __builtin_copysign((size + 0x1.0p+52) - 0x1.0p+52, x) : x;
}
