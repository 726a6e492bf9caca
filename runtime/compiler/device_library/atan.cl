// atan, atanpi, atan2 and atan2pi of float, in place of AMD's: those are 2 to 3 ulp off, since their quotient and their
// pi/2 - atan are rounded each by itself. Here the result stays a pair of floats until the last rounding.
//
// The angle of (large, small), 0 <= small <= large, is atan(z) with z = small / large up to 1/2, and
// pi/4 + atan(z) with z = (small - large) / (small + large) beyond, where -1/3 < z <= 0. P is a minimax polynomial of
// (atan(z) - z) / z^3 on [0, 1/2], weighted for the relative error of atan(z); its coefficients were rounded to float one
// after another, each time refitting the rest. Measured errors are in runtime/compiler/README.md.

#pragma OPENCL FP_CONTRACT OFF

struct Pair {
  float high, low;
};

static float polynomial(float s) {
  float p = 0x1.3f98aap-5f;
  p = __builtin_fmaf(p, s, -0x1.47f982p-4f);
  p = __builtin_fmaf(p, s, 0x1.c06dccp-4f);
  p = __builtin_fmaf(p, s, -0x1.244ff6p-3f);
  p = __builtin_fmaf(p, s, 0x1.999742p-3f);
  return __builtin_fmaf(p, s, -0x1.555552p-2f);
}

// pi/4, 3 pi/4 and 1/pi, each as high + low.
constant const float kQuarter = 0x1.921fb6p-1f, kQuarterLow = -0x1.777a5cp-26f;
constant const float kThreeQuarters = 0x1.2d97c8p+1f, kThreeQuartersLow = -0x1.99bc5cp-28f;
constant const float kInverse = 0x1.45f306p-2f, kInverseLow = 0x1.b9391p-27f;

// base + base_low + atan(dividend / (large + addend)), where that quotient is at most 1/2, |dividend| <= large,
// addend <= large, and base is 0 or greater than the quotient.
static struct Pair evaluate(float dividend, float large, float addend, float base, float base_low) {
  float r = __builtin_amdgcn_rcpf(large + addend);
  float z = dividend * r;
  float remainder = __builtin_fmaf(-z, addend, __builtin_fmaf(-z, large, dividend));  // the sum need not be rounded
  float high = base + z;
  float rest = (base - high) + z;  // exact: Fast2Sum
  float s = z * z;
  float slope = __builtin_fmaf(-s, r, r);  // r / (1 + s), near enough for so small a remainder
  float low = __builtin_fmaf(slope, remainder, rest + base_low);
  return (struct Pair){high, __builtin_fmaf(z * s, polynomial(s), low)};
}

static float sum(struct Pair p) { return p.high + p.low; }

static float over_pi(struct Pair p) {
  return __builtin_fmaf(p.high, kInverse, __builtin_fmaf(p.high, kInverseLow, p.low * kInverse));
}

static struct Pair angle(float a) {
  // From 2^64 on 1/a has no weight; an infinity would make a NaN. A NaN is not steep and passes through.
  unsigned bits = __builtin_astype(a, unsigned), limit = 0x5f800000;
  float bounded = __builtin_astype(bits < limit ? bits : limit, float);
  bool steep = a > 1.0f;
  float small = steep ? 1.0f : a, large = steep ? bounded : 1.0f;
  bool near = small + small > large;
  float quarters = near ? 1.0f : steep ? 2.0f : 0.0f;
  return evaluate(near ? a - 1.0f : steep ? -1.0f : a, large, near ? small : 0.0f, quarters * kQuarter,
                  quarters * kQuarterLow);
}

static struct Pair angle2(float y, float x) {
  float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y);
  bool steep = ay > ax, left = __builtin_astype(x, int) < 0;
  float large = steep ? ay : ax, small = steep ? ax : ay;
  // Puts the divisor into [2^24, 2^26), where neither its inverse nor a quotient that counts is a denormal.
  int shift = 25 - __builtin_amdgcn_frexp_expf(large);
  float divisor = __builtin_ldexpf(large, shift), dividend = __builtin_ldexpf(small, shift);
  if (!(divisor > 0.0f && divisor < __builtin_inff())) {  // both zero, or flushed to it, or one infinite
    divisor = 1.0f;
    dividend = small == __builtin_inff() ? 1.0f : 0.0f;
  }
  bool near = dividend + dividend > divisor, subtract = steep != left;
  float signed_divisor = subtract ? -divisor : divisor;
  float signed_dividend = subtract ? -dividend : dividend;
  float base = near ? (left ? kThreeQuarters : kQuarter) : steep ? 2 * kQuarter : left ? 4 * kQuarter : 0.0f;
  float base_low =
      near ? (left ? kThreeQuartersLow : kQuarterLow) : steep ? 2 * kQuarterLow : left ? 4 * kQuarterLow : 0.0f;
  return evaluate(near ? signed_dividend - signed_divisor : signed_dividend, divisor, near ? dividend : 0.0f, base,
                  base_low);
}

static float nan_or(float y, float x, float result) {
  return __builtin_isunordered(y, x) ? __builtin_nanf("") : __builtin_copysignf(result, y);
}

__attribute__((const)) float __ocml_atan_f32(float x) {
  return __builtin_copysignf(sum(angle(__builtin_fabsf(x))), x);
}

__attribute__((const)) float __ocml_atanpi_f32(float x) {
  return __builtin_copysignf(over_pi(angle(__builtin_fabsf(x))), x);
}

__attribute__((const)) float __ocml_atan2_f32(float y, float x) { return nan_or(y, x, sum(angle2(y, x))); }

__attribute__((const)) float __ocml_atan2pi_f32(float y, float x) { return nan_or(y, x, over_pi(angle2(y, x))); }
