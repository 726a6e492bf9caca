// The fast paths of memory instructions, for inlining into kernels. Part of the bitcode library
// semantics.cpp. Each answers false, having changed nothing that matters, when it does not serve the
// addresses: apertures, or out of LDS; the interpreter's handler does the access then.
#pragma once

#include "device/apertures.h"
#include "device/jit/paths.h"

namespace morgana::device::MORGANA_SIMD {

#define MORGANA_KIND(name, Kind)                                                              \
  extern "C" GlobalPath morgana_path_load_##name, morgana_path_store_##name;                  \
  extern "C" IndexPath morgana_path_load_index_##name;                                        \
  extern "C" StridedPath morgana_path_load_strided_##name, morgana_path_store_strided_##name; \
  extern "C" ScratchPath morgana_path_load_scratch_##name, morgana_path_store_scratch_##name; \
  extern "C" LdsPath morgana_path_load_lds_##name, morgana_path_look_up_lds_##name,           \
      morgana_path_store_lds_##name;
MORGANA_MEMORY_KINDS(MORGANA_KIND)
#undef MORGANA_KIND
extern "C" AperturePath morgana_path_reaches_aperture;
extern "C" MayAccessPath morgana_path_may_access;
extern "C" ObservePath morgana_path_observe_single, morgana_path_reads_unwritten;
extern "C" CountPath morgana_path_loaded_unwritten;
extern "C" UnseenPath morgana_path_observe_unseen;
extern "C" PassesPath morgana_path_passes;
extern "C" CountPath morgana_path_count_accesses;
extern "C" LinesPath morgana_path_count_lines;
extern "C" RecordsPath morgana_path_count_records;
extern "C" PhasesPath morgana_path_count_phases;
extern "C" PullPath morgana_path_pull;
extern "C" RangePath morgana_path_note_range;
extern "C" ApartPath morgana_path_lie_apart;

// --- Addresses whose form is known ---

// What a load leaves is stored once, at its end: LLVM takes long for variables that several blocks of a long
// kernel write.
template <class Kind>
MORGANA_INLINE void put(Lanes* data, const Lanes (&loaded)[Kind::kRegisters]) {
  for (int d = 0; d < Kind::kRegisters; d++) data[d] = loaded[d];
}

// `base`: of lanes 0, 16, 32, 48; `rows`: bit i says whether chunk i is a row, or all at one address.
// `linear`: chunks have no addresses of their own, so that none is wild when any lane is active. Without rows
// all of global memory's are at one place.
template <class Kind>
MORGANA_INLINE void load_shaped(jit::WaveFrame* frame, const uint64_t* base, uint32_t rows, bool linear,
                                uint64_t exec, Lanes* data) {
  if (exec == 0) return;
  if (frame && linear && rows == 0) {
    // The first active lane stands for all.
    frame->first_address[0] = base[0] - uint64_t{Kind::kSize} * static_cast<uint64_t>(__builtin_ctzll(exec));
    frame->first_address[1] = jit::kRow;
    Kind::same(data, 0, reinterpret_cast<const uint8_t*>(base[0]));
    for (int d = 0; d < Kind::kRegisters; d++)
      for (int i = 1; i < kChunks; i++) data[d].chunk[i] = data[d].chunk[0];
    return;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const auto* from = reinterpret_cast<const uint8_t*>(base[i]);
    if (frame) frame->first_address[i] = base[i];
    if (rows >> i & 1) {
      if (mask != 0) Kind::load(data, i, from, mask, frame ? Space::global : Space::lds);
    } else if (linear || mask != 0) {
      if (frame) frame->first_address[i] -= uint64_t{Kind::kSize} * __builtin_ctz(mask | 1u << 16);
      Kind::same(data, i, from);
    }
  }
}
template <class Kind>
MORGANA_INLINE void store_shaped(jit::WaveFrame* frame, const uint64_t* base, uint64_t exec,
                                 const Lanes* data) {
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    if (frame) frame->first_address[i] = base[i];
    const uint32_t mask = chunk_mask(exec, i);
    if (mask == 0) continue;
    Kind::store(data, i, reinterpret_cast<uint8_t*>(base[i]), mask, frame ? Space::global : Space::lds);
  }
}

// All sixteen lanes, past the caches. `to` is a multiple of 64.
template <int N>
MORGANA_INLINE void stream_row(const Lanes* data, int i, uint8_t* to) {
  Chunk v[N];
  for (int d = 0; d < N; d++) v[d] = data[d].chunk[i];
  join_records<N>(v);
  for (int d = 0; d < N; d++) __builtin_nontemporal_store(v[d], reinterpret_cast<Chunk*>(to) + d);
}

// --- Addresses without a known form: rows under a full EXEC, the rest by native code ---

// The caller's registers are values: only copies of them have addresses.
template <int N>
struct Copy {
  Lanes lanes[N];
  MORGANA_INLINE explicit Copy(const Lanes* from) {
    for (int d = 0; d < N; d++) lanes[d] = from[d];
  }
};

template <class Kind>
MORGANA_INLINE bool load_lanes(Wave* wave, jit::WaveFrame* frame, GlobalPath* path, uint64_t base,
                               const Lanes* low, const Lanes* high, bool flat, Lanes* data) {
  const Copy<1> lower(low), upper(high ? high : low);
  if (flat && morgana_path_reaches_aperture(wave, upper.lanes)) return false;
  Lanes moved[Kind::kRegisters];
  path(wave, frame, base, lower.lanes, high ? upper.lanes : nullptr, moved);
  put<Kind>(data, moved);
  return true;
}
template <class Kind>
MORGANA_INLINE bool store_lanes(Wave* wave, jit::WaveFrame* frame, GlobalPath* path, uint64_t base,
                                const Lanes* low, const Lanes* high, bool flat, const Lanes* data) {
  const Copy<1> lower(low), upper(high ? high : low);
  if (flat && morgana_path_reaches_aperture(wave, upper.lanes)) return false;
  Copy<Kind::kRegisters> moved(data);
  path(wave, frame, base, lower.lanes, high ? upper.lanes : nullptr, moved.lanes);
  return true;
}

// The upper halves are all alike and name no aperture.
MORGANA_INLINE bool is_aperture(uint32_t high) {
  return (high == kSharedBase >> 32) | (high == kPrivateBase >> 32);
}
template <int Count>
MORGANA_INLINE Chunk differences(const Lanes* high) {
  Chunk differs = Chunk(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) differs |= high->chunk[i] ^ Chunk(high->chunk[0][0]);
  return differs;
}

template <class Kind, bool Stores, int Count, class D>
MORGANA_INLINE void move_rows(jit::WaveFrame* frame, uint64_t base, const uint32_t (&start)[kChunks],
                              D* data) {
#pragma clang loop unroll(full)
  for (int i = 0; i < Count; i++) {
    const uint64_t first = frame->first_address[i] = base + start[i];
    if constexpr (Stores)
      Kind::store(data, i, reinterpret_cast<uint8_t*>(first), 0xffff, Space::global);
    else
      Kind::load(data, i, reinterpret_cast<const uint8_t*>(first), 0xffff, Space::global);
  }
}

// 64 bits of address: `high` may be null.
template <class Kind, bool Stores, int Count, class D>
MORGANA_INLINE bool by_rows(jit::WaveFrame* frame, uint64_t base, const Lanes* low, const Lanes* high,
                            bool flat, uint64_t exec, D* data) {
  if (!tries_rows_inline<Kind, Count>(exec)) return false;
  uint32_t start[kChunks];
  const uint32_t upper = high ? high->chunk[0][0] : 0;
  const bool good = are_rows<Kind::kSize, Count>(low, high ? differences<Count>(high) : Chunk(0), start);
  if (!(good & !(flat & is_aperture(upper)))) return false;
  move_rows<Kind, Stores, Count>(frame, base + (uint64_t{upper} << 32), start, data);
  return true;
}

// --- Indices of records from a base, under a full EXEC ---

template <class Kind, int Count>
MORGANA_INLINE void load_index(Wave* wave, jit::WaveFrame* frame, IndexPath* path, uint64_t base,
                               const Lanes* index, bool is_signed, Lanes* data) {
  uint32_t first[kChunks];
  if (are_rows<1, Count>(index, Chunk(0), first, is_signed ? uint32_t{1} << 31 : 0)) [[likely]] {
#pragma clang loop unroll(full)
    for (int i = 0; i < Count; i++) {
      const uint64_t wide =
          is_signed ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(first[i])}) : first[i];
      const uint64_t at = base + wide * Kind::kSize;
      frame->first_address[i] = at;
      Kind::load(data, i, reinterpret_cast<const uint8_t*>(at), 0xffff, Space::global);
    }
    return;
  }
  const Copy<1> lanes(index);
  Lanes moved[Kind::kRegisters];
  path(wave, frame, base, lanes.lanes, is_signed, moved);
  put<Kind>(data, moved);
}

#define MORGANA_INDEX(part, name, Kind, Count)                                                       \
  extern "C" void morgana_load_index_##part##name(Wave* w, jit::WaveFrame* f, uint64_t base,         \
                                                  const Lanes* index, bool is_signed, Lanes* data) { \
    Lanes loaded[Kind::kRegisters];                                                                  \
    load_index<Kind, Count>(w, f, morgana_path_load_index_##name, base, index, is_signed, loaded);   \
    put<Kind>(data, loaded);                                                                         \
  }
#define MORGANA_INDICES(name, Kind)       \
  MORGANA_INDEX(, name, Kind, kChunks)    \
  MORGANA_INDEX(half_, name, Kind, kHalf) \
  MORGANA_INDEX(quarter_, name, Kind, kQuarter)
MORGANA_INDICES(b32, Dwords<1>)
MORGANA_INDICES(b64, Dwords<2>)
MORGANA_INDICES(b128, Dwords<4>)
#undef MORGANA_INDICES
#undef MORGANA_INDEX

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

// `half`: those of waves of which so many lanes execute.
#define MORGANA_ROWS(half, name, Kind, Count)                                                             \
  extern "C" bool morgana_load_##half##name(Wave* w, jit::WaveFrame* f, uint64_t base, const Lanes* low,  \
                                            const Lanes* high, bool flat, uint64_t exec, Lanes* data) {   \
    Lanes loaded[Kind::kRegisters];                                                                       \
    const bool done = by_rows<Kind, false, Count>(f, base, low, high, flat, exec, loaded) ||              \
                      load_lanes<Kind>(w, f, morgana_path_load_##name, base, low, high, flat, loaded);    \
    put<Kind>(data, loaded);                                                                              \
    return done;                                                                                          \
  }                                                                                                       \
  extern "C" bool morgana_store_##half##name(Wave* w, jit::WaveFrame* f, uint64_t base, const Lanes* low, \
                                             const Lanes* high, bool flat, uint64_t exec,                 \
                                             const Lanes* data) {                                         \
    return by_rows<Kind, true, Count>(f, base, low, high, flat, exec, data) ||                            \
           store_lanes<Kind>(w, f, morgana_path_store_##name, base, low, high, flat, data);               \
  }                                                                                                       \
  extern "C" void morgana_load_lds_##half##name(uint8_t* lds, uint32_t limit, uint32_t add,               \
                                                const Lanes* address, uint64_t exec, bool inlines,        \
                                                Lanes* data) {                                            \
    Lanes loaded[Kind::kRegisters];                                                                       \
    if (!inlines || !tries_rows_inline<Kind, Count>(exec) ||                                              \
        !by_lds_rows<Kind, false, Count>(lds, limit, add, address, kAllLanes, loaded)) {                  \
      const Copy<1> at(address);                                                                          \
      Lanes moved[Kind::kRegisters];                                                                      \
      morgana_path_load_lds_##name(lds, limit, add, at.lanes, exec, moved);                               \
      put<Kind>(loaded, moved);                                                                           \
    }                                                                                                     \
    put<Kind>(data, loaded);                                                                              \
  }                                                                                                       \
  extern "C" void morgana_store_lds_##half##name(uint8_t* lds, uint32_t limit, uint32_t add,              \
                                                 const Lanes* address, uint64_t exec, bool inlines,       \
                                                 const Lanes* data) {                                     \
    if (inlines && tries_lds_stores_inline<Kind, Count>(exec) &&                                          \
        by_lds_rows<Kind, true, Count>(lds, limit, add, address, exec, data))                             \
      return;                                                                                             \
    const Copy<1> at(address);                                                                            \
    Copy<Kind::kRegisters> moved(data);                                                                   \
    morgana_path_store_lds_##name(lds, limit, add, at.lanes, exec, moved.lanes);                          \
  }
#define MORGANA_KIND(name, Kind)                                                                        \
  MORGANA_ROWS(, name, Kind, kChunks)                                                                   \
  MORGANA_ROWS(half_, name, Kind, kHalf)                                                                \
  MORGANA_ROWS(quarter_, name, Kind, kQuarter)                                                          \
  extern "C" bool morgana_load_any_##name(Wave* w, jit::WaveFrame* f, uint64_t base, const Lanes* low,  \
                                          const Lanes* high, bool flat, uint64_t, Lanes* data) {        \
    return load_lanes<Kind>(w, f, morgana_path_load_##name, base, low, high, flat, data);               \
  }                                                                                                     \
  extern "C" bool morgana_store_any_##name(Wave* w, jit::WaveFrame* f, uint64_t base, const Lanes* low, \
                                           const Lanes* high, bool flat, uint64_t, const Lanes* data) { \
    return store_lanes<Kind>(w, f, morgana_path_store_##name, base, low, high, flat, data);             \
  }                                                                                                     \
  extern "C" void morgana_look_up_lds_##name(uint8_t* lds, uint32_t limit, uint32_t add,                \
                                             const Lanes* address, uint64_t exec, bool, Lanes* data) {  \
    const Copy<1> at(address);                                                                          \
    Lanes moved[Kind::kRegisters];                                                                      \
    morgana_path_look_up_lds_##name(lds, limit, add, at.lanes, exec, moved);                            \
    put<Kind>(data, moved);                                                                             \
  }                                                                                                     \
  extern "C" void morgana_load_shaped_##name(jit::WaveFrame* f, const uint64_t* base, uint32_t rows,    \
                                             bool linear, uint64_t exec, Lanes* data) {                 \
    Lanes loaded[Kind::kRegisters];                                                                     \
    load_shaped<Kind>(f, base, rows, linear, exec, loaded);                                             \
    put<Kind>(data, loaded);                                                                            \
  }                                                                                                     \
  extern "C" void morgana_store_shaped_##name(jit::WaveFrame* f, const uint64_t* base, uint64_t exec,   \
                                              const Lanes* data) {                                      \
    store_shaped<Kind>(f, base, exec, data);                                                            \
  }                                                                                                     \
  extern "C" void morgana_load_strided_##name(jit::WaveFrame* f, const uint64_t* base, uint64_t exec,   \
                                              uint64_t step, Lanes* data) {                             \
    Lanes moved[Kind::kRegisters];                                                                      \
    morgana_path_load_strided_##name(f, base, exec, step, moved);                                       \
    put<Kind>(data, moved);                                                                             \
  }                                                                                                     \
  extern "C" void morgana_store_strided_##name(jit::WaveFrame* f, const uint64_t* base, uint64_t exec,  \
                                               uint64_t step, const Lanes* data) {                      \
    Copy<Kind::kRegisters> moved(data);                                                                 \
    morgana_path_store_strided_##name(f, base, exec, step, moved.lanes);                                \
  }                                                                                                     \
  extern "C" bool morgana_load_scratch_##name(const Wave* w, uint32_t add, const Lanes* offset,         \
                                              Lanes* data) {                                            \
    return morgana_path_load_scratch_##name(w, add, offset, data);                                      \
  }                                                                                                     \
  extern "C" bool morgana_store_scratch_##name(const Wave* w, uint32_t add, const Lanes* offset,        \
                                               Lanes* data) {                                           \
    return morgana_path_store_scratch_##name(w, add, offset, data);                                     \
  }
MORGANA_MEMORY_KINDS(MORGANA_KIND)
#undef MORGANA_KIND

#define MORGANA_STREAM_ROWS(half, name, N, Count)                                                           \
  extern "C" void morgana_stream_##half##name(jit::WaveFrame* f, const uint64_t* base, const Lanes* data) { \
    _Pragma("clang loop unroll(full)") for (int i = 0; i < (Count); i++) {                                  \
      f->first_address[i] = base[i];                                                                        \
      stream_row<N>(data, i, reinterpret_cast<uint8_t*>(base[i]));                                          \
    }                                                                                                       \
  }
#define MORGANA_STREAM(name, N)              \
  MORGANA_STREAM_ROWS(, name, N, kChunks)    \
  MORGANA_STREAM_ROWS(half_, name, N, kHalf) \
  MORGANA_STREAM_ROWS(quarter_, name, N, kQuarter)
MORGANA_STREAM(b32, 1)
MORGANA_STREAM(b64, 2)
MORGANA_STREAM(b96, 3)
MORGANA_STREAM(b128, 4)
#undef MORGANA_STREAM
#undef MORGANA_STREAM_ROWS

}  // namespace morgana::device::MORGANA_SIMD
