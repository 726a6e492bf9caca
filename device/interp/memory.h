// What the memory instructions (memory_*.cpp) share: guest accesses, lane addresses, registers of an operand.
//
// A device address is a host address: a wild one raises SIGSEGV in the middle of a handler. Before its first
// guest access a handler stores wave.step; when the addresses are not evident from the registers it also
// fills wave.access
// (`Touch`). No register that an instruction reads is written before all its accesses are done, unless
// wave.access holds the addresses, so that locate_access can find them again after a fault.
#pragma once

#include "device/interp/control.h"
#include "device/state/scratch.h"

namespace morgana::device::MORGANA_SIMD {

// Sixteen lanes: the unit that vector memory instructions work in.
using Chunk = uint32_t __attribute__((ext_vector_type(16)));
using ChunkMask = bool __attribute__((ext_vector_type(16)));
using Chunk64 = uint64_t __attribute__((ext_vector_type(16)));
inline constexpr int kChunks = kLanes / 16;
inline constexpr uint64_t kAllLanes = ~uint64_t{0};

inline constexpr Chunk kIota = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Bits of Step::extra, set by the select functions.
enum MemoryFlag : uint32_t {
  kAgprDst = 1u << 0,      // the destination is in the AccVGPR file
  kReturnsOld = 1u << 1,   // an atomic that writes its destination
  kToLds = 1u << 2,        // loaded data goes to LDS
  kClampM0 = 1u << 3,      // LDS accesses are clamped by M0 (gfx6 to gfx8)
  kKeepDenorms = 1u << 4,  // f32 additions to memory keep denormals
  kFormIsSaddr = 1u << 5,  // GLOBAL with an SGPR base
  kFormIsFlat = 1u << 6,   // FLAT: lanes may address the apertures
};

// --- Guest memory ---

// An access of any alignment; one host instruction for up to 8 bytes, so naturally aligned ones do not tear.
template <class T>
MORGANA_INLINE T peek(const void* at) {
  struct [[gnu::packed, gnu::may_alias]] Box {
    T value;
  };
  return static_cast<const Box*>(at)->value;
}
template <class T>
MORGANA_INLINE void poke(void* at, T value) {
  struct [[gnu::packed, gnu::may_alias]] Box {
    T value;
  };
  static_cast<Box*>(at)->value = value;
}

// --- Chunks ---

MORGANA_INLINE Chunk chunk_of(const uint32_t* lanes, int i) {
  return *reinterpret_cast<const Chunk*>(lanes + 16 * i);
}
MORGANA_INLINE void set_chunk(uint32_t* lanes, int i, Chunk value) {
  *reinterpret_cast<Chunk*>(lanes + 16 * i) = value;
}
MORGANA_INLINE uint32_t chunk_mask(uint64_t mask, int i) { return mask >> (16 * i) & 0xffff; }
MORGANA_INLINE ChunkMask as_bools(uint32_t mask) {
  return __builtin_bit_cast(ChunkMask, static_cast<uint16_t>(mask));
}
MORGANA_INLINE Chunk blend(uint32_t mask, Chunk on, Chunk off) { return as_bools(mask) ? on : off; }
// A bit for each of sixteen lanes for which it holds.
template <class Condition>
MORGANA_INLINE uint64_t bits_of_condition(Condition lanes) {
  return __builtin_bit_cast(uint16_t, __builtin_convertvector(lanes, ChunkMask));
}
MORGANA_INLINE bool is_zero(Chunk value) { return bits_of_condition(value != 0) == 0; }
// Writes the lanes of `mask`.
MORGANA_INLINE void merge_chunk(uint32_t* lanes, int i, Chunk value, uint32_t mask) {
  set_chunk(lanes, i, mask == 0xffff ? value : blend(mask, value, chunk_of(lanes, i)));
}

// Whether lane l holds lanes[0] + l * Step (mod 2^32).
template <int Step>
MORGANA_INLINE bool is_progression(const uint32_t* lanes) {
  const Chunk first = Chunk(lanes[0]) + kIota * Step;
  Chunk differs = chunk_of(lanes, 0) ^ first;
#pragma clang loop unroll(full)
  for (int i = 1; i < kChunks; i++) differs |= chunk_of(lanes, i) ^ (first + 16 * i * Step);
  return is_zero(differs);
}
MORGANA_INLINE bool is_uniform(const uint32_t* lanes) { return is_progression<0>(lanes); }

// The same of the lanes of `mask` only, whose lowest is `first`.
template <int Step>
MORGANA_INLINE bool is_progression(const uint32_t* lanes, uint64_t mask, int first) {
  const Chunk start = Chunk(lanes[first] - static_cast<uint32_t>(first * Step)) + kIota * Step;
  Chunk differs = Chunk(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++)
    differs |= blend(chunk_mask(mask, i), chunk_of(lanes, i) ^ (start + 16 * i * Step), Chunk(0));
  return is_zero(differs);
}

// --- Lane addresses ---

// What lanes that access nothing point at: sixteen zero bytes. Loads may read them, so a load needs no lane
// mask.
extern const uint8_t kNowhere[16];

// The addresses of all lanes, in the wave itself so that they outlive a fault.
MORGANA_INLINE uint64_t* address_room(Wave& wave) { return reinterpret_cast<uint64_t*>(wave.operand[3]); }

MORGANA_INLINE uint64_t low_bits(int count) { return count >= 64 ? kAllLanes : (uint64_t{1} << count) - 1; }

// Sets the addresses of the lanes outside `mask` to kNowhere.
MORGANA_INLINE void point_nowhere(uint64_t* at, uint64_t mask) {
  if (mask == kAllLanes) return;
  const auto nowhere = Chunk64(reinterpret_cast<uint64_t>(kNowhere));
  for (int i = 0; i < kChunks; i++) {
    auto* chunk = reinterpret_cast<Chunk64*>(at + 16 * i);
    *chunk = as_bools(chunk_mask(mask, i)) ? *chunk : nowhere;
  }
}

// All bits in which the addresses of the lanes of `mask` differ from `from`.
MORGANA_INLINE uint64_t differences(const uint64_t* at, uint64_t mask, uint64_t from) {
  auto bits = Chunk64(0);
  for (int i = 0; i < kChunks; i++) {
    const Chunk64 chunk = *reinterpret_cast<const Chunk64*>(at + 16 * i) ^ from;
    bits |= as_bools(chunk_mask(mask, i)) ? chunk : Chunk64(0);
  }
  return __builtin_reduce_or(bits);
}

// base + offset of each lane.
MORGANA_INLINE void add_offsets(uint64_t* at, uint64_t base, const uint32_t* offset) {
  for (int i = 0; i < kChunks; i++)
    *reinterpret_cast<Chunk64*>(at + 16 * i) = __builtin_convertvector(chunk_of(offset, i), Chunk64) + base;
}
// {high, low} + `add` of each lane.
MORGANA_INLINE void join_addresses(uint64_t* at, const uint32_t* low, uint64_t add) {
  for (int i = 0; i < kChunks; i++) {
    const Chunk64 lo = __builtin_convertvector(chunk_of(low, i), Chunk64);
    const Chunk64 hi = __builtin_convertvector(chunk_of(low + kLanes, i), Chunk64);
    *reinterpret_cast<Chunk64*>(at + 16 * i) = (hi << 32 | lo) + add;
  }
}

// Tells a host fault what is being accessed, for the scope's duration.
class Touch {
 public:
  MORGANA_INLINE Touch(Wave& wave, const uint64_t* at, uint64_t lanes, uint32_t bytes) : wave_(wave) {
    wave.access = {at, lanes, bytes};
  }
  MORGANA_INLINE ~Touch() { wave_.access.address = nullptr; }
  Touch(const Touch&) = delete;
  Touch& operator=(const Touch&) = delete;

 private:
  Wave& wave_;
};

// --- Registers ---

// The registers that move: `to` of loads and returning atomics, `from` of stores and atomics.
struct Data {
  uint32_t* to = nullptr;
  const uint32_t* from = nullptr;
  const uint32_t* from2 = nullptr;
  bool input_flush = false, output_flush = false;  // float atomics: denormals count as zero
};

// The registers of the record's dword `d`.
MORGANA_INLINE Data dword_of(Data data, int d) {
  if (data.to) data.to += kLanes * d;
  if (data.from) data.from += kLanes * d;
  return data;
}

MORGANA_INLINE uint32_t* data_dst(Wave& wave, const Step* step) {
  return step->extra & kAgprDst ? agpr_dst(wave, step) : vgpr_dst(wave, step);
}

// Zeros: what NULL has in several registers.
extern const uint32_t kNoWords[8];

// The SGPRs of a resource or a sampler.
MORGANA_INLINE const uint32_t* words_of(const Wave& wave, const Step* step, int i) {
  return step->kind[i] == Source::constant ? kNoWords : wave.s + step->src[i];
}

// The registers that `Move` (device/interp/memory_move.h, memory_atomic.h) reads and writes, of an
// instruction whose data is its second source.
template <class Move>
MORGANA_INLINE Data data_of(Wave& wave, const Step* step) {
  Data data;
  if constexpr (Move::kStores) data.from = registers(wave, step, 1);
  if constexpr (requires { Move::kAtomic; }) {
    if (step->extra & kReturnsOld) data.to = data_dst(wave, step);
    data.from2 = data.from + kLanes * (Move::kBytes / 4);
    data.input_flush = data.output_flush = !(step->extra & kKeepDenorms);
  } else if constexpr (Move::kLoads) {
    data.to = data_dst(wave, step);
  }
  return data;
}

// The part of LDS that the wave may access.
MORGANA_INLINE uint32_t lds_limit(const Wave& wave, const Step* step) {
  const uint32_t size = wave.group->lds_size;
  if (!(step->extra & kClampM0)) return size;
  const uint32_t clamp = wave.m0() & 0x1ffff;  // CDNA4 guide 11.3.1
  return clamp < size ? clamp : size;
}

// --- Per encoding ---

Handler select_smem(Target target, const isa::Inst& inst, Step& step);
Handler select_ds(Target target, const isa::Inst& inst, Step& step);
Handler select_flat(Target target, const isa::Inst& inst, Step& step);
Handler select_tile(const isa::Inst& inst);  // of select_flat
Handler select_buffer(Target target, const isa::Inst& inst, Step& step);
Handler select_image(Target target, const isa::Inst& inst, Step& step);

// The 64-bit addresses of a FLAT or GLOBAL instruction; apertures are still aperture addresses.
void flat_addresses(const Wave& wave, const Step* step, uint64_t* at);
// The addresses of a buffer instruction; kNowhere of lanes out of range.
void buffer_addresses(const Wave& wave, const Step* step, uint64_t* at);

// After a host fault in wave.step: fills wave.access with the addresses that the instruction was about to
// touch, if it is a memory instruction whose registers tell and wave.access does not hold them already. True
// when it holds them.
bool locate_access(Wave& wave);

}  // namespace morgana::device::MORGANA_SIMD
