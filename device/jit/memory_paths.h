// The fast paths of memory instructions, for inlining into kernels: each answers false, having changed
// nothing that matters, when the addresses have no shape that it serves; the interpreter's handler does the
// access then. Part of the bitcode library semantics.cpp.
//
// Sixteen lanes at a time (a chunk): neighbours in memory, or all at one address. `exec` is tested by chunk,
// so that constant masks cost nothing.
#pragma once

#include "device/interp/memory_move.h"
#include "device/jit/abi.h"

namespace morgana::device::MORGANA_SIMD {

// A register as four chunks.
struct Lanes {
  Chunk chunk[kChunks];
};

MORGANA_INLINE uint32_t equal_lanes(Chunk a, Chunk b) {
  return __builtin_bit_cast(uint16_t, __builtin_convertvector(a == b, ChunkMask));
}
MORGANA_INLINE bool covers(uint32_t equal, uint32_t mask) { return (mask & ~equal) == 0; }

// What sixteen lanes' addresses look like. A row begins where lane 0 would access if it is not active.
enum class Form : uint8_t { idle, row, same, other };
struct Place {
  Form form;
  uint32_t first;  // of lane 0 (row), of all (same), of the first active lane
};

MORGANA_INLINE uint32_t first_active(Chunk offset, uint32_t mask) {
  if (mask & 1) [[likely]]
    return offset[0];
  return offset[__builtin_ctz(mask)];
}

template <int Size>
MORGANA_INLINE Place place_of(Chunk offset, uint32_t mask) {
  if (mask == 0) return {Form::idle, 0};
  const uint32_t first = first_active(offset, mask), before = Size * __builtin_ctz(mask);
  const uint32_t start = first - before;
  if (first >= before && start <= UINT32_MAX - 16 * Size &&
      covers(equal_lanes(offset, kIota * Size + start), mask)) [[likely]]
    return {Form::row, start};
  if (covers(equal_lanes(offset, Chunk(first)), mask)) return {Form::same, first};
  return {Form::other, first};
}

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
  Chunk v[N] = {};
  if (is_readable<4 * N>(from, mask, space)) [[likely]] {
    for (int d = 0; d < N; d++) v[d] = peek<Chunk>(from + 64 * d);
  } else {
    copy_records<4 * N>(reinterpret_cast<uint8_t*>(v), from, mask);
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
  if (mask != 0xffff && space == Space::global)
    return copy_records<4 * N>(to, reinterpret_cast<const uint8_t*>(v), mask);
  for (int d = 0; d < N; d++) poke(to + 64 * d, v[d]);
}
// All sixteen lanes, past the caches. `to` is a multiple of 64.
template <int N>
MORGANA_INLINE void stream_row(const Lanes* data, int i, uint8_t* to) {
  Chunk v[N];
  for (int d = 0; d < N; d++) v[d] = data[d].chunk[i];
  join_records<N>(v);
  for (int d = 0; d < N; d++) __builtin_nontemporal_store(v[d], reinterpret_cast<Chunk*>(to) + d);
}
template <class T>
MORGANA_INLINE void load_narrow(Lanes* data, int i, const uint8_t* from, uint32_t mask, Space space) {
  using Narrow = T __attribute__((ext_vector_type(16)));
  using Signed = int32_t __attribute__((ext_vector_type(16)));
  Narrow v = {};
  if (is_readable<sizeof(T)>(from, mask, space)) [[likely]]
    v = peek<Narrow>(from);
  else
    copy_records<sizeof(T)>(reinterpret_cast<uint8_t*>(&v), from, mask);
  data[0].chunk[i] = __builtin_bit_cast(Chunk, __builtin_convertvector(v, Signed));
}
template <class T>
MORGANA_INLINE void store_narrow(const Lanes* data, int i, uint8_t* to, uint32_t mask) {
  using Narrow = T __attribute__((ext_vector_type(16)));
  const Narrow v = __builtin_convertvector(data[0].chunk[i], Narrow);
  if (mask != 0xffff) return copy_records<sizeof(T)>(to, reinterpret_cast<const uint8_t*>(&v), mask);
  poke(to, v);
}

// The kinds of data: what a row and what one place means.
template <int N>
struct Dwords {
  static constexpr int kSize = 4 * N;
  static constexpr bool kIsDword = N == 1;
  static constexpr int kRegisters = N;
  using LoadLanes = LoadDwords<N>;
  using StoreLanes = StoreDwords<N>;
  MORGANA_INLINE static void load(Lanes* d, int i, const uint8_t* p, uint32_t m, Space s) {
    load_row<N>(d, i, p, m, s);
  }
  MORGANA_INLINE static void same(Lanes* d, int i, const uint8_t* p) { load_same<N>(d, i, p); }
  MORGANA_INLINE static void store(const Lanes* d, int i, uint8_t* p, uint32_t m, Space s) {
    store_row<N>(d, i, p, m, s);
  }
};
template <class T>
struct Narrow {
  static constexpr int kSize = sizeof(T);
  static constexpr bool kIsDword = false;
  static constexpr int kRegisters = 1;
  MORGANA_INLINE static void load(Lanes* d, int i, const uint8_t* p, uint32_t m, Space s) {
    load_narrow<T>(d, i, p, m, s);
  }
  MORGANA_INLINE static void same(Lanes* d, int i, const uint8_t* p) {
    d[0].chunk[i] = Chunk(static_cast<uint32_t>(static_cast<int32_t>(peek<T>(p))));
  }
  MORGANA_INLINE static void store(const Lanes* d, int i, uint8_t* p, uint32_t m, Space s) {
    store_narrow<T>(d, i, p, m);
  }
};

// --- Dwords that lie close together ---

// Whether the lanes of `mask` access whole dwords of the 128 bytes from `first` on.
MORGANA_INLINE bool is_window(Chunk offset, uint32_t first, uint32_t mask) {
  const Chunk index = offset - Chunk(first);
  const Chunk outside = index & Chunk(~uint32_t{124});
  return is_zero(blend(mask, outside, Chunk(0)));
}
// Two loads and a permutation for sixteen lanes. `from`: where 128 bytes can be read.
MORGANA_INLINE Chunk from_window(const uint8_t* from, Chunk offset, uint32_t first) {
  const Chunk low = peek<Chunk>(from), high = peek<Chunk>(from + 64);
#ifdef __AVX512F__
  using Sixteen32 = int __attribute__((vector_size(64)));
  const Chunk index = (offset - Chunk(first)) >> 2;
  return __builtin_bit_cast(Chunk, __builtin_ia32_vpermi2vard512(__builtin_bit_cast(Sixteen32, low),
                                                                 __builtin_bit_cast(Sixteen32, index),
                                                                 __builtin_bit_cast(Sixteen32, high)));
#else
  alignas(64) uint32_t words[32];
  set_chunk(words, 0, low), set_chunk(words, 1, high);
  Chunk v;
  for (int l = 0; l < 16; l++) v[l] = words[(offset[l] - first) >> 2 & 31];
  return v;
#endif
}
#ifdef __AVX512F__
inline constexpr bool kWindows = true;
#else
inline constexpr bool kWindows = false;
#endif
inline constexpr uint32_t kWindow = 128;
// Whether the window lies in the page of its first byte, which some lane accesses.
MORGANA_INLINE bool is_in_page(uint64_t at) { return (at ^ (at + kWindow - 1)) < 4096; }

// --- Offsets of 32 bits from a base ---

template <class Kind>
MORGANA_INLINE bool load_offsets(jit::WaveFrame* frame, uint64_t base, const Lanes* offset, uint64_t exec,
                                 Lanes* data) {
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const Chunk at = offset->chunk[i];
    const Place place = place_of<Kind::kSize>(at, mask);
    const uint64_t first = base + place.first;
    const auto* from = reinterpret_cast<const uint8_t*>(first);
    frame->first_address[i] = first;
    switch (place.form) {
      case Form::idle: break;
      case Form::row: Kind::load(data, i, from, mask, Space::global); break;
      case Form::same: Kind::same(data, i, from); break;
      case Form::other:
        if constexpr (Kind::kIsDword && kWindows) {
          if (is_window(at, place.first, mask) && is_in_page(first)) {
            data[0].chunk[i] = from_window(from, at, place.first);
            break;
          }
        }
        return false;
    }
  }
  return true;
}
template <class Kind>
MORGANA_INLINE bool store_offsets(jit::WaveFrame* frame, uint64_t base, const Lanes* offset, uint64_t exec,
                                  const Lanes* data) {
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const Place place = place_of<Kind::kSize>(offset->chunk[i], mask);
    if (place.form == Form::idle) continue;
    if (place.form != Form::row) return false;
    frame->first_address[i] = base + place.first;
    Kind::store(data, i, reinterpret_cast<uint8_t*>(base + place.first), mask, Space::global);
  }
  return true;
}

// --- Addresses of 64 bits ---

// What the first active lane holds.
MORGANA_INLINE uint32_t first_of(const Lanes* lanes, uint64_t exec) {
  if (exec & 1) [[likely]]
    return lanes->chunk[0][0];
  const int lane = __builtin_ctzll(exec);
  Chunk chunk = lanes->chunk[0];
#pragma clang loop unroll(full)
  for (int i = 1; i < kChunks; i++) chunk = lane / 16 == i ? lanes->chunk[i] : chunk;
  return chunk[lane % 16];
}

// The upper halves are all alike and name no aperture.
MORGANA_INLINE bool same_high(const Lanes* high, uint32_t first, uint64_t exec, bool flat) {
  if (flat && (first == kSharedBase >> 32 || first == kPrivateBase >> 32)) return false;
  Chunk differs = Chunk(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++)
    differs |= blend(chunk_mask(exec, i), high->chunk[i] ^ Chunk(first), Chunk(0));
  return is_zero(differs);
}

template <class Kind>
MORGANA_INLINE bool load_addresses(jit::WaveFrame* frame, int64_t imm, const Lanes* low, const Lanes* high,
                                   uint64_t exec, bool flat, Lanes* data) {
  if (exec == 0) return true;
  const uint32_t upper = first_of(high, exec);
  if (!same_high(high, upper, exec, flat)) return false;
  const uint64_t base = (uint64_t{upper} << 32) + static_cast<uint64_t>(imm);
  return load_offsets<Kind>(frame, base, low, exec, data);
}
template <class Kind>
MORGANA_INLINE bool store_addresses(jit::WaveFrame* frame, int64_t imm, const Lanes* low, const Lanes* high,
                                    uint64_t exec, bool flat, const Lanes* data) {
  if (exec == 0) return true;
  const uint32_t upper = first_of(high, exec);
  if (!same_high(high, upper, exec, flat)) return false;
  const uint64_t base = (uint64_t{upper} << 32) + static_cast<uint64_t>(imm);
  return store_offsets<Kind>(frame, base, low, exec, data);
}

// --- Addresses whose form is known ---

// `base`: of lanes 0, 16, 32, 48; `rows`: bit i says whether chunk i is a row, or all at one address.
// `linear`: chunks have no addresses of their own, so that none is wild when any lane is active.
template <class Kind>
MORGANA_INLINE bool load_shaped(jit::WaveFrame* frame, const uint64_t* base, uint32_t rows, bool linear,
                                uint64_t exec, Lanes* data) {
  if (exec == 0) return true;
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const auto* from = reinterpret_cast<const uint8_t*>(base[i]);
    if (frame) frame->first_address[i] = base[i];
    if (rows >> i & 1) {
      if (mask != 0) Kind::load(data, i, from, mask, frame ? Space::global : Space::lds);
    } else if (linear || mask != 0) {
      Kind::same(data, i, from);
    }
  }
  return true;
}
template <class Kind>
MORGANA_INLINE bool store_shaped(jit::WaveFrame* frame, const uint64_t* base, uint64_t exec,
                                 const Lanes* data) {
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    if (frame) frame->first_address[i] = base[i];
    const uint32_t mask = chunk_mask(exec, i);
    if (mask == 0) continue;
    Kind::store(data, i, reinterpret_cast<uint8_t*>(base[i]), mask, frame ? Space::global : Space::lds);
  }
  return true;
}

// --- LDS ---

template <class Kind>
MORGANA_INLINE bool load_lds(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address, uint64_t exec,
                             Lanes* data) {
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const Chunk at = address->chunk[i] + add;
    const Place place = place_of<Kind::kSize>(at, mask);
    const uint64_t first = place.first;
    switch (place.form) {
      case Form::idle: break;
      case Form::row:
        if (first + 16 * Kind::kSize > limit) return false;
        Kind::load(data, i, lds + first, mask, Space::lds);
        break;
      case Form::same:
        if (first + Kind::kSize > limit) return false;
        Kind::same(data, i, lds + first);
        break;
      case Form::other:
        if constexpr (Kind::kIsDword && kWindows) {
          if (is_window(at, place.first, mask) && first + kWindow <= limit) {
            data[0].chunk[i] = from_window(lds + first, at, place.first);
            break;
          }
        }
        return false;
    }
  }
  return true;
}
template <class Kind>
MORGANA_INLINE bool store_lds(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address, uint64_t exec,
                              const Lanes* data) {
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const Chunk at = address->chunk[i] + add;
    const Place place = place_of<Kind::kSize>(at, mask);
    const uint64_t first = place.first;
    if (place.form == Form::idle) continue;
    if (place.form != Form::row || first + 16 * Kind::kSize > limit) return false;
    Kind::store(data, i, lds + first, mask, Space::lds);
  }
  return true;
}

// --- One address a lane, out of line ---

// Loads or stores of whole dwords at `at`; the lanes outside `exec` point nowhere.
template <class Move>
[[gnu::noinline]] static void move_lanes(uint64_t* at, uint64_t exec, Lanes* data) {
  point_nowhere(at, exec);
  Data registers;
  registers.to = reinterpret_cast<uint32_t*>(data);
  registers.from = reinterpret_cast<const uint32_t*>(data);
  Move::lanes(registers, at, exec);
}

// Addresses of 64 bits (`high`), or offsets from `base`. False: some lane addresses an aperture.
template <class Move>
[[gnu::noinline]] static bool global_lanes(Wave* wave, uint64_t base, const Lanes* low, const Lanes* high,
                                           bool flat, uint64_t exec, Lanes* data) {
  uint64_t* const at = address_room(*wave);
  for (int i = 0; i < kChunks; i++) {
    const Chunk upper = high ? high->chunk[i] : Chunk(0);
    const Chunk shared = upper ^ Chunk(kSharedBase >> 32), own = upper ^ Chunk(kPrivateBase >> 32);
    const Chunk aperture = shared == 0 || own == 0 ? Chunk(1) : Chunk(0);
    if (flat && !is_zero(blend(chunk_mask(exec, i), aperture, Chunk(0)))) return false;
    *reinterpret_cast<Chunk64*>(at + 16 * i) = (__builtin_convertvector(upper, Chunk64) << 32) +
                                               __builtin_convertvector(low->chunk[i], Chunk64) + base;
  }
  const Touch touch(*wave, at, exec, Move::kBytes);
  move_lanes<Move>(at, exec, data);
  return true;
}

// False: some lane is out of range.
template <class Move>
[[gnu::noinline]] static bool lds_lanes(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                        uint64_t exec, Lanes* data) {
  if (limit < Move::kBytes) return false;
  alignas(128) uint64_t at[kLanes];
  for (int i = 0; i < kChunks; i++) {
    const Chunk offset = address->chunk[i] + add;
    const Chunk outside = offset > limit - Move::kBytes ? Chunk(1) : Chunk(0);
    if (!is_zero(blend(chunk_mask(exec, i), outside, Chunk(0)))) return false;
    *reinterpret_cast<Chunk64*>(at + 16 * i) =
        __builtin_convertvector(offset, Chunk64) + reinterpret_cast<uint64_t>(lds);
  }
  move_lanes<Move>(at, exec, data);
  return true;
}

// The caller's registers are values: only copies of them have addresses.
template <int N>
struct Copy {
  Lanes lanes[N];
  MORGANA_INLINE explicit Copy(const Lanes* from) {
    for (int d = 0; d < N; d++) lanes[d] = from[d];
  }
};

template <class Kind, bool Stores>
MORGANA_INLINE bool by_address(Wave* wave, jit::WaveFrame* frame, uint64_t base, const Lanes* low,
                               const Lanes* high, bool flat, uint64_t exec, Lanes* data) {
  if constexpr (requires { typename Kind::LoadLanes; }) {
    using Load = typename Kind::LoadLanes;
    using Store = typename Kind::StoreLanes;
    const Copy<1> lower(low), upper(high ? high : low);
    Copy<Kind::kRegisters> moved(data);
    const Lanes* const top = high ? upper.lanes : nullptr;
    if constexpr (Stores) return global_lanes<Store>(wave, base, lower.lanes, top, flat, exec, moved.lanes);
    frame->gathers++;
    if (!global_lanes<Load>(wave, base, lower.lanes, top, flat, exec, moved.lanes)) return false;
    for (int d = 0; d < Kind::kRegisters; d++) data[d] = moved.lanes[d];
    return true;
  }
  return false;
}
template <class Kind, bool Stores>
MORGANA_INLINE bool by_lds_address(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                   uint64_t exec, Lanes* data) {
  if constexpr (requires { typename Kind::LoadLanes; }) {
    using Load = typename Kind::LoadLanes;
    using Store = typename Kind::StoreLanes;
    const Copy<1> lower(address);
    Copy<Kind::kRegisters> moved(data);
    if constexpr (Stores) return lds_lanes<Store>(lds, limit, add, lower.lanes, exec, moved.lanes);
    if (!lds_lanes<Load>(lds, limit, add, lower.lanes, exec, moved.lanes)) return false;
    for (int d = 0; d < Kind::kRegisters; d++) data[d] = moved.lanes[d];
    return true;
  }
  return false;
}

// --- Indices of records from a base, under a full EXEC ---

// What are no four rows.
template <class Kind>
[[gnu::noinline]] static void index_lanes(Wave* wave, jit::WaveFrame* frame, uint64_t base,
                                          const Lanes* index, bool is_signed, Lanes* data) {
  using Signed = int32_t __attribute__((ext_vector_type(16)));
  using Signed64 = int64_t __attribute__((ext_vector_type(16)));
  Lanes low, high;
  for (int i = 0; i < kChunks; i++) {
    const Chunk at = index->chunk[i];
    const Chunk64 wide =
        is_signed
            ? __builtin_bit_cast(Chunk64, __builtin_convertvector(__builtin_bit_cast(Signed, at), Signed64))
            : __builtin_convertvector(at, Chunk64);
    const Chunk64 address = wide * Chunk64(uint64_t{Kind::kSize}) + Chunk64(base);
    low.chunk[i] = __builtin_convertvector(address, Chunk);
    high.chunk[i] = __builtin_convertvector(address >> 32, Chunk);
  }
  if (!load_addresses<Kind>(frame, 0, &low, &high, ~uint64_t{0}, false, data))
    by_address<Kind, false>(wave, frame, 0, &low, &high, false, ~uint64_t{0}, data);
}

template <class Kind>
MORGANA_INLINE void load_index(Wave* wave, jit::WaveFrame* frame, uint64_t base, const Lanes* index,
                               bool is_signed, Lanes* data) {
  Chunk differs = Chunk(0);
  bool wraps = false;
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t first = index->chunk[i][0];
    differs |= index->chunk[i] ^ (kIota + first);
    wraps |= first > (is_signed ? uint32_t{INT32_MAX} : UINT32_MAX) - 15 &&
             (!is_signed || first <= uint32_t{INT32_MAX});
  }
  if (is_zero(differs) && !wraps) [[likely]] {
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++) {
      const uint32_t first = index->chunk[i][0];
      const uint64_t wide = is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(first)}) : first;
      const uint64_t at = base + wide * Kind::kSize;
      frame->first_address[i] = at;
      Kind::load(data, i, reinterpret_cast<const uint8_t*>(at), 0xffff, Space::global);
    }
    return;
  }
  const Copy<1> lanes(index);
  Copy<Kind::kRegisters> moved(data);
  index_lanes<Kind>(wave, frame, base, lanes.lanes, is_signed, moved.lanes);
  for (int d = 0; d < Kind::kRegisters; d++) data[d] = moved.lanes[d];
}

#define MORGANA_PATHS(name, Kind)                                                                          \
  extern "C" void morgana_load_index_##name(Wave* w, jit::WaveFrame* f, uint64_t base, const Lanes* index, \
                                            bool is_signed, Lanes* data) {                                 \
    load_index<Kind>(w, f, base, index, is_signed, data);                                                  \
  }
MORGANA_PATHS(b32, Dwords<1>)
MORGANA_PATHS(b64, Dwords<2>)
MORGANA_PATHS(b128, Dwords<4>)
#undef MORGANA_PATHS

// Additions to LDS. The shape of the loop is worth a factor of ten: addresses leave the vector two at a time,
// and the sum is one instruction on memory. False when a lane is out of range or misaligned; nothing has been
// added then.
MORGANA_INLINE bool add_lds(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address, uint64_t exec,
                            const Lanes* data) {
  if (limit < 4) return false;
  Chunk outside = Chunk(0);
  Chunk at[kChunks];
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    at[i] = address->chunk[i] + add;
    outside |= blend(chunk_mask(exec, i), (at[i] & 3) | (at[i] > limit - 4 ? Chunk(1) : Chunk(0)), Chunk(0));
  }
  if (!is_zero(outside)) return false;
  using Pairs = uint64_t __attribute__((ext_vector_type(8)));
  const auto bump = [&](uint32_t offset, uint32_t by) __attribute__((always_inline)) {
    poke<uint32_t>(lds + offset, peek<uint32_t>(lds + offset) + by);
  };
  for (int i = 0; i < kChunks; i++) {
    uint32_t mask = chunk_mask(exec, i);
    const Chunk by = data->chunk[i];
    if (mask == 0xffff && covers(equal_lanes(by, Chunk(by[0])), mask)) {
      const uint32_t one = by[0];
      const Pairs pairs = __builtin_bit_cast(Pairs, at[i]);
#pragma clang loop unroll(full)
      for (int k = 0; k < 8; k++) {
        const uint64_t two = pairs[k];
        bump(static_cast<uint32_t>(two), one);
        bump(static_cast<uint32_t>(two >> 32), one);
      }
      continue;
    }
    alignas(64) uint32_t offsets[16], values[16];
    *reinterpret_cast<Chunk*>(offsets) = at[i];
    *reinterpret_cast<Chunk*>(values) = by;
    for (; mask; mask &= mask - 1) {
      const int l = __builtin_ctz(mask);
      bump(offsets[l], values[l]);
    }
  }
  return true;
}
extern "C" bool morgana_add_lds_u32(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                    uint64_t exec, const Lanes* data) {
  return add_lds(lds, limit, add, address, exec, data);
}

// --- What the translator calls, by name ---

#define MORGANA_PATHS(name, Kind)                                                                            \
  extern "C" bool morgana_load_offsets_##name(Wave* w, jit::WaveFrame* f, uint64_t base,                     \
                                              const Lanes* offset, uint64_t exec, Lanes* data) {             \
    return load_offsets<Kind>(f, base, offset, exec, data) ||                                                \
           by_address<Kind, false>(w, f, base, offset, nullptr, false, exec, data);                          \
  }                                                                                                          \
  extern "C" bool morgana_store_offsets_##name(Wave* w, jit::WaveFrame* f, uint64_t base,                    \
                                               const Lanes* offset, uint64_t exec, Lanes* data) {            \
    return store_offsets<Kind>(f, base, offset, exec, data) ||                                               \
           by_address<Kind, true>(w, f, base, offset, nullptr, false, exec, data);                           \
  }                                                                                                          \
  extern "C" bool morgana_load_addresses_##name(Wave* w, jit::WaveFrame* f, int64_t imm, const Lanes* low,   \
                                                const Lanes* high, uint64_t exec, bool flat, Lanes* data) {  \
    return load_addresses<Kind>(f, imm, low, high, exec, flat, data) ||                                      \
           by_address<Kind, false>(w, f, static_cast<uint64_t>(imm), low, high, flat, exec, data);           \
  }                                                                                                          \
  extern "C" bool morgana_store_addresses_##name(Wave* w, jit::WaveFrame* f, int64_t imm, const Lanes* low,  \
                                                 const Lanes* high, uint64_t exec, bool flat, Lanes* data) { \
    return store_addresses<Kind>(f, imm, low, high, exec, flat, data) ||                                     \
           by_address<Kind, true>(w, f, static_cast<uint64_t>(imm), low, high, flat, exec, data);            \
  }                                                                                                          \
  extern "C" bool morgana_load_lds_##name(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,  \
                                          uint64_t exec, Lanes* data) {                                      \
    return load_lds<Kind>(lds, limit, add, address, exec, data) ||                                           \
           by_lds_address<Kind, false>(lds, limit, add, address, exec, data);                                \
  }                                                                                                          \
  extern "C" bool morgana_store_lds_##name(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address, \
                                           uint64_t exec, Lanes* data) {                                     \
    return store_lds<Kind>(lds, limit, add, address, exec, data) ||                                          \
           by_lds_address<Kind, true>(lds, limit, add, address, exec, data);                                 \
  }                                                                                                          \
  extern "C" bool morgana_load_shaped_##name(jit::WaveFrame* f, const uint64_t* base, uint32_t rows,         \
                                             bool linear, uint64_t exec, Lanes* data) {                      \
    return load_shaped<Kind>(f, base, rows, linear, exec, data);                                             \
  }                                                                                                          \
  extern "C" bool morgana_store_shaped_##name(jit::WaveFrame* f, const uint64_t* base, uint64_t exec,        \
                                              const Lanes* data) {                                           \
    return store_shaped<Kind>(f, base, exec, data);                                                          \
  }
MORGANA_PATHS(b32, Dwords<1>)
MORGANA_PATHS(b64, Dwords<2>)
MORGANA_PATHS(b96, Dwords<3>)
MORGANA_PATHS(b128, Dwords<4>)
MORGANA_PATHS(u8, Narrow<uint8_t>)
MORGANA_PATHS(i8, Narrow<int8_t>)
MORGANA_PATHS(u16, Narrow<uint16_t>)
MORGANA_PATHS(i16, Narrow<int16_t>)
#undef MORGANA_PATHS

#define MORGANA_STREAM(name, N)                                                                       \
  extern "C" bool morgana_stream_##name(jit::WaveFrame* f, const uint64_t* base, const Lanes* data) { \
    _Pragma("clang loop unroll(full)") for (int i = 0; i < kChunks; i++) {                            \
      f->first_address[i] = base[i];                                                                  \
      stream_row<N>(data, i, reinterpret_cast<uint8_t*>(base[i]));                                    \
    }                                                                                                 \
    return true;                                                                                      \
  }
MORGANA_STREAM(b32, 1)
MORGANA_STREAM(b64, 2)
MORGANA_STREAM(b96, 3)
MORGANA_STREAM(b128, 4)
#undef MORGANA_STREAM

}  // namespace morgana::device::MORGANA_SIMD
