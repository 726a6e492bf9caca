// Dwords that lie close together: sixteen lanes within 128 bytes, two loads and a permutation. For native
// code (paths.cpp), at the host vector level of who includes it.
#pragma once

#include "device/jit/memory_kinds.h"

namespace morgana::device::MORGANA_SIMD {

inline constexpr uint32_t kWindow = 128;
struct RunTable;
// Where the lanes of a wave lie when all its sixteens, or the first two, active or not, do alike, each in a
// window of its own.
struct Windows {
  uint32_t start[kChunks];  // of the windows
  uint32_t first;           // where lane 0 lies, in dwords
  Chunk index;              // where all lie
  const RunTable* runs;
};
#ifdef __AVX512F__
inline constexpr bool kWindows = true;
using Sixteen32 = int __attribute__((vector_size(64)));
// Two loads and a permutation for sixteen lanes, `index` dwords from where 128 bytes can be read.
MORGANA_INLINE Chunk from_window(const uint8_t* from, Chunk index) {
  const Chunk low = peek<Chunk>(from), high = peek<Chunk>(from + 64);
  return __builtin_bit_cast(Chunk, __builtin_ia32_vpermi2vard512(__builtin_bit_cast(Sixteen32, low),
                                                                 __builtin_bit_cast(Sixteen32, index),
                                                                 __builtin_bit_cast(Sixteen32, high)));
}
// Every lane's address is greater than the one before, as in the steps of a sorting network.
MORGANA_INLINE bool is_rising(Chunk at) {
  const Chunk before = __builtin_shufflevector(at, at, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
  return (bits_of_condition(at > before) | 1) == 0xffff;
}
MORGANA_INLINE Chunk broadcast_first(const Chunk& lanes) {
  Chunk all;
  asm("vpbroadcastd %1, %0" : "=v"(all) : "m"(lanes));
  return all;
}
// Stores into the window at `to`, `index` dwords from it: a bit a dword says where lanes lie.
MORGANA_INLINE void to_window(uint8_t* to, Chunk index, uint32_t mask, Chunk value) {
  const Chunk bits = blend(mask, Chunk(1) << (index & 31), Chunk(0));
  const uint32_t places = __builtin_reduce_or(bits);
  const uint32_t below = static_cast<uint32_t>(__builtin_popcount(places & 0xffff));
  const auto poke_half = [](uint8_t* half, Sixteen32 values, uint32_t active) __attribute__((always_inline)) {
    const Sixteen32 spread =
        __builtin_ia32_expandsi512_mask(values, Sixteen32{}, static_cast<uint16_t>(active));
    poke_lanes(half, active, __builtin_bit_cast(Chunk, spread));
  };
  const Sixteen32 active = __builtin_ia32_compresssi512_mask(__builtin_bit_cast(Sixteen32, value),
                                                             Sixteen32{}, static_cast<uint16_t>(mask));
  const Sixteen32 rest =
      __builtin_ia32_permvarsi512(active, __builtin_bit_cast(Sixteen32, (kIota + below) & 15));
  poke_half(to, active, places & 0xffff);
  poke_half(to + 64, rest, places >> 16);
}

// Runs of lanes with gaps of their own length: one of two interleaved arrays, the steps of a sorting network.
struct alignas(64) RunTable {
  uint32_t index[16];    // in dwords, of a lane from lane 0
  uint8_t lane[3 * 16];  // of each dword, from 16 before lane 0 on
  uint32_t places;       // a bit a dword where lanes lie
};
constexpr RunTable run_table(uint32_t run) {
  RunTable table = {};
  for (uint32_t l = 0; l < 16; l++) {
    table.index[l] = 2 * l - l % run;
    table.places |= 1u << table.index[l];
    table.lane[16 + table.index[l]] = static_cast<uint8_t>(l);
  }
  return table;
}
// By the length of a run. The others are all zeros, and lanes at one place have no such length.
inline constexpr RunTable kRunTables[9] = {{}, run_table(1), run_table(2), {},          run_table(4),
                                           {}, {},           {},           run_table(8)};

// Of the first `Count` sixteens. Reads lanes from memory: taken out of vectors and broadcast again they would
// wait for the one port that shuffles.
template <int Count>
MORGANA_INLINE bool are_windows(uint32_t limit, uint32_t add, const Lanes* address, Windows& found) {
  const uint32_t first = lane_in_memory(address, 0) + add;
  // Lane 7 lies 15 - run dwords from lane 0. Not lane 15: the upper half of a vector just stored is not
  // forwarded to a load of one dword.
  const uint32_t run = 15 - (lane_in_memory(address, 7) - lane_in_memory(address, 0)) / 4;
  found.first = first % 64 / 4;
  if (run > 8 || found.first > run) return false;
  found.runs = &kRunTables[run];
  const Chunk from_first = address->chunk[0] - broadcast_first(address->chunk[0]);
  found.index = (from_first >> 2) + found.first;
  Chunk differs = from_first ^ (peek<Chunk>(reinterpret_cast<const uint8_t*>(found.runs->index)) << 2);
  uint32_t greatest = found.start[0] = first & ~63u, misplaced = first & 3;
#pragma clang loop unroll(full)
  for (int i = 1; i < Count; i++) {
    const uint32_t start = lane_in_memory(address, 16 * i) + add;
    misplaced |= (start ^ first) & 63;
    found.start[i] = start & ~63u;
    greatest = found.start[i] > greatest ? found.start[i] : greatest;
    differs |= (address->chunk[i] - broadcast_first(address->chunk[i])) ^ from_first;
  }
  return is_zero(differs) && misplaced == 0 && greatest + uint64_t{kWindow} <= limit;
}
template <int Count>
MORGANA_INLINE void to_windows(uint8_t* lds, const Windows& windows, uint64_t exec, const Lanes* data) {
  const uint32_t places = windows.runs->places << windows.first;
  const auto lanes_of = [&](int half) __attribute__((always_inline)) {
    using Bytes = uint8_t __attribute__((ext_vector_type(16)));
    return __builtin_convertvector(peek<Bytes>(windows.runs->lane + 16 * (half + 1) - windows.first),
                                   Sixteen32);
  };
  const Sixteen32 low = lanes_of(0), high = lanes_of(1);
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) {
    const auto poke_half = [&](uint8_t* half, Sixteen32 lanes,
                               uint32_t active) __attribute__((always_inline)) {
      const Sixteen32 moved =
          __builtin_ia32_permvarsi512(__builtin_bit_cast(Sixteen32, data[0].chunk[i]), lanes);
      poke_lanes(half, active, __builtin_bit_cast(Chunk, moved));
    };
    uint8_t* const to = lds + windows.start[i];
    const uint32_t active = __builtin_ia32_pdep_si(chunk_mask(exec, i), places);
    poke_half(to, low, active & 0xffff);
    poke_half(to + 64, high, active >> 16);
  }
}
template <int Count>
MORGANA_INLINE void from_windows(const uint8_t* lds, const Windows& windows, Lanes* data) {
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) data[0].chunk[i] = from_window(lds + windows.start[i], windows.index);
}
#else
inline constexpr bool kWindows = false;
[[maybe_unused]] bool is_rising(Chunk);
[[maybe_unused]] void to_window(uint8_t*, Chunk, uint32_t, Chunk);
template <int>
bool are_windows(uint32_t, uint32_t, const Lanes*, Windows&);
template <int>
void to_windows(uint8_t*, const Windows&, uint64_t, const Lanes*);
template <int>
void from_windows(const uint8_t*, const Windows&, Lanes*);
[[maybe_unused]] Chunk from_window(const uint8_t*, Chunk);
#endif
// Whether the lanes of `mask` access whole dwords of the window from `first` on.
[[maybe_unused]] MORGANA_INLINE bool is_window(Chunk offset, uint32_t first, uint32_t mask) {
  const Chunk index = offset - Chunk(first);
  const Chunk outside = index & Chunk(~uint32_t{124});
  return is_zero(blend(mask, outside, Chunk(0)));
}
// How far a window that begins at `at`, which some lane accesses, would reach into the next page.
[[maybe_unused]] MORGANA_INLINE uint32_t beyond_page(uint64_t at) {
  const uint32_t in_page = at & 4095;
  return in_page > 4096 - kWindow ? in_page - (4096 - kWindow) : 0;
}

}  // namespace morgana::device::MORGANA_SIMD
