// Arithmetic and functions of floats, and conversions.
// LLVM 22 makes a fused instruction of a contracted `a * b + c`, which gfx8 and older have not from source.
#pragma OPENCL FP_CONTRACT OFF
#define BITS(x) (isnan(x) ? 0x7fc00000u : as_uint(x))

kernel void arithmetic(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const float a = as_float(own[0]), b = as_float(own[1]), c = as_float(own[2]);
  own[0] = BITS(a + b) ^ BITS(a - b);
  own[1] = BITS(a * b);
  own[2] = BITS(a / b);
  own[3] = BITS(a * b + c);
  own[4] = BITS(fma(a, b, c));
  own[5] = BITS(fmod(a, b));
  own[6] = BITS(fmin(a, b)) ^ BITS(fmax(b, c));
  own[7] = BITS(-a) ^ BITS(fabs(b));
  own[8] = (a < b) | (a <= c) << 1 | (a == b) << 2 | (a != c) << 3 | (b > c) << 4 | isless(a, b) << 5 |
           islessgreater(a, c) << 6 | isunordered(a, b) << 7 | isordered(b, c) << 8;
  own[9] = isnan(a) | isinf(a) << 1 | isfinite(b) << 2 | isnormal(c) << 3 | signbit(a) << 4;
  own[10] = BITS(a > 0 ? sqrt(a) : rsqrt(fabs(a)));
  own[11] = BITS(copysign(a, b)) ^ BITS(nextafter(b, c));
  own[12] = BITS(select(a, b, own[12])) ^ BITS(bitselect(a, b, c));
}

kernel void functions(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const float a = (float)(int)own[0] * 0x1p-28f, b = (float)own[1] * 0x1p-30f + 0.001f;
  int n, m;
  float w;
  own[0] = BITS(sin(a)) ^ BITS(cos(b)) ^ BITS(tan(a));
  own[1] = BITS(asin(a * 0.1f)) ^ BITS(acos(a * 0.1f)) ^ BITS(atan(b)) ^ BITS(atan2(a, b));
  own[2] = BITS(sinh(a)) ^ BITS(cosh(a)) ^ BITS(tanh(b)) ^ BITS(asinh(a)) ^ BITS(acosh(1 + b)) ^ BITS(atanh(a * 0.1f));
  own[3] = BITS(exp(a)) ^ BITS(exp2(a)) ^ BITS(exp10(a)) ^ BITS(expm1(a));
  own[4] = BITS(log(b)) ^ BITS(log2(b)) ^ BITS(log10(b)) ^ BITS(log1p(b));
  own[5] = BITS(pow(b, a)) ^ BITS(pown(a, 3)) ^ BITS(powr(b, a)) ^ BITS(rootn(b, 3));
  own[6] = BITS(cbrt(a)) ^ BITS(hypot(a, b)) ^ BITS(erf(a)) ^ BITS(erfc(a));
  own[7] = BITS(tgamma(b)) ^ BITS(lgamma(b)) ^ BITS(lgamma_r(a, &n)) ^ n;
  own[8] = BITS(ceil(a)) ^ BITS(floor(a)) ^ BITS(trunc(b)) ^ BITS(round(a)) ^ BITS(rint(a));
  own[9] = BITS(fract(a, &w)) ^ BITS(w) ^ BITS(modf(b, &w)) ^ BITS(w);
  own[10] = BITS(frexp(a, &n)) ^ n ^ BITS(ldexp(b, n & 15)) ^ ilogb(b) ^ BITS(logb(b));
  own[11] = BITS(remquo(a, b, &m)) ^ m ^ BITS(remainder(a, b)) ^ BITS(fdim(a, b));
  own[12] = BITS(sincos(a, &w)) ^ BITS(w) ^ BITS(sinpi(a)) ^ BITS(cospi(a)) ^ BITS(tanpi(a));
  own[13] = BITS(mix(a, b, 0.25f)) ^ BITS(step(a, b)) ^ BITS(smoothstep(a, b + 9, 0.5f)) ^ BITS(sign(a));
  own[14] = BITS(degrees(a)) ^ BITS(radians(b)) ^ BITS(clamp(a, -1.0f, 1.0f)) ^ BITS(max(a, b)) ^ BITS(min(a, b));
  own[15] = BITS(native_sin(a)) ^ BITS(native_exp(a)) ^ BITS(native_log(b)) ^ BITS(native_divide(a, b)) ^
            BITS(native_sqrt(b)) ^ BITS(native_recip(b)) ^ BITS(native_powr(b, a));
  own[16] = BITS(half_cos(a)) ^ BITS(half_exp2(a)) ^ BITS(half_rsqrt(b)) ^ BITS(half_divide(a, b));
  own[17] = BITS(asinpi(a * 0.1f)) ^ BITS(acospi(a * 0.1f)) ^ BITS(atanpi(a)) ^ BITS(atan2pi(a, b));
  own[18] = BITS(maxmag(a, b)) ^ BITS(minmag(a, b)) ^ BITS(mad(a, b, a)) ^ as_uint(nan(5u));
}

kernel void vectors(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const float3 a = convert_float3(as_int3(vload3(0, own))) * 0x1p-28f, b = convert_float3(vload3(1, own)) * 0x1p-30f;
  const float4 c = (float4)(a, b.x), d = (float4)(b.y, a);
  own[0] = BITS(dot(a, b)) ^ BITS(length(c)) ^ BITS(distance(c, d)) ^ BITS(fast_length(a)) ^ BITS(fast_distance(a, b));
  vstore3(as_uint3(cross(a, b)), 1, own);
  vstore4(as_uint4(normalize(c)), 2, own);
  vstore3(as_uint3(sin(a) + fma(a, b, a) * b.zxy), 4, own);
  vstore3(as_uint3(clamp(a, -0.5f, 0.5f) + fmin(a, b.x)), 5, own);
  vstore4(as_uint4(fast_normalize(d) + select(c, d, c < d)), 5, own);
  own[24] = any(isless(a, b)) + 2 * all(isequal(c, c));
}

kernel void halves_in_memory(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const float4 a = convert_float4(as_int4(vload4(0, own))) * 0x1p-20f;
  global half* place = (global half*)own;
  vstore_half(a.x, 0, place);
  vstore_half_rtz(a.y, 1, place);
  vstore_half2_rtp(a.zw, 1, place);
  vstore_half3_rtn(a.xyz, 2, place);
  vstorea_half4_rte(a, 4, place);
  own[10] = as_uint(vload_half(3, place));
  vstore3(as_uint3(vload_half3(2, place)), 4, own);
  vstore4(as_uint4(vloada_half4(4, place)), 4, own);
}

// NaN saturates to 0 from SPIR-V; OpenCL C leaves it open.
#define CONVERSIONS(T, U)                                                                                     \
  kernel void T##_from_##U(global uint* data) {                                                               \
    global uint* own = data + 32 * get_global_id(0);                                                          \
    U##4 given = ((global U##4*)own)[0];                                                                      \
    given = select(given, (U##4)1, given != given);                                                           \
    global T##4* out = (global T##4*)own;                                                                     \
    const T##4 s = convert_##T##4_sat(given), e = convert_##T##4_sat_rte(given), z = convert_##T##4_sat_rtz(given);   \
    const T##4 p = convert_##T##4_sat_rtp(given), n = convert_##T##4_sat_rtn(given);                          \
    const T one = convert_##T##_sat_rtn(given.x);                                                             \
    out[0] = s + e + z;                                                                                       \
    out[1] = p - n + one;                                                                                     \
  }
CONVERSIONS(char, float)
CONVERSIONS(uchar, float)
CONVERSIONS(short, float)
CONVERSIONS(ushort, float)
CONVERSIONS(int, float)
CONVERSIONS(uint, float)
CONVERSIONS(long, float)
CONVERSIONS(ulong, float)
// Not from int to char, which LLVM 22 converts as unsigned.
CONVERSIONS(uchar, int)
CONVERSIONS(ushort, long)
CONVERSIONS(int, uint)
CONVERSIONS(uint, int)
CONVERSIONS(long, ulong)
CONVERSIONS(ulong, int)

#define ROUNDED(U)                                                                                            \
  kernel void float_from_##U(global uint* data) {                                                             \
    global uint* own = data + 32 * get_global_id(0);                                                          \
    const U##3 given = vload3(0, (global U*)own);                                                             \
    const U one = given.x;                                                                                    \
    vstore3(as_uint3(convert_float3_rtz(given)), 0, own);                                                     \
    vstore3(as_uint3(convert_float3_rtp(given)), 1, own);                                                     \
    own[6] = as_uint(convert_float_rtn(one)) ^ as_uint(convert_float_rte(one)) ^ as_uint((float)one);         \
  }
ROUNDED(char)
ROUNDED(ushort)
ROUNDED(int)
ROUNDED(uint)
ROUNDED(long)
ROUNDED(ulong)
