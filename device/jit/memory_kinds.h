// Kinds of data that memory instructions move, sixteen lanes at a time (a chunk): a row of neighbours in
// memory, or all at one place; and what of them lies in rows. For the bitcode library (memory_paths.h) and
// for native code (paths.cpp), at the host vector level of who includes it.
#pragma once

#include "device/interp/memory_move.h"

namespace morgana::device::MORGANA_SIMD {

// A register as four chunks.
struct Lanes {
  Chunk chunk[kChunks];
};

// Of a register that lies in memory: one lane, without the others.
MORGANA_INLINE uint32_t lane_in_memory(const Lanes* lanes, int lane) {
  return reinterpret_cast<const volatile uint32_t*>(lanes)[lane];
}
MORGANA_INLINE uint32_t equal_lanes(Chunk a, Chunk b) {
  return static_cast<uint32_t>(bits_of_condition(a == b));
}
MORGANA_INLINE bool covers(uint32_t equal, uint32_t mask) { return (mask & ~equal) == 0; }

// Whose memory a row lies in. All sixteen lanes' places in LDS are the group's, which one thread executes:
// lanes outside the mask may be read, and written with what they hold.
enum class Space : uint8_t { global, lds };

// What lies in the page of an active lane can be read; lane 0 stands for the others.
template <int Bytes>
MORGANA_INLINE bool is_readable(const uint8_t* from, uint32_t mask, Space space) {
  if (mask == 0xffff || space == Space::lds) return true;
  const auto first = reinterpret_cast<uint64_t>(from);
  return (mask & 1) && (first ^ (first + 16 * Bytes - 1)) < 4096;
}
// Records of sixteen lanes one by one, for the active ones.
template <int Bytes>
MORGANA_INLINE void copy_records(uint8_t* to, const uint8_t* from, uint32_t mask) {
  for (; mask; mask &= mask - 1) {
    const int at = Bytes * __builtin_ctz(mask);
    __builtin_memcpy(to + at, from + at, Bytes);
  }
}

// N dwords of sixteen lanes, from `from` on (row) or all at `from` (same).
template <int N>
MORGANA_INLINE void load_row(Lanes* data, int i, const uint8_t* from, uint32_t mask, Space space) {
  if constexpr (N == 1 && kMaskedAccesses) {
    if (space == Space::global) {
      data[0].chunk[i] = __builtin_masked_load(as_bools(mask), reinterpret_cast<const uint32_t*>(from));
      return;
    }
  }
  Chunk v[N];
  if (is_readable<4 * N>(from, mask, space)) [[likely]] {
    for (int d = 0; d < N; d++) v[d] = peek<Chunk>(from + 64 * d);
  } else {
    // Apart: what is passed by its address stays in memory on all ways, and LLVM moves it byte by byte.
    Chunk records[N] = {};
    copy_records<4 * N>(reinterpret_cast<uint8_t*>(records), from, mask);
    for (int d = 0; d < N; d++) v[d] = records[d];
  }
  split_records<N>(v);
  for (int d = 0; d < N; d++) data[d].chunk[i] = v[d];
}
template <int N>
MORGANA_INLINE void load_same(Lanes* data, int i, const uint8_t* from) {
  for (int d = 0; d < N; d++) data[d].chunk[i] = Chunk(peek<uint32_t>(from + 4 * d));
}
template <int N>
MORGANA_INLINE void store_row(const Lanes* data, int i, uint8_t* to, uint32_t mask, Space space) {
  if constexpr (N == 1 && kMaskedAccesses) {
    if (mask != 0xffff && space == Space::global)
      return __builtin_masked_store(as_bools(mask), data[0].chunk[i], reinterpret_cast<uint32_t*>(to));
  }
  Chunk v[N];
  for (int d = 0; d < N; d++) v[d] = data[d].chunk[i];
  if (mask != 0xffff && space == Space::lds) {
    // A masked store could not be forwarded to the loads behind it.
    Chunk old[N];
    for (int d = 0; d < N; d++) old[d] = peek<Chunk>(to + 64 * d);
    split_records<N>(old);
    for (int d = 0; d < N; d++) v[d] = blend(mask, v[d], old[d]);
  }
  join_records<N>(v);
  if (mask != 0xffff && space == Space::global) {
    Chunk records[N];
    for (int d = 0; d < N; d++) records[d] = v[d];
    return copy_records<4 * N>(to, reinterpret_cast<const uint8_t*>(records), mask);
  }
  for (int d = 0; d < N; d++) poke(to + 64 * d, v[d]);
}
template <class T>
MORGANA_INLINE Chunk widened(T __attribute__((ext_vector_type(16))) v) {
  using Signed = int32_t __attribute__((ext_vector_type(16)));
  return __builtin_bit_cast(Chunk, __builtin_convertvector(v, Signed));
}
template <class T>
MORGANA_INLINE void load_narrow(Lanes* data, int i, const uint8_t* from, uint32_t mask, Space space) {
  using Narrow = T __attribute__((ext_vector_type(16)));
  Narrow v;
  if (is_readable<sizeof(T)>(from, mask, space)) [[likely]] {
    v = peek<Narrow>(from);
  } else {
    Narrow records = {};
    copy_records<sizeof(T)>(reinterpret_cast<uint8_t*>(&records), from, mask);
    v = records;
  }
  data[0].chunk[i] = widened<T>(v);
}
template <class T>
MORGANA_INLINE void store_narrow(const Lanes* data, int i, uint8_t* to, uint32_t mask) {
  using Narrow = T __attribute__((ext_vector_type(16)));
  const Narrow v = __builtin_convertvector(data[0].chunk[i], Narrow);
  if (mask != 0xffff) {
    const Narrow records = v;
    return copy_records<sizeof(T)>(to, reinterpret_cast<const uint8_t*>(&records), mask);
  }
  poke(to, v);
}

// The kinds: what a row and what one place means.
template <int N>
struct Dwords {
  static constexpr int kSize = 4 * N;
  static constexpr bool kIsDword = N == 1;
  static constexpr int kRegisters = N;
  using LoadLanes = LoadDwords<N>;  // each lane for itself
  using StoreLanes = StoreDwords<N>;
  MORGANA_INLINE static void load(Lanes* d, int i, const uint8_t* p, uint32_t m, Space s) {
    load_row<N>(d, i, p, m, s);
  }
  MORGANA_INLINE static void same(Lanes* d, int i, const uint8_t* p) { load_same<N>(d, i, p); }
  MORGANA_INLINE static uint32_t one(const uint8_t* p, int d) { return peek<uint32_t>(p + 4 * d); }
  MORGANA_INLINE static void store(const Lanes* d, int i, uint8_t* p, uint32_t m, Space s) {
    store_row<N>(d, i, p, m, s);
  }
};
template <class T>
struct Narrow {
  using Part = T;
  static constexpr int kSize = sizeof(T);
  static constexpr bool kIsDword = false;
  static constexpr int kRegisters = 1;
  using LoadLanes = LoadPart<T>;
  using StoreLanes = StorePart<T>;
  MORGANA_INLINE static void load(Lanes* d, int i, const uint8_t* p, uint32_t m, Space s) {
    load_narrow<T>(d, i, p, m, s);
  }
  MORGANA_INLINE static void same(Lanes* d, int i, const uint8_t* p) { d[0].chunk[i] = Chunk(one(p, 0)); }
  MORGANA_INLINE static uint32_t one(const uint8_t* p, int) {
    return static_cast<uint32_t>(static_cast<int32_t>(peek<T>(p)));
  }
  MORGANA_INLINE static void store(const Lanes* d, int i, uint8_t* p, uint32_t m, Space) {
    store_narrow<T>(d, i, p, m);
  }
};

// --- Rows ---

// Stores the lanes of `mask` as one value with what lies there: LLVM would make a masked store of it, which
// could not be forwarded to the loads behind it.
MORGANA_INLINE void poke_lanes(uint8_t* to, uint32_t mask, Chunk value) {
  typedef Chunk Loose __attribute__((aligned(1)));  // an alias-declaration would keep the vector's alignment
  *reinterpret_cast<volatile Loose*>(to) = blend(mask, value, peek<Chunk>(to));
}

// The chunks of waves of which 32 or 16 lanes execute, and the lanes of so many.
inline constexpr int kHalf = kChunks / 2, kQuarter = kChunks / 4;
template <int Count>
inline constexpr uint64_t kLanesOf = kAllLanes >> (kLanes - 16 * Count);

// Where the first `Count` chunks begin, if each is a row of records of `Size` bytes: one test for all,
// without branches. None may wrap, counted from `least`.
template <int Size, int Count = kChunks>
MORGANA_INLINE bool are_rows(const Lanes* offset, Chunk differs, uint32_t (&start)[kChunks],
                             uint32_t least = 0) {
  uint64_t last = 0;
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) {
    start[i] = offset->chunk[i][0];
    differs |= offset->chunk[i] ^ (kIota * Size + start[i]);
    last |= (start[i] - least) + uint64_t{15 * Size};
  }
  return is_zero(differs) & (last >> 32 == 0);
}
// Wide records are rare without a shape, and their rows long code.
template <class Kind>
inline constexpr bool kInline = Kind::kRegisters <= 2;

// What kernels try themselves, native code need not: under a full EXEC all, ...
template <class Kind, int Count = kChunks>
MORGANA_INLINE bool tries_rows_inline(uint64_t exec) {
  return kInline<Kind> && exec == kLanesOf<Count>;
}
// ... and stores of dwords to LDS under a partial one. Often a load under the full one has asked the same of
// the same addresses (if (a[i] > b) a[i] = b). Without mask registers it would be long code.
#ifdef __AVX512F__
template <class Kind>
inline constexpr bool kStoresPartialRows = Kind::kIsDword;
#else
template <class Kind>
inline constexpr bool kStoresPartialRows = false;
#endif
template <class Kind, int Count = kChunks>
MORGANA_INLINE bool tries_lds_stores_inline(uint64_t exec) {
  return kStoresPartialRows<Kind> || tries_rows_inline<Kind, Count>(exec);
}
// Whether all lanes of LDS's addresses lie in rows, or those of the first `Count` chunks, which have all
// active ones; if so, those are moved.
template <class Kind, bool Stores, int Count = kChunks, class D>
MORGANA_INLINE bool by_lds_rows(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                uint64_t exec, D* data) {
  Lanes offset;
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) offset.chunk[i] = address->chunk[i] + add;
  uint32_t start[kChunks], greatest = 0;
  const bool good = are_rows<Kind::kSize, Count>(&offset, Chunk(0), start);
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) greatest = start[i] > greatest ? start[i] : greatest;
  if (!(good & (greatest + uint64_t{16 * Kind::kSize} <= limit))) return false;
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) {
    uint8_t* const row = lds + start[i];
    const uint32_t mask = chunk_mask(exec, i);
    if constexpr (Stores && kStoresPartialRows<Kind>)
      poke_lanes(row, mask, data[0].chunk[i]);
    else if constexpr (Stores)
      Kind::store(data, i, row, mask, Space::lds);
    else
      Kind::load(data, i, row, mask, Space::lds);
  }
  return true;
}

}  // namespace morgana::device::MORGANA_SIMD
