// Kernels whose waits and wait states LLVM sets in many ways; without libraries. Of each, waits.py takes one out.
#define ID (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())
#define LOCAL_ID __builtin_amdgcn_workitem_id_x()
#define BARRIER() (__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup"), __builtin_amdgcn_s_barrier())

// Loads that are waited for one after the other.
kernel void streams(global uint* to, global const uint* a, global const uint4* b) {
  uint sum = 0;
  for (uint i = 0; i < 3; i++) sum = sum * 31 + a[ID + i * 64] + a[ID + i * 64 + 512] + a[ID * 2] + b[ID].x + b[ID + i].w;
  to[ID] = sum;
}

kernel void tables(global uint* to, global const uint* a, constant uint4* b) {
  uint sum = 0;
  for (uint i = 0; i < a[3] % 5 + 2; i++) sum += b[i].y * b[a[i] % 7].x + a[i + 9];
  to[ID] = sum + a[LOCAL_ID];
}

kernel void sums(global uint* to, global const uint* a, global const uint4* b) {
  local uint part[64];
  local uint4 wide[64];
  part[LOCAL_ID] = a[ID];
  wide[LOCAL_ID ^ 1] = b[ID];
  for (uint step = 32; step != 0; step >>= 1) {
    BARRIER();
    if (LOCAL_ID < step) part[LOCAL_ID] += part[LOCAL_ID + step] * part[LOCAL_ID ^ 5];
  }
  BARRIER();
  to[ID] = part[0] + wide[LOCAL_ID].z + wide[LOCAL_ID ^ 7].x;
}

kernel void quotients(global float* to, global const float* a, global const double* b) {
  float x = a[ID] / (a[ID + 64] + 3.0f) / a[LOCAL_ID];
  double y = b[LOCAL_ID] / (b[LOCAL_ID + 1] + 2.0);
  to[ID] = x + (float)y;
}

kernel void curves(global float* to, global const float* a, global const float4* b) {
  float x = a[ID], y = b[ID].x;
  for (int i = 0; i < 2; i++) {
    x = __builtin_amdgcn_sinf(__builtin_amdgcn_rcpf(x + 1.5f)) * y;
    y = __builtin_amdgcn_exp2f(__builtin_amdgcn_rsqf(y + 2.0f)) + x;
  }
  to[ID] = x + y;
}

__attribute__((noinline)) uint mixed(uint x, private uint* own) {
  own[x % 16] += x * 7;
  return own[(x >> 4) % 16] + 1;
}

kernel void calls(global uint* to, global const uint* a, global const uint4* b) {
  uint own[16];
  for (uint i = 0; i < 16; i++) own[i] = a[i] + i;
  uint x = a[ID];
  for (uint i = 0; i < 3; i++) x = mixed(x + b[i].x, own);
  to[ID] = x;
}

// Scalar registers that vector instructions write.
kernel void lanes(global uint* to, global const uint* a, global const uint4* b) {
  uint x = a[ID];
  uint first = __builtin_amdgcn_readfirstlane(x) & 63;
  uint picked = __builtin_amdgcn_readlane(x * 3, __builtin_amdgcn_readfirstlane(a[LOCAL_ID] + 5) & 63);
  uint moved = __builtin_amdgcn_readlane(x + picked, __builtin_amdgcn_readlane(x, 3) & 63);
  global const uint* at = a + __builtin_amdgcn_readfirstlane(a[first] & 255);
  ulong votes = __builtin_amdgcn_uicmp(x, picked, 34);
  to[ID] = at[LOCAL_ID] + picked + moved + (uint)votes + ((votes >> LOCAL_ID) & 1 ? x : moved);
}

#if !__has_builtin(__builtin_amdgcn_update_dpp) || defined(__gfx600__) || defined(__gfx701__)
#define MOVED(x) (x)
#else
#define MOVED(x) __builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, true)
#endif
kernel void neighbours(global uint* to, global const uint* a, global const uint4* b) {
  uint x = a[ID] * 5 + 1;
  for (uint i = 0; i < 3; i++) x = MOVED(x * 3 + i) + x;
  to[ID] = x;
}

kernel void wide(global uint4* to, global const uint* a, global const uint4* b) {
  uint4 x = b[ID];
  for (uint i = 0; i < 3; i++) {
    to[ID + i * 64] = x;
    x = x * 3 + a[i];
  }
}

kernel void atomics(global uint* to, global uint* a, global const uint4* b) {
  local uint count;
  if (LOCAL_ID == 0) count = a[1];
  BARRIER();
  uint old = __atomic_fetch_add(a + (ID & 15), 3u, __ATOMIC_RELAXED);
  uint here = __atomic_fetch_add(&count, old & 7, __ATOMIC_RELAXED);
  BARRIER();
  to[ID] = old * here + count;
}

#if defined(__opencl_c_generic_address_space) && !defined(__gfx600__)
static uint sum_of(const uint* x) { return x[0] + x[LOCAL_ID & 3]; }
__attribute__((noinline)) uint either(const uint* x) { return sum_of(x) * 3; }
kernel void places(global uint* to, global const uint* a, global const uint4* b) {
  local uint part[64];
  part[LOCAL_ID] = a[ID];
  BARRIER();
  to[ID] = either((const uint*)part) + either((const uint*)a);
}
#endif

kernel void modes(global float* to, global const float* a, global const float4* b) {
  float x = a[ID];
  __builtin_amdgcn_s_setreg(0x801, 3);
  uint mode = __builtin_amdgcn_s_getreg(0x801 | 7 << 11);
  x = x * 1.3f + (float)mode;
  __builtin_amdgcn_s_setreg(0x801, 0);
  __builtin_amdgcn_s_setreg(0x801 | 1 << 6, 1);
  to[ID] = x * b[LOCAL_ID].y;
}

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
typedef float float16v __attribute__((ext_vector_type(16)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
kernel void matrices(global float* to, global const float* a, global const float4* b) {
  float4v c = {a[ID], a[ID + 1], b[LOCAL_ID].x, b[LOCAL_ID].y};
  half4v h = {(_Float16)a[ID], (_Float16)1, (_Float16)a[ID + 2], (_Float16)3};
  c = __builtin_amdgcn_mfma_f32_16x16x4f32(a[LOCAL_ID], c.x, c, 0, 0, 0);
  c = __builtin_amdgcn_mfma_f32_16x16x16f16(h, h, c, 0, 0, 0);
  c = __builtin_amdgcn_mfma_f32_16x16x4f32(c.y, a[LOCAL_ID + 4], c, 0, 0, 0);
  float4v d = __builtin_amdgcn_mfma_f32_4x4x1f32(c.z, c.w, c, 0, 0, 0);
  float16v e = {d.x, d.y, c.x, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  e = __builtin_amdgcn_mfma_f32_32x32x2f32(d.z, a[ID], e, 0, 0, 0);
  to[ID] = e[0] + e[7] + d.w;
#if !defined(__gfx908__)
  typedef double double4v __attribute__((ext_vector_type(4)));
  double4v f = {c.x, c.y, d.x, d.y};
  f = __builtin_amdgcn_mfma_f64_16x16x4f64((double)a[ID], (double)d.x, f, 0, 0, 0);
  double g = __builtin_amdgcn_mfma_f64_4x4x4f64(f.x, f.y, f.z, 0, 0, 0);
  g = __builtin_amdgcn_mfma_f64_4x4x4f64(g, f.y, g, 0, 0, 0);
  to[ID] += (float)(g * f.w + g);
#endif
}
#endif
