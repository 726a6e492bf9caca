// LDS loads and stores, and the lane exchanges that go through LDS hardware (CDNA4 guide 11.3, 12.12).
//
// An access that leaves the wave's LDS reads 0 or is dropped. Nothing here can raise a host fault.
#include "device/interp/memory_ds.h"
#include "device/interp/other_lanes.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// Bits of Step::extra here, beside MemoryFlag: the two byte offsets of the two-address forms.
constexpr uint32_t kOffset0Shift = 8, kOffset1Shift = 16;  // 8 bits each, in units of the stride
constexpr uint32_t kStride64Bit = 1u << 24;

MORGANA_INLINE bool all_equal(Chunk value, Chunk to) { return is_zero(value ^ to); }

template <class Move>
MORGANA_INLINE Data ds_data(Wave& wave, const Step* step, int source = 1) {
  Data data;
  if constexpr (Move::kStores) data.from = registers(wave, step, source);
  if constexpr (Move::kLoads) data.to = data_dst(wave, step);
  return data;
}

// One address a lane, `add` behind the VGPR's.
template <class Move>
[[gnu::noinline]] void ds_lanes(Wave& wave, const Data& data, const uint32_t* address, uint32_t add,
                                uint32_t limit) {
  move_lds_lanes<Move>(wave.group->lds, data, address, add, limit, wave.exec());
}

// Sixteen lanes at a time: rows of a tile are often neighbours or all the same. Returns false when lane
// addresses in some chunk leave LDS or follow no pattern that pays; nothing has been written then.
template <int N>
MORGANA_INLINE bool ds_load_rows(const Data& data, const uint8_t* lds, const uint32_t* address, uint32_t add,
                                 uint32_t limit, uint64_t exec) {
  Chunk loaded[N][kChunks];
  for (int i = 0; i < kChunks; i++) {
    const Chunk offset = chunk_of(address, i) + add;
    const uint32_t first = address[16 * i] + add;
    const uint8_t* const from = lds + first;
    if (uint64_t{first} + 64 * N > limit) {
      if (uint64_t{first} + 4 * N > limit || !all_equal(offset, Chunk(first))) return false;
      for (int d = 0; d < N; d++) loaded[d][i] = Chunk(peek<uint32_t>(from + 4 * d));
    } else if (all_equal(offset, kIota * (4 * N) + first)) {
      Chunk v[N];
      for (int d = 0; d < N; d++) v[d] = peek<Chunk>(from + 64 * d);
      split_records<N>(v);
      for (int d = 0; d < N; d++) loaded[d][i] = v[d];
    } else if (all_equal(offset, Chunk(first))) {
      for (int d = 0; d < N; d++) loaded[d][i] = Chunk(peek<uint32_t>(from + 4 * d));
    } else {
      return false;
    }
  }
  for (int d = 0; d < N; d++)
    for (int i = 0; i < kChunks; i++) merge_chunk(data.to + kLanes * d, i, loaded[d][i], chunk_mask(exec, i));
  return true;
}

template <class Move>
MORGANA_INLINE void ds_move(Wave& wave, const Data& data, const uint32_t* address, uint32_t add,
                            uint32_t limit) {
  const uint64_t exec = wave.exec();
  uint8_t* const lds = wave.group->lds;
  if (exec == kAllLanes) [[likely]] {
    const uint32_t first = address[0] + add;
    if (uint64_t{first} + kLanes * Move::kBytes <= limit && is_progression<Move::kBytes>(address)) {
      Move::full(data, lds + first);
      return;
    }
    if (Move::kLoads && uint64_t{first} + Move::kBytes <= limit && is_uniform(address)) {
      Move::same(data, lds + first);
      return;
    }
  } else if (Move::kSome && exec != 0) {
    const int l = __builtin_ctzll(exec), last = 63 - __builtin_clzll(exec);
    const uint64_t first = address[l] + add;
    if (first + static_cast<uint32_t>((last - l + 1) * Move::kBytes) <= limit &&
        is_progression<Move::kBytes>(address, exec, l)) {
      if constexpr (Move::kSome)
        Move::some(data, lds + first - static_cast<uint32_t>(l * Move::kBytes), exec);
      return;
    }
  }
  ds_lanes<Move>(wave, data, address, add, limit);
}
template <int N>
MORGANA_INLINE void ds_load(Wave& wave, const Data& data, const uint32_t* address, uint32_t add,
                            uint32_t limit) {
  const uint32_t first = address[0] + add;
  if (wave.exec() == kAllLanes && uint64_t{first} + kLanes * 4 * N <= limit &&
      is_progression<4 * N>(address)) {
    LoadDwords<N>::full(data, wave.group->lds + first);
    return;
  }
  if (!ds_load_rows<N>(data, wave.group->lds, address, add, limit, wave.exec()))
    ds_lanes<LoadDwords<N>>(wave, data, address, add, limit);
}

template <class Move>
void ds(Wave& wave, const Step* step) {
  ds_move<Move>(wave, ds_data<Move>(wave, step), registers(wave, step, 0), static_cast<uint32_t>(step->imm),
                lds_limit(wave, step));
  MORGANA_NEXT(wave, step);
}
template <int N>
void ds_read(Wave& wave, const Step* step) {
  ds_load<N>(wave, ds_data<LoadDwords<N>>(wave, step), registers(wave, step, 0),
             static_cast<uint32_t>(step->imm), lds_limit(wave, step));
  MORGANA_NEXT(wave, step);
}

// --- Two addresses ---

struct Offsets {
  uint32_t first, second;
};
template <int N>
MORGANA_INLINE Offsets offsets_of(const Step* step) {
  const uint32_t unit = step->extra & kStride64Bit ? 4 * N * 64 : 4 * N;
  return {(step->extra >> kOffset0Shift & 0xff) * unit, (step->extra >> kOffset1Shift & 0xff) * unit};
}

template <int N>
void ds_read2(Wave& wave, const Step* step) {
  const Offsets offset = offsets_of<N>(step);
  const uint32_t limit = lds_limit(wave, step);
  const uint32_t* address = registers(wave, step, 0);
  const Data data = ds_data<LoadDwords<N>>(wave, step);
  const uint32_t first = address[0] + offset.first;
  if (offset.second == offset.first + 4 * N && wave.exec() == kAllLanes &&
      uint64_t{first} + kLanes * 8 * N <= limit && is_progression<8 * N>(address)) {
    LoadDwords<2 * N>::full(data, wave.group->lds + first);
    MORGANA_NEXT(wave, step);
  }
  // The first result may replace the address.
  alignas(64) uint32_t kept[kLanes];
  if (static_cast<uint32_t>(address - data.to) < uint32_t{N} * kLanes) {
    __builtin_memcpy(kept, address, sizeof kept);
    address = kept;
  }
  ds_load<N>(wave, data, address, offset.first, limit);
  ds_load<N>(wave, dword_of(data, N), address, offset.second, limit);
  MORGANA_NEXT(wave, step);
}

// Equal offsets are one access, of DATA0 (CDNA4 guide 11.3.1).
template <int N>
void ds_write2(Wave& wave, const Step* step) {
  const Offsets offset = offsets_of<N>(step);
  const uint32_t limit = lds_limit(wave, step);
  const uint32_t* const address = registers(wave, step, 0);
  using Store = StoreDwords<N>;
  ds_move<Store>(wave, ds_data<Store>(wave, step, 1), address, offset.first, limit);
  if (offset.second != offset.first)
    ds_move<Store>(wave, ds_data<Store>(wave, step, 2), address, offset.second, limit);
  MORGANA_NEXT(wave, step);
}

template <int N>
void ds_wrxchg2(Wave& wave, const Step* step) {
  using T = typename WordOf<N>::type;
  using Exchange = Atomic<atomics::swap<T>, Sharing::one_thread>;
  const Offsets offset = offsets_of<N>(step);
  const uint64_t limit = lds_limit(wave, step);
  const uint32_t* const address = registers(wave, step, 0);
  uint32_t* const to = data_dst(wave, step);
  for (uint64_t exec = wave.exec(); exec; exec &= exec - 1) {
    const int l = __builtin_ctzll(exec);
    const T data[2] = {Exchange::value(registers(wave, step, 1), l),
                       Exchange::value(registers(wave, step, 2), l)};
    const uint32_t at[2] = {address[l] + offset.first, address[l] + offset.second};
    T old[2] = {0, 0};
    const bool one = offset.first == offset.second;
    for (int k = 0; k < (one ? 1 : 2); k++)
      if (at[k] + uint64_t{sizeof(T)} <= limit) {
        old[k] = peek<T>(wave.group->lds + at[k]);
        poke(wave.group->lds + at[k], data[k]);
      }
    Exchange::set_value(to, l, old[0]);
    Exchange::set_value(to + N * kLanes, l, one ? old[0] : old[1]);
  }
  MORGANA_NEXT(wave, step);
}

// --- Transposing reads (gfx950; CDNA4 guide 11.4) ---

// Sixteen elements that lie one after another.
template <int Bits>
MORGANA_INLINE Chunk row_of_tile(const uint8_t* row) {
  if constexpr (Bits >= 8) {
    using Element = std::conditional_t<Bits == 8, uint8_t, uint16_t>;
    using Row = Element __attribute__((ext_vector_type(16)));
    return __builtin_convertvector(peek<Row>(row), Chunk);
  } else {
    uint32_t words[Bits / 2 + 1] = {};
    __builtin_memcpy(words, row, 2 * Bits);
    Chunk low, high, shift;
#pragma clang loop unroll(full)
    for (int m = 0; m < 16; m++) {
      low[m] = words[m * Bits / 32];
      high[m] = words[m * Bits / 32 + 1];
      shift[m] = static_cast<uint32_t>(m * Bits % 32);
    }
    return (low >> shift | high << 1 << (31 - shift)) & ((1u << Bits) - 1);
  }
}

// Sixteen lanes read one tile together, E elements of Bits each: 16 rows, 16 / E lanes side by side along the
// contiguous dimension. Lane m of them gets element m of all E lines: what they read, one lane behind the
// other, is E lines of sixteen. The guide does not print this order; it is the one that compilers (Triton's
// layouts for gfx950) rely on.
template <int Bits, int N>
[[gnu::noinline]] void read_transposed(Wave& wave, uint32_t* to, const uint32_t* address, uint32_t add,
                                       uint64_t limit) {
  constexpr int kElements = N * 32 / Bits;
  constexpr int kBytes = 4 * N;
  alignas(64) uint8_t tiles[kLanes * kBytes];
  for (int l = 0; l < kLanes; l++) {
    const uint32_t at = address[l] + add;
    if (at + uint64_t{kBytes} <= limit)
      __builtin_memcpy(tiles + l * kBytes, wave.group->lds + at, kBytes);
    else
      __builtin_memset(tiles + l * kBytes, 0, kBytes);
  }
  for (int i = 0; i < kChunks; i++) {
    Chunk words[N + 1] = {};
#pragma clang loop unroll(full)
    for (int e = 0; e < kElements; e++) {
      const Chunk row = row_of_tile<Bits>(tiles + 16 * i * kBytes + 2 * Bits * e);
      const int bit = e * Bits, shift = bit % 32;
      words[bit / 32] |= row << static_cast<uint32_t>(shift);
      if (shift + Bits > 32) words[bit / 32 + 1] |= row >> static_cast<uint32_t>(32 - shift);
    }
    for (int d = 0; d < N; d++) merge_chunk(to + kLanes * d, i, words[d], chunk_mask(wave.exec(), i));
  }
}
template <int Bits, int N>
void ds_read_tr(Wave& wave, const Step* step) {
  read_transposed<Bits, N>(wave, data_dst(wave, step), registers(wave, step, 0),
                           static_cast<uint32_t>(step->imm), lds_limit(wave, step));
  MORGANA_NEXT(wave, step);
}

// --- Addresses by lane number ---

void addtid_addresses(const Wave& wave, const Step* step, uint32_t* address) {
  const uint32_t base = (wave.m0() & 0xffff) + static_cast<uint32_t>(step->imm);
  for (int i = 0; i < kChunks; i++) set_chunk(address, i, (kIota + 16 * i) * 4 + base);
}
template <class Move>
void ds_addtid(Wave& wave, const Step* step) {
  alignas(64) uint32_t address[kLanes];
  addtid_addresses(wave, step, address);
  ds_move<Move>(wave, ds_data<Move>(wave, step), address, 0, lds_limit(wave, step));
  MORGANA_NEXT(wave, step);
}

// --- Lane exchanges ---

// The lanes' values, 0 where EXEC is off.
MORGANA_INLINE void active_values(const Wave& wave, const uint32_t* from, uint32_t* values) {
  for (int i = 0; i < kChunks; i++)
    set_chunk(values, i, blend(chunk_mask(wave.exec(), i), chunk_of(from, i), Chunk(0)));
}

// Writes values[source[l]] to the active lanes.
MORGANA_INLINE void pull(Wave& wave, uint32_t* to, const uint32_t* values, const uint32_t* source) {
  for (int i = 0; i < kChunks; i++)
    merge_chunk(to, i, pulled(values, chunk_of(source, i)), chunk_mask(wave.exec(), i));
}

MORGANA_INLINE Chunk lane_of(const Wave& wave, Chunk address, const Step* step) {
  return (address + static_cast<uint32_t>(step->imm)) >> 2 & (wave.lane_count() - 1);
}

void ds_bpermute_b32(Wave& wave, const Step* step) {
  alignas(64) uint32_t values[kLanes], source[kLanes];
  active_values(wave, registers(wave, step, 1), values);
  for (int i = 0; i < kChunks; i++)
    set_chunk(source, i, lane_of(wave, chunk_of(registers(wave, step, 0), i), step));
  pull(wave, data_dst(wave, step), values, source);
  MORGANA_NEXT(wave, step);
}

// With FI: lanes that EXEC masks are read as well (gfx12).
void ds_bpermute_fi_b32(Wave& wave, const Step* step) {
  alignas(64) uint32_t values[kLanes], source[kLanes];
  __builtin_memcpy(values, registers(wave, step, 1), sizeof values);
  for (int i = 0; i < kChunks; i++)
    set_chunk(source, i, lane_of(wave, chunk_of(registers(wave, step, 0), i), step));
  pull(wave, data_dst(wave, step), values, source);
  MORGANA_NEXT(wave, step);
}

// The highest of several lanes that send to one wins.
void ds_permute_b32(Wave& wave, const Step* step) {
  alignas(64) uint32_t target[kLanes], received[kLanes] = {};
  for (int i = 0; i < kChunks; i++)
    set_chunk(target, i, lane_of(wave, chunk_of(registers(wave, step, 0), i), step));
  const uint32_t* const from = registers(wave, step, 1);
  for (uint64_t exec = wave.exec(); exec; exec &= exec - 1) {
    const int l = __builtin_ctzll(exec);
    received[target[l]] = from[l];
  }
  uint32_t* const to = data_dst(wave, step);
  for (int i = 0; i < kChunks; i++) merge_chunk(to, i, chunk_of(received, i), chunk_mask(wave.exec(), i));
  MORGANA_NEXT(wave, step);
}

void ds_swizzle_b32(Wave& wave, const Step* step) {
  alignas(64) uint32_t values[kLanes], source[kLanes];
  // The operand is in the ADDR field's register.
  active_values(wave, registers(wave, step, 0), values);
  for (int i = 0; i < kChunks; i++)
    set_chunk(source, i, swizzle_source(static_cast<uint32_t>(step->imm), kIota + 16 * i));
  pull(wave, data_dst(wave, step), values, source);
  MORGANA_NEXT(wave, step);
}

}  // namespace

#define CASE(name, handler) \
  case Op::ds_##name: return handler
#define HALF(name, type, part)                                                         \
  CASE(name, (isa::loads_halves_alone(target) ? ds<LoadPart<type, Part::part##_alone>> \
                                              : ds<LoadPart<type, Part::part>>))

Handler select_ds(Target target, const isa::Inst& inst, Step& step) {
  using isa::Op;
  if (inst.row->flags & isa::kGws) return select_gws(inst, step);
  return inst.gds ? select_gds(target, inst, step) : select_shared(target, inst, step);
}

Handler select_shared(Target target, const isa::Inst& inst, Step& step) {
  using isa::Op;
  if (inst.n_dst > 0 && inst.dst[0].is_agpr()) step.extra |= kAgprDst;
  if (inst.n_dst > 0 && inst.dst[0].present()) step.extra |= kReturnsOld;
  if (info(target).generation <= Generation::gfx8) step.extra |= kClampM0;
  step.imm = inst.offset;
  if (inst.row->flags & isa::kTwoOffsets) {
    step.extra |= uint32_t{inst.offset0} << kOffset0Shift | uint32_t{inst.offset1} << kOffset1Shift;
    if (inst.row->flags & isa::kStride64) step.extra |= kStride64Bit;
  }
  switch (inst.row->op) {
    CASE(nop, nothing);
    CASE(read_b32, ds_read<1>);
    CASE(read_b64, ds_read<2>);
    CASE(read_b96, ds_read<3>);
    CASE(read_b128, ds_read<4>);
    CASE(read_u8, ds<LoadPart<uint8_t>>);
    CASE(read_i8, ds<LoadPart<int8_t>>);
    CASE(read_u16, ds<LoadPart<uint16_t>>);
    CASE(read_i16, ds<LoadPart<int16_t>>);
    HALF(read_u8_d16, uint8_t, low);
    HALF(read_u8_d16_hi, uint8_t, high);
    HALF(read_i8_d16, int8_t, low);
    HALF(read_i8_d16_hi, int8_t, high);
    HALF(read_u16_d16, uint16_t, low);
    HALF(read_u16_d16_hi, uint16_t, high);
    CASE(read2_b32, ds_read2<1>);
    CASE(read2st64_b32, ds_read2<1>);
    CASE(read2_b64, ds_read2<2>);
    CASE(read2st64_b64, ds_read2<2>);
    CASE(write_b8, ds<StorePart<uint8_t>>);
    CASE(write_b16, ds<StorePart<uint16_t>>);
    CASE(write_b8_d16_hi, (ds<StorePart<uint8_t, Part::high>>));
    CASE(write_b16_d16_hi, (ds<StorePart<uint16_t, Part::high>>));
    CASE(write_b32, ds<StoreDwords<1>>);
    CASE(write_b64, ds<StoreDwords<2>>);
    CASE(write_b96, ds<StoreDwords<3>>);
    CASE(write_b128, ds<StoreDwords<4>>);
    CASE(write2_b32, ds_write2<1>);
    CASE(write2st64_b32, ds_write2<1>);
    CASE(write2_b64, ds_write2<2>);
    CASE(write2st64_b64, ds_write2<2>);
    CASE(wrxchg2_rtn_b32, ds_wrxchg2<1>);
    CASE(wrxchg2st64_rtn_b32, ds_wrxchg2<1>);
    CASE(wrxchg2_rtn_b64, ds_wrxchg2<2>);
    CASE(wrxchg2st64_rtn_b64, ds_wrxchg2<2>);
    CASE(read_addtid_b32, ds_addtid<LoadDwords<1>>);
    CASE(write_addtid_b32, ds_addtid<StoreDwords<1>>);
    CASE(read_b64_tr_b4, (ds_read_tr<4, 2>));
    CASE(read_b96_tr_b6, (ds_read_tr<6, 3>));
    CASE(read_b64_tr_b8, (ds_read_tr<8, 2>));
    CASE(read_b64_tr_b16, (ds_read_tr<16, 2>));
    CASE(permute_b32, ds_permute_b32);
    CASE(bpermute_b32, ds_bpermute_b32);
    CASE(bpermute_fi_b32, ds_bpermute_fi_b32);
    CASE(swizzle_b32, ds_swizzle_b32);
    default: return select_ds_atomic(inst);
  }
}
#undef CASE
#undef HALF

}  // namespace morgana::device::MORGANA_SIMD
