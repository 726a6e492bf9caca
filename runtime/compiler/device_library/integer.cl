// cl_khr_extended_bit_ops and cl_khr_integer_dot_product, which AMD's library lacks.

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

extern constant const int __oclc_ISA_version;

#define OVERLOADED __attribute__((overloadable, const))

// Bit fields. A field of all bits, or of none, must not shift by the width of the type.

static ulong field(uint count) { return count >= 64 ? ~0ul : (1ul << count) - 1; }

#define SCALAR(T, S, U)                                                                                        \
  T OVERLOADED bitfield_insert(T base, T insert, uint offset, uint count) {                                    \
    if (count == 0) return base;                                                                               \
    ulong mask = field(count) << offset;                                                                       \
    return (T)(((ulong)base & ~mask) | ((ulong)insert << offset & mask));                                      \
  }                                                                                                            \
  S OVERLOADED bitfield_extract_signed(T base, uint offset, uint count) {                                      \
    if (count == 0) return 0;                                                                                  \
    return (S)((long)((ulong)base << (64 - offset - count)) >> (64 - count));                                  \
  }                                                                                                            \
  U OVERLOADED bitfield_extract_unsigned(T base, uint offset, uint count) {                                    \
    if (count == 0) return 0;                                                                                  \
    return (U)((ulong)(U)base >> offset & field(count));                                                       \
  }                                                                                                            \
  T OVERLOADED bit_reverse(T base) { return (T)__builtin_elementwise_bitreverse((U)base); }

#define VECTOR(T, S, U, N)                                                                                     \
  T##N##_ OVERLOADED bitfield_insert(T##N##_ base, T##N##_ insert, uint offset, uint count) {                  \
    for (int i = 0; i < N; ++i) base[i] = bitfield_insert(base[i], insert[i], offset, count);                  \
    return base;                                                                                               \
  }                                                                                                            \
  S##N##_ OVERLOADED bitfield_extract_signed(T##N##_ base, uint offset, uint count) {                          \
    S##N##_ result;                                                                                            \
    for (int i = 0; i < N; ++i) result[i] = bitfield_extract_signed(base[i], offset, count);                   \
    return result;                                                                                             \
  }                                                                                                            \
  U##N##_ OVERLOADED bitfield_extract_unsigned(T##N##_ base, uint offset, uint count) {                        \
    U##N##_ result;                                                                                            \
    for (int i = 0; i < N; ++i) result[i] = bitfield_extract_unsigned(base[i], offset, count);                 \
    return result;                                                                                             \
  }                                                                                                            \
  T##N##_ OVERLOADED bit_reverse(T##N##_ base) {                                                               \
    for (int i = 0; i < N; ++i) base[i] = bit_reverse(base[i]);                                                \
    return base;                                                                                               \
  }
#define TYPE(T, N) typedef T T##N##_ __attribute__((ext_vector_type(N)));
#define TYPES(T) TYPE(T, 2) TYPE(T, 3) TYPE(T, 4) TYPE(T, 8) TYPE(T, 16)
#define FIELDS_OF(T, S, U)                                                                                     \
  SCALAR(T, S, U)                                                                                              \
  VECTOR(T, S, U, 2) VECTOR(T, S, U, 3) VECTOR(T, S, U, 4) VECTOR(T, S, U, 8) VECTOR(T, S, U, 16)
#define FIELDS(S, U) TYPES(S) TYPES(U) FIELDS_OF(S, S, U) FIELDS_OF(U, S, U)
FIELDS(char, uchar)
FIELDS(short, ushort)
FIELDS(int, uint)
FIELDS(long, ulong)

// Dot products of four bytes. gfx906 to gfx950 (not the gfx909 and gfx90c among them, which are as gfx900), gfx1011,
// gfx1012 and gfx1030 multiply bytes of equal signs, gfx11 and later of any; the other gfx10.1 lack both.

static bool has_dot4(void) {
  int version = __oclc_ISA_version;
  return (version >= 9006 && version < 10000 && version != 9009 && version != 9012) || version == 10101 ||
         version == 10102 || (version >= 10300 && version < 11000);
}
static bool has_sudot4(void) { return __oclc_ISA_version >= 11000; }

static int sum_products(const int* a, const int* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

#define PRODUCTS(A, B, SUM)                                                                                    \
  int a[4], b[4];                                                                                              \
  for (int i = 0; i < 4; ++i) {                                                                                \
    a[i] = (A)(x >> 8 * i);                                                                                    \
    b[i] = (B)(y >> 8 * i);                                                                                    \
  }                                                                                                            \
  SUM = sum_products(a, b)

static int clamped(long sum) {
  const long most = 0x7fffffff;
  return (int)(sum > most ? most : sum < -most - 1 ? -most - 1 : sum);
}

__attribute__((target("dot1-insts,dot8-insts"))) static int dot_ss(uint x, uint y) {
  if (has_dot4()) return __builtin_amdgcn_sdot4((int)x, (int)y, 0, false);
  if (has_sudot4()) return __builtin_amdgcn_sudot4(true, (int)x, true, (int)y, 0, false);
  int sum;
  PRODUCTS(char, char, sum);
  return sum;
}
__attribute__((target("dot7-insts"))) static uint dot_uu(uint x, uint y) {
  if (has_dot4() || has_sudot4()) return __builtin_amdgcn_udot4(x, y, 0, false);
  int sum;
  PRODUCTS(uchar, uchar, sum);
  return (uint)sum;
}
__attribute__((target("dot8-insts"))) static int dot_us(uint x, uint y) {
  if (has_sudot4()) return __builtin_amdgcn_sudot4(false, (int)x, true, (int)y, 0, false);
  int sum;
  PRODUCTS(uchar, char, sum);
  return sum;
}
static int dot_su(uint x, uint y) { return dot_us(y, x); }

__attribute__((target("dot1-insts,dot8-insts"))) static int dot_acc_ss(uint x, uint y, int acc) {
  if (has_dot4()) return __builtin_amdgcn_sdot4((int)x, (int)y, acc, true);
  if (has_sudot4()) return __builtin_amdgcn_sudot4(true, (int)x, true, (int)y, acc, true);
  return clamped((long)dot_ss(x, y) + acc);
}
__attribute__((target("dot7-insts"))) static uint dot_acc_uu(uint x, uint y, uint acc) {
  if (has_dot4() || has_sudot4()) return __builtin_amdgcn_udot4(x, y, acc, true);
  ulong sum = (ulong)dot_uu(x, y) + acc;
  return sum > 0xffffffff ? 0xffffffff : (uint)sum;
}
__attribute__((target("dot8-insts"))) static int dot_acc_us(uint x, uint y, int acc) {
  if (has_sudot4()) return __builtin_amdgcn_sudot4(false, (int)x, true, (int)y, acc, true);
  return clamped((long)dot_us(x, y) + acc);
}
static int dot_acc_su(uint x, uint y, int acc) { return dot_acc_us(y, x, acc); }

#define DOT(KIND, A, B, R, NAME)                                                                               \
  R OVERLOADED dot(A x, B y) { return dot_##KIND(__builtin_astype(x, uint), __builtin_astype(y, uint)); }      \
  R OVERLOADED dot_acc_sat(A x, B y, R acc) {                                                                  \
    return dot_acc_##KIND(__builtin_astype(x, uint), __builtin_astype(y, uint), acc);                          \
  }                                                                                                            \
  R OVERLOADED dot_4x8packed_##NAME(uint x, uint y) { return dot_##KIND(x, y); }                               \
  R OVERLOADED dot_acc_sat_4x8packed_##NAME(uint x, uint y, R acc) { return dot_acc_##KIND(x, y, acc); }
DOT(uu, uchar4_, uchar4_, uint, uu_uint)
DOT(ss, char4_, char4_, int, ss_int)
DOT(us, uchar4_, char4_, int, us_int)
DOT(su, char4_, uchar4_, int, su_int)
