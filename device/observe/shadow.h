// Numbers of which some bits come from what nobody has written.
//
// An algebra for isa::evaluate. A bit is open where the result could be another one, had the open bits of
// the operands other values; where that is not computed exactly, more bits are open. Pure functions.
#pragma once

#include <cstdint>

#include "device/isa/expression.h"

namespace morgana::device {

struct Shadowed {
  isa::Number value;
  uint64_t open = 0;
  uint64_t used = 0;  // of these: what was computed of them, not merely brought here
};

inline Shadowed known(uint64_t bits, int width) { return {isa::number_of(bits, width)}; }

namespace shadow {

// Whether a is less: 1 or 0 where no open bit matters, else -1.
inline int is_less(const Shadowed& a, const Shadowed& b, bool is_signed) {
  const uint64_t top = is_signed ? uint64_t{1} << (a.value.width - 1) : 0;
  const uint64_t x = a.value.bits ^ top, y = b.value.bits ^ top;
  if ((x | a.open) < (y & ~b.open)) return 1;
  return (x & ~a.open) >= (y | b.open) ? 0 : -1;
}

inline uint64_t shifted(isa::Fn fn, uint64_t open, const Shadowed& amount, int width) {
  const isa::Number v[2] = {isa::number_of(open, width), amount.value};
  if ((amount.open & static_cast<uint64_t>(width - 1)) != 0) return ~uint64_t{0};
  return isa::compute(fn, v).bits;
}

// The smaller, or with `greatest` the other one.
inline uint64_t chosen(const Shadowed& a, const Shadowed& b, bool is_signed, bool greatest) {
  const int less = is_less(a, b, is_signed);
  if (less < 0) return a.open | b.open | (a.value.bits ^ b.value.bits);
  return (less != 0) != greatest ? a.open : b.open;
}

inline bool is_zero(const Shadowed& a) { return a.value.bits == 0 && a.open == 0; }

// Before what is beyond the width is cut off.
inline uint64_t open_bits(isa::Fn fn, const Shadowed* v) {
  using isa::Fn;
  const Shadowed &a = v[0], &b = v[isa::arguments(fn) > 1 ? 1 : 0];
  const uint64_t both = a.open | b.open, all = ~uint64_t{0};
  switch (fn) {
    case Fn::invert:
    case Fn::to_64:
    case Fn::to_32: return a.open;
    case Fn::reverse:
    case Fn::sign_to_64:
    case Fn::upper: {
      const isa::Number open{a.open, a.value.width};
      return isa::compute(fn, &open).bits;
    }
    case Fn::bit_count:
    case Fn::leading_zeros:
    case Fn::trailing_zeros: return a.open != 0 ? 2u * a.value.width - 1 : 0;  // up to the width
    case Fn::add:
    case Fn::subtract: return both & -both ? ~((both & -both) - 1) : 0;
    case Fn::multiply:
      if (is_zero(a) || is_zero(b)) return 0;
      return both & -both ? ~((both & -both) - 1) : 0;
    case Fn::multiply_high:
    case Fn::multiply_high_signed: return both == 0 || is_zero(a) || is_zero(b) ? 0 : all;
    case Fn::bit_and: return (a.open & (b.value.bits | b.open)) | (b.open & (a.value.bits | a.open));
    case Fn::bit_or: return (a.open & (~b.value.bits | b.open)) | (b.open & (~a.value.bits | a.open));
    case Fn::bit_xor: return both;
    case Fn::shift_left:
    case Fn::shift_right:
    case Fn::shift_right_signed: return shifted(fn, a.open, b, a.value.width);
    case Fn::least: return chosen(a, b, false, false);
    case Fn::least_signed: return chosen(a, b, true, false);
    case Fn::greatest: return chosen(a, b, false, true);
    case Fn::greatest_signed: return chosen(a, b, true, true);
    case Fn::equal: return both == 0 || ((a.value.bits ^ b.value.bits) & ~both) != 0 ? 0 : 1;
    case Fn::less:
    case Fn::less_signed: return both == 0 || is_less(a, b, fn == Fn::less_signed) >= 0 ? 0 : 1;
    case Fn::select:
      if (a.open != 0) return v[1].open | v[2].open | (v[1].value.bits ^ v[2].value.bits);
      return a.value.bits != 0 ? v[1].open : v[2].open;
    default: return 0;
  }
}

// Of the open bits of the result. Bytes are brought from place to place by shifts, too.
inline uint64_t used_bits(isa::Fn fn, const Shadowed* v) {
  using isa::Fn;
  const Shadowed &a = v[0], &b = v[isa::arguments(fn) > 1 ? 1 : 0];
  const uint64_t all = ~uint64_t{0};
  switch (fn) {
    case Fn::invert:
    case Fn::to_64:
    case Fn::to_32: return a.used;
    case Fn::reverse:
    case Fn::sign_to_64:
    case Fn::upper: {
      const isa::Number used{a.used, a.value.width};
      return isa::compute(fn, &used).bits;
    }
    case Fn::bit_and:
    case Fn::bit_or:
    case Fn::bit_xor: return a.used | b.used;
    case Fn::shift_left:
    case Fn::shift_right:
    case Fn::shift_right_signed: return b.value.bits % 8 != 0 ? all : shifted(fn, a.used, b, a.value.width);
    case Fn::select:
      if (a.open != 0) return all;
      return a.value.bits != 0 ? v[1].used : v[2].used;
    default: return all;
  }
}

}  // namespace shadow

inline Shadowed compute(isa::Fn fn, const Shadowed* v) {
  isa::Number values[3];
  uint64_t any = 0;
  for (int i = 0; i < isa::arguments(fn); i++) {
    values[i] = v[i].value;
    any |= v[i].open;
  }
  Shadowed made{isa::compute(fn, values)};
  if (any != 0) made.open = shadow::open_bits(fn, v) & isa::ones(made.value.width);
  if (made.open != 0) made.used = shadow::used_bits(fn, v) & made.open;
  return made;
}

}  // namespace morgana::device
