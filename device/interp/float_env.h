// MODE's rounding and denormal fields as bits of the host's MXCSR.
//
// While a wave runs, MXCSR holds the f32 mode (apply_mode). Instructions that need another environment get a
// ScopedFloat around their arithmetic; when wave.mixed_fp is clear, f16 and f64 instructions need none.
#pragma once

#include <immintrin.h>

#include "device/interp/operands.h"
#include "device/interp/vector_op.h"

namespace morgana::device::MORGANA_SIMD {

// All exceptions masked; FTZ when output denormals are flushed, DAZ when input denormals are.
MORGANA_INLINE uint32_t host_float_bits(unsigned round, unsigned denorm) {
  constexpr uint32_t kMasked = 0x1f80, kFlushOutput = 1u << 15, kFlushInput = 1u << 6;
  // MODE counts even, +inf, -inf, zero; MXCSR counts even, -inf, +inf, zero.
  const uint32_t rounding = (round == 1 ? 2u : round == 2 ? 1u : round) << 13;
  return kMasked | rounding | (denorm & 1 ? 0 : kFlushInput) | (denorm & 2 ? 0 : kFlushOutput);
}

MORGANA_INLINE uint32_t host_float_bits(const Mode& mode, Environment environment) {
  switch (environment) {
    case Environment::single: return host_float_bits(mode.round32(), mode.denorm32());
    case Environment::wide: return host_float_bits(mode.round16_64(), mode.denorm16_64());
    case Environment::conversion: return host_float_bits(mode.round16_64(), 3);
    default: return host_float_bits(0, 3);
  }
}

// Another environment for the scope's duration. Exception flags add up across its ends. What it surrounds
// must be a call out of line: the compiler moves arithmetic over the change of mode.
class ScopedFloat {
 public:
  MORGANA_INLINE ScopedFloat(const Mode& mode, Environment environment) : saved_(_mm_getcsr()) {
    const uint32_t bits = host_float_bits(mode, environment);
    if ((saved_ & ~kFlags) != bits) _mm_setcsr(bits | (saved_ & kFlags));
  }
  MORGANA_INLINE ~ScopedFloat() {
    const uint32_t now = _mm_getcsr();
    if ((now & ~kFlags) != (saved_ & ~kFlags)) _mm_setcsr((saved_ & ~kFlags) | (now & kFlags));
  }
  ScopedFloat(const ScopedFloat&) = delete;
  ScopedFloat& operator=(const ScopedFloat&) = delete;

 private:
  static constexpr uint32_t kFlags = 0x3f;
  uint32_t saved_;
};

}  // namespace morgana::device::MORGANA_SIMD
