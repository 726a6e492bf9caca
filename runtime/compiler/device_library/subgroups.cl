// Sub-group functions that AMD's library lacks: cl_khr_subgroup_shuffle, _shuffle_relative, _rotate, _ballot,
// _non_uniform_vote, _non_uniform_arithmetic, _clustered_reduce and _extended_types. A sub-group is a wave of 32 or
// 64.
//
// Everything rests on two operations: which lanes are here (`active`), and a register of another lane (`fetch`). A scan
// follows, for each lane, a chain through the lanes that take part, which doubles its stride in every step; so it needs
// no lane that is not there, and takes as many steps as the longest chain asks for.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef uint uint4 __attribute__((ext_vector_type(4)));

extern constant const int __oclc_ISA_version;
uint __attribute__((overloadable)) get_max_sub_group_size(void);

#define OVERLOADED __attribute__((overloadable))
#define NONE 64u  // no lane

static uint own_lane(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
static ulong ballot(bool x) { return __builtin_amdgcn_uicmp(x ? 1u : 0u, 0u, 33); }  // 33: not equal
static ulong active(void) { return ballot(true); }
static uint lowest(ulong mask) { return __builtin_ctzl(mask); }
static uint highest(ulong mask) { return 63u - __builtin_clzl(mask); }
static ulong below(uint lane) { return (1ul << lane) - 1; }
static ulong through(uint lane) { return (2ul << lane) - 1; }

// The value that lane `source` has, which is here; undefined for others.
static uint fetch_bits(uint value, uint source) {
  if (__oclc_ISA_version >= 8000) return __builtin_amdgcn_ds_bpermute(source << 2, value);
  uint result = value;
  for (ulong rest = active(); rest != 0; rest &= rest - 1) {
    uint lane = lowest(rest);
    uint other = __builtin_amdgcn_readlane(value, lane);
    result = source == lane ? other : result;
  }
  return result;
}

#define FETCH_NARROW(T, BITS)                                                                                  \
  static T OVERLOADED fetch(T x, uint source) {                                                                \
    return __builtin_astype((BITS)fetch_bits(__builtin_astype(x, BITS), source), T);                           \
  }
FETCH_NARROW(char, uchar)
FETCH_NARROW(uchar, uchar)
FETCH_NARROW(short, ushort)
FETCH_NARROW(ushort, ushort)
FETCH_NARROW(half, ushort)
FETCH_NARROW(int, uint)
FETCH_NARROW(uint, uint)
FETCH_NARROW(float, uint)

#define FETCH_WIDE(T)                                                                                          \
  static T OVERLOADED fetch(T x, uint source) {                                                                \
    ulong bits = __builtin_astype(x, ulong);                                                                   \
    ulong high = fetch_bits((uint)(bits >> 32), source);                                                       \
    return __builtin_astype(high << 32 | fetch_bits((uint)bits, source), T);                                   \
  }
FETCH_WIDE(long)
FETCH_WIDE(ulong)
FETCH_WIDE(double)

// Shuffles. Lanes beyond the sub-group give undefined values.

static uint rotated(uint from, int delta, uint size) {
  uint shift = (uint)(delta % (int)size + (int)size);
  return (from + shift) % size;
}

#define SHUFFLES(T)                                                                                            \
  T OVERLOADED sub_group_shuffle(T x, uint index) { return fetch(x, index); }                                  \
  T OVERLOADED sub_group_shuffle_xor(T x, uint value) { return fetch(x, own_lane() ^ value); }                 \
  T OVERLOADED sub_group_shuffle_up(T x, uint delta) { return fetch(x, own_lane() - delta); }                  \
  T OVERLOADED sub_group_shuffle_down(T x, uint delta) { return fetch(x, own_lane() + delta); }                \
  T OVERLOADED sub_group_rotate(T x, int delta) {                                                              \
    return fetch(x, rotated(own_lane(), delta, get_max_sub_group_size()));                                     \
  }                                                                                                            \
  T OVERLOADED sub_group_clustered_rotate(T x, int delta, uint size) {                                         \
    uint first = own_lane() & ~(size - 1);                                                                     \
    return fetch(x, first + rotated(own_lane() - first, delta, size));                                         \
  }                                                                                                            \
  T OVERLOADED sub_group_broadcast_first(T x) { return fetch(x, lowest(active())); }                           \
  T OVERLOADED sub_group_non_uniform_broadcast(T x, uint index) { return fetch(x, index); }                    \
  int OVERLOADED sub_group_non_uniform_all_equal(T x) {                                                        \
    return active() == ballot(x == fetch(x, lowest(active())));                                                \
  }
SHUFFLES(char)
SHUFFLES(uchar)
SHUFFLES(short)
SHUFFLES(ushort)
SHUFFLES(int)
SHUFFLES(uint)
SHUFFLES(long)
SHUFFLES(ulong)
SHUFFLES(half)
SHUFFLES(float)
SHUFFLES(double)

#define BROADCAST_VECTOR(T, N)                                                                                 \
  typedef T T##N##_ __attribute__((ext_vector_type(N)));                                                       \
  T##N##_ OVERLOADED sub_group_broadcast(T##N##_ x, uint index) {                                              \
    T##N##_ result;                                                                                            \
    for (int i = 0; i < N; ++i) result[i] = fetch(x[i], index);                                                \
    return result;                                                                                             \
  }                                                                                                            \
  T##N##_ OVERLOADED sub_group_non_uniform_broadcast(T##N##_ x, uint index) { return sub_group_broadcast(x, index); }
#define BROADCAST_VECTORS(T) \
  BROADCAST_VECTOR(T, 2) BROADCAST_VECTOR(T, 3) BROADCAST_VECTOR(T, 4) BROADCAST_VECTOR(T, 8) BROADCAST_VECTOR(T, 16)
BROADCAST_VECTORS(char)
BROADCAST_VECTORS(uchar)
BROADCAST_VECTORS(short)
BROADCAST_VECTORS(ushort)
BROADCAST_VECTORS(int)
BROADCAST_VECTORS(uint)
BROADCAST_VECTORS(long)
BROADCAST_VECTORS(ulong)
BROADCAST_VECTORS(half)
BROADCAST_VECTORS(float)
BROADCAST_VECTORS(double)

// Votes and ballots.

int OVERLOADED sub_group_elect(void) { return own_lane() == lowest(active()); }
int OVERLOADED sub_group_non_uniform_all(int x) { return ballot(x == 0) == 0; }
int OVERLOADED sub_group_non_uniform_any(int x) { return ballot(x != 0) != 0; }

static uint4 as_mask(ulong bits) { return (uint4)((uint)bits, (uint)(bits >> 32), 0u, 0u); }
static ulong from_mask(uint4 mask) { return (ulong)mask.y << 32 | mask.x; }
// The lanes that the sub-group can have.
static ulong possible(void) { return through(get_max_sub_group_size() - 1); }

uint4 OVERLOADED sub_group_ballot(int x) { return as_mask(ballot(x != 0)); }
int OVERLOADED sub_group_inverse_ballot(uint4 mask) { return (int)(from_mask(mask) >> own_lane() & 1); }
int OVERLOADED sub_group_ballot_bit_extract(uint4 mask, uint index) { return (int)(from_mask(mask) >> (index & 63) & 1); }
uint OVERLOADED sub_group_ballot_bit_count(uint4 mask) { return __builtin_popcountl(from_mask(mask) & possible()); }
uint OVERLOADED sub_group_ballot_inclusive_scan(uint4 mask) {
  return __builtin_popcountl(from_mask(mask) & through(own_lane()));
}
uint OVERLOADED sub_group_ballot_exclusive_scan(uint4 mask) {
  return __builtin_popcountl(from_mask(mask) & below(own_lane()));
}
// Undefined when no bit is set; the bit on top keeps the count within a sub-group.
uint OVERLOADED sub_group_ballot_find_lsb(uint4 mask) { return lowest((from_mask(mask) & possible()) | 1ul << 63); }
uint OVERLOADED sub_group_ballot_find_msb(uint4 mask) { return highest((from_mask(mask) & possible()) | 1); }

uint4 OVERLOADED get_sub_group_eq_mask(void) { return as_mask(1ul << own_lane()); }
uint4 OVERLOADED get_sub_group_ge_mask(void) { return as_mask(possible() & ~below(own_lane())); }
uint4 OVERLOADED get_sub_group_gt_mask(void) { return as_mask(possible() & ~through(own_lane())); }
uint4 OVERLOADED get_sub_group_le_mask(void) { return as_mask(through(own_lane())); }
uint4 OVERLOADED get_sub_group_lt_mask(void) { return as_mask(below(own_lane())); }

// Reductions and scans over the lanes of `mask`, the caller's among them.

static uint lane_before(ulong mask) {
  ulong lower = mask & below(own_lane());
  return lower == 0 ? NONE : highest(lower);
}

static ulong cluster(uint size) {
  return active() & (through(size - 1) << (own_lane() & ~(size - 1)));
}

#define SCAN(OP, T, COMBINED)                                                                                  \
  static T OVERLOADED scan_##OP(T x, ulong mask) {                                                             \
    uint from = lane_before(mask);                                                                             \
    while (ballot(from != NONE) != 0) {                                                                        \
      uint source = from == NONE ? own_lane() : from;                                                          \
      T a = fetch(x, source), b = x;                                                                           \
      uint next = fetch(from, source);                                                                         \
      x = from == NONE ? x : (T)(COMBINED);                                                                    \
      from = from == NONE ? NONE : next;                                                                       \
    }                                                                                                          \
    return x;                                                                                                  \
  }                                                                                                            \
  static T OVERLOADED reduce_##OP(T x, ulong mask) { return fetch(scan_##OP(x, mask), highest(mask)); }        \
  static T OVERLOADED exclusive_##OP(T x, ulong mask, T identity) {                                            \
    uint from = lane_before(mask);                                                                             \
    T before = fetch(scan_##OP(x, mask), from == NONE ? own_lane() : from);                                    \
    return from == NONE ? identity : before;                                                                   \
  }

#define NON_UNIFORM(OP, T, COMBINED, IDENTITY)                                                                 \
  SCAN(OP, T, COMBINED)                                                                                        \
  T OVERLOADED sub_group_non_uniform_reduce_##OP(T x) { return reduce_##OP(x, active()); }                     \
  T OVERLOADED sub_group_non_uniform_scan_inclusive_##OP(T x) { return scan_##OP(x, active()); }               \
  T OVERLOADED sub_group_non_uniform_scan_exclusive_##OP(T x) {                                                \
    return exclusive_##OP(x, active(), (T)(IDENTITY));                                                         \
  }                                                                                                            \
  T OVERLOADED sub_group_clustered_reduce_##OP(T x, uint size) { return reduce_##OP(x, cluster(size)); }

// The types that the extension adds to cl_khr_subgroups.
#define EXTENDED(OP, T, IDENTITY)                                                                              \
  T OVERLOADED sub_group_reduce_##OP(T x) { return reduce_##OP(x, active()); }                                 \
  T OVERLOADED sub_group_scan_inclusive_##OP(T x) { return scan_##OP(x, active()); }                           \
  T OVERLOADED sub_group_scan_exclusive_##OP(T x) { return exclusive_##OP(x, active(), (T)(IDENTITY)); }

#define ARITHMETIC(T, LEAST, GREATEST)                                                                         \
  NON_UNIFORM(add, T, a + b, 0)                                                                                \
  NON_UNIFORM(mul, T, a* b, 1)
#define INTEGER(T, LEAST, GREATEST)                                                                            \
  ARITHMETIC(T, LEAST, GREATEST)                                                                               \
  NON_UNIFORM(min, T, a < b ? a : b, GREATEST)                                                                 \
  NON_UNIFORM(max, T, a > b ? a : b, LEAST)                                                                    \
  NON_UNIFORM(and, T, a & b, ~0)                                                                               \
  NON_UNIFORM(or, T, a | b, 0)                                                                                 \
  NON_UNIFORM(xor, T, a ^ b, 0)
#define NARROW(T, LEAST, GREATEST)                                                                             \
  INTEGER(T, LEAST, GREATEST)                                                                                  \
  EXTENDED(add, T, 0)                                                                                          \
  EXTENDED(min, T, GREATEST)                                                                                   \
  EXTENDED(max, T, LEAST)                                                                                      \
  T OVERLOADED sub_group_broadcast(T x, uint index) { return fetch(x, index); }
#define REAL(T, MIN, MAX)                                                                                      \
  ARITHMETIC(T, 0, 0)                                                                                          \
  NON_UNIFORM(min, T, MIN(a, b), __builtin_inff())                                                             \
  NON_UNIFORM(max, T, MAX(a, b), -__builtin_inff())

NARROW(char, -128, 127)
NARROW(uchar, 0, 255)
NARROW(short, -32768, 32767)
NARROW(ushort, 0, 65535)
INTEGER(int, -2147483647 - 1, 2147483647)
INTEGER(uint, 0, ~0u)
INTEGER(long, 1ul << 63, ~0ul >> 1)
INTEGER(ulong, 0, ~0ul)
#define HALF_MIN(a, b) __builtin_elementwise_min(a, b)
#define HALF_MAX(a, b) __builtin_elementwise_max(a, b)
REAL(half, HALF_MIN, HALF_MAX)
REAL(float, __builtin_fminf, __builtin_fmaxf)
REAL(double, __builtin_fmin, __builtin_fmax)

NON_UNIFORM(logical_and, int, a != 0 && b != 0, 1)
NON_UNIFORM(logical_or, int, a != 0 || b != 0, 0)
NON_UNIFORM(logical_xor, int, (a != 0) != (b != 0), 0)
