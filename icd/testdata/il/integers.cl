// Integers of all widths and vectors of all lengths. Each work-item has 32 words of random bits.
#define VALUES(T, BITS)                                                                                      \
  kernel void of_##T(global uint* data) {                                                                    \
    global T* own = (global T*)(data + 32 * get_global_id(0));                                               \
    T a = own[0], b = own[1], c = own[2];                                                                    \
    own[0] = a + b * c;                                                                                      \
    own[1] = a - b;                                                                                          \
    own[2] = b != 0 && !(b == (T)-1) ? a / b : a;                                                            \
    own[3] = b != 0 && !(b == (T)-1) ? a % b : b;                                                            \
    own[4] = a << (c & (BITS - 1));                                                                          \
    own[5] = a >> (c & (BITS - 1));                                                                          \
    own[6] = (a & b) | (~a ^ c);                                                                             \
    own[7] = mul_hi(a, b);                                                                                   \
    own[8] = mad_hi(a, b, c);                                                                                \
    own[9] = mad_sat(a, b, c);                                                                               \
    own[10] = add_sat(a, b) ^ sub_sat(a, b);                                                                 \
    own[11] = hadd(a, b) ^ rhadd(a, c);                                                                      \
    own[12] = rotate(a, b);                                                                                  \
    own[13] = clz(a) + ctz(b) + popcount(c);                                                                 \
    own[14] = (T)(abs(a) ^ abs_diff(a, b));                                                                  \
    own[15] = min(max(a, b), c) + clamp(a, (T)3, (T)100);                                                    \
  }                                                                                                          \
  kernel void of_##T##3(global uint* data) {                                                                 \
    global T* own = (global T*)(data + 32 * get_global_id(0));                                               \
    T##3 a = vload3(0, own), b = vload3(1, own), c = vload3(2, own);                                         \
    vstore3(a * b + c, 0, own);                                                                              \
    vstore3(mad_sat(a, b, c), 1, own);                                                                       \
    vstore3(select(a, b, a < b) + rotate(b, c), 2, own);                                                     \
    vstore3(a.zyx ^ bitselect(a, b, c), 3, own);                                                             \
    own[12] = any(a > b) + 2 * all(a >= c);                                                                  \
  }                                                                                                          \
  kernel void of_##T##16(global uint* data) {                                                                \
    local T##16 exchanged[64];                                                                               \
    global T* own = (global T*)(data + 32 * get_global_id(0));                                               \
    T##16 a = vload16(0, own);                                                                               \
    exchanged[get_local_id(0)] = a;                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                            \
    a += exchanged[63 - get_local_id(0)];                                                                    \
    a.lo = min(a.even, (T##8)a.s7);                                                                          \
    a.s5 = a.sb;                                                                                             \
    vstore8(a.hi, 0, own);                                                                                   \
    vstore4(a.s0246, 2, own);                                                                                \
    vstore2(a.odd.lo.hi, 6, own);                                                                            \
    own[15] = a[own[15] & 15];                                                                               \
  }
VALUES(char, 8)
VALUES(uchar, 8)
VALUES(short, 16)
VALUES(ushort, 16)
VALUES(int, 32)
VALUES(uint, 32)
VALUES(long, 64)
VALUES(ulong, 64)

kernel void mixed(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  const uint a = own[0], b = own[1];
  own[0] = mul24(a, b) + mad24((int)a, (int)b, 7) + upsample((ushort)a, (ushort)b);
  own[1] = (uint)(upsample((int)a, b) >> 17);
  own[2] = as_uint(as_ushort2(a).yx) + as_uint((uchar4)(as_uchar4(b).wz, 1, 2));
  own[3] = as_uint(shuffle(as_uchar4(a), (uchar4)(3, 1, 0, 2)));
  own[4] = as_uint(shuffle2(as_uchar4(a), as_uchar4(b), (uchar4)(7, 1, 4, 2)));
  own[5] = (uint)((long)(int)a * (int)b >> 32);
  own[6] = __builtin_expect(a > b, 1) ? a : b;
  bool flags[4] = {a > b, a == b, !a, a && b};
  own[7] = flags[a & 3] + 2 * flags[b & 3];
}
