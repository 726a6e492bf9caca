/* sha256: digests of 65536 messages, one a work-item, compared with a host implementation (FIPS 180-4). */
#include <string.h>

#include "samples/sample.h"

/* One text serves host and device: rounds over a 16-word block, from the standard's section 6.2.2. */
#define SHA256_BODY                                                                                              \
  static const K_SPACE uint32 k[64] = {                                                                          \
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,            \
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,            \
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,            \
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,            \
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,            \
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,            \
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,            \
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};           \
  static uint32 rotate_right(uint32 x, int n) { return x >> n | x << (32 - n); }                                 \
  static void compress(uint32* h, uint32* w) {                                                                   \
    uint32 a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], v = h[7];                        \
    for (int i = 0; i < 64; ++i) {                                                                               \
      if (i >= 16) {                                                                                             \
        uint32 x = w[(i + 1) & 15], y = w[(i + 14) & 15];                                                        \
        w[i & 15] += (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) + w[(i + 9) & 15] +                     \
                     (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10);                                      \
      }                                                                                                          \
      uint32 t = v + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + ((e & f) ^ (~e & g)) +   \
                 k[i] + w[i & 15];                                                                               \
      uint32 u = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +                              \
                 ((a & b) ^ (a & c) ^ (b & c));                                                                  \
      v = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;                                            \
    }                                                                                                            \
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += v;                      \
  }                                                                                                              \
  /* The digest of the 16-byte message {n, n + 1, n + 2, n + 3} (big-endian words). */                           \
  static void digest(uint32 n, uint32* h) {                                                                      \
    uint32 w[16] = {n, n + 1, n + 2, n + 3, 0x80000000u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128};                     \
    h[0] = 0x6a09e667, h[1] = 0xbb67ae85, h[2] = 0x3c6ef372, h[3] = 0xa54ff53a;                                  \
    h[4] = 0x510e527f, h[5] = 0x9b05688c, h[6] = 0x1f83d9ab, h[7] = 0x5be0cd19;                                  \
    compress(h, w);                                                                                              \
  }

#define K_SPACE
typedef cl_uint uint32;
SHA256_BODY

#define TEXT_(...) #__VA_ARGS__
#define TEXT(...) TEXT_(__VA_ARGS__)
static const char* kernel_text =
    "kernel void sha256(global uint* out) {\n"
    "  uint h[8];\n"
    "  uint i = get_global_id(0);\n"
    "  digest(i, h);\n"
    "  for (int j = 0; j < 8; ++j) out[8 * i + j] = h[j];\n"
    "}\n";
#undef K_SPACE
#define K_SPACE constant
static const char* body_text = TEXT(SHA256_BODY);

int main(void) {
  enum { N = 65536 };
  char* source = malloc(strlen(body_text) + strlen(kernel_text) + 64);
  sprintf(source, "typedef uint uint32;\n%s\n%s", body_text, kernel_text);
  Sample s = sample_open();
  cl_program program = sample_build(&s, source, "-cl-std=CL2.0");
  cl_kernel kernel = sample_kernel(program, "sha256");
  cl_uint* result = malloc(N * 32);
  cl_mem out = sample_buffer(&s, CL_MEM_WRITE_ONLY, N * 32, NULL);
  CHECK(clSetKernelArg(kernel, 0, sizeof out, &out));
  const size_t global = N;
  sample_run(&s, kernel, 1, &global, NULL);
  CHECK(clEnqueueReadBuffer(s.queue, out, CL_TRUE, 0, N * 32, result, 0, NULL, NULL));
  int wrong = 0;
  for (cl_uint i = 0; i < N; ++i) {
    cl_uint h[8];
    digest(i, h);
    wrong += memcmp(h, result + 8 * i, sizeof h) != 0;
  }
  clReleaseMemObject(out);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  free(result);
  free(source);
  char detail[64];
  snprintf(detail, sizeof detail, "%d digests, %d wrong", N, wrong);
  return sample_close(&s, "sha256", wrong == 0, detail);
}
