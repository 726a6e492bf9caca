// FLAT, GLOBAL and SCRATCH (CDNA4 guide, chapter 10).
//
// Fast paths, inline: all lanes active and their addresses a progression, or all the same. Everything else
// goes through one address a lane.
#include "device/apertures.h"
#include "device/interp/memory_atomic.h"
#include "device/interp/memory_scratch.h"

namespace morgana::device::MORGANA_SIMD {

void flat_addresses(const Wave& wave, const Step* step, uint64_t* at) {
  const auto add = static_cast<uint64_t>(int64_t{step->imm});
  if (step->kind[0] == Source::none) {  // *_addtid: by the lane's number
    const uint64_t base = step->kind[2] == Source::none ? 0 : scalar64(wave, step, 2);
    for (unsigned l = 0; l < kLanes; l++) at[l] = base + add + 4 * l;
    return;
  }
  if (step->extra & kFormIsSaddr)
    add_offsets(at, scalar64(wave, step, 2) + add, registers(wave, step, 0));
  else
    join_addresses(at, registers(wave, step, 0), add);
}

namespace {

constexpr uint32_t kSharedHigh = kSharedBase >> 32, kPrivateHigh = kPrivateBase >> 32;

bool in_aperture(uint64_t address) {
  const auto high = static_cast<uint32_t>(address >> 32);
  return high == kSharedHigh || high == kPrivateHigh;
}

bool fault_at(Wave& wave, const Step* step, FaultKind kind, const char* detail, uint64_t lanes,
              const uint64_t* at) {
  const int lane = __builtin_ctzll(lanes);
  const bool writes = step->inst->row->flags & (isa::kStore | isa::kAtomic);
  raise(wave, step, kind, detail, at[lane], lane, writes);
  return false;
}

// Turns the addresses of lanes in the LDS aperture into host addresses; takes the lanes in the private
// aperture out of `exec` and gives their offsets. False after a fault.
struct Private {
  uint64_t lanes = 0;
  alignas(64) uint32_t offset[kLanes];
};
bool resolve_apertures(Wave& wave, const Step* step, uint64_t* at, uint64_t& exec, uint32_t bytes,
                       Private& own) {
  const uint32_t lds_size = wave.group->lds_size;
  for (uint64_t left = exec; left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    if (!in_aperture(at[l])) continue;
    const auto offset = static_cast<uint32_t>(at[l]);
    const bool shared = at[l] >> 32 == kSharedHigh;
    const uint64_t size = shared ? lds_size : wave.scratch_lane_bytes;
    if (uint64_t{offset} + bytes > size)
      return fault_at(wave, step, FaultKind::aperture,
                      shared ? "beyond the LDS allocation" : "beyond the scratch of the work-item",
                      uint64_t{1} << l, at);
    if (shared) {
      at[l] = reinterpret_cast<uint64_t>(wave.group->lds) + offset;
    } else {
      own.lanes |= uint64_t{1} << l;
      own.offset[l] = offset;
    }
  }
  exec &= ~own.lanes;
  return true;
}

// One address a lane. False when the wave has stopped with a fault.
template <class Move>
[[gnu::noinline]] bool flat_lanes(Wave& wave, const Step* step, const Data& data) {
  uint64_t exec = wave.exec();
  if (exec == 0) return true;
  uint64_t* const at = address_room(wave);
  flat_addresses(wave, step, at);
  if constexpr (requires { Move::kAtomic; }) {
    if (differences(at, exec, 0) & (Move::kBytes - 1)) {
      uint64_t misaligned = 0;
      for (int l = 0; l < kLanes; l++) misaligned |= uint64_t{(at[l] & (Move::kBytes - 1)) != 0} << l;
      return fault_at(wave, step, FaultKind::misaligned, "an atomic needs a naturally aligned address",
                      misaligned & exec, at);
    }
  }
  Private own;
  if (step->extra & kFormIsFlat && !resolve_apertures(wave, step, at, exec, Move::kBytes, own)) return false;
  if (exec) {
    const Touch touch(wave, at, exec, Move::kBytes);
    const LoadedOnce<Move> once(at, exec);
    point_nowhere(at, exec);
    Move::lanes(data, at, exec);
  }
  if (own.lanes) {
    for (int l = 0; l < kLanes; l++)
      if (!(own.lanes >> l & 1)) own.offset[l] = 0;
    move_scratch<Move>(wave, data, own.offset, own.lanes);
  }
  return true;
}

// Loads and stores with a 64-bit VGPR address.
template <class Move>
void flat_vaddr(Wave& wave, const Step* step) {
  wave.step = step;
  const Data data = data_of<Move>(wave, step);
  if (wave.exec() == kAllLanes) [[likely]] {
    const uint32_t* low = registers(wave, step, 0);
    const uint32_t* high = low + kLanes;
    constexpr uint32_t kSpan = (kLanes - 1) * Move::kBytes;
    const uint64_t first = (low[0] | uint64_t{high[0]} << 32) + static_cast<uint64_t>(int64_t{step->imm});
    const bool flat = step->extra & kFormIsFlat;
    if (low[0] <= UINT32_MAX - kSpan && is_progression<Move::kBytes>(low) && is_uniform(high) &&
        !(flat && (in_aperture(first) || in_aperture(first + kSpan)))) {
      Move::full(data, reinterpret_cast<uint8_t*>(first));
      MORGANA_NEXT(wave, step);
    }
  } else if constexpr (Move::kSome) {
    const uint32_t* low = registers(wave, step, 0);
    if (const uint64_t exec = wave.exec()) {
      constexpr uint32_t kSpan = (kLanes - 1) * Move::kBytes;
      const int l = __builtin_ctzll(exec);
      const uint64_t first =
          (low[l] | uint64_t{low[kLanes + l]} << 32) + static_cast<uint64_t>(int64_t{step->imm});
      if (low[l] <= UINT32_MAX - kSpan && is_progression<Move::kBytes>(low, exec, l) &&
          is_progression<0>(low + kLanes, exec, l) &&
          !(step->extra & kFormIsFlat && (in_aperture(first) || in_aperture(first + kSpan)))) {
        Move::some(data, reinterpret_cast<uint8_t*>(first - static_cast<uint32_t>(l * Move::kBytes)), exec);
        MORGANA_NEXT(wave, step);
      }
    }
  }
  if (!flat_lanes<Move>(wave, step, data)) return;
  MORGANA_NEXT(wave, step);
}

// Loads and stores with an SGPR base and 32-bit VGPR offsets.
template <class Move>
void flat_saddr(Wave& wave, const Step* step) {
  wave.step = step;
  const Data data = data_of<Move>(wave, step);
  if (wave.exec() == kAllLanes) [[likely]] {
    const uint32_t* offset = registers(wave, step, 0);
    const uint64_t base = scalar64(wave, step, 2) + static_cast<uint64_t>(int64_t{step->imm});
    auto* const first = reinterpret_cast<uint8_t*>(base + offset[0]);
    if (offset[0] <= UINT32_MAX - (kLanes - 1) * Move::kBytes && is_progression<Move::kBytes>(offset)) {
      Move::full(data, first);
      MORGANA_NEXT(wave, step);
    }
    if (Move::kLoads && is_uniform(offset)) {
      Move::same(data, first);
      MORGANA_NEXT(wave, step);
    }
  } else if constexpr (Move::kSome) {
    const uint32_t* offset = registers(wave, step, 0);
    if (const uint64_t exec = wave.exec()) {
      const int l = __builtin_ctzll(exec);
      if (offset[l] <= UINT32_MAX - (kLanes - 1) * Move::kBytes &&
          is_progression<Move::kBytes>(offset, exec, l)) {
        const uint64_t base = scalar64(wave, step, 2) + static_cast<uint64_t>(int64_t{step->imm});
        Move::some(data,
                   reinterpret_cast<uint8_t*>(base + offset[l] - static_cast<uint32_t>(l * Move::kBytes)),
                   exec);
        MORGANA_NEXT(wave, step);
      }
    }
  }
  if (!flat_lanes<Move>(wave, step, data)) return;
  MORGANA_NEXT(wave, step);
}

template <class Move>
void flat_addtid(Wave& wave, const Step* step) {
  wave.step = step;
  if (!flat_lanes<Move>(wave, step, data_of<Move>(wave, step))) return;
  MORGANA_NEXT(wave, step);
}

template <class Move>
void flat_atomic(Wave& wave, const Step* step) {
  wave.step = step;
  if (!flat_lanes<Move>(wave, step, data_of<Move>(wave, step))) return;
  MORGANA_NEXT(wave, step);
}

// --- SCRATCH ---

// Whole dwords at an aligned offset that all lanes share are neighbours in memory.
MORGANA_INLINE void scratch_row(const LoadDwords<1>*, const Data& data, uint8_t* row, uint32_t,
                                uint64_t exec) {
  for (int i = 0; i < kChunks; i++) merge_chunk(data.to, i, peek<Chunk>(row + 64 * i), chunk_mask(exec, i));
}
MORGANA_INLINE void scratch_row(const StoreDwords<1>*, const Data& data, uint8_t* row, uint32_t,
                                uint64_t exec) {
  for (int i = 0; i < kChunks; i++)
    merge_chunk(reinterpret_cast<uint32_t*>(row), i, chunk_of(data.from, i), chunk_mask(exec, i));
}

template <class Move>
[[gnu::noinline]] bool scratch_lanes(Wave& wave, const Step* step, const Data& data) {
  const uint64_t exec = wave.exec();
  alignas(64) uint32_t offset[kLanes];
  scratch_offsets(wave, step, offset);
  return move_inside_scratch<Move>(wave, step, data, offset, exec);
}

template <class Move>
void scratch(Wave& wave, const Step* step) {
  const Data data = data_of<Move>(wave, step);
  if constexpr (Move::kBytes % 4 == 0) {
    uint32_t offset = scratch_base(wave, step);
    bool same = true;
    if (step->kind[0] != Source::none) {
      const uint32_t* add = registers(wave, step, 0);
      same = is_uniform(add);
      offset += add[0];
    }
    if (same && offset % 4 == 0 && uint64_t{offset} + Move::kBytes <= wave.scratch_lane_bytes) [[likely]] {
      uint8_t* const row = wave.scratch + scratch_offset(offset, 0, wave.lane_count());
      for (int d = 0; d < Move::kBytes / 4; d++)
        scratch_row(static_cast<typename Move::Dword*>(nullptr), dword_of(data, d),
                    row + 4 * wave.lane_count() * d, 0, wave.exec());
      MORGANA_NEXT(wave, step);
    }
  }
  if (!scratch_lanes<Move>(wave, step, data)) return;
  MORGANA_NEXT(wave, step);
}

// --- Loads to LDS ---

// LDS address of lane l: M0[17:2] * 4 + the instruction's offset + l * 4, or * 16 for three and four dwords
// (CDNA4 guide 10.3). Narrow data is extended to a dword.
template <class Move, bool Scratch>
void load_to_lds(Wave& wave, const Step* step) {
  wave.step = step;
  constexpr uint32_t kRecord = Move::kBytes < 4 ? 4 : Move::kBytes, kStride = kRecord > 4 ? 16 : 4;
  alignas(64) uint32_t loaded[kRecord / 4 * kLanes];
  const Data data{loaded};
  if (!(Scratch ? scratch_lanes<Move>(wave, step, data) : flat_lanes<Move>(wave, step, data))) return;
  const uint64_t base = (wave.m0() & 0x3fffc) + static_cast<uint64_t>(int64_t{step->imm});
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const uint64_t to = base + uint64_t{kStride} * static_cast<unsigned>(l);
    if (to > wave.group->lds_size || wave.group->lds_size - to < kRecord) continue;
    for (uint32_t d = 0; d < kRecord / 4; d++) poke(wave.group->lds + to + 4 * d, loaded[kLanes * d + l]);
  }
  MORGANA_NEXT(wave, step);
}

// --- Choice ---

template <class Move>
Handler choose(const isa::Inst& inst, const Step& step) {
  const bool to_lds = inst.lds || (inst.row->flags & isa::kLdsDst);
  if (inst.row->format == isa::Format::SCRATCH) {
    if constexpr (Move::kLoads)
      if (to_lds) return load_to_lds<Move, true>;
    return scratch<Move>;
  }
  if constexpr (Move::kLoads)
    if (to_lds) return load_to_lds<Move, false>;
  return step.extra & kFormIsSaddr ? flat_saddr<Move> : flat_vaddr<Move>;
}

template <class Operation>
Handler choose_atomic() {
  return flat_atomic<Atomic<Operation, Sharing::host_threads>>;
}

}  // namespace

// Each operation of FLAT is one of GLOBAL, and the loads and stores are ones of SCRATCH.
#define EVERY(name)       \
  case Op::flat_##name:   \
  case Op::global_##name: \
  case Op::scratch_##name
#define ATOMIC(name, ...)      \
  case Op::flat_atomic_##name: \
  case Op::global_atomic_##name: return choose_atomic<atomics::__VA_ARGS__>();
#define ATOMIC_BITS(name, operation, type, wide_type) \
  ATOMIC(name, operation<type>)                       \
  ATOMIC(name##_x2, operation<wide_type>)
#define HALF(name, type, part)                                                                          \
  EVERY(name)                                                                                           \
      : return isa::loads_halves_alone(target) ? choose<LoadPart<type, Part::part##_alone>>(inst, step) \
                                               : choose<LoadPart<type, Part::part>>(inst, step)
#define TO_LDS(name)               \
  case Op::global_load_lds_##name: \
  case Op::scratch_load_lds_##name

Handler select_flat(Target target, const isa::Inst& inst, Step& step) {
  using isa::Op;
  const bool flat = inst.row->format == isa::Format::FLAT;
  if (inst.n_dst > 0 && inst.dst[0].is_agpr()) step.extra |= kAgprDst;
  if (inst.row->flags & isa::kAtomic && inst.n_dst > 0 && inst.dst[0].present()) step.extra |= kReturnsOld;
  if (flat) step.extra |= kFormIsFlat;
  if (!flat && step.kind[2] != Source::none) step.extra |= kFormIsSaddr;
  step.extra |= kKeepDenorms;
  step.imm = inst.offset;
  switch (inst.row->op) {
    EVERY(load_ubyte) : return choose<LoadPart<uint8_t>>(inst, step);
    EVERY(load_sbyte) : return choose<LoadPart<int8_t>>(inst, step);
    EVERY(load_ushort) : return choose<LoadPart<uint16_t>>(inst, step);
    EVERY(load_sshort) : return choose<LoadPart<int16_t>>(inst, step);
    HALF(load_ubyte_d16, uint8_t, low);
    HALF(load_ubyte_d16_hi, uint8_t, high);
    HALF(load_sbyte_d16, int8_t, low);
    HALF(load_sbyte_d16_hi, int8_t, high);
    HALF(load_short_d16, uint16_t, low);
    HALF(load_short_d16_hi, uint16_t, high);
    EVERY(load_dword) : return choose<LoadDwords<1>>(inst, step);
    EVERY(load_dwordx2) : return choose<LoadDwords<2>>(inst, step);
    EVERY(load_dwordx3) : return choose<LoadDwords<3>>(inst, step);
    EVERY(load_dwordx4) : return choose<LoadDwords<4>>(inst, step);
    EVERY(store_byte) : return choose<StorePart<uint8_t>>(inst, step);
    EVERY(store_byte_d16_hi) : return choose<StorePart<uint8_t, Part::high>>(inst, step);
    EVERY(store_short) : return choose<StorePart<uint16_t>>(inst, step);
    EVERY(store_short_d16_hi) : return choose<StorePart<uint16_t, Part::high>>(inst, step);
    EVERY(store_dword) : return choose<StoreDwords<1>>(inst, step);
    EVERY(store_dwordx2) : return choose<StoreDwords<2>>(inst, step);
    EVERY(store_dwordx3) : return choose<StoreDwords<3>>(inst, step);
    EVERY(store_dwordx4) : return choose<StoreDwords<4>>(inst, step);
    TO_LDS(ubyte) : return choose<LoadPart<uint8_t>>(inst, step);
    TO_LDS(sbyte) : return choose<LoadPart<int8_t>>(inst, step);
    TO_LDS(ushort) : return choose<LoadPart<uint16_t>>(inst, step);
    TO_LDS(sshort) : return choose<LoadPart<int16_t>>(inst, step);
    TO_LDS(dword) : return choose<LoadDwords<1>>(inst, step);
    case Op::global_load_lds_dwordx3: return choose<LoadDwords<3>>(inst, step);
    case Op::global_load_lds_dwordx4: return choose<LoadDwords<4>>(inst, step);
    case Op::global_load_dword_addtid: return flat_addtid<LoadDwords<1>>;
    case Op::global_store_dword_addtid: return flat_addtid<StoreDwords<1>>;
    case Op::global_inv:
    case Op::global_wb:
    case Op::global_wbinv:
      return nothing;
      ATOMIC(sub_clamp_u32, sub_clamp<uint32_t>)
      ATOMIC(cond_sub_u32, cond_sub<uint32_t>)
    case Op::global_atomic_csub: return choose_atomic<atomics::sub_clamp<uint32_t>>();
    case Op::global_atomic_ordered_add_b64: return choose_atomic<atomics::add<uint64_t>>();
    case Op::flat_atomic_add_f32:
    case Op::global_atomic_add_f32:
      if (!info(target).adds_f32_denormals()) step.extra &= ~kKeepDenorms;
      return choose_atomic<atomics::float_add<uint32_t>>();
#define ATOMIC_EXCHANGE(name, operation) ATOMIC_BITS(name, operation, uint32_t, uint64_t)
#define ATOMIC_INTEGER(name, lds, narrow, wide, operation, type, wide_type) \
  ATOMIC_BITS(name, operation, type, wide_type)
#define ATOMIC_FLOAT(name, operation) ATOMIC_BITS(name, operation, uint32_t, uint64_t)
#define ATOMIC_TYPED(name, ...) ATOMIC(name, __VA_ARGS__)
#include "device/interp/atomics.def"
    default: return select_tile(inst);
  }
}
#undef EVERY
#undef ATOMIC
#undef ATOMIC_BITS
#undef HALF
#undef TO_LDS

}  // namespace morgana::device::MORGANA_SIMD
