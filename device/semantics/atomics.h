// What each memory atomic makes of the value in memory, by AMD's operation name.
//
// Pure value functions of one lane: `next(old, data, data2)` is what the location holds afterwards. Data are
// the bits in the registers, `type` the type of all of them; `data2` is the second data operand of the
// operations that have one. The memory instructions (device/interp/memory_atomic.h) make them atomic. Floats
// are computed under the host's default environment (round to nearest even, nothing flushed: CDNA4
// guide 9.2.1); denormals are flushed here, as `Flush` asks. Operations with `computes_floats` use the host's
// floating point.
#pragma once

#include <cstdint>

#ifndef MORGANA_SIMD
#error "device/semantics is compiled with MORGANA_SIMD=base|avx2|avx512"
#endif

namespace morgana::device::MORGANA_SIMD::atomics {

// Which denormals an operation treats as zero.
struct Flush {
  bool input = false, output = false;
};

template <class T>
struct swap {
  using type = T;
  static T next(T, T data, T, Flush) { return data; }
};
template <class T>
struct add {
  using type = T;
  static T next(T old, T data, T, Flush) { return old + data; }
};
template <class T>
struct sub {
  using type = T;
  static T next(T old, T data, T, Flush) { return old - data; }
};
template <class T>
struct rsub {
  using type = T;
  static T next(T old, T data, T, Flush) { return data - old; }
};
// Signed or unsigned by T.
template <class T>
struct min {
  using type = T;
  static T next(T old, T data, T, Flush) { return data < old ? data : old; }
};
template <class T>
struct max {
  using type = T;
  static T next(T old, T data, T, Flush) { return data >= old ? data : old; }
};
template <class T>
struct and_ {
  using type = T;
  static T next(T old, T data, T, Flush) { return old & data; }
};
template <class T>
struct or_ {
  using type = T;
  static T next(T old, T data, T, Flush) { return old | data; }
};
template <class T>
struct xor_ {
  using type = T;
  static T next(T old, T data, T, Flush) { return old ^ data; }
};
template <class T>
struct inc {
  using type = T;
  static T next(T old, T data, T, Flush) { return old >= data ? 0 : old + 1; }
};
template <class T>
struct dec {
  using type = T;
  static T next(T old, T data, T, Flush) { return old == 0 || old > data ? data : old - 1; }
};
// Not below 0; only where that is not below 0 (gfx10.3 and later).
template <class T>
struct sub_clamp {
  using type = T;
  static T next(T old, T data, T, Flush) { return old > data ? old - data : 0; }
};
template <class T>
struct cond_sub {
  using type = T;
  static T next(T old, T data, T, Flush) { return old >= data ? old - data : old; }
};
// The first operand masks, the second is ORed in.
template <class T>
struct mskor {
  using type = T;
  static T next(T old, T data, T data2, Flush) { return (old & ~data) | data2; }
};
// DS order: the first operand is the comparand, the second the new value.
template <class T>
struct cmpst {
  using type = T;
  static T next(T old, T data, T data2, Flush) { return old == data ? data2 : old; }
};
// The order of buffers, FLAT, and DS_CMPSTORE of gfx11: the new value, then the comparand.
template <class T>
struct cmpswap {
  using type = T;
  static T next(T old, T data, T data2, Flush) { return old == data2 ? data : old; }
};
template <class T>
struct wrap {
  using type = T;
  static T next(T old, T data, T data2, Flush) { return old >= data ? old - data : old + data2; }
};

// --- Floating point, over bits ---

template <class Bits>
struct float_of;
template <>
struct float_of<uint32_t> {
  using type = float;
  static constexpr uint32_t kSign = 0x80000000u, kExponent = 0x7f800000u, kQuiet = 0x00400000u;
};
template <>
struct float_of<uint64_t> {
  using type = double;
  static constexpr uint64_t kSign = 0x8000000000000000u, kExponent = 0x7ff0000000000000u,
                            kQuiet = 0x0008000000000000u;
};

template <class Bits>
constexpr bool is_nan(Bits x) {
  return (x & ~float_of<Bits>::kSign) > float_of<Bits>::kExponent;
}
template <class Bits>
constexpr bool is_signaling(Bits x) {
  return is_nan(x) && !(x & float_of<Bits>::kQuiet);
}
template <class Bits>
constexpr Bits flushed(Bits x, bool flush) {
  return flush && !(x & float_of<Bits>::kExponent) ? x & float_of<Bits>::kSign : x;
}
// Sign and magnitude as an integer that orders like the float, with -0 below +0.
template <class Bits>
constexpr Bits ordered(Bits x) {
  return x & float_of<Bits>::kSign ? ~x : x | float_of<Bits>::kSign;
}
// -0 and +0 are equal, a NaN equals nothing.
template <class Bits>
constexpr bool float_equal(Bits a, Bits b) {
  return !is_nan(a) && !is_nan(b) && (a == b || !((a | b) & ~float_of<Bits>::kSign));
}

template <class Bits>
struct float_add {
  using type = Bits;
  static constexpr bool computes_floats = true;
  static Bits next(Bits old, Bits data, Bits, Flush flush) {
    using Float = typename float_of<Bits>::type;
    const Bits a = flushed(old, flush.input), b = flushed(data, flush.input);
    if (is_nan(a)) return a | float_of<Bits>::kQuiet;
    if (is_nan(b)) return b | float_of<Bits>::kQuiet;
    const Bits sum = __builtin_bit_cast(Bits, __builtin_bit_cast(Float, a) + __builtin_bit_cast(Float, b));
    // Infinities of both signs: the host's NaN is negative, AMD's is not.
    return is_nan(sum) ? float_of<Bits>::kExponent | float_of<Bits>::kQuiet : flushed(sum, flush.output);
  }
};

// CDNA4 guide 9.2.3: a signaling NaN wins, quieted; a quiet one loses. Flushing only affects the comparison.
template <class Bits>
struct float_min {
  using type = Bits;
  static Bits next(Bits old, Bits data, Bits, Flush flush) {
    if (is_signaling(old)) return old | float_of<Bits>::kQuiet;
    if (is_signaling(data)) return data | float_of<Bits>::kQuiet;
    if (is_nan(old)) return data;
    if (is_nan(data)) return old;
    return ordered(flushed(data, flush.input)) < ordered(flushed(old, flush.input)) ? data : old;
  }
};
template <class Bits>
struct float_max {
  using type = Bits;
  static Bits next(Bits old, Bits data, Bits, Flush flush) {
    if (is_signaling(old)) return old | float_of<Bits>::kQuiet;
    if (is_signaling(data)) return data | float_of<Bits>::kQuiet;
    if (is_nan(old)) return data;
    if (is_nan(data)) return old;
    return ordered(flushed(data, flush.input)) > ordered(flushed(old, flush.input)) ? data : old;
  }
};
template <class Bits>
struct float_cmpst {
  using type = Bits;
  static Bits next(Bits old, Bits data, Bits data2, Flush flush) {
    return float_equal(flushed(old, flush.input), flushed(data, flush.input)) ? flushed(data2, flush.input)
                                                                              : old;
  }
};
template <class Bits>
struct float_cmpswap {
  using type = Bits;
  static Bits next(Bits old, Bits data, Bits data2, Flush flush) {
    return float_cmpst<Bits>::next(old, data2, data, flush);
  }
};

// Two 16-bit floats in a dword, added separately. A sum in f32 rounded to the narrow format is correctly
// rounded: f32 has at least twice their precision plus two bits.
struct pk_add_f16 {
  using type = uint32_t;
  static constexpr bool computes_floats = true;
  static uint16_t flushed16(uint16_t x, bool flush) { return flush && !(x & 0x7c00) ? x & 0x8000 : x; }
  static uint16_t one(uint16_t old, uint16_t data, Flush flush) {
    if ((old & 0x7fff) > 0x7c00) return old | 0x200;
    if ((data & 0x7fff) > 0x7c00) return data | 0x200;
    const float a = static_cast<float>(__builtin_bit_cast(_Float16, flushed16(old, flush.input)));
    const float b = static_cast<float>(__builtin_bit_cast(_Float16, flushed16(data, flush.input)));
    const auto sum = __builtin_bit_cast(uint16_t, static_cast<_Float16>(a + b));
    return (sum & 0x7fff) > 0x7c00 ? 0x7e00 : flushed16(sum, flush.output);
  }
  static uint32_t next(uint32_t old, uint32_t data, uint32_t, Flush flush) {
    return one(static_cast<uint16_t>(old), static_cast<uint16_t>(data), flush) |
           uint32_t{one(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(data >> 16), flush)} << 16;
  }
};
struct pk_add_bf16 {
  using type = uint32_t;
  static constexpr bool computes_floats = true;
  static uint32_t one(uint32_t old, uint32_t data, Flush flush) {
    const uint32_t sum = float_add<uint32_t>::next(old << 16, data << 16, 0, flush);
    return is_nan(sum) ? sum >> 16 : (sum + 0x7fff + (sum >> 16 & 1)) >> 16;
  }
  static uint32_t next(uint32_t old, uint32_t data, uint32_t, Flush flush) {
    return one(old & 0xffff, data & 0xffff, flush) | one(old >> 16, data >> 16, flush) << 16;
  }
};

}  // namespace morgana::device::MORGANA_SIMD::atomics
