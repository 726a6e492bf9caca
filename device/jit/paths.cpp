#include "device/jit/paths.h"

#include "device/apertures.h"
#include "device/interp/observed_step.h"
#include "device/jit/runs.h"
#include "device/jit/windows.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// What sixteen lanes' addresses look like. A row begins where lane 0 would access if it is not active.
enum class Form : uint8_t { idle, row, same, other };
struct Place {
  Form form;
  uint32_t first;       // of lane 0 (row), of all (same), of the first active lane
  uint32_t before = 0;  // from what a row's lane 0 would access to there
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
  if (covers(equal_lanes(offset, Chunk(first)), mask)) return {Form::same, first, before};
  return {Form::other, first, before};
}

// --- Offsets of 32 bits from a base ---

template <class Kind>
MORGANA_INLINE bool load_offsets(jit::WaveFrame* frame, uint64_t base, const Lanes* offset, uint64_t exec,
                                 Lanes* data) {
#pragma clang loop unroll(disable)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const Chunk at = offset->chunk[i];
    const Place place = place_of<Kind::kSize>(at, mask);
    const uint64_t first = base + place.first;
    const auto* from = reinterpret_cast<const uint8_t*>(first);
    frame->first_address[i] = first - place.before;
    switch (place.form) {
      case Form::idle: break;
      case Form::row: Kind::load(data, i, from, mask, Space::global); break;
      case Form::same: Kind::same(data, i, from); break;
      case Form::other:
        if constexpr (Kind::kIsDword && kWindows) {
          const uint32_t back = beyond_page(first), start = place.first - back;
          // Offsets that wrap within the window are far apart in memory.
          if (start <= place.first && start <= UINT32_MAX - kWindow && is_window(at, start, mask)) {
            data[0].chunk[i] = from_window(from - back, (at - Chunk(start)) >> 2);
            break;
          }
        }
        return false;
    }
  }
  return true;
}
// One load where all active lanes are at one place (LoadedOnce).
template <class Kind>
MORGANA_INLINE bool load_once(jit::WaveFrame* frame, uint64_t base, const Lanes* offset, uint64_t exec,
                              Lanes* data) {
  const uint64_t others = exec & (exec - 1);
  if (others == 0) return false;
  const int first = __builtin_ctzll(exec);
  const uint32_t at = lane_in_memory(offset, first);
  if (lane_in_memory(offset, __builtin_ctzll(others)) != at) return false;
  Chunk differs = Chunk(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++)
    differs |= blend(chunk_mask(exec, i), offset->chunk[i] ^ Chunk(at), Chunk(0));
  if (!is_zero(differs)) return false;
  // The first active lane stands for all.
  frame->first_address[0] = base + at - uint64_t{Kind::kSize} * static_cast<uint64_t>(first);
  frame->first_address[1] = jit::kRow;
  Kind::same(data, 0, reinterpret_cast<const uint8_t*>(base + at));
  for (int d = 0; d < Kind::kRegisters; d++)
    for (int i = 1; i < kChunks; i++) data[d].chunk[i] = data[d].chunk[0];
  return true;
}
template <class Kind>
MORGANA_INLINE bool store_offsets(jit::WaveFrame* frame, uint64_t base, const Lanes* offset, uint64_t exec,
                                  const Lanes* data) {
#pragma clang loop unroll(disable)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const Place place = place_of<Kind::kSize>(offset->chunk[i], mask);
    frame->first_address[i] = base + place.first;
    if (place.form == Form::idle) continue;
    if (place.form != Form::row) return false;
    Kind::store(data, i, reinterpret_cast<uint8_t*>(base + place.first), mask, Space::global);
  }
  return true;
}

// --- Addresses of 64 bits ---

// Runs that all lanes lie in, or the first half or quarter of them if only those are active.
template <class Kind, bool Stores, int Step, class D>
MORGANA_INLINE bool by_runs(jit::WaveFrame* frame, const Offsets& offsets, uint64_t exec, D* data) {
  if (exec == kAllLanes) return move_runs<Kind, Stores, Step, kChunks>(frame, offsets, data);
  if (exec == kLanesOf<kHalf>) return move_runs<Kind, Stores, Step, kHalf>(frame, offsets, data);
  if (exec == kLanesOf<kQuarter>) return move_runs<Kind, Stores, Step, kQuarter>(frame, offsets, data);
  return false;
}
template <class Kind>
MORGANA_INLINE bool load_runs(jit::WaveFrame* frame, const Offsets& offsets, uint64_t exec, Lanes* data) {
  const uint32_t apart = lane_in_memory(offsets.at, 1) - lane_in_memory(offsets.at, 0);
  const auto size = static_cast<uint32_t>(Kind::kSize / offsets.scale);
  if (apart == size || apart == 0) return by_runs<Kind, false, Kind::kSize>(frame, offsets, exec, data);
  if constexpr (Kind::kRegisters > 1)
    if (apart == 4 && offsets.scale == 1) return by_runs<Kind, false, 4>(frame, offsets, exec, data);
  return false;
}
template <class Kind>
MORGANA_INLINE bool store_runs(jit::WaveFrame* frame, const Offsets& offsets, uint64_t exec,
                               const Lanes* data) {
  const uint32_t apart = lane_in_memory(offsets.at, 1) - lane_in_memory(offsets.at, 0);
  return apart == Kind::kSize && by_runs<Kind, true, Kind::kSize>(frame, offsets, exec, data);
}

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

// Whether the lanes of `exec` lie at offsets of 32 bits from one base, and which: `high`, if any, is alike in
// all of them.
MORGANA_INLINE bool has_one_base(const Lanes* high, uint64_t exec, uint64_t& base) {
  if (high == nullptr || exec == 0) return true;
  const uint32_t upper = first_of(high, exec);
  Chunk differs = Chunk(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++)
    differs |= blend(chunk_mask(exec, i), high->chunk[i] ^ Chunk(upper), Chunk(0));
  base += uint64_t{upper} << 32;
  return is_zero(differs);
}

// --- LDS ---

template <class Kind>
MORGANA_INLINE bool may_be_row(const Lanes* address) {
  return lane_in_memory(address, 1) - lane_in_memory(address, 0) == Kind::kSize;
}
template <int Count>
MORGANA_INLINE bool load_windows(const uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                 Lanes* data) {
  Windows windows;
  if (!are_windows<Count>(limit, add, address, windows)) return false;
  from_windows<Count>(lds, windows, data);
  return true;
}
template <int Count>
MORGANA_INLINE bool store_windows(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                  uint64_t exec, const Lanes* data) {
  Windows windows;
  if (!are_windows<Count>(limit, add, address, windows)) return false;
  to_windows<Count>(lds, windows, exec, data);
  return true;
}

template <class Kind>
MORGANA_INLINE bool load_lds(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address, uint64_t exec,
                             Lanes* data) {
  if (!tries_rows_inline<Kind>(exec) && may_be_row<Kind>(address) &&
      (exec <= kLanesOf<kHalf> ? by_lds_rows<Kind, false, kHalf>(lds, limit, add, address, exec, data)
                               : by_lds_rows<Kind, false>(lds, limit, add, address, exec, data)))
    return true;
  if constexpr (Kind::kIsDword && kWindows)
    if (exec <= kLanesOf<kHalf> ? load_windows<kHalf>(lds, limit, add, address, data)
                                : load_windows<kChunks>(lds, limit, add, address, data))
      return true;
#pragma clang loop unroll(disable)
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
            data[0].chunk[i] = from_window(lds + first, (at - Chunk(place.first)) >> 2);
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
  if (!tries_lds_stores_inline<Kind>(exec) && may_be_row<Kind>(address) &&
      (exec <= kLanesOf<kHalf> ? by_lds_rows<Kind, true, kHalf>(lds, limit, add, address, exec, data)
                               : by_lds_rows<Kind, true>(lds, limit, add, address, exec, data)))
    return true;
  if constexpr (Kind::kIsDword && kWindows)
    if (exec <= kLanesOf<kHalf> ? store_windows<kHalf>(lds, limit, add, address, exec, data)
                                : store_windows<kChunks>(lds, limit, add, address, exec, data))
      return true;
#pragma clang loop unroll(disable)
  for (int i = 0; i < kChunks; i++) {
    const uint32_t mask = chunk_mask(exec, i);
    const Chunk at = address->chunk[i] + add;
    const Place place = place_of<Kind::kSize>(at, mask);
    const uint64_t first = place.first;
    if (place.form == Form::idle) continue;
    if constexpr (Kind::kIsDword && kWindows) {
      // From a multiple of 64 on: what is stored here is loaded again as whole lines.
      const uint32_t start = place.first & ~63u;
      if (place.form == Form::other && uint64_t{start} + kWindow <= limit && is_window(at, start, mask) &&
          is_rising(at)) {
        to_window(lds + start, (at - Chunk(start)) >> 2, mask, data[0].chunk[i]);
        continue;
      }
    }
    if (place.form != Form::row || first + 16 * Kind::kSize > limit) return false;
    Kind::store(data, i, lds + first, mask, Space::lds);
  }
  return true;
}

// --- One address a lane ---

MORGANA_INLINE Data as_registers(Lanes* data) {
  Data registers;
  registers.to = reinterpret_cast<uint32_t*>(data);
  registers.from = reinterpret_cast<const uint32_t*>(data);
  return registers;
}

// The lanes outside `exec` point nowhere.
template <class Move>
MORGANA_INLINE void move_each(uint64_t* at, uint64_t exec, Lanes* data) {
  point_nowhere(at, exec);
  Move::lanes(as_registers(data), at, exec);
}

template <class Move>
MORGANA_INLINE void each_address(Wave* wave, uint64_t base, const Lanes* low, const Lanes* high,
                                 uint64_t exec, Lanes* data) {
  uint64_t* const at = address_room(*wave);
  for (int i = 0; i < kChunks; i++) {
    const Chunk upper = high ? high->chunk[i] : Chunk(0);
    *reinterpret_cast<Chunk64*>(at + 16 * i) = (__builtin_convertvector(upper, Chunk64) << 32) +
                                               __builtin_convertvector(low->chunk[i], Chunk64) + base;
  }
  const Touch touch(*wave, at, exec, Move::kBytes);
  const LoadedOnce<Move> once(at, exec);
  move_each<Move>(at, exec, data);
}

template <class Move>
MORGANA_INLINE void each_lds_address(uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                     uint64_t exec, Lanes* data) {
  move_lds_lanes<Move>(lds, as_registers(data), reinterpret_cast<const uint32_t*>(address), add, limit, exec);
}

// Likewise of dwords, at offsets of 32 bits.
MORGANA_INLINE void look_up_dwords(const uint8_t* lds, uint32_t limit, uint32_t add, const Lanes* address,
                                   Lanes* data) {
  alignas(64) uint32_t at[kLanes];
  Chunk outside[kChunks];
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const Chunk offset = address->chunk[i] + add;
    outside[i] = __builtin_bit_cast(Chunk, offset > limit - 4);
    *reinterpret_cast<Chunk*>(at + 16 * i) = offset & ~outside[i];
  }
#pragma clang loop unroll(disable)
  for (int i = 0; i < kChunks; i++) {
    Chunk v;
#pragma clang loop unroll(full)
    for (int l = 0; l < 16; l++) v[l] = peek<uint32_t>(lds + at[16 * i + l]);
    data->chunk[i] = v & ~outside[i];
  }
}

// --- What kernels call ---

MORGANA_KEEPS_REGISTERS void pull(const uint32_t* values, const uint32_t* source, uint32_t* result) {
  for (int i = 0; i < kChunks; i++) set_chunk(result, i, pulled(values, chunk_of(source, i)));
}

MORGANA_KEEPS_REGISTERS bool reaches_aperture(const Wave* wave, const Lanes* high) {
  const uint64_t exec = wave->exec();
  Chunk reaches = Chunk(0);
  for (int i = 0; i < kChunks; i++) {
    const Chunk shared = high->chunk[i] ^ Chunk(kSharedBase >> 32);
    const Chunk own = high->chunk[i] ^ Chunk(kPrivateBase >> 32);
    reaches |= blend(chunk_mask(exec, i), shared == 0 || own == 0 ? Chunk(1) : Chunk(0), Chunk(0));
  }
  return !is_zero(reaches);
}

// Whether lanes lie whole multiples of 1 KiB apart, as the first two are: their lines then share a few sets
// of the host's first cache.
MORGANA_INLINE bool clash(const Lanes& low) {
  const uint32_t apart = low.chunk[0][1] - low.chunk[0][0];
  return apart != 0 && apart % 1024 == 0;
}

MORGANA_KEEPS_SCALARS bool may_access(Wave* wave, const Step* step, uint32_t slot, uint64_t lanes,
                                      const uint64_t* addresses) {
  return service::may_access(*wave, step, slot, lanes, addresses);
}
MORGANA_KEEPS_REGISTERS bool observe_single(Wave* wave, const Step* step) {
  return service::observe_single(*wave, step);
}

MORGANA_KEEPS_REGISTERS bool observe_unseen(Wave* wave, const Step* step, uint32_t slot) {
  return service::observe_unseen(*wave, step, slot);
}
MORGANA_KEEPS_REGISTERS bool reads_unwritten(Wave* wave, const Step* step) {
  return service::reads_unwritten(*wave, step);
}
MORGANA_KEEPS_REGISTERS void loaded_unwritten(Wave* wave, const Step* step) {
  service::loaded_unwritten(*wave, step);
}
MORGANA_KEEPS_REGISTERS void count_accesses(Wave* wave, const Step* step) {
  service::count_accesses(*wave, step);
}

// Flat: a call of another convention would save every vector register.
template <class Kind>
struct Entries {
  [[gnu::flatten]] MORGANA_KEEPS_REGISTERS static void load(Wave* wave, jit::WaveFrame* frame, uint64_t base,
                                                            const Lanes* low, const Lanes* high,
                                                            Lanes* data) {
    const uint64_t exec = wave->exec();
    uint64_t common = base;
    if (has_one_base(high, exec, common) && (load_once<Kind>(frame, common, low, exec, data) ||
                                             load_runs<Kind>(frame, {common, low, 1, false}, exec, data) ||
                                             load_offsets<Kind>(frame, common, low, exec, data)))
      return;
    frame->gathers++;
    frame->clashes += clash(*low);
    each_address<typename Kind::LoadLanes>(wave, base, low, high, exec, data);
  }
  [[gnu::flatten]] MORGANA_KEEPS_REGISTERS static void store(Wave* wave, jit::WaveFrame* frame, uint64_t base,
                                                             const Lanes* low, const Lanes* high,
                                                             Lanes* data) {
    const uint64_t exec = wave->exec();
    uint64_t common = base;
    if (!has_one_base(high, exec, common) || !(store_runs<Kind>(frame, {common, low, 1, false}, exec, data) ||
                                               store_offsets<Kind>(frame, common, low, exec, data)))
      each_address<typename Kind::StoreLanes>(wave, base, low, high, exec, data);
  }
  [[gnu::flatten]] MORGANA_KEEPS_REGISTERS static void load_lds(uint8_t* lds, uint32_t limit, uint32_t add,
                                                                const Lanes* address, uint64_t exec,
                                                                Lanes* data) {
    if (!morgana::device::MORGANA_SIMD::load_lds<Kind>(lds, limit, add, address, exec, data))
      each_lds_address<typename Kind::LoadLanes>(lds, limit, add, address, exec, data);
  }
  [[gnu::flatten]] MORGANA_KEEPS_REGISTERS static void look_up_lds(uint8_t* lds, uint32_t limit, uint32_t add,
                                                                   const Lanes* address, uint64_t exec,
                                                                   Lanes* data) {
    if constexpr (Kind::kIsDword)
      if (limit >= 4) return look_up_dwords(lds, limit, add, address, data);
    each_lds_address<typename Kind::LoadLanes>(lds, limit, add, address, exec, data);
  }
  [[gnu::flatten]] MORGANA_KEEPS_REGISTERS static void store_lds(uint8_t* lds, uint32_t limit, uint32_t add,
                                                                 const Lanes* address, uint64_t exec,
                                                                 Lanes* data) {
    if (!morgana::device::MORGANA_SIMD::store_lds<Kind>(lds, limit, add, address, exec, data))
      each_lds_address<typename Kind::StoreLanes>(lds, limit, add, address, exec, data);
  }
  [[gnu::flatten]] MORGANA_KEEPS_REGISTERS static void load_index(Wave* wave, jit::WaveFrame* frame,
                                                                  uint64_t base, const Lanes* index,
                                                                  bool is_signed, Lanes* data) {
    if (load_runs<Kind>(frame, {base, index, Kind::kSize, is_signed}, wave->exec(), data)) return;
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
    load(wave, frame, 0, &low, &high, data);
  }
};

}  // namespace

const jit::NamedPath kPaths[] = {
#define MORGANA_PATH(name, function) {"morgana_path_" #name, reinterpret_cast<const void*>(function)},
#define MORGANA_KIND(name, Kind)                               \
  MORGANA_PATH(load_##name, Entries<Kind>::load)               \
  MORGANA_PATH(store_##name, Entries<Kind>::store)             \
  MORGANA_PATH(load_index_##name, Entries<Kind>::load_index)   \
  MORGANA_PATH(load_strided_##name, load_strided<Kind>)        \
  MORGANA_PATH(store_strided_##name, store_strided<Kind>)      \
  MORGANA_PATH(load_scratch_##name, load_scratch<Kind>)        \
  MORGANA_PATH(store_scratch_##name, store_scratch<Kind>)      \
  MORGANA_PATH(load_lds_##name, Entries<Kind>::load_lds)       \
  MORGANA_PATH(look_up_lds_##name, Entries<Kind>::look_up_lds) \
  MORGANA_PATH(store_lds_##name, Entries<Kind>::store_lds)
    MORGANA_MEMORY_KINDS(MORGANA_KIND)                //
    MORGANA_PATH(reaches_aperture, reaches_aperture)  //
    MORGANA_PATH(pull, pull)                          //
    MORGANA_PATH(note_range, note_range)              //
    MORGANA_PATH(lie_apart, lie_apart)                //
    MORGANA_PATH(may_access, may_access)              //
    MORGANA_PATH(observe_single, observe_single)      //
    MORGANA_PATH(observe_unseen, observe_unseen)      //
    MORGANA_PATH(passes, passes)                      //
    MORGANA_PATH(reads_unwritten, reads_unwritten)    //
    MORGANA_PATH(loaded_unwritten, loaded_unwritten)  //
    MORGANA_PATH(count_accesses, count_accesses)      //
    MORGANA_PATH(count_lines, count_lines)            //
    MORGANA_PATH(count_records, count_records)        //
    MORGANA_PATH(count_phases, count_phases)          //
    {nullptr, nullptr}};
#undef MORGANA_KIND
#undef MORGANA_PATH

}  // namespace morgana::device::MORGANA_SIMD
