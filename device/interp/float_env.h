// MODE's rounding and denormal fields as bits of the host's MXCSR.
//
// While a wave runs, MXCSR holds the f32 mode (apply_mode). When wave.mixed_fp is set, the frames of f16 and
// f64 instructions put a ScopedWideFloat around their arithmetic.
#pragma once

#include <immintrin.h>

#include "device/interp/operands.h"

namespace morgana::device::MORGANA_SIMD {

// All exceptions masked; FTZ when output denormals are flushed, DAZ when input denormals are.
MORGANA_INLINE uint32_t host_float_bits(unsigned round, unsigned denorm) {
  constexpr uint32_t kMasked = 0x1f80, kFlushOutput = 1u << 15, kFlushInput = 1u << 6;
  // MODE counts even, +inf, -inf, zero; MXCSR counts even, -inf, +inf, zero.
  const uint32_t rounding = (round == 1 ? 2u : round == 2 ? 1u : round) << 13;
  return kMasked | rounding | (denorm & 1 ? 0 : kFlushInput) | (denorm & 2 ? 0 : kFlushOutput);
}

// The f16/f64 mode for the scope's duration, when it differs from the f32 mode.
class ScopedWideFloat {
 public:
  MORGANA_INLINE explicit ScopedWideFloat(const Wave& wave) : wave_(wave) {
    if (wave.mixed_fp) [[unlikely]]
      _mm_setcsr(host_float_bits(wave.mode.round16_64(), wave.mode.denorm16_64()));
  }
  MORGANA_INLINE ~ScopedWideFloat() {
    if (wave_.mixed_fp) [[unlikely]]
      _mm_setcsr(host_float_bits(wave_.mode.round32(), wave_.mode.denorm32()));
  }
  ScopedWideFloat(const ScopedWideFloat&) = delete;
  ScopedWideFloat& operator=(const ScopedWideFloat&) = delete;

 private:
  const Wave& wave_;
};

}  // namespace morgana::device::MORGANA_SIMD
