// Lines that the lanes of a wave touch, and the phases that LDS takes for them, for kernels that count
// (device/counted_code.h). The same as device/observe/memory_counts.h says of an access, some ten times as
// fast.
#include "device/interp/observed_step.h"
#include "device/jit/paths.h"
#include "device/known_phases.h"

namespace morgana::device::MORGANA_SIMD {

namespace {

constexpr uint32_t kLine = 64;  // kLineBytes

// What would use registers that its caller has to keep, which would save them each time.
#define MORGANA_APART [[gnu::noinline]] MORGANA_KEEPS_REGISTERS

using Bits = uint64_t __attribute__((ext_vector_type(8)));
using BitsMask = bool __attribute__((ext_vector_type(8)));

MORGANA_INLINE uint64_t equal_to(const Chunk (&id)[kChunks], uint32_t wanted) {
  uint64_t equal = 0;
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) equal |= bits_of_condition(id[i] == Chunk(wanted)) << (16 * i);
  return equal;
}

// Each lane of `exec` writes its number into a table, at a place that follows from what it holds: who reads
// its own there is the one of those who hold the same.
#ifdef __AVX512F__
MORGANA_APART uint64_t one_of_each_by_table(const Chunk (&id)[kChunks], uint64_t exec) {
  using Sixteen = int __attribute__((vector_size(64)));
  const auto sixteen = [](Chunk lanes) { return __builtin_bit_cast(Sixteen, lanes); };
  constexpr uint32_t kPlaces = 4096;
  alignas(64) uint32_t table[kPlaces];
  Chunk place[kChunks];
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    place[i] = (id[i] ^ id[i] >> 12) % kPlaces;
    __builtin_ia32_scattersiv16si(table, static_cast<uint16_t>(exec >> (16 * i)), sixteen(place[i]),
                                  sixteen(kIota + 16 * i), 4);
  }
  uint64_t found = 0, others = 0;
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const Sixteen there = __builtin_ia32_gathersiv16si(sixteen(kIota), table, sixteen(place[i]),
                                                       static_cast<uint16_t>(exec >> (16 * i)), 4);
    const Chunk lane = __builtin_bit_cast(Chunk, there);
    found |= bits_of_condition(lane == kIota + 16 * i) << (16 * i);
    const Sixteen lower = __builtin_ia32_vpermi2vard512(sixteen(id[0]), there, sixteen(id[1]));
    const Sixteen upper = __builtin_ia32_vpermi2vard512(sixteen(id[2]), there, sixteen(id[3]));
    const Chunk holds = __builtin_convertvector((lane & 32) != 0, ChunkMask)
                            ? __builtin_bit_cast(Chunk, upper)
                            : __builtin_bit_cast(Chunk, lower);
    others |= bits_of_condition(holds != id[i]) << (16 * i);
  }
  found &= exec;
  // Places that several numbers share.
  for (uint64_t left = others & exec; left != 0;) {
    const int lane = __builtin_ctzll(left);
    found |= uint64_t{1} << lane;
    alignas(64) uint32_t held[kLanes];
    for (int i = 0; i < kChunks; i++) set_chunk(held, i, id[i]);
    left &= ~equal_to(id, held[lane]);
  }
  return found;
}
#else
MORGANA_APART uint64_t one_of_each_by_table(const Chunk (&id)[kChunks], uint64_t exec) {
  constexpr uint32_t kPlaces = 4096;
  uint8_t table[kPlaces + 1];
  alignas(64) uint32_t place[kLanes], held[kLanes];
  for (int i = 0; i < kChunks; i++) {
    set_chunk(held, i, id[i]);
    set_chunk(place, i, blend(chunk_mask(exec, i), (id[i] ^ id[i] >> 12) % kPlaces, Chunk(kPlaces)));
  }
#pragma clang loop unroll(full)
  for (int l = 0; l < kLanes; l++) table[place[l]] = static_cast<uint8_t>(l);
  uint64_t found = 0, others = 0;
#pragma clang loop unroll(full)
  for (int l = 0; l < kLanes; l++) {
    const int lane = table[place[l]];
    found |= uint64_t{lane == l} << l;
    others |= uint64_t{held[lane] != held[l]} << l;
  }
  found &= exec;
  for (uint64_t left = others & exec; left != 0;) {
    const int lane = __builtin_ctzll(left);
    found |= uint64_t{1} << lane;
    left &= ~equal_to(id, held[lane]);
  }
  return found;
}
#endif

// One lane of `exec` of all that hold the same.
MORGANA_INLINE uint64_t one_of_each(const Chunk (&id)[kChunks], uint64_t exec) {
  uint64_t changes = 0, falls = 0;
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const Chunk before = __builtin_shufflevector(id[i == 0 ? 0 : i - 1], id[i], 15, 16, 17, 18, 19, 20, 21,
                                                 22, 23, 24, 25, 26, 27, 28, 29, 30);
    changes |= bits_of_condition(id[i] != before) << (16 * i);
    falls |= bits_of_condition(id[i] < before) << (16 * i);
  }
  changes &= ~uint64_t{1}, falls &= ~uint64_t{1};
  // Where lanes, active or not, never rise or never fall, those that hold the same are neighbours: the last
  // of them is taken if one is active. The sum carries into that one.
  if (falls != 0 && falls != changes) return one_of_each_by_table(id, exec);
  const uint64_t last = changes >> 1 | uint64_t{1} << 63;
  return (((exec & ~last) + ~last) | exec) & last;
}

// Lines of addresses however far apart.
MORGANA_APART uint64_t lines_of(const uint64_t* at, uint64_t exec, uint64_t bytes) {
  uint64_t first[kLanes], last[kLanes];
  for (int l = 0; l < kLanes; l++) first[l] = at[l] / kLine, last[l] = (at[l] + bytes - 1) / kLine;
  const auto lanes_at = [](const uint64_t* line, uint64_t wanted) {
    uint64_t equal = 0;
    for (int l = 0; l < kLanes; l++) equal |= uint64_t{line[l] == wanted} << l;
    return equal;
  };
  uint64_t lines = 0, reach = 0;
  for (uint64_t left = exec; left != 0; lines++) {
    const int l = __builtin_ctzll(left);
    left &= ~lanes_at(first, first[l]);
  }
  for (int l = 0; l < kLanes; l++) reach |= uint64_t{first[l] != last[l]} << l;
  for (uint64_t left = exec & reach; left != 0;) {
    const int l = __builtin_ctzll(left);
    lines += (lanes_at(first, last[l]) & exec) == 0;
    left &= ~lanes_at(last, last[l]);
  }
  return lines;
}
MORGANA_APART uint64_t lines_of(uint64_t base, const Lanes* low, const Lanes* high, uint64_t exec,
                                uint64_t bytes) {
  uint64_t at[kLanes];
  for (int l = 0; l < kLanes; l++)
    at[l] = base + lane_in_memory(low, l) + (high != nullptr ? uint64_t{lane_in_memory(high, l)} << 32 : 0);
  return lines_of(at, exec, bytes);
}

// Lines in which lanes of `reach` end and none of `exec` begins; `line`: where each begins.
MORGANA_APART uint64_t lines_behind(const Chunk (&line)[kChunks], uint64_t exec, uint64_t reach) {
  alignas(64) uint32_t begins[kLanes];
  for (int i = 0; i < kChunks; i++) set_chunk(begins, i, line[i]);
  uint64_t behind = 0;
  for (uint64_t left = one_of_each(line, reach); left != 0; left &= left - 1)
    behind += (equal_to(line, begins[__builtin_ctzll(left)] + 1) & exec) == 0;
  return behind;
}

// How many lanes of `exec` have each row, 0 to 63: bit by bit of these numbers, a bit a row.
struct RowCounts {
  static constexpr int kBits = 7;
  uint64_t bit[kBits];

  RowCounts(const Chunk (&row)[kChunks], uint64_t exec) {
    Bits in[2 * kChunks];
#pragma clang loop unroll(full)
    for (int i = 0; i < 2 * kChunks; i++) {
      using Half = uint32_t __attribute__((ext_vector_type(8)));
      const Chunk lanes = row[i / 2];
      const Half rows = i % 2 == 0 ? __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7)
                                   : __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
      const auto active = __builtin_bit_cast(BitsMask, static_cast<uint8_t>(exec >> (8 * i)));
      in[i] = active ? Bits(1) << __builtin_convertvector(rows, Bits) : Bits(0);
    }
    // Eight numbers of one bit: adders of three give a bit and a carry.
    Bits two[4], four[2], sum[kBits];
    Bits one = in[6];
    two[0] = carry_of(in[0], in[1], in[2]), in[2] = in[0] ^ in[1] ^ in[2];
    two[1] = carry_of(in[3], in[4], in[5]), in[5] = in[3] ^ in[4] ^ in[5];
    two[2] = carry_of(in[2], in[5], one), one = in[2] ^ in[5] ^ one;
    two[3] = one & in[7], sum[0] = one ^ in[7];
    four[0] = carry_of(two[0], two[1], two[2]), two[2] = two[0] ^ two[1] ^ two[2];
    four[1] = two[2] & two[3], sum[1] = two[2] ^ two[3];
    sum[2] = four[0] ^ four[1], sum[3] = four[0] & four[1];
    add<4>(sum, [](Bits x) { return __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3); });
    add<5>(sum, [](Bits x) { return __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5); });
    add<6>(sum, [](Bits x) { return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6); });
#pragma clang loop unroll(full)
    for (int b = 0; b < kBits; b++) bit[b] = sum[b][0];
  }

  // The greatest of the rows of this mask.
  MORGANA_INLINE uint32_t greatest(uint64_t rows) const {
    uint32_t most = 0;
#pragma clang loop unroll(full)
    for (int b = kBits - 1; b >= 0; b--) {
      const uint64_t with = rows & bit[b];
      most |= uint32_t{with != 0} << b;
      rows = with != 0 ? with : rows;
    }
    return most;
  }

 private:
  // Of three bits, whether two are set.
  MORGANA_INLINE static Bits carry_of(Bits a, Bits b, Bits c) { return (a & b) | ((a | b) & c); }
  // Numbers of `Count` bits, each to another of the vector.
  template <int Count, class Permute>
  MORGANA_INLINE static void add(Bits (&sum)[kBits], const Permute& permute) {
    Bits carry = Bits(0);
#pragma clang loop unroll(full)
    for (int b = 0; b < Count; b++) {
      const Bits other = permute(sum[b]), next = carry_of(sum[b], other, carry);
      sum[b] ^= other ^ carry;
      carry = next;
    }
    sum[Count] = carry;
  }
};

// Which phase lanes belong to, of 1 << lanes_shift each that follow each other, or of reads of 16 bytes from
// 32 banks (memory_counts.cpp).
MORGANA_INLINE Chunk phase_of(int chunk, int lanes_shift, bool is_apart) {
  if (!is_apart) return (kIota + 16 * chunk) >> lanes_shift;
  constexpr Chunk kApart[2] = {{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3},
                               {1, 1, 1, 1, 0, 0, 0, 0, 3, 3, 3, 3, 2, 2, 2, 2}};
  return kApart[chunk % 2] + 4 * (chunk / 2);
}

// Of lanes that reach from unit to unit, or lie far outside.
MORGANA_APART uint64_t any_phases_of(uint32_t offset, const Lanes* address, uint64_t exec, uint64_t packed) {
  alignas(64) uint32_t at[kLanes];
  for (int i = 0; i < kChunks; i++) set_chunk(at, i, address->chunk[i] + offset);
  return service::lds_phases(at, exec, packed);
}

// Of bytes of single dwords in 64 banks: all lanes are in one phase.
MORGANA_APART uint64_t phases_of_dwords(uint32_t offset, const Lanes* address, uint64_t exec,
                                        uint64_t packed) {
  const LdsUse use = LdsUse::of(packed);
  const uint32_t first = (lane_in_memory(address, __builtin_ctzll(exec)) + offset) / 4;
  Chunk bank[kChunks], dword[kChunks], wrong = Chunk(0);
  uint64_t near = 0;
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const Chunk at = address->chunk[i] + offset;
    wrong |= blend(chunk_mask(exec, i), at & (use.bytes - 1), Chunk(0));
    dword[i] = at / 4;
    bank[i] = dword[i] % 64;
    near |= bits_of_condition(dword[i] - first < Chunk(64)) << (16 * i);
  }
  if (!is_zero(wrong)) return any_phases_of(offset, address, exec, packed);
  constexpr uint64_t kOne = uint64_t{1} << 32;
  if (!use.is_atomic && (exec & ~near) == 0) return 1 | kOne;
  const RowCounts counts(bank, use.is_atomic ? exec : one_of_each(dword, exec));
  return counts.greatest(kAllLanes) | kOne;
}

MORGANA_APART uint64_t phases_of(uint32_t offset, const Lanes* address, uint64_t exec, uint64_t packed) {
  const LdsUse use = LdsUse::of(packed);
  // A lane's bytes lie in one unit, which has a place in its banks.
  const int shift = use.bytes <= 4 ? 2 : use.bytes <= 8 ? 3 : 4;
  const uint32_t units = use.banks >> (shift - 2);
  const int units_shift = __builtin_ctz(units);
  const bool is_apart = shift == 4 && use.banks == 32 && !use.writes;
  constexpr uint32_t kFar = 0xf000'0000;  // so that a phase's number has room beside a unit's
  Chunk row[kChunks], id[kChunks], wrong = Chunk(0);
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) {
    const Chunk at = address->chunk[i] + offset;
    wrong |= blend(chunk_mask(exec, i), at & (kFar | (use.bytes - 1)), Chunk(0));
    const Chunk phase = phase_of(i, units_shift, is_apart), unit = at >> shift;
    row[i] = phase << units_shift | (unit & (units - 1));
    id[i] = phase << 26 | unit;
  }
  if (use.bytes == 12 || !is_zero(wrong)) return any_phases_of(offset, address, exec, packed);
  const RowCounts counts(row, use.is_atomic ? exec : one_of_each(id, exec));
  uint64_t taken = 0, least = 0;
  const uint64_t rows = kAllLanes >> (kLanes - units);
  for (int phase = 0; phase < kLanes >> units_shift; phase++) {
    const uint32_t most = counts.greatest(rows << (phase << units_shift));
    taken += most;
    least += most != 0;
  }
  return taken | least << 32;
}

}  // namespace

MORGANA_KEEPS_REGISTERS uint64_t count_lines(uint64_t base, const Lanes* low, const Lanes* high,
                                             uint64_t exec, uint64_t bytes) {
  if (exec == 0) return 0;
  Chunk line[kChunks], far = Chunk(0);
  uint64_t reach = 0;  // into the next line
  const auto end = [bytes](Chunk at) { return at % kLine + static_cast<uint32_t>(bytes) > Chunk(kLine); };
  if (high == nullptr) {
    // Lines from that of `base` on.
    const uint32_t into = base % kLine;
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++) {
      const Chunk at = low->chunk[i] % kLine + into;
      line[i] = low->chunk[i] / kLine + at / kLine;
      reach |= bits_of_condition(end(at)) << (16 * i);
    }
  } else {
    const int l = __builtin_ctzll(exec);
    const uint64_t first = base + lane_in_memory(low, l) + (uint64_t{lane_in_memory(high, l)} << 32);
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++) {
      const Chunk lower = low->chunk[i] + static_cast<uint32_t>(base);
      const Chunk carry = lower < low->chunk[i] ? Chunk(1) : Chunk(0);
      const Chunk upper = high->chunk[i] + static_cast<uint32_t>(base >> 32) + carry;
      line[i] = lower / kLine | upper << 26;
      far |=
          blend(chunk_mask(exec, i), (upper / kLine) ^ Chunk(static_cast<uint32_t>(first >> 38)), Chunk(0));
      reach |= bits_of_condition(end(lower)) << (16 * i);
    }
    if (!is_zero(far)) return lines_of(base, low, high, exec, bytes);
  }
  const auto begun = static_cast<uint64_t>(__builtin_popcountll(one_of_each(line, exec)));
  return (reach & exec) == 0 ? begun : begun + lines_behind(line, exec, reach & exec);
}

MORGANA_KEEPS_REGISTERS uint64_t count_records(const uint64_t* at, const uint32_t* iterations,
                                               uint64_t longest, uint64_t bytes) {
  uint64_t lines = 0, least = 0;
  for (uint32_t n = 0; n < longest; n++, at += kLanes) {
    uint64_t exec = 0, reach = 0;
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++)
      exec |= bits_of_condition(peek<Chunk>(iterations + 16 * i) > Chunk(n)) << (16 * i);
    const uint64_t first = at[__builtin_ctzll(exec)];
    Chunk line[kChunks], far = Chunk(0);
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++) {
      using Halves = uint32_t __attribute__((ext_vector_type(32)));
      const auto halves = peek<Halves>(at + 16 * i);
      const Chunk lower =
          __builtin_shufflevector(halves, halves, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
      const Chunk upper =
          __builtin_shufflevector(halves, halves, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
      line[i] = lower / kLine | upper << 26;
      far |=
          blend(chunk_mask(exec, i), (upper / kLine) ^ Chunk(static_cast<uint32_t>(first >> 38)), Chunk(0));
      reach |= bits_of_condition(lower % kLine + static_cast<uint32_t>(bytes) > Chunk(kLine)) << (16 * i);
    }
    uint64_t touched;
    if (is_zero(far)) {
      touched = static_cast<uint64_t>(__builtin_popcountll(one_of_each(line, exec)));
      if ((reach & exec) != 0) touched += lines_behind(line, exec, reach & exec);
    } else {
      touched = lines_of(at, exec, bytes);
    }
    const uint64_t room = (static_cast<uint64_t>(__builtin_popcountll(exec)) * bytes + kLine - 1) / kLine;
    lines += touched;
    least += touched < room ? touched : room;
  }
  return lines | least << 32;
}

MORGANA_KEEPS_REGISTERS uint64_t count_phases(KnownPhases* known, uint32_t offset, const Lanes* address,
                                              uint64_t exec, uint64_t use) {
  if (exec == 0) return 0;
  const uint32_t first = lane_in_memory(address, __builtin_ctzll(exec));
  const uint32_t into = (first + offset) % 4;
  if (known->lanes == exec && known->into == into) {
    Chunk differs = Chunk(0);
#pragma clang loop unroll(full)
    for (int i = 0; i < kChunks; i++) {
      const Chunk distance = address->chunk[i] - first;
      differs |= blend(chunk_mask(exec, i), distance ^ peek<Chunk>(known->distance + 16 * i), Chunk(0));
    }
    if (is_zero(differs)) return known->phases;
  }
  known->lanes = exec;
  known->into = into;
#pragma clang loop unroll(full)
  for (int i = 0; i < kChunks; i++) poke<Chunk>(known->distance + 16 * i, address->chunk[i] - first);
  const bool is_dword = LdsUse::of(use).banks == 64 && LdsUse::of(use).bytes <= 4;
  return known->phases =
             is_dword ? phases_of_dwords(offset, address, exec, use) : phases_of(offset, address, exec, use);
}

}  // namespace morgana::device::MORGANA_SIMD
