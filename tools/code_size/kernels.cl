// Kernels of every sort, whose host code's size code_size.tsv keeps.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void fill(global uint* out, uint value) { out[get_global_id(0)] = value; }

kernel void copy4(global float4* out, global const float4* in) { out[get_global_id(0)] = in[get_global_id(0)]; }

kernel void saxpy(global float* y, global const float* x, float a, uint n) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}

kernel void daxpy(global double* y, global const double* x, double a) {
  const size_t i = get_global_id(0);
  y[i] = fma(a, x[i], y[i]);
}

kernel void bytes(global uchar* out, global const uchar* in) {
  const size_t i = get_global_id(0);
  out[i] = (uchar)(in[i] * 3 + 1);
}

kernel void shorts(global short* out, global const short* in, short k) {
  const size_t i = get_global_id(0);
  out[i] = max(in[i], k);
}

kernel void gather(global float* out, global const float* in, global const uint* index) {
  const size_t i = get_global_id(0);
  out[i] = in[index[i]];
}

kernel void scatter(global float* out, global const float* in, global const uint* index) {
  const size_t i = get_global_id(0);
  out[index[i]] = in[i];
}

kernel void nbody(global float4* force, global const float4* body, uint n, float softening) {
  const size_t i = get_global_id(0);
  const float4 me = body[i];
  float3 sum = 0;
  for (uint j = 0; j < n; j++) {
    const float4 other = body[j];
    const float3 d = other.xyz - me.xyz;
    const float inverse = rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + softening);
    sum += d * (other.w * inverse * inverse * inverse);
  }
  force[i] = (float4)(sum, 0);
}

kernel void mandelbrot(global uint* out, uint width, float scale, uint limit) {
  const uint x = get_global_id(0) % width, y = get_global_id(0) / width;
  const float cr = x * scale - 2, ci = y * scale - 1;
  float r = 0, i = 0;
  uint n = 0;
  for (; n < limit && r * r + i * i < 4; n++) {
    const float t = r * r - i * i + cr;
    i = 2 * r * i + ci;
    r = t;
  }
  out[get_global_id(0)] = n;
}

kernel void gemm(global float* c, global const float* a, global const float* b, uint n) {
  const uint x = get_global_id(0) % n, y = get_global_id(0) / n;
  float sum = 0;
  for (uint k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
  c[y * n + x] = sum;
}

kernel void gemm_tiled(global float* c, global const float* a, global const float* b, uint n) {
  local float ta[16][16], tb[16][16];
  const uint x = get_local_id(0) & 15, y = get_local_id(0) >> 4;
  const uint column = get_group_id(0) * 16 + x, row = get_group_id(1) * 16 + y;
  float sum = 0;
  for (uint t = 0; t < n; t += 16) {
    ta[y][x] = a[row * n + t + x];
    tb[y][x] = b[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 16; k++) sum += ta[y][k] * tb[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void reduce(global float* out, global const float* in, uint n) {
  local float part[256];
  const uint l = get_local_id(0);
  float sum = 0;
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) sum += in[i];
  part[l] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 128; step > 0; step >>= 1) {
    if (l < step) part[l] += part[l + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[get_group_id(0)] = part[0];
}

kernel void scan(global uint* data) {
  local uint part[2][256];
  const uint l = get_local_id(0);
  uint from = 0;
  part[0][l] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 1; step < 256; step <<= 1) {
    part[1 - from][l] = part[from][l] + (l >= step ? part[from][l - step] : 0);
    from = 1 - from;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  data[get_global_id(0)] = part[from][l];
}

kernel void histogram(global uint* out, global const uchar* in, uint n) {
  local uint bins[256];
  bins[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&bins[in[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&out[get_local_id(0)], bins[get_local_id(0)]);
}

kernel void convolve(global float* out, global const float* in, constant float* weight, uint width) {
  const uint x = get_global_id(0) % width, y = get_global_id(0) / width;
  float sum = 0;
  for (uint j = 0; j < 5; j++)
    for (uint i = 0; i < 5; i++) sum += weight[j * 5 + i] * in[(y + j) * (width + 4) + x + i];
  out[y * width + x] = sum;
}

kernel void stencil(global float* out, global const float* in, uint width, uint height) {
  const uint x = get_global_id(0) % width, y = get_global_id(0) / width;
  if (x == 0 || y == 0 || x + 1 >= width || y + 1 >= height) return;
  global const float* p = in + y * width + x;
  out[y * width + x] = 0.25f * (p[-1] + p[1] + p[-(int)width] + p[width]);
}

kernel void transpose(global float* out, global const float* in, uint width, uint height) {
  local float tile[16][17];
  const uint x = get_local_id(0) & 15, y = get_local_id(0) >> 4;
  tile[y][x] = in[(get_group_id(1) * 16 + y) * width + get_group_id(0) * 16 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(get_group_id(0) * 16 + y) * height + get_group_id(1) * 16 + x] = tile[x][y];
}

kernel void bitonic(global uint* data, uint stage, uint pass) {
  const uint i = get_global_id(0), distance = 1u << (stage - pass);
  const uint left = i % distance + i / distance * 2 * distance;
  const bool rises = (i >> stage & 1) == 0;
  const uint a = data[left], b = data[left + distance];
  data[left] = (a < b) == rises ? a : b;
  data[left + distance] = (a < b) == rises ? b : a;
}

float cumulative(float x) {
  const float k = 1 / (1 + 0.2316419f * fabs(x));
  const float p = 0.39894228f * exp(-0.5f * x * x) *
                  k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  return x >= 0 ? 1 - p : p;
}
kernel void black_scholes(global float* call, global float* put, global const float* price, global const float* strike,
                          global const float* years, float rate, float volatility) {
  const size_t i = get_global_id(0);
  const float s = price[i], x = strike[i], t = years[i], root = sqrt(t);
  const float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  const float d2 = d1 - volatility * root, discounted = x * exp(-rate * t);
  call[i] = s * cumulative(d1) - discounted * cumulative(d2);
  put[i] = discounted * cumulative(-d2) - s * cumulative(-d1);
}

kernel void spmv(global float* y, global const uint* begin, global const uint* column, global const float* value,
                 global const float* x) {
  const size_t row = get_global_id(0);
  float sum = 0;
  for (uint i = begin[row]; i < begin[row + 1]; i++) sum += value[i] * x[column[i]];
  y[row] = sum;
}

kernel void sha256(global uint* out, global const uint* in, constant uint* k) {
  uint w[16], s[8];
  for (int i = 0; i < 16; i++) w[i] = in[get_global_id(0) * 16 + i];
  for (int i = 0; i < 8; i++) s[i] = k[64 + i];
#pragma unroll
  for (int i = 0; i < 64; i++) {
    if (i >= 16) {
      const uint a = w[(i + 1) & 15], b = w[(i + 14) & 15];
      w[i & 15] += w[(i + 9) & 15] + (rotate(a, 25u) ^ rotate(a, 14u) ^ a >> 3) + (rotate(b, 15u) ^ rotate(b, 13u) ^ b >> 10);
    }
    const uint t = s[7] + (rotate(s[4], 26u) ^ rotate(s[4], 21u) ^ rotate(s[4], 7u)) + bitselect(s[6], s[5], s[4]) + k[i] + w[i & 15];
    const uint u = (rotate(s[0], 30u) ^ rotate(s[0], 19u) ^ rotate(s[0], 10u)) + bitselect(s[2], s[1], s[2] ^ s[0]);
    for (int j = 7; j > 0; j--) s[j] = s[j - 1];
    s[4] += t;
    s[0] = t + u;
  }
  for (int i = 0; i < 8; i++) out[get_global_id(0) * 8 + i] = s[i];
}

kernel void fft4(global float2* data, uint n) {
  const uint i = get_global_id(0), quarter = n / 4;
  float2 a = data[i], b = data[i + quarter], c = data[i + 2 * quarter], d = data[i + 3 * quarter];
  const float2 ac = a + c, am = a - c, bd = b + d, bm = (float2)(b.y - d.y, d.x - b.x);
  const float angle = -6.2831853f * i / n;
  const float2 w = (float2)(native_cos(angle), native_sin(angle));
  const float2 w2 = (float2)(w.x * w.x - w.y * w.y, 2 * w.x * w.y);
  const float2 w3 = (float2)(w.x * w2.x - w.y * w2.y, w.x * w2.y + w.y * w2.x);
  const float2 p = am + bm, q = ac - bd, r = am - bm;
  data[4 * i] = ac + bd;
  data[4 * i + 1] = (float2)(p.x * w.x - p.y * w.y, p.x * w.y + p.y * w.x);
  data[4 * i + 2] = (float2)(q.x * w2.x - q.y * w2.y, q.x * w2.y + q.y * w2.x);
  data[4 * i + 3] = (float2)(r.x * w3.x - r.y * w3.y, r.x * w3.y + r.y * w3.x);
}

kernel void digits(global uint* counts, global const uint* keys, uint shift) {
  local uint bins[16];
  if (get_local_id(0) < 16) bins[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&bins[keys[get_global_id(0)] >> shift & 15]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) < 16) counts[get_group_id(0) * 16 + get_local_id(0)] = bins[get_local_id(0)];
}

kernel void counter(global uint* total, global const uint* in) {
  if (popcount(in[get_global_id(0)]) > 7) atomic_inc(total);
}

kernel void random(global uint* out, uint rounds) {
  ulong state = get_global_id(0) * 0x9e3779b97f4a7c15ul + 1;
  for (uint i = 0; i < rounds; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  out[get_global_id(0)] = (uint)(state >> 32);
}

kernel void halves(global half* out, global const half* a, global const half* b) {
  const size_t i = get_global_id(0);
  out[i] = fma(a[i], b[i], (half)0.5h) / (a[i] + b[i]);
}

kernel void doubles(global double* out, global const double* in) {
  const size_t i = get_global_id(0);
  out[i] = sqrt(in[i]) / (1.0 + in[i]);
}

kernel void longs(global ulong* out, global const ulong* a, global const ulong* b) {
  const size_t i = get_global_id(0);
  out[i] = a[i] * b[i] + mul_hi(a[i], b[i]);
}

kernel void division(global uint* out, global const uint* a, global const uint* b) {
  const size_t i = get_global_id(0);
  out[i] = a[i] / b[i] ^ a[i] % b[i];
}

kernel void choices(global int* data) {
  const size_t i = get_global_id(0);
  int v = data[i];
  switch (v & 7) {
    case 0: v = v * 3; break;
    case 1: v = v - 77; break;
    case 2: v = abs(v); break;
    case 3: v = ~v; break;
    case 4: while (v > 100) v = v / 2 - 1; break;
    case 5: v = popcount(v); break;
    default: v = clz(v);
  }
  data[i] = v;
}

kernel void private_array(global uint* out, global const uint* in, uint n) {
  uint stack[32];
  for (uint i = 0; i < 32; i++) stack[i] = in[get_global_id(0) * 32 + i];
  uint at = n;
  for (uint i = 0; i < n; i++) at = stack[at & 31] + i;
  out[get_global_id(0)] = at;
}

kernel void trigonometry(global float* out, global const float* in) {
  const size_t i = get_global_id(0);
  out[i] = sin(in[i]) * cos(in[i]) + tan(in[i]);
}

// Rows of signed indices, two to a wave.
kernel void rank_one(global float* a, global const float* u, global const float* v, int n) {
  const int j = get_global_id(0), i = get_global_id(1);
  if (i < n && j < n) a[i * n + j] += u[i] * v[j];
}

kernel void average(global float* out, global const float* in, int n) {
  const int i = get_global_id(0);
  if (i > 0 && i < n - 1) out[i] = 0.33333f * (in[i - 1] + in[i] + in[i + 1]);
}

// Rows in a loop around another one, which lanes leave one by one: counts without atomics, by tags.
kernel void tagged_counts(global const float* in, local uint* counts, float low, float high, int n) {
  const uint tag = get_local_id(0) << 27;
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
    const uint bin = (uint)((in[i] - low) / (high - low) * 256) & 255;
    uint count;
    do {
      count = tag | ((counts[bin] & 0x7ffffff) + 1);
      counts[bin] = count;
      mem_fence(CLK_LOCAL_MEM_FENCE);
    } while (counts[bin] != count);
  }
}

// Rows behind a condition.
kernel void inner_average(global float* out, global const float* in, int width, int height) {
  const int x = get_global_id(0) % width, y = get_global_id(0) / width;
  float sum = 0;
  if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
    for (int k = -1; k <= 1; k++) sum += in[(y + k) * width + x - 1] + in[(y + k) * width + x + 1];
  out[y * width + x] = sum;
}

// The sizes of two dimensions are loaded at once, by a vector load: the same in all lanes. Two rows to a wave.
kernel void seven_points(global float* out, global const float* in, int nx, int ny) {
  const int x = get_global_id(0) + 1, y = get_global_id(1) + 1, z = get_global_id(2) + 1;
  const int at = (z * ny + y) * nx + x;
  if (x < nx - 1)
    out[at] = in[at] + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny];
}

// A tile whose rows are one longer: the factor lies in an SGPR.
kernel void padded_transpose(global float* out, global const float* in, int width, int height, local float* tile) {
  const int x = get_local_id(0), y = get_local_id(1), i = get_group_id(0) * 16, j = get_group_id(1) * 16;
  if (i + x < width && j + y < height) tile[y * 17 + x] = in[(j + y) * width + i + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (j + x < height && i + y < width) out[(i + y) * height + j + x] = tile[x * 17 + y];
}
