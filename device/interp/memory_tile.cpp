// Loads of gfx12 that transpose tiles of a matrix, and moves of blocks of registers (RDNA4 guide, 11.5 and
// 11.6).
#include "device/interp/memory_scratch.h"

namespace morgana::device::MORGANA_SIMD {
namespace {

// --- Tiles: sixteen rows of sixteen elements; the lower 32 lanes address eight elements each ---

// Which lane has addressed element `e` of what lane `l` of a wave of 32 receives; it is that lane's element
// l % 8. Of 16 bits, groups of eight lanes transpose (measured on gfx1201); of 8 bits, groups of sixteen,
// whose lanes address four rows of each half in turn (published code, docs/isa-decisions.md).
template <int Bits>
int source_lane(int l, int e) {
  if (Bits == 16) return 8 * (l / 8) + e;
  return 16 * (l / 16) + 8 * (e / 4) + 4 * (l / 8 % 2) + e % 4;
}

template <int Bits>
[[gnu::noinline]] void transpose(Wave& wave, const Step* step) {
  using Move = LoadDwords<Bits / 4>;
  constexpr int kInDword = 32 / Bits;
  constexpr uint32_t kElement = (1u << Bits) - 1;
  const uint64_t exec = wave.exec(), sources = exec & UINT32_MAX;
  alignas(256) uint32_t loaded[Bits / 4 * kLanes] = {}, result[Bits / 4 * kLanes] = {};
  if (sources) {
    uint64_t* const at = address_room(wave);
    flat_addresses(wave, step, at);
    const Touch touch(wave, at, sources, Move::kBytes);
    point_nowhere(at, sources);
    Move::lanes({.to = loaded}, at, sources);
  }
  // In a wave of 64 each sixteen lanes have a quarter of K, as its matrix instructions have it.
  const bool is_wide = wave.lane_count() == 64;
  const int elements = is_wide ? 4 : 8;
  for (uint64_t left = exec; left; left &= left - 1) {
    const int l = __builtin_ctzll(left), first = is_wide ? l / 16 % 2 * 4 : 0;
    const int narrow = is_wide ? l / 32 * 16 + l % 16 : l, m = l % 8;
    for (int e = 0; e < elements; e++) {
      const int from = source_lane<Bits>(narrow, first + e);
      const uint32_t value = loaded[m / kInDword * kLanes + from] >> (m % kInDword * Bits) & kElement;
      result[e / kInDword * kLanes + l] |= value << (e % kInDword * Bits);
    }
  }
  for (int d = 0; d < elements / kInDword; d++)
    write_lanes(data_dst(wave, step) + d * kLanes, load32(result + d * kLanes), exec);
}
template <int Bits>
void load_transposed(Wave& wave, const Step* step) {
  wave.step = step;
  transpose<Bits>(wave, step);
  MORGANA_NEXT(wave, step);
}

// --- Blocks: register n of 32, if bit n of M0 is set, and dword n behind the address ---

template <class Move>
[[gnu::noinline]] void move_global(Wave& wave, const Step* step, uint64_t exec) {
  const Data data = data_of<Move>(wave, step);
  uint64_t* const at = address_room(wave);
  flat_addresses(wave, step, at);
  const Touch touch(wave, at, exec, Move::kBytes);
  point_nowhere(at, exec);
  for (int d = 0; d < 32; d++) {
    if (wave.m0() >> d & 1) Move::lanes(dword_of(data, d), at, exec);
    for (int l = 0; l < kLanes; l++) at[l] += exec >> l & 1 ? Move::kBytes : 0;
  }
}
template <class Move>
void global_block(Wave& wave, const Step* step) {
  wave.step = step;
  if (wave.exec() != 0) move_global<Move>(wave, step, wave.exec());
  MORGANA_NEXT(wave, step);
}

// False after a fault.
template <class Move>
[[gnu::noinline]] bool move_private(Wave& wave, const Step* step) {
  const Data data = data_of<Move>(wave, step);
  alignas(64) uint32_t offset[kLanes];
  scratch_offsets(wave, step, offset);
  for (int d = 0; d < 32; d++) {
    if (wave.m0() >> d & 1)
      if (!move_inside_scratch<Move>(wave, step, dword_of(data, d), offset, wave.exec())) return false;
    for (int i = 0; i < kChunks; i++) set_chunk(offset, i, chunk_of(offset, i) + Move::kBytes);
  }
  return true;
}
template <class Move>
void scratch_block(Wave& wave, const Step* step) {
  if (!move_private<Move>(wave, step)) return;
  MORGANA_NEXT(wave, step);
}

}  // namespace

Handler select_tile(const isa::Inst& inst) {
  using isa::Op;
  switch (inst.row->op) {
    case Op::global_load_tr_b128: return load_transposed<16>;
    case Op::global_load_tr_b64: return load_transposed<8>;
    case Op::global_load_block: return global_block<LoadDwords<1>>;
    case Op::global_store_block: return global_block<StoreDwords<1>>;
    case Op::scratch_load_block: return scratch_block<LoadDwords<1>>;
    case Op::scratch_store_block: return scratch_block<StoreDwords<1>>;
    default: return nullptr;
  }
}

}  // namespace morgana::device::MORGANA_SIMD
