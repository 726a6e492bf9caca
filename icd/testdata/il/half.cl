// needs: cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define BITS(x) (uint)(isnan(x) ? (ushort)0x7e00 : as_ushort(x))
kernel void halves(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const half a = as_half((ushort)own[0]), b = as_half((ushort)own[1]), c = as_half((ushort)(own[2] >> 16));
  own[0] = BITS(a + b) ^ BITS(a * b) << 16;
  own[1] = BITS(a / b) ^ BITS(fma(a, b, c)) << 16;
  own[2] = BITS(sqrt(fabs(a))) ^ BITS(sin(a)) << 16;
  own[3] = BITS(exp(a)) ^ BITS(log(fabs(b))) << 16;
  own[4] = BITS(fmin(a, b)) ^ BITS(fmax(b, c)) << 16;
  own[5] = BITS(floor(a)) ^ BITS(rint(b)) << 16;
  own[6] = (a < b) | (b == c) << 1 | isnan(a) << 2 | isinf(b) << 3 | signbit(c) << 4;
  // Not of NaN, of which OpenCL says no more than that it should become 0: from source it becomes the least half.
  own[7] = (uint)convert_int_sat(isnan(a) ? 0.0h : a) ^ (uint)convert_short_sat_rte(isnan(b) ? 0.0h : b);
  own[8] = as_uint((float)a * 0.5f) ^ BITS(convert_half_rtz(as_float(own[8])));
  own[9] = BITS(convert_half((int)own[9] >> 16)) ^ BITS(a * b + c) << 16;
}
kernel void half_vectors(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  global half* h = (global half*)own;
  const half3 a = convert_half3(as_short3(vload3(0, (global ushort*)own))) * 0.01h, b = convert_half3(as_short3(vload3(1, (global ushort*)own))) * 0.01h;
  vstore3(a + b * a.zxy, 0, h);
  vstore3(max(a, b) - clamp(a, -1.0h, 1.0h), 1, h);
  vstore3(mix(a, b, 0.5h), 2, h);
  h[10] = dot(a, b);
  own[8] = as_uint(convert_float3(a).y);
}
