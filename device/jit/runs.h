// Lanes that lie in runs of eight or four, as the rows of groups of 8 x 8 and 4 x 4 work-items do: each run a
// row of neighbours in memory, or all of it at one place. For native code (paths.cpp), at the host vector
// level of who includes it.
#pragma once

#include <numeric>

#include "device/jit/abi.h"
#include "device/jit/memory_kinds.h"

namespace morgana::device::MORGANA_SIMD {

template <int Run>
inline constexpr int kRunsOfChunk = 16 / Run;

// Every lane with what the first of its run has.
template <int Run>
MORGANA_INLINE Chunk heads_of(Chunk at) {
  if constexpr (Run == 8)
    return __builtin_shufflevector(at, at, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8);
  else
    return __builtin_shufflevector(at, at, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
}

// How the lanes of all runs lie.
enum class RunForm : uint8_t { none, rows, places };
// Of the first `Count` chunks, whose records are `step` apart, in one test for all. No row wraps, counted
// from `least`.
template <int Run, int Count>
MORGANA_INLINE RunForm run_form(const Lanes* at, uint32_t step, uint32_t least) {
  const Chunk within = (kIota & (Run - 1)) * step;
  Chunk differs = Chunk(0), moves = Chunk(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) {
    const Chunk head = heads_of<Run>(at->chunk[i]);
    const Chunk wraps = __builtin_bit_cast(Chunk, head - least > Chunk(UINT32_MAX - 16 * 16));
    differs |= (at->chunk[i] ^ (head + within)) | wraps;
    moves |= at->chunk[i] ^ head;
  }
  if (is_zero(differs)) return RunForm::rows;
  return is_zero(moves) ? RunForm::places : RunForm::none;
}

// `Count` elements of each of some vectors, one behind the other.
template <class T, int Count>
using Elements = T __attribute__((ext_vector_type(Count)));
template <class T, int Count>
MORGANA_INLINE Elements<T, 16> joined(const Elements<T, Count> (&part)[16 / Count]) {
  if constexpr (Count == 16) {
    return part[0];
  } else if constexpr (Count == 8) {
    return __builtin_shufflevector(part[0], part[1], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  } else {
    const Elements<T, 8> half[2] = {__builtin_shufflevector(part[0], part[1], 0, 1, 2, 3, 4, 5, 6, 7),
                                    __builtin_shufflevector(part[2], part[3], 0, 1, 2, 3, 4, 5, 6, 7)};
    return joined<T, 8>(half);
  }
}

// Records of N elements in rows that begin at `from`, in pieces of which sixteen elements are made.
template <class T, int N, int Run>
struct Pieces {
  static constexpr int kElements = std::gcd(16, Run* N), kPerVector = 16 / kElements, kCount = N * kPerVector;
  using Piece = Elements<T, kElements>;
  MORGANA_INLINE static uint8_t* place(const uint64_t* from, int piece) {
    const int element = piece * kElements;
    return reinterpret_cast<uint8_t*>(from[element / (Run * N)]) + element % (Run * N) * sizeof(T);
  }

  MORGANA_INLINE static void load(const uint64_t* from, Elements<T, 16> (&v)[N]) {
    Piece part[kPerVector];
#pragma clang loop unroll(full)
    for (int p = 0; p < kCount; p++) {
      part[p % kPerVector] = peek<Piece>(place(from, p));
      if (p % kPerVector == kPerVector - 1) v[p / kPerVector] = joined<T, kElements>(part);
    }
  }
  MORGANA_INLINE static void store(const uint64_t* from, const Elements<T, 16> (&v)[N]) {
#pragma clang loop unroll(full)
    for (int p = 0; p < kCount; p++) {
      const Elements<T, 16> whole = v[p / kPerVector];
      Piece piece;
      if constexpr (kPerVector == 1)
        piece = whole;
      else if constexpr (kPerVector == 2)
        piece = p % 2 ? whole.hi : whole.lo;
      else
        piece = p % 4 == 0 ? whole.lo.lo : p % 4 == 1 ? whole.lo.hi : p % 4 == 2 ? whole.hi.lo : whole.hi.hi;
      poke(place(from, p), piece);
    }
  }
};

template <class Kind, int Run>
MORGANA_INLINE void load_rows(const uint64_t* from, Lanes* data, int i) {
  if constexpr (Kind::kSize % 4 == 0) {
    constexpr int kDwords = Kind::kRegisters;
    Chunk v[kDwords];
    Pieces<uint32_t, kDwords, Run>::load(from, v);
    split_records<kDwords>(v);
    for (int d = 0; d < kDwords; d++) data[d].chunk[i] = v[d];
  } else {
    Elements<typename Kind::Part, 16> v[1];
    Pieces<typename Kind::Part, 1, Run>::load(from, v);
    data[0].chunk[i] = widened<typename Kind::Part>(v[0]);
  }
}
template <class Kind, int Run>
MORGANA_INLINE void load_places(const uint64_t* from, Lanes* data, int i) {
#pragma clang loop unroll(full)
  for (int d = 0; d < Kind::kRegisters; d++) {
    Elements<uint32_t, Run> part[kRunsOfChunk<Run>];
#pragma clang loop unroll(full)
    for (int r = 0; r < kRunsOfChunk<Run>; r++)
      part[r] = Elements<uint32_t, Run>(Kind::one(reinterpret_cast<const uint8_t*>(from[r]), d));
    data[d].chunk[i] = joined<uint32_t, Run>(part);
  }
}
template <class Kind, int Run>
MORGANA_INLINE void store_rows(const uint64_t* from, const Lanes* data, int i) {
  if constexpr (Kind::kSize % 4 == 0) {
    constexpr int kDwords = Kind::kRegisters;
    Chunk v[kDwords];
    for (int d = 0; d < kDwords; d++) v[d] = data[d].chunk[i];
    join_records<kDwords>(v);
    Pieces<uint32_t, kDwords, Run>::store(from, v);
  } else {
    using Part = typename Kind::Part;
    const Elements<Part, 16> v[1] = {__builtin_convertvector(data[0].chunk[i], Elements<Part, 16>)};
    Pieces<Part, 1, Run>::store(from, v);
  }
}

// Offsets from a base, in units of `scale` bytes: of bytes, or an index.
struct Offsets {
  uint64_t base;
  const Lanes* at;
  uint64_t scale;
  bool is_signed;

  MORGANA_INLINE uint64_t address(Chunk chunk, int lane) const {
    const uint32_t n = chunk[lane];
    return base + (is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(n)}) : n) * scale;
  }
};

// The lanes of the first `Count` chunks, all active. False, and nothing has happened, when they lie
// otherwise. `Step`: from a lane's record to the next one's, in bytes.
template <class Kind, bool Stores, int Step, int Run, int Count, class D>
MORGANA_INLINE bool move_as_runs(jit::WaveFrame* frame, const Offsets& offsets, D* data) {
  const RunForm form = run_form<Run, Count>(offsets.at, static_cast<uint32_t>(Step / offsets.scale),
                                            offsets.is_signed ? uint32_t{1} << 31 : 0);
  if (form == RunForm::none || (Stores && form == RunForm::places)) return false;
  constexpr int kRuns = kRunsOfChunk<Run>;
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++)
#pragma clang loop unroll(full)
    for (int r = 0; r < kRuns; r++)
      frame->run_address[kRuns * i + r] = offsets.address(offsets.at->chunk[i], r * Run);
  frame->note_runs(Run, form == RunForm::rows ? Step : 0);
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) {
    const uint64_t* const from = frame->run_address + kRuns * i;
    if constexpr (Stores) {
      store_rows<Kind, Run>(from, data, i);
    } else if (form == RunForm::places) {
      load_places<Kind, Run>(from, data, i);
    } else if constexpr (Step == Kind::kSize) {
      load_rows<Kind, Run>(from, data, i);
    } else {
      for (int d = 0; d < Kind::kRegisters; d++) {
        uint64_t dwords[kRuns];
        for (int r = 0; r < kRuns; r++) dwords[r] = from[r] + static_cast<uint64_t>(d) * Step;
        load_rows<Dwords<1>, Run>(dwords, data + d, i);
      }
    }
  }
  return true;
}
template <class Kind, bool Stores, int Step, int Count, class D>
MORGANA_INLINE bool move_runs(jit::WaveFrame* frame, const Offsets& offsets, D* data) {
  return move_as_runs<Kind, Stores, Step, 8, Count>(frame, offsets, data) ||
         move_as_runs<Kind, Stores, Step, 4, Count>(frame, offsets, data);
}

}  // namespace morgana::device::MORGANA_SIMD
