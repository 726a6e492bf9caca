// Operands of a Step: how handlers read scalar, vector and constant sources and write lanes.
//
// For files of device/interp only (each level has its own copy, all of it inlined). No function here
// can fail: the decoder has checked registers against the target's register file.
//
// A 32-bit operand of all lanes is 64 dwords; a 64-bit one is 64 low dwords followed by 64 high dwords,
// which is how two adjacent VGPRs lie in memory. Wider operands are only ever registers.
#pragma once

#include "device/apertures.h"
#include "device/interp/step.h"

#ifndef MORGANA_SIMD
#error "files of device/interp are compiled with MORGANA_SIMD=base|avx2|avx512"
#endif

#define MORGANA_INLINE [[gnu::always_inline]] inline

namespace morgana::device {

// The wave-wide vectors. Passed between functions only where those are inlined: their ABI differs by level.
using Lanes32 = uint32_t __attribute__((ext_vector_type(64)));
using Lanes64 = uint64_t __attribute__((ext_vector_type(64)));
using LaneMask = bool __attribute__((ext_vector_type(64)));

namespace MORGANA_SIMD {

// --- Scalars ---

// VCCZ, EXECZ, SCC, the apertures, and the TTMPs, which read as 0 unless the wave is privileged (CDNA4
// guide 3.10). Kernels of gfx12 find the ids of their work-group in them.
MORGANA_INLINE uint32_t read_special(const Wave& wave, uint32_t code) {
  switch (code) {
    case isa::kSrcVccz: return wave.vcc() == 0;
    case isa::kSrcExecz: return wave.exec() == 0;
    case isa::kSrcScc: return wave.scc;
    default:
      if (isa::is_trap_register(code))
        return wave.status & kStatusPriv || wave.target->generation >= Generation::gfx12 ? wave.s[code] : 0;
      if (isa::is_aperture(code)) return static_cast<uint32_t>(aperture_value(code));
      return 0;
  }
}

// Source `i` as one dword of a scalar operand. The source is no VGPR.
MORGANA_INLINE uint32_t scalar32(const Wave& wave, const Step* step, int i) {
  const int32_t index = step->src[i];
  if (step->kind[i] == Source::scalar) [[likely]]
    return wave.s[index];
  if (step->kind[i] == Source::constant) return step->constants[index];
  return read_special(wave, static_cast<uint32_t>(index));
}

// Source `i` as two dwords of a scalar operand. The source is no VGPR and its type has 64 bits.
MORGANA_INLINE uint64_t scalar64(const Wave& wave, const Step* step, int i) {
  const int32_t index = step->src[i];
  if (step->kind[i] == Source::scalar) [[likely]]
    return wave.s[index] | uint64_t{wave.s[index + 1]} << 32;
  if (step->kind[i] == Source::constant)
    return step->constants[index] | uint64_t{step->constants[index + kLanes]} << 32;
  const auto code = static_cast<uint32_t>(index);
  if (isa::is_aperture(code)) return aperture_value(code);
  const uint32_t low = read_special(wave, code);
  return low | (isa::is_trap_register(code) ? uint64_t{read_special(wave, code + 1)} << 32 : 0);
}

// Source `i` as a lane mask: two dwords, in a wave of 32 one.
MORGANA_INLINE uint64_t scalar_mask(const Wave& wave, const Step* step, int i) {
  return wave.is_wave32() ? scalar32(wave, step, i) : scalar64(wave, step, i);
}

// Writes a scalar destination. TTMPs ignore writes of an unprivileged wave.
MORGANA_INLINE void write_scalar32(Wave& wave, uint32_t code, uint32_t value) {
  if (isa::is_trap_register(code) && !(wave.status & kStatusPriv)) [[unlikely]]
    return;
  wave.s[code] = value;
}
MORGANA_INLINE void write_scalar64(Wave& wave, uint32_t code, uint64_t value) {
  write_scalar32(wave, code, static_cast<uint32_t>(value));
  write_scalar32(wave, code + 1, static_cast<uint32_t>(value >> 32));
}

// --- Vectors ---

// The registers of a vector operand: 64 dwords for every register it spans. The source is a VGPR or AccVGPR.
MORGANA_INLINE const uint32_t* registers(const Wave& wave, const Step* step, int i) {
  const uint32_t* file = step->kind[i] == Source::agpr ? wave.a : wave.v;
  return reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(file) + step->src[i]);
}

// The registers at `step->dst` in the VGPR file, or in the AccVGPR file.
MORGANA_INLINE uint32_t* vgpr_dst(Wave& wave, const Step* step) {
  return reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(wave.v) + step->dst);
}
MORGANA_INLINE uint32_t* agpr_dst(Wave& wave, const Step* step) {
  return reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(wave.a) + step->dst);
}

MORGANA_INLINE Lanes32 splat(uint32_t value) { return Lanes32(value); }
MORGANA_INLINE Lanes32 load32(const uint32_t* lanes) { return *reinterpret_cast<const Lanes32*>(lanes); }

// Source `i` of any kind, as memory: 64 dwords. Scalars are broadcast into wave.operand[i].
MORGANA_INLINE const uint32_t* source32(Wave& wave, const Step* step, int i) {
  switch (step->kind[i]) {
    case Source::vgpr:
    case Source::agpr: return registers(wave, step, i);
    case Source::constant: return step->constants + step->src[i];
    default:
      *reinterpret_cast<Lanes32*>(wave.operand[i]) = splat(scalar32(wave, step, i));
      return wave.operand[i];
  }
}

// Source `i` of any kind with 64 bits a lane, as memory: 64 low dwords, then 64 high dwords.
MORGANA_INLINE const uint32_t* source64(Wave& wave, const Step* step, int i) {
  switch (step->kind[i]) {
    case Source::vgpr:
    case Source::agpr: return registers(wave, step, i);
    case Source::constant: return step->constants + step->src[i];
    default: {
      const uint64_t value = scalar64(wave, step, i);
      *reinterpret_cast<Lanes32*>(wave.operand[i]) = splat(static_cast<uint32_t>(value));
      *reinterpret_cast<Lanes32*>(wave.operand[i] + kLanes) = splat(static_cast<uint32_t>(value >> 32));
      return wave.operand[i];
    }
  }
}

// Source `i` of one or two registers, or of more in VGPRs.
MORGANA_INLINE const uint32_t* source(Wave& wave, const Step* step, int i, int registers) {
  return registers == 2 ? source64(wave, step, i) : source32(wave, step, i);
}

// Source `i` as a value: what the fast frames use, since a scalar needs no trip through memory.
MORGANA_INLINE Lanes32 read32(const Wave& wave, const Step* step, int i) {
  switch (step->kind[i]) {
    case Source::vgpr:
    case Source::agpr: return load32(registers(wave, step, i));
    case Source::constant: return load32(step->constants + step->src[i]);
    default: return splat(scalar32(wave, step, i));
  }
}

// Writes `value` to the lanes of `to` that `mask` has; all lanes at once is the common case.
MORGANA_INLINE void write_lanes(uint32_t* to, Lanes32 value, uint64_t mask) {
  if (mask == ~uint64_t{0}) [[likely]] {
    *reinterpret_cast<Lanes32*>(to) = value;
    return;
  }
#if defined(__AVX512F__)
  __builtin_masked_store(__builtin_bit_cast(LaneMask, mask), value, to);
#else
  // Eight lanes at a time: a mask byte spread over eight dwords, compared with each lane's bit.
  using Eight = uint32_t __attribute__((ext_vector_type(8)));
  constexpr Eight kBits = {1, 2, 4, 8, 16, 32, 64, 128};
  alignas(256) uint32_t lanes[kLanes];
  *reinterpret_cast<Lanes32*>(lanes) = value;
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; i++) {
    const Eight on =
        __builtin_bit_cast(Eight, (Eight(static_cast<uint32_t>(mask >> (8 * i))) & kBits) == kBits);
    Eight* at = reinterpret_cast<Eight*>(to) + i;
    *at = (reinterpret_cast<const Eight*>(lanes)[i] & on) | (*at & ~on);
  }
#endif
}

}  // namespace MORGANA_SIMD
}  // namespace morgana::device
