// MUBUF: loads, stores and atomics through a buffer resource (CDNA4 guide, chapter 9).
//
// Fast paths: a plain offset buffer whose lanes' offsets are a progression, and the private segment of gfx6
// to gfx90a (ADD_TID, swizzled), dwords or less. Everything else goes through one address a lane and dword.
#include "device/interp/memory_buffer.h"

#include "device/apertures.h"

namespace morgana::device::MORGANA_SIMD {

void read_indexes(const Wave& wave, const Step* step, const Resource& r, Indexed& lanes) {
  const uint32_t* vaddr = step->extra & (kOffen | kIdxen) ? registers(wave, step, 0) : nullptr;
  for (int i = 0; i < kChunks; i++) {
    const uint32_t* next = vaddr;
    Chunk index = Chunk(0), offset = Chunk(r.inst_offset);
    if (step->extra & kIdxen) index = chunk_of(next, i), next += kLanes;
    if (step->extra & kOffen) offset += chunk_of(next, i);
    if (r.add_tid) index += kIota + 16 * i;
    set_chunk(lanes.index, i, index);
    set_chunk(lanes.offset, i, offset);
  }
}

namespace {

// The lanes' own offsets, if they have some; nullptr otherwise. Of lanes 16i to 16i + 15 with the
// instruction's.
MORGANA_INLINE const uint32_t* own_offsets(const Wave& wave, const Step* step) {
  return step->extra & kOffen ? registers(wave, step, 0) : nullptr;
}
MORGANA_INLINE Chunk offsets_of(const Resource& r, const uint32_t* own, int i) {
  return (own ? chunk_of(own, i) : Chunk(0)) + r.inst_offset;
}

void zero_lanes(uint32_t* to, int count, uint64_t exec) {
  for (int d = 0; d < count; d++)
    for (int i = 0; i < kChunks; i++) merge_chunk(to + kLanes * d, i, Chunk(0), chunk_mask(exec, i));
}

// What lanes out of range get: zero from loads and returning atomics, nothing happens to stores.
template <class Move>
void access_nothing(const Data& data, uint64_t exec) {
  if constexpr (requires { Move::kAtomic; }) {
    if (data.to) zero_lanes(data.to, Move::kBytes / 4, exec);
  } else if constexpr (Move::kLoads) {
    alignas(128) uint64_t at[kLanes];
    point_nowhere(at, 0);
    Move::lanes(data, at, exec);
  }
}

// The lanes of the access that starts `add` bytes behind each lane's offset; the mask has those in range.
uint64_t lane_addresses(const Wave& wave, const Step* step, const Resource& r, const Indexed& lanes,
                        uint32_t add, bool aligned, uint64_t* at) {
  uint64_t inside = 0;
  if (step->extra & kAddr64) {
    join_addresses(at, registers(wave, step, 0), r.base + r.inst_offset + add);
    inside = kAllLanes;
  } else {
    for (int l = 0; l < kLanes; l++) {
      const uint64_t offset = uint64_t{lanes.offset[l]} + add;
      at[l] = buffer_address(r, lanes.index[l], offset);
      inside |= uint64_t{in_range(r, lanes.index[l], offset)} << l;
    }
  }
  if (aligned)
    for (int l = 0; l < kLanes; l++) at[l] &= ~uint64_t{3};
  return inside;
}

// The same of a plain buffer of which each lane of `exec` has all of the access in range (`inside`), or
// nothing; false: it is none.
template <class Move>
MORGANA_INLINE bool plain_addresses(const Wave& wave, const Step* step, const Resource& r, uint64_t exec,
                                    uint64_t* at, uint64_t& inside) {
  if (r.check != Check::offset || r.swizzle || r.add_tid || step->extra & (kIdxen | kAddr64 | kForceAlign) ||
      r.records < Move::kBytes)
    return false;
  const uint32_t* const own = own_offsets(wave, step);
  uint64_t in = 0, out = 0;
  for (int i = 0; i < kChunks; i++) {
    const Chunk offset = offsets_of(r, own, i);
    in |= bits_of_condition(offset <= r.records - Move::kBytes) << (16 * i);
    out |= bits_of_condition(offset >= r.records) << (16 * i);
    *reinterpret_cast<Chunk64*>(at + 16 * i) = __builtin_convertvector(offset, Chunk64) + r.base;
  }
  inside = exec & in;
  return (exec & ~(in | out)) == 0;
}

bool atomic_is_misaligned(Wave& wave, const Step* step, const uint64_t* at, uint64_t lanes, uint32_t bytes) {
  for (; lanes; lanes &= lanes - 1) {
    const int l = __builtin_ctzll(lanes);
    if (at[l] % bytes == 0) continue;
    raise(wave, step, FaultKind::misaligned, "an atomic needs a naturally aligned address", at[l], l, true);
    return true;
  }
  return false;
}

// False after a fault.
template <class Move>
[[gnu::noinline]] bool buffer_lanes(Wave& wave, const Step* step, const Resource& r, const Data& data) {
  const uint64_t exec = wave.exec();
  if (exec == 0) return true;
  if (r.unbound) {
    access_nothing<Move>(data, exec);
    return true;
  }
  uint64_t* const at = address_room(wave);
  if constexpr (requires { typename Move::Dword; }) {
    uint64_t inside = 0;
    if (plain_addresses<Move>(wave, step, r, exec, at, inside)) {
      point_nowhere(at, inside);
      const Touch touch(wave, at, inside, Move::kBytes);
      const LoadedOnce<Move> once(at, inside);
      Move::lanes(data, at, Move::kStores ? inside : exec);
      return true;
    }
  }
  Indexed lanes;
  if (!(step->extra & kAddr64)) read_indexes(wave, step, r, lanes);
  const bool aligned = Move::kBytes >= 4 && (step->extra & kForceAlign || requires { Move::kAtomic; });
  if constexpr (requires { typename Move::Dword; }) {
    uint32_t low_bits = 0;
    if (r.swizzle && !(step->extra & kAddr64))
      for (uint64_t left = exec; left; left &= left - 1) low_bits |= lanes.offset[__builtin_ctzll(left)];
    if (!aligned && low_bits & 3 && Move::kBytes > 1) {
      // Each byte has its own place in the swizzle.
      uint64_t inside = lane_addresses(wave, step, r, lanes, 0, false, at) & exec;
      access_nothing<Move>(data, exec & ~inside);
      const Touch touch(wave, at, inside, Move::kBytes);
      move_staged<Move>(data, inside, [&](int l, int i) {
        return reinterpret_cast<uint8_t*>(
            buffer_address(r, lanes.index[l], uint64_t{lanes.offset[l]} + static_cast<uint32_t>(i)));
      });
      return true;
    }
    // Dwords are checked one by one (9.1.5.1, note 4). The first load may replace the address registers, but
    // `lanes` holds their values; a 64-bit address has no such copy and is read once.
    if (step->extra & kAddr64 || (!r.swizzle && r.check != Check::offset && r.check != Check::bytes)) {
      const uint64_t inside = lane_addresses(wave, step, r, lanes, 0, aligned, at) & exec;
      point_nowhere(at, inside);
      const Touch touch(wave, at, inside, Move::kBytes);
      const LoadedOnce<Move> once(at, inside);
      Move::lanes(data, at, Move::kStores ? inside : exec);
      return true;
    }
    for (uint32_t d = 0; 4 * d < Move::kBytes; d++) {
      const uint64_t inside = lane_addresses(wave, step, r, lanes, 4 * d, aligned, at) & exec;
      point_nowhere(at, inside);
      const Touch touch(wave, at, inside, Move::kBytes < 4 ? Move::kBytes : 4);
      const LoadedOnce<typename Move::Dword> once(at, inside);
      Move::Dword::lanes(dword_of(data, static_cast<int>(d)), at, Move::kStores ? inside : exec);
    }
  } else {
    const uint64_t inside = lane_addresses(wave, step, r, lanes, 0, aligned, at) & exec;
    if (atomic_is_misaligned(wave, step, at, inside, Move::kBytes)) return false;
    {
      const Touch touch(wave, at, inside, Move::kBytes);
      Move::lanes(data, at, inside);
    }
    access_nothing<Move>(data, exec & ~inside);
  }
  return true;
}

// At offsets of the lanes' own, whole dwords. The first load may replace the registers of offsets.
template <class Move>
[[gnu::noinline]] bool private_lanes(Wave& wave, const Step* step, const Resource& r, const Data& data,
                                     uint64_t exec) {
  alignas(64) uint64_t first[kLanes];
  Chunk low_bits = Chunk(0);
  for (int i = 0; i < kChunks; i++) {
    const Chunk offset = chunk_of(registers(wave, step, 0), i) + r.inst_offset;
    low_bits |= blend(chunk_mask(exec, i), offset & 3, Chunk(0));
    const Chunk64 lane = __builtin_convertvector(kIota + 16 * i, Chunk64) * 4;
    *reinterpret_cast<Chunk64*>(first + 16 * i) =
        __builtin_convertvector(offset, Chunk64) * uint64_t{r.index_stride} + lane + r.base;
  }
  if (!is_zero(low_bits)) return false;
  uint64_t* const at = address_room(wave);
  for (int d = 0; d < Move::kBytes / 4; d++) {
    for (int i = 0; i < kChunks; i++)
      *reinterpret_cast<Chunk64*>(at + 16 * i) = *reinterpret_cast<Chunk64*>(first + 16 * i) +
                                                 uint64_t{4 * r.index_stride} * static_cast<unsigned>(d);
    point_nowhere(at, exec);
    const Touch touch(wave, at, exec, 4);
    Move::Dword::lanes(dword_of(data, d), at, exec);
  }
  return true;
}

// Bytes and shorts at multiples of their size.
template <class Move>
[[gnu::noinline]] bool private_parts(Wave& wave, const Step* step, const Resource& r, const Data& data,
                                     uint64_t exec) {
  const uint32_t* const own = own_offsets(wave, step);
  uint64_t* const at = address_room(wave);
  Chunk low_bits = Chunk(0);
  for (int i = 0; i < kChunks; i++) {
    const Chunk offset = offsets_of(r, own, i);
    low_bits |= blend(chunk_mask(exec, i), offset & (Move::kBytes - 1), Chunk(0));
    const Chunk into = (kIota + 16 * i) * 4 + offset % 4;
    *reinterpret_cast<Chunk64*>(at + 16 * i) =
        __builtin_convertvector(offset & ~3u, Chunk64) * uint64_t{r.index_stride} +
        __builtin_convertvector(into, Chunk64) + r.base;
  }
  if (!is_zero(low_bits)) return false;
  point_nowhere(at, exec);
  const Touch touch(wave, at, exec, Move::kBytes);
  Move::lanes(data, at, exec);
  return true;
}

// Of the private segment. Dwords are a row of neighbours, one a lane, where all lanes have one offset.
template <class Move>
MORGANA_INLINE bool private_access(Wave& wave, const Step* step, const Resource& r, const Data& data) {
  if constexpr (requires { typename Move::Dword; }) {
    if (!r.add_tid || !r.swizzle || r.element != 4 || r.index_stride != wave.lane_count()) return false;
    if (step->extra & (kIdxen | kAddr64) || r.base % 4 != 0) return false;
    const uint64_t exec = wave.exec();
    if constexpr (Move::kBytes < 4) return private_parts<Move>(wave, step, r, data, exec);
    if (step->extra & kOffen && !is_uniform(registers(wave, step, 0)))
      return private_lanes<Move>(wave, step, r, data, exec);
    const uint32_t offset = r.inst_offset + (step->extra & kOffen ? registers(wave, step, 0)[0] : 0);
    if (offset % 4 != 0) return false;
    uint8_t* row = reinterpret_cast<uint8_t*>(r.base) + uint64_t{offset} * r.index_stride;
    for (int d = 0; d < Move::kBytes / 4; d++, row += 4 * r.index_stride) {
      const Data one = dword_of(data, d);
      for (uint32_t i = 0; i < r.index_stride / 16 && exec; i++) {
        uint8_t* const chunk = row + 64 * i;
        const uint32_t mask = chunk_mask(exec, i);
        if constexpr (Move::kStores)
          poke(chunk, blend(mask, chunk_of(one.from, i), peek<Chunk>(chunk)));
        else
          merge_chunk(one.to, i, peek<Chunk>(chunk), mask);
      }
    }
    return true;
  }
  return false;
}

// A plain buffer, all lanes active, offsets one after another or all the same, all in range.
template <class Move>
MORGANA_INLINE bool plain_span(Wave& wave, const Step* step, const Resource& r, const Data& data) {
  if constexpr (requires { typename Move::Dword; }) {
    if (r.swizzle || r.add_tid || r.unbound || step->extra & (kIdxen | kAddr64) || wave.exec() != kAllLanes)
      return false;
    if (step->extra & kForceAlign && Move::kBytes >= 4 && (r.base | r.inst_offset) & 3) return false;
    if (!(step->extra & kOffen)) {
      if (!Move::kLoads || uint64_t{r.inst_offset} + Move::kBytes > r.records) return false;
      Move::same(data, reinterpret_cast<uint8_t*>(r.base + r.inst_offset));
      return true;
    }
    const uint32_t* add = registers(wave, step, 0);
    const uint64_t first = uint64_t{add[0]} + r.inst_offset;
    if (step->extra & kForceAlign && Move::kBytes >= 4 && first & 3) return false;
    if (first + kLanes * Move::kBytes <= r.records && is_progression<Move::kBytes>(add)) {
      Move::full(data, reinterpret_cast<uint8_t*>(r.base + first));
      return true;
    }
    if (Move::kLoads && first + Move::kBytes <= r.records && is_uniform(add)) {
      Move::same(data, reinterpret_cast<uint8_t*>(r.base + first));
      return true;
    }
  }
  return false;
}

// Whether an active lane leaves its scratch by the resource of private memory: a fault. The resource itself
// stops nobody, and what lies around scratch is the host's.
template <class Move>
MORGANA_INLINE bool leaves_scratch(Wave& wave, const Step* step, const Resource& r) {
  if (!r.add_tid || step->extra & (kIdxen | kAddr64)) return false;
  const uint64_t into = r.base - reinterpret_cast<uint64_t>(wave.scratch);
  if (into + r.records >= 2 * uint64_t{r.records}) return false;  // another resource
  const uint64_t first = into / wave.lane_count(), end = first + Move::kBytes,
                 bytes = wave.scratch_lane_bytes;
  const uint32_t* const own = own_offsets(wave, step);
  uint64_t outside = kAllLanes;
  if (first < bytes && end <= bytes) {
    outside = 0;
    const auto last = static_cast<uint32_t>(bytes - end);
    for (int i = 0; i < kChunks; i++) outside |= bits_of_condition(offsets_of(r, own, i) > last) << (16 * i);
  }
  outside &= wave.exec();
  if (outside == 0) [[likely]]
    return false;
  const int lane = __builtin_ctzll(outside);
  const uint32_t offset = (own ? own[lane] : 0) + r.inst_offset;
  raise(wave, step, FaultKind::aperture, "beyond the scratch of the work-item", kPrivateBase + first + offset,
        lane, Move::kStores);
  return true;
}

template <class Move>
void buffer(Wave& wave, const Step* step) {
  wave.step = step;
  const Resource r = read_resource(wave, step);
  if (leaves_scratch<Move>(wave, step, r)) return;
  const Data data = data_of<Move>(wave, step);
  if (!private_access<Move>(wave, step, r, data) && !plain_span<Move>(wave, step, r, data) &&
      !buffer_lanes<Move>(wave, step, r, data))
    return;
  // The texture-fail dword behind the data: every page is resident.
  if (Move::kLoads && step->extra & kTfe) [[unlikely]]
    zero_lanes(data.to + kLanes * (Move::kBytes < 4 ? 1 : Move::kBytes / 4), 1, wave.exec());
  MORGANA_NEXT(wave, step);
}

template <class Operation>
void buffer_atomic(Wave& wave, const Step* step) {
  using Move = Atomic<Operation, Sharing::host_threads>;
  wave.step = step;
  const Resource r = read_resource(wave, step);
  if (leaves_scratch<Move>(wave, step, r)) return;
  if (!buffer_lanes<Move>(wave, step, r, data_of<Move>(wave, step))) return;
  MORGANA_NEXT(wave, step);
}

// All lanes of a plain buffer, one after another to `to`.
template <class Move>
MORGANA_INLINE bool whole_wave_to_lds(Wave& wave, const Step* step, const Resource& r, uint8_t* to) {
  using Record = uint32_t __attribute__((ext_vector_type(Move::kBytes / 4)));
  uint64_t* const at = address_room(wave);
  uint64_t inside = 0;
  if (wave.exec() != kAllLanes || r.unbound || !plain_addresses<Move>(wave, step, r, kAllLanes, at, inside))
    return false;
  point_nowhere(at, inside);
  const Touch touch(wave, at, inside, Move::kBytes);
  for (int l = 0; l < kLanes; l++, to += Move::kBytes)
    poke(to, peek<Record>(reinterpret_cast<const void*>(at[l])));
  return true;
}

// LDS address of lane l: M0[17:0] + the instruction's offset + l * 4, or * 16 for three and four dwords
// (9.1.9).
template <class Move>
void buffer_to_lds(Wave& wave, const Step* step) {
  wave.step = step;
  constexpr uint32_t kRecord = Move::kBytes < 4 ? 4 : Move::kBytes, kStride = kRecord > 4 ? 16 : 4;
  alignas(64) uint32_t loaded[kRecord / 4 * kLanes];
  const Resource r = read_resource(wave, step);
  const uint64_t base = uint64_t{wave.m0() & 0x3ffff} + r.inst_offset;
  if constexpr (kStride == Move::kBytes) {
    if (base + kLanes * kStride <= wave.group->lds_size &&
        whole_wave_to_lds<Move>(wave, step, r, wave.group->lds + base)) {
      MORGANA_NEXT(wave, step);
    }
  }
  if (!buffer_lanes<Move>(wave, step, r, Data{loaded})) return;
  for (uint64_t left = wave.exec(); left; left &= left - 1) {
    const int l = __builtin_ctzll(left);
    const uint64_t to = base + uint64_t{kStride} * static_cast<unsigned>(l);
    if (to > wave.group->lds_size || wave.group->lds_size - to < kRecord) continue;
    for (uint32_t d = 0; d < kRecord / 4; d++) poke(wave.group->lds + to + 4 * d, loaded[kLanes * d + l]);
  }
  MORGANA_NEXT(wave, step);
}

void buffer_store_lds_dword(Wave& wave, const Step* step) {
  wave.step = step;
  alignas(64) uint32_t stored[kLanes] = {};
  const Resource r = read_resource(wave, step);
  const uint64_t base = uint64_t{wave.m0() & 0xffff} + r.inst_offset;
  for (unsigned l = 0; l < kLanes; l++)
    if (base + 4 * l + 4 <= wave.group->lds_size) stored[l] = peek<uint32_t>(wave.group->lds + base + 4 * l);
  if (!buffer_lanes<StoreDwords<1>>(wave, step, r, Data{nullptr, stored})) return;
  MORGANA_NEXT(wave, step);
}

template <class Move>
Handler choose(const isa::Inst& inst) {
  if constexpr (Move::kLoads)
    if (inst.lds) return buffer_to_lds<Move>;
  return buffer<Move>;
}

}  // namespace

void buffer_addresses(const Wave& wave, const Step* step, uint64_t* at) {
  const Resource r = read_resource(wave, step);
  Indexed lanes;
  if (!(step->extra & kAddr64)) read_indexes(wave, step, r, lanes);
  const uint64_t inside = lane_addresses(wave, step, r, lanes, 0, false, at);
  point_nowhere(at, r.unbound ? 0 : inside);
}

#define CASE(name, ...) \
  case Op::buffer_##name: return choose<__VA_ARGS__>(inst)
#define HALF(name, type, part)                                                                \
  case Op::buffer_##name:                                                                     \
    return isa::loads_halves_alone(target) ? choose<LoadPart<type, Part::part##_alone>>(inst) \
                                           : choose<LoadPart<type, Part::part>>(inst)
#define ATOMIC(name, ...) \
  case Op::buffer_atomic_##name: return buffer_atomic<atomics::__VA_ARGS__>;
#define ATOMIC_BITS(name, operation, type, wide_type) \
  ATOMIC(name, operation<type>)                       \
  ATOMIC(name##_x2, operation<wide_type>)

Handler select_buffer(Target target, const isa::Inst& inst, Step& step) {
  using isa::Op;
  const Generation generation = info(target).generation;
  step.imm = inst.offset;
  if (inst.n_dst > 0 && inst.dst[0].is_agpr()) step.extra |= kAgprDst;
  if (inst.row->flags & isa::kAtomic && inst.n_dst > 0 && inst.dst[0].present()) step.extra |= kReturnsOld;
  if (inst.offen) step.extra |= kOffen;
  if (inst.idxen) step.extra |= kIdxen;
  if (inst.addr64) step.extra |= kAddr64;
  if (inst.tfe) step.extra |= kTfe;
  if (inst.row->flags & isa::kFormat) step.extra |= kFormatBit;
  // HSA runs gfx9 in unaligned access mode, and LLVM relies on it there.
  if (generation <= Generation::gfx8) step.extra |= kForceAlign | kElementSize;
  if (generation == Generation::gfx8) step.extra |= kByteRecords;
  if (generation >= Generation::gfx10) step.extra |= kGfx10Resource;
  step.extra |= kKeepDenorms;
  switch (inst.row->op) {
    case Op::buffer_wbl2:
    case Op::buffer_inv:
    case Op::buffer_invl2:
    case Op::buffer_wbinvl1:
    case Op::buffer_wbinvl1_vol:
    case Op::buffer_wbinvl1_sc:
    case Op::buffer_gl0_inv:
    case Op::buffer_gl1_inv: return nothing;
    case Op::buffer_store_lds_dword:
      return buffer_store_lds_dword;
      CASE(load_ubyte, LoadPart<uint8_t>);
      CASE(load_sbyte, LoadPart<int8_t>);
      CASE(load_ushort, LoadPart<uint16_t>);
      CASE(load_sshort, LoadPart<int16_t>);
      HALF(load_ubyte_d16, uint8_t, low);
      HALF(load_ubyte_d16_hi, uint8_t, high);
      HALF(load_sbyte_d16, int8_t, low);
      HALF(load_sbyte_d16_hi, int8_t, high);
      HALF(load_short_d16, uint16_t, low);
      HALF(load_short_d16_hi, uint16_t, high);
      CASE(load_dword, LoadDwords<1>);
      CASE(load_dwordx2, LoadDwords<2>);
      CASE(load_dwordx3, LoadDwords<3>);
      CASE(load_dwordx4, LoadDwords<4>);
      CASE(store_byte, StorePart<uint8_t>);
      CASE(store_byte_d16_hi, StorePart<uint8_t, Part::high>);
      CASE(store_short, StorePart<uint16_t>);
      CASE(store_short_d16_hi, StorePart<uint16_t, Part::high>);
      CASE(store_dword, StoreDwords<1>);
      CASE(store_dwordx2, StoreDwords<2>);
      CASE(store_dwordx3, StoreDwords<3>);
      CASE(store_dwordx4, StoreDwords<4>);
    case Op::buffer_atomic_csub:
    case Op::buffer_atomic_sub_clamp_u32: return buffer_atomic<atomics::sub_clamp<uint32_t>>;
    case Op::buffer_atomic_cond_sub_u32: return buffer_atomic<atomics::cond_sub<uint32_t>>;
    case Op::buffer_atomic_add_f32:
      if (!info(target).adds_f32_denormals()) step.extra &= ~kKeepDenorms;
      return buffer_atomic<atomics::float_add<uint32_t>>;
#define ATOMIC_EXCHANGE(name, operation) ATOMIC_BITS(name, operation, uint32_t, uint64_t)
#define ATOMIC_INTEGER(name, lds, narrow, wide, operation, type, wide_type) \
  ATOMIC_BITS(name, operation, type, wide_type)
#define ATOMIC_FLOAT(name, operation) ATOMIC_BITS(name, operation, uint32_t, uint64_t)
#define ATOMIC_TYPED(name, ...) ATOMIC(name, __VA_ARGS__)
#include "device/interp/atomics.def"
    default: return select_buffer_format(target, inst, step);
  }
}
#undef CASE
#undef HALF
#undef ATOMIC
#undef ATOMIC_BITS

}  // namespace morgana::device::MORGANA_SIMD
