// needs: cl_khr_fp64
#define BITS(x) (isnan(x) ? 0x7ff8000000000000ul : as_ulong(x))
kernel void doubles(global uint* data) {
  global ulong* own = (global ulong*)(data + 32 * get_global_id(0));
  const double a = as_double(own[0]), b = as_double(own[1]), c = as_double(own[2]);
  const double x = (double)(long)own[3] * 0x1p-60, y = (double)own[4] * 0x1p-62 + 0.001;
  int n;
  double w;
  own[0] = BITS(a + b) ^ BITS(a * b);
  own[1] = BITS(a / b) ^ BITS(fma(a, b, c));
  own[2] = BITS(x * y + a) ^ BITS(sqrt(y));
  own[3] = BITS(sin(x)) ^ BITS(cos(y)) ^ BITS(exp(x)) ^ BITS(log(y));
  own[4] = BITS(pow(y, x)) ^ BITS(tanh(x)) ^ BITS(atan2(x, y)) ^ BITS(cbrt(x));
  own[5] = (ulong)convert_int_sat(a) ^ convert_ulong_sat_rte(x) ^ (ulong)convert_long_sat_rtp(b);
  own[6] = as_uint((float)a) ^ as_uint(convert_float_rtz(x)) ^ as_uint(convert_float_rtp(y));
  own[7] = BITS(frexp(x, &n)) ^ n ^ BITS(ldexp(y, n)) ^ BITS(fract(x, &w)) ^ BITS(w);
  own[8] = (a < b) | (b >= c) << 1 | isnan(a) << 2 | signbit(b) << 3;
  own[9] = BITS((double)as_float((uint)own[9])) ^ BITS(convert_double_rtn(own[10]));
  own[10] = BITS(rint(x * 100)) ^ BITS(floor(y * 100)) ^ BITS(fmod(a, b)) ^ BITS(remquo(x, y, &n)) ^ n;
}
kernel void double3s(global uint* data) {
  global double* own = (global double*)(data + 32 * get_global_id(0));
  const double3 a = convert_double3(vload3(0, (global int*)own)), b = convert_double3(vload3(1, (global int*)own));
  vstore3(a + b * 0.5 - a.zxy, 0, own);
  vstore3(fmax(a, b) + sqrt(fabs(a)), 1, own);
  own[6] = dot(a, b);
}
