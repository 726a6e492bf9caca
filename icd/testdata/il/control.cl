// Control flow, structures by value, arrays, unions, bit fields.
struct Pair { char a; long b; short c[3]; };
union Bits { float f; uint u; uchar b[4]; };
struct __attribute__((packed)) Packed { char a; int b; short c; };

struct Pair make(int a, long b) {
  struct Pair p = {(char)a, b, {1, 2, (short)a}};
  return p;
}
long use(struct Pair p) { return p.a + p.b + p.c[2]; }
uint collatz(uint x) {
  uint steps = 0;
  while (x != 1 && steps < 200) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    ++steps;
    if (x == 7) continue;
    if (x == 5) break;
  }
  return steps;
}
kernel void flow(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  uint result = 0;
  for (uint i = 0; i < (own[0] & 15); ++i) {
    switch ((own[1] >> i) & 7) {
      case 0: result += 1;
      case 1: result *= 3; break;
      case 2: result ^= own[2]; break;
      case 5: goto out;
      case 6: continue;
      default: result -= i;
    }
    do {
      result += 5;
    } while (result & 4);
  }
out:
  own[0] = result;
  switch ((long)own[3] - 0x80000000l) {
    case -5: result = 1; break;
    case 0x7fffffffffl: result = 2; break;
    default: result = collatz(own[3] & 4095);
  }
  own[1] = result;
  switch ((char)own[4]) {
    case -1: result = 17; break;
    case 50: result = 18; break;
    case 'a' ... 'f': result = 19; break;
  }
  own[2] = result;
  for (int i = 0; i < 4; ++i)
    for (int j = i; j < 6; j += 2) result += own[5 + (i ^ j)] * (uint)(i + 1);
  own[3] = result;
#pragma unroll 4
  for (uint i = 0; i < own[20] % 31; ++i) result = result * 31 + i;
  own[4] = result;
}
kernel void structures(global uint* data) {
  global uint* own = data + 32 * get_global_id(0);
  struct Pair p = make((int)own[0], (long)own[1] << 7);
  struct Pair q = own[2] & 1 ? p : make(3, 4);
  own[0] = (uint)use(p) + (uint)use(q);
  union Bits u;
  u.u = own[3];
  u.b[2] ^= 0x55;
  own[1] = u.u;
  global struct Packed* packed = (global struct Packed*)(own + 4);
  packed->b += packed->a;
  packed[1].c = (short)(packed->c * 3);
  int grid[3][4];
  for (int i = 0; i < 12; ++i) grid[i / 4][i % 4] = (int)own[12 + i];
  own[9] = (uint)grid[own[10] % 3][own[11] & 3];
  int3 threes[2] = {vload3(4, (global int*)own), (int3)(1, 2, 3)};
  threes[own[11] & 1].y = 9;
  own[10] = (uint)(threes[0].x + threes[1].y + threes[own[12] & 1].z) + sizeof(threes);
  own[11] = (uint)(((size_t)&own[5] - (size_t)own) + (&own[9] - own));
}
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sized(global uint* data) {
  data[32 * get_global_id(0)] += get_local_size(0) + get_group_id(0) * get_local_id(0);
}
