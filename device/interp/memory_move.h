// Loads and stores of a whole wave, over host addresses: the part that FLAT, DS and buffers have in common.
//
// A move is a type with
//   full(data, p)        64 lanes, one after another from p
//   same(data, p)        all lanes at p
//   some(data, p, exec)  the lanes of `exec` of 64 lanes, one after another from p; only with kSome
//   lanes(data, at, exec) each lane at its own address; lanes outside `exec` point at readable bytes
//   (kNowhere)
// Measured on Zen 4: sixteen scalar loads inserted into vectors beat the gather instructions of every level.
#pragma once

#include "device/interp/memory.h"
#include "device/isa/effects.h"

namespace morgana::device::MORGANA_SIMD {

// Where 16-bit or narrower data lies in the register. `_alone`: a load clears the other half.
enum class Part : uint8_t { whole, low, high, low_alone, high_alone };

// The host has loads and stores of some dwords that do not touch the others.
#ifdef __AVX2__
inline constexpr bool kMaskedAccesses = true;
#else
inline constexpr bool kMaskedAccesses = false;
#endif

// values[source[l]], of 64 values; `source` is below 64.
MORGANA_INLINE Chunk pulled(const uint32_t* values, Chunk source) {
#ifdef __AVX512F__
  using Signed = int32_t __attribute__((ext_vector_type(16)));
  const auto of_two = [&](int first) __attribute__((always_inline)) {
    return __builtin_bit_cast(
        Chunk, __builtin_ia32_vpermi2vard512(__builtin_bit_cast(Signed, chunk_of(values, first)),
                                             __builtin_bit_cast(Signed, source),
                                             __builtin_bit_cast(Signed, chunk_of(values, first + 1))));
  };
  return (source & 32) != 0 ? of_two(2) : of_two(0);
#else
  Chunk v;
#pragma clang loop unroll(full)
  for (int l = 0; l < 16; l++) v[l] = values[source[l]];
  return v;
#endif
}

// --- Interleaving of records of N dwords, sixteen lanes at a time ---

template <int... I>
struct RecordIndices {};
using Sixteen = RecordIndices<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>;

MORGANA_INLINE Chunk evens(Chunk a, Chunk b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
MORGANA_INLINE Chunk odds(Chunk a, Chunk b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
MORGANA_INLINE Chunk zip_low(Chunk a, Chunk b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
MORGANA_INLINE Chunk zip_high(Chunk a, Chunk b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
// Component K of sixteen records of three dwords.
template <int K, int... I>
MORGANA_INLINE Chunk third(const Chunk* in, RecordIndices<I...>) {
  const Chunk ab = __builtin_shufflevector(in[0], in[1], (3 * I + K < 32 ? 3 * I + K : 0)...);
  return __builtin_shufflevector(ab, in[2], (3 * I + K < 32 ? I : 3 * I + K - 16)...);
}
// Dwords 16 * J.. of sixteen records of three dwords.
template <int J, int... I>
MORGANA_INLINE Chunk weave(const Chunk* in, RecordIndices<I...>) {
  const Chunk xy = __builtin_shufflevector(
      in[0], in[1], ((16 * J + I) % 3 == 1 ? 16 + (16 * J + I) / 3 : (16 * J + I) / 3)...);
  return __builtin_shufflevector(xy, in[2], ((16 * J + I) % 3 == 2 ? 16 + (16 * J + I) / 3 : I)...);
}

// Sixteen records as they lie in memory to one vector a component, and back.
template <int N>
MORGANA_INLINE void split_records(Chunk (&v)[N]) {
  if constexpr (N == 2) {
    const Chunk a = v[0], b = v[1];
    v[0] = evens(a, b), v[1] = odds(a, b);
  } else if constexpr (N == 3) {
    const Chunk in[3] = {v[0], v[1], v[2]};
    v[0] = third<0>(in, Sixteen{}), v[1] = third<1>(in, Sixteen{}), v[2] = third<2>(in, Sixteen{});
  } else if constexpr (N == 4) {
    const Chunk e0 = evens(v[0], v[1]), e1 = evens(v[2], v[3]), o0 = odds(v[0], v[1]), o1 = odds(v[2], v[3]);
    v[0] = evens(e0, e1), v[1] = evens(o0, o1), v[2] = odds(e0, e1), v[3] = odds(o0, o1);
  }
}
template <int N>
MORGANA_INLINE void join_records(Chunk (&v)[N]) {
  if constexpr (N == 2) {
    const Chunk a = v[0], b = v[1];
    v[0] = zip_low(a, b), v[1] = zip_high(a, b);
  } else if constexpr (N == 3) {
    const Chunk in[3] = {v[0], v[1], v[2]};
    v[0] = weave<0>(in, Sixteen{}), v[1] = weave<1>(in, Sixteen{}), v[2] = weave<2>(in, Sixteen{});
  } else if constexpr (N == 4) {
    const Chunk e0 = zip_low(v[0], v[2]), e1 = zip_high(v[0], v[2]);
    const Chunk o0 = zip_low(v[1], v[3]), o1 = zip_high(v[1], v[3]);
    v[0] = zip_low(e0, o0), v[1] = zip_high(e0, o0), v[2] = zip_low(e1, o1), v[3] = zip_high(e1, o1);
  }
}

// --- Loads ---

template <int N>
struct LoadDwords {
  static constexpr int kBytes = 4 * N;
  static constexpr bool kStores = false, kLoads = true, kSome = N == 1 && kMaskedAccesses;
  using Dword = LoadDwords<1>;

  // Everything is loaded before anything is written: `to` may hold the addresses.
  MORGANA_INLINE static void full(const Data& data, const uint8_t* from) {
    Chunk v[kChunks][N];
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks * N; i++) v[i / N][i % N] = peek<Chunk>(from + 64 * i);
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++) {
      split_records<N>(v[i]);
      for (int d = 0; d < N; d++) set_chunk(data.to + kLanes * d, i, v[i][d]);
    }
  }

  MORGANA_INLINE static void same(const Data& data, const uint8_t* from) {
    uint32_t v[N];
    for (int d = 0; d < N; d++) v[d] = peek<uint32_t>(from + 4 * d);
    for (int d = 0; d < N; d++)
      for (int i = 0; i < kChunks; i++) set_chunk(data.to + kLanes * d, i, Chunk(v[d]));
  }

  MORGANA_INLINE static void some(const Data& data, const uint8_t* from, uint64_t exec) {
    Chunk v[kChunks];
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++)
      v[i] = __builtin_masked_load(as_bools(chunk_mask(exec, i)),
                                   reinterpret_cast<const uint32_t*>(from) + 16 * i);
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++) merge_chunk(data.to, i, v[i], chunk_mask(exec, i));
  }

  static void lanes(const Data& data, const uint64_t* at, uint64_t exec) {
    for (int i = 0; i < kChunks; i++) {
      const uint32_t mask = chunk_mask(exec, i);
      if (mask == 0) continue;
      Chunk v[N];
      gather(v, [&](int l) { return at[16 * i + l]; });
      for (int d = 0; d < N; d++) merge_chunk(data.to + kLanes * d, i, v[d], mask);
    }
  }

  // Sixteen lanes, `at(l)` each.
  template <class At>
  MORGANA_INLINE static void gather(Chunk (&v)[N], const At& at) {
    if constexpr (N == 1) {
#pragma clang loop unroll(full)
      for (int l = 0; l < 16; l++) v[0][l] = peek<uint32_t>(reinterpret_cast<void*>(at(l)));
    } else if constexpr (N == 2) {
      using Eight = uint64_t __attribute__((ext_vector_type(8)));
      Eight pairs[2];
#pragma clang loop unroll(full)
      for (int l = 0; l < 16; l++) pairs[l / 8][l % 8] = peek<uint64_t>(reinterpret_cast<void*>(at(l)));
      v[0] = __builtin_bit_cast(Chunk, pairs[0]), v[1] = __builtin_bit_cast(Chunk, pairs[1]);
      split_records<2>(v);
    } else {
      // One record a lane, the fourth component unused when N is 3.
      using Record = uint32_t __attribute__((ext_vector_type(4)));
      Chunk quads[4];
#pragma clang loop unroll(full)
      for (int l = 0; l < 16; l++) {
        const auto* from = reinterpret_cast<const uint8_t*>(at(l));
        Record record;
        if constexpr (N == 4) {
          record = peek<Record>(from);
        } else {
          const uint64_t xy = peek<uint64_t>(from);
          record =
              Record{static_cast<uint32_t>(xy), static_cast<uint32_t>(xy >> 32), peek<uint32_t>(from + 8), 0};
        }
        __builtin_memcpy(reinterpret_cast<uint8_t*>(&quads[l / 4]) + 16 * (l % 4), &record, 16);
      }
      split_records<4>(quads);
      for (int d = 0; d < N; d++) v[d] = quads[d];
    }
  }
};

// One value of T, extended to 32 bits, or to 16 in one half of the register whose other half stays (D16).
template <class T, Part P = Part::whole>
struct LoadPart {
  static constexpr int kBytes = sizeof(T);
  static constexpr bool kStores = false, kLoads = true, kSome = false;
  using Dword = LoadPart;
  using Narrow = T __attribute__((ext_vector_type(16)));

  MORGANA_INLINE static void full(const Data& data, const uint8_t* from) {
    Chunk v[kChunks];
    for (int i = 0; i < kChunks; i++) {
      using Signed = int32_t __attribute__((ext_vector_type(16)));
      v[i] =
          __builtin_bit_cast(Chunk, __builtin_convertvector(peek<Narrow>(from + sizeof(T) * 16 * i), Signed));
    }
    for (int i = 0; i < kChunks; i++) set_chunk(data.to, i, placed(v[i], chunk_of(data.to, i)));
  }
  MORGANA_INLINE static void same(const Data& data, const uint8_t* from) {
    const auto v = static_cast<uint32_t>(static_cast<int32_t>(peek<T>(from)));
    for (int i = 0; i < kChunks; i++) set_chunk(data.to, i, placed(Chunk(v), chunk_of(data.to, i)));
  }
  static void lanes(const Data& data, const uint64_t* at, uint64_t exec) {
    for (int i = 0; i < kChunks; i++) {
      const uint32_t mask = chunk_mask(exec, i);
      if (mask == 0) continue;
      Chunk v;
#pragma clang loop unroll(full)
      for (int l = 0; l < 16; l++)
        v[l] = static_cast<uint32_t>(static_cast<int32_t>(peek<T>(reinterpret_cast<void*>(at[16 * i + l]))));
      merge_chunk(data.to, i, placed(v, chunk_of(data.to, i)), mask);
    }
  }

 private:
  MORGANA_INLINE static Chunk placed(Chunk v, Chunk old) {
    if constexpr (P == Part::low) return (v & 0xffff) | (old & 0xffff0000);
    if constexpr (P == Part::high) return v << 16 | (old & 0xffff);
    if constexpr (P == Part::low_alone) return v & 0xffff;
    if constexpr (P == Part::high_alone) return v << 16;
    return v;
  }
};

// --- Stores ---

template <int N>
struct StoreDwords {
  static constexpr int kBytes = 4 * N;
  static constexpr bool kStores = true, kLoads = false, kSome = N == 1 && kMaskedAccesses;
  using Dword = StoreDwords<1>;

  MORGANA_INLINE static void full(const Data& data, uint8_t* to) {
    for (int i = 0; i < kChunks; i++) {
      Chunk v[N];
      for (int d = 0; d < N; d++) v[d] = chunk_of(data.from + kLanes * d, i);
      join_records<N>(v);
      for (int d = 0; d < N; d++) poke(to + 64 * (N * i + d), v[d]);
    }
  }
  // The highest lane wins.
  MORGANA_INLINE static void same(const Data& data, uint8_t* to) { store(data, to, kLanes - 1); }

  MORGANA_INLINE static void some(const Data& data, uint8_t* to, uint64_t exec) {
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++)
      __builtin_masked_store(as_bools(chunk_mask(exec, i)), chunk_of(data.from, i),
                             reinterpret_cast<uint32_t*>(to) + 16 * i);
  }

  static void lanes(const Data& data, const uint64_t* at, uint64_t exec) {
    if (exec == kAllLanes) {
#pragma clang loop unroll_count(8)
      for (int l = 0; l < kLanes; l++) store(data, reinterpret_cast<uint8_t*>(at[l]), l);
      return;
    }
    for (; exec; exec &= exec - 1) {
      const int l = __builtin_ctzll(exec);
      store(data, reinterpret_cast<uint8_t*>(at[l]), l);
    }
  }

 private:
  MORGANA_INLINE static void store(const Data& data, uint8_t* to, int l) {
    if constexpr (N == 1) {
      poke(to, data.from[l]);
    } else {
      poke(to, data.from[l] | uint64_t{data.from[kLanes + l]} << 32);
      if constexpr (N == 3) poke(to + 8, data.from[2 * kLanes + l]);
      if constexpr (N == 4)
        poke(to + 8, data.from[2 * kLanes + l] | uint64_t{data.from[3 * kLanes + l]} << 32);
    }
  }
};

template <class T, Part P = Part::whole>
struct StorePart {
  static constexpr int kBytes = sizeof(T);
  static constexpr bool kStores = true, kLoads = false, kSome = false;
  using Dword = StorePart;
  using Narrow = T __attribute__((ext_vector_type(16)));
  static constexpr int kShift = P == Part::high ? 16 : 0;

  MORGANA_INLINE static void full(const Data& data, uint8_t* to) {
    for (int i = 0; i < kChunks; i++)
      poke(to + sizeof(T) * 16 * i, __builtin_convertvector(chunk_of(data.from, i) >> kShift, Narrow));
  }
  MORGANA_INLINE static void same(const Data& data, uint8_t* to) {
    poke(to, static_cast<T>(data.from[kLanes - 1] >> kShift));
  }
  static void lanes(const Data& data, const uint64_t* at, uint64_t exec) {
    for (; exec; exec &= exec - 1) {
      const int l = __builtin_ctzll(exec);
      poke(reinterpret_cast<void*>(at[l]), static_cast<T>(data.from[l] >> kShift));
    }
  }
};

// --- One place ---

// What several lanes load from one place is loaded once, so that all get the same, while other threads store
// there. LLVM takes it for one value of the wave: a loop on an atomic load goes on for all lanes or for none.
template <class Move>
class LoadedOnce {
 public:
  // `at`: of `lanes`, which then point at what was loaded.
  MORGANA_INLINE LoadedOnce(uint64_t* at, uint64_t lanes) {
    if constexpr (Move::kLoads && !Move::kStores) {
      if ((lanes & (lanes - 1)) == 0) return;
      const uint64_t from = at[__builtin_ctzll(lanes)];
      if (at[63 - __builtin_clzll(lanes)] != from || differences(at, lanes, from) != 0) return;
      __builtin_memcpy(bytes_, reinterpret_cast<const void*>(from), Move::kBytes);
      const auto here = Chunk64(reinterpret_cast<uint64_t>(bytes_));
      for (int i = 0; i < kChunks; i++) {
        auto* const chunk = reinterpret_cast<Chunk64*>(at + 16 * i);
        *chunk = as_bools(chunk_mask(lanes, i)) ? here : *chunk;
      }
    }
  }
  LoadedOnce(const LoadedOnce&) = delete;
  LoadedOnce& operator=(const LoadedOnce&) = delete;

 private:
  alignas(16) uint8_t bytes_[16];
};

// --- Records that do not lie in one piece ---

// Does `Move` on a copy of every lane's bytes; `byte(lane, i)` is where byte i of a lane lies. For memory of
// the wave itself (scratch), where nobody else sees the copy.
template <class Move, class Byte>
[[gnu::noinline]] void move_staged(const Data& data, uint64_t exec, const Byte& byte) {
  alignas(64) uint8_t staged[kLanes][16];
  alignas(128) uint64_t at[kLanes];
  for (int l = 0; l < kLanes; l++) {
    at[l] = reinterpret_cast<uint64_t>(staged[l]);
    if (exec >> l & 1)
      for (int i = 0; i < Move::kBytes; i++) staged[l][i] = *byte(l, i);
  }
  Move::lanes(data, at, exec);
  if constexpr (Move::kStores)
    for (uint64_t left = exec; left; left &= left - 1) {
      const int l = __builtin_ctzll(left);
      for (int i = 0; i < Move::kBytes; i++) *byte(l, i) = staged[l][i];
    }
}

// --- LDS ---

// The lanes of `exec` at lds + (address + add mod 2^32), a record each; those outside of LDS read 0, or are
// not stored.
template <class Move>
MORGANA_INLINE void move_lds_lanes(uint8_t* lds, const Data& data, const uint32_t* address, uint32_t add,
                                   uint32_t limit, uint64_t exec) {
  alignas(128) uint64_t at[kLanes];
  uint64_t inside = 0;
  if (limit >= Move::kBytes) {
    for (int i = 0; i < kChunks; i++) {
      const Chunk offset = chunk_of(address, i) + add;
      inside |= bits_of_condition(offset <= limit - Move::kBytes) << (16 * i);
      *reinterpret_cast<Chunk64*>(at + 16 * i) =
          __builtin_convertvector(offset, Chunk64) + reinterpret_cast<uint64_t>(lds);
    }
  } else {
    for (uint64_t& one : at) one = 0;
  }
  point_nowhere(at, exec & inside);
  Move::lanes(data, at, Move::kStores ? exec & inside : exec);
}

}  // namespace morgana::device::MORGANA_SIMD
