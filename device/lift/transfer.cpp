#include "device/lift/transfer.h"

#include <algorithm>
#include <bit>

namespace morgana::device::lift {
namespace {

using isa::Fn;

// Range and known bits say the same where one can say it for the other.
Fact agreed(Fact fact, Kind kind) {
  const uint64_t all = isa::ones(bits_of(kind));
  fact.stride &= all;
  fact.least = std::max(fact.least, fact.ones);
  fact.greatest = std::min(fact.greatest, all & ~fact.zeros);
  if (fact.least > fact.greatest) fact.least = fact.ones, fact.greatest = all & ~fact.zeros;
  // What the least and the greatest have in common above their first difference.
  const int same = std::countl_zero(fact.least ^ fact.greatest);
  const uint64_t known = same == 64 ? ~uint64_t{0} : ~(~uint64_t{0} >> same);
  fact.zeros |= known & ~fact.least & all;
  fact.ones |= known & fact.least & all;
  if (fact.least == fact.greatest) fact.shape = Shape::affine, fact.stride = 0;
  return fact;
}

Fact shaped(Shape shape, uint64_t stride, Kind kind) {
  Fact fact;
  fact.shape = has_lanes(kind) ? shape : Shape::affine;
  fact.stride = has_lanes(kind) && shape == Shape::affine ? stride & isa::ones(bits_of(kind)) : 0;
  fact.greatest = isa::ones(bits_of(kind));
  return fact;
}
// Every lane alike if those of all arguments are.
Fact pointwise(const std::vector<Fact>& arguments, Kind kind) {
  const bool uniform =
      std::all_of(arguments.begin(), arguments.end(), [](const Fact& a) { return a.is_uniform(); });
  return shaped(uniform ? Shape::affine : Shape::any, 0, kind);
}

// Lanes may have come from different values.
Fact unshaped(Fact fact, Kind kind) {
  if (has_lanes(kind)) fact.shape = Shape::any, fact.stride = 0;
  return fact;
}

// Bits at the end that are 0 in both, for sums.
void keep_low_zeros(Fact& fact, uint64_t zeros) {
  const int count = std::countr_one(zeros);
  fact.zeros |= count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

Fact add(const Fact& a, const Fact& b, Kind kind) {
  const bool affine = a.shape == Shape::affine && b.shape == Shape::affine;
  Fact fact = shaped(affine ? Shape::affine : Shape::any, a.stride + b.stride, kind);
  const uint64_t all = isa::ones(bits_of(kind));
  uint64_t greatest;
  if (!__builtin_add_overflow(a.greatest, b.greatest, &greatest) && greatest <= all)
    fact.least = a.least + b.least, fact.greatest = greatest;
  keep_low_zeros(fact, a.zeros & b.zeros);
  fact.zeros &= all;
  return fact;
}

Fact subtract(const Fact& a, const Fact& b, Kind kind) {
  const bool affine = a.shape == Shape::affine && b.shape == Shape::affine;
  Fact fact = shaped(affine ? Shape::affine : Shape::any, a.stride - b.stride, kind);
  if (a.least >= b.greatest) fact.least = a.least - b.greatest, fact.greatest = a.greatest - b.least;
  keep_low_zeros(fact, a.zeros & b.zeros);
  fact.zeros &= isa::ones(bits_of(kind));
  return fact;
}

Fact multiply(const Fact& a, const Fact& b, Kind kind) {
  Fact fact = pointwise({a, b}, kind);
  for (const auto& [value, by] : {std::pair{&a, &b}, std::pair{&b, &a}})
    if (by->is_constant() && value->shape == Shape::affine)
      fact = shaped(Shape::affine, value->stride * by->least, kind);
  const uint64_t all = isa::ones(bits_of(kind));
  uint64_t greatest;
  if (!__builtin_mul_overflow(a.greatest, b.greatest, &greatest) && greatest <= all)
    fact.least = a.least * b.least, fact.greatest = greatest;
  const int zeros = std::min(63, std::countr_one(a.zeros) + std::countr_one(b.zeros));
  fact.zeros |= ((uint64_t{1} << zeros) - 1) & all;
  return fact;
}

Fact shift(Fn fn, const Fact& a, const Fact& by, Kind kind) {
  if (!by.is_constant()) return pointwise({a, by}, kind);
  const int bits = bits_of(kind);
  const uint64_t all = isa::ones(bits), count = by.least & static_cast<uint64_t>(bits - 1);
  if (fn == Fn::shift_left) {
    Fact fact = shaped(a.shape, a.stride << count, kind);
    fact.zeros = ((a.zeros << count) | ((uint64_t{1} << count) - 1)) & all;
    fact.ones = (a.ones << count) & all;
    if (a.greatest <= all >> count) fact.least = a.least << count, fact.greatest = a.greatest << count;
    return fact;
  }
  Fact fact = pointwise({a, by}, kind);
  const bool is_negative_possible = fn == Fn::shift_right_signed && (a.greatest >> (bits - 1) & 1);
  if (is_negative_possible) return fact;
  // What is lost below must not vary.
  const uint64_t lost = (uint64_t{1} << count) - 1;
  if (a.shape == Shape::affine && (a.zeros & lost) == lost && a.greatest - a.least < all / 2 &&
      (a.stride & lost) == 0 && a.stride <= all / 2)
    fact = shaped(Shape::affine, a.stride >> count, kind);
  fact.zeros = (a.zeros >> count) | (all & ~(all >> count));
  fact.ones = a.ones >> count;
  fact.least = a.least >> count, fact.greatest = a.greatest >> count;
  return fact;
}

Fact bitwise(Fn fn, const Fact& a, const Fact& b, Kind kind) {
  Fact fact = pointwise({a, b}, kind);
  const uint64_t all = isa::ones(bits_of(kind));
  switch (fn) {
    case Fn::bit_and:
      // Nothing is taken away.
      for (const auto& [value, mask] : {std::pair{&a, &b}, std::pair{&b, &a}})
        if (mask->is_constant() && (all & ~mask->least & ~value->zeros) == 0) return *value;
      fact.zeros = a.zeros | b.zeros, fact.ones = a.ones & b.ones;
      fact.greatest = std::min(a.greatest, b.greatest);
      return fact;
    case Fn::bit_or:
      // A sum, if no bit is in both.
      if ((all & ~(a.zeros | b.zeros)) == 0) fact = add(a, b, kind);
      fact.zeros = a.zeros & b.zeros, fact.ones = a.ones | b.ones;
      fact.least = std::max({fact.least, a.least, b.least});
      return fact;
    default:
      fact.zeros = (a.zeros & b.zeros) | (a.ones & b.ones),
      fact.ones = (a.zeros & b.ones) | (a.ones & b.zeros);
      return fact;
  }
}

// Of 32 bits, as 64: whether nothing wraps between the lanes.
Fact widen(const Fact& a, Kind kind, bool is_signed) {
  if (is_signed && a.greatest >> 31) return pointwise({a}, kind);
  const bool exact = a.shape == Shape::affine && (a.greatest - a.least) + a.stride < (uint64_t{1} << 32);
  Fact fact = shaped(exact ? Shape::affine : Shape::any, a.stride, kind);
  fact.zeros = a.zeros | ~isa::ones(32), fact.ones = a.ones, fact.least = a.least, fact.greatest = a.greatest;
  return fact;
}

Fact compare(Fn fn, const Fact& a, const Fact& b, Kind kind, int bits) {
  Fact fact = pointwise({a, b}, kind);
  const auto decide = [&](bool value) { return constant_fact(value, kind); };
  if (fn == Fn::equal) {
    if (a.is_constant() && b.is_constant()) return decide(a.least == b.least);
    return a.greatest < b.least || b.greatest < a.least || (a.ones & b.zeros) || (a.zeros & b.ones)
               ? decide(false)
               : fact;
  }
  const bool may_be_negative = (a.greatest | b.greatest) >> (bits - 1) & 1;
  if (fn == Fn::less_signed && may_be_negative) return fact;
  return a.greatest < b.least ? decide(true) : a.least >= b.greatest ? decide(false) : fact;
}

Fact extremum(Fn fn, const Fact& a, const Fact& b, Kind kind, int bits) {
  Fact fact = join(a, b, kind);
  fact.shape = pointwise({a, b}, kind).shape, fact.stride = 0;
  const bool is_signed = fn == Fn::least_signed || fn == Fn::greatest_signed;
  if (is_signed && ((a.greatest | b.greatest) >> (bits - 1) & 1)) return fact;
  const bool least = fn == Fn::least || fn == Fn::least_signed;
  fact.least = least ? std::min(a.least, b.least) : std::max(a.least, b.least);
  fact.greatest = least ? std::min(a.greatest, b.greatest) : std::max(a.greatest, b.greatest);
  return fact;
}

Fact unary(Fn fn, const Fact& a, Kind kind, int bits) {
  Fact fact = pointwise({a}, kind);
  const uint64_t all = isa::ones(bits_of(kind));
  switch (fn) {
    case Fn::invert:
      fact = shaped(a.shape, ~a.stride + 1, kind);
      fact.zeros = a.ones, fact.ones = a.zeros;
      fact.least = all - a.greatest, fact.greatest = all - a.least;
      return fact;
    case Fn::to_64: return widen(a, kind, false);
    case Fn::sign_to_64: return widen(a, kind, true);
    case Fn::to_32:
      if (bits == 1) {
        fact.greatest = a.greatest, fact.least = a.least, fact.zeros = all & ~uint64_t{1};
        return fact;
      }
      fact = shaped(a.shape, a.stride, kind);
      fact.zeros = a.zeros & all, fact.ones = a.ones & all;
      if (a.greatest <= all) fact.least = a.least, fact.greatest = a.greatest;
      return fact;
    case Fn::upper:
      fact.zeros = a.zeros >> 32, fact.ones = a.ones >> 32, fact.least = a.least >> 32,
      fact.greatest = a.greatest >> 32;
      return fact;
    case Fn::bit_count:
    case Fn::leading_zeros:
    case Fn::trailing_zeros: fact.greatest = static_cast<uint64_t>(bits); return fact;
    default: return fact;
  }
}

Fact compute(const Function& f, const Value& v, const std::vector<Fact>& a) {
  const int bits = bits_of(f[v.arguments[0]].kind);
  if (std::all_of(a.begin(), a.end(), [](const Fact& fact) { return fact.is_constant(); })) {
    isa::Number numbers[3];
    for (size_t n = 0; n < a.size(); n++)
      numbers[n] = isa::number_of(a[n].least, bits_of(f[v.arguments[n]].kind));
    return constant_fact(isa::compute(v.fn, numbers).bits, v.kind);
  }
  switch (v.fn) {
    case Fn::add: return add(a[0], a[1], v.kind);
    case Fn::subtract: return subtract(a[0], a[1], v.kind);
    case Fn::multiply: return multiply(a[0], a[1], v.kind);
    case Fn::bit_and: {
      Fact fact = bitwise(v.fn, a[0], a[1], v.kind);
      if (v.kind != Kind::mask || fact.is_empty()) return fact;
      fact.subset_of = a[0].is_full() ? v.arguments[1] : v.arguments[0];
      return fact;
    }
    case Fn::bit_or:
    case Fn::bit_xor: return bitwise(v.fn, a[0], a[1], v.kind);
    case Fn::shift_left:
    case Fn::shift_right:
    case Fn::shift_right_signed: return shift(v.fn, a[0], a[1], v.kind);
    case Fn::least:
    case Fn::least_signed:
    case Fn::greatest:
    case Fn::greatest_signed: return extremum(v.fn, a[0], a[1], v.kind, bits);
    case Fn::equal:
    case Fn::less:
    case Fn::less_signed: return compare(v.fn, a[0], a[1], v.kind, bits);
    case Fn::select: {
      if (a[0].is_constant()) return a[0].least ? a[1] : a[2];
      const Fact fact = join(a[1], a[2], v.kind);
      if (a[1].is_constant() && a[1] == a[2]) return a[1];
      return a[0].is_uniform() ? fact : unshaped(fact, v.kind);
    }
    default: return v.arguments.size() == 1 ? unary(v.fn, a[0], v.kind, bits) : pointwise(a, v.kind);
  }
}

// Of what is loaded from a byte or a short.
Fact loaded(const Value& access, Kind kind) {
  Fact fact = unknown(kind);
  if (access.access.element == isa::Type::u8) fact.greatest = 0xff;
  if (access.access.element == isa::Type::u16) fact.greatest = 0xffff;
  return fact;
}

}  // namespace

Fact unknown(Kind kind) { return shaped(Shape::any, 0, kind); }

Fact constant_fact(uint64_t number, Kind kind) {
  Fact fact = shaped(Shape::affine, 0, kind);
  fact.least = fact.greatest = number & isa::ones(bits_of(kind));
  return agreed(fact, kind);
}

Fact affine_fact(uint64_t stride, uint64_t least, uint64_t greatest, Kind kind) {
  Fact fact = shaped(Shape::affine, stride, kind);
  fact.least = least, fact.greatest = greatest;
  return agreed(fact, kind);
}

Fact without_range(Fact fact, Kind kind) {
  fact.least = fact.ones, fact.greatest = isa::ones(bits_of(kind)) & ~fact.zeros;
  return fact;
}

Fact join(const Fact& a, const Fact& b, Kind kind) {
  const bool affine = a.shape == Shape::affine && b.shape == Shape::affine && a.stride == b.stride;
  Fact fact = shaped(affine ? Shape::affine : Shape::any, a.stride, kind);
  fact.zeros = a.zeros & b.zeros, fact.ones = a.ones & b.ones;
  fact.least = std::min(a.least, b.least), fact.greatest = std::max(a.greatest, b.greatest);
  if (a.subset_of == b.subset_of) fact.subset_of = a.subset_of;
  return fact;
}

Fact join_halves(const Fact& lower, const Fact& upper, Kind kind) {
  Fact fact = pointwise({lower, upper}, kind);
  fact.zeros = lower.zeros | upper.zeros << 32, fact.ones = lower.ones | upper.ones << 32;
  if (upper.is_constant()) {
    const Fact wide = widen(lower, kind, false);
    fact.shape = wide.shape, fact.stride = wide.stride;
    fact.least = upper.least << 32 | lower.least, fact.greatest = upper.least << 32 | lower.greatest;
  }
  return agreed(fact, kind);
}

Fact transfer(const Function& f, const Value& v, const std::vector<Fact>& a) {
  switch (v.operation) {
    case Operation::constant: return constant_fact(static_cast<uint64_t>(v.number), v.kind);
    case Operation::compute: return agreed(compute(f, v, a), v.kind);
    case Operation::splat: return a[0];
    case Operation::join: return join_halves(a[0], a[1], v.kind);
    case Operation::mask: {
      const bool constant = a[0].is_constant();
      if (constant && a[0].least == 0) return constant_fact(0, v.kind);
      if (constant && a[0].least == isa::ones(f.width)) return constant_fact(1, v.kind);
      return unknown(v.kind);
    }
    case Operation::bits:
      if (a[0].is_empty()) return constant_fact(0, v.kind);
      return a[0].is_full() ? constant_fact(isa::ones(f.width), v.kind) : unknown(v.kind);
    case Operation::merge:
      if (a[0].is_full()) return a[1];
      if (a[0].is_empty()) return a[2];
      return a[1].is_constant() && a[1] == a[2] ? a[1] : unshaped(join(a[1], a[2], v.kind), v.kind);
    case Operation::function:
      if (isa::effects(v.op).kind == isa::Class::position) return unknown(v.kind);
      return pointwise(a, v.kind);
    case Operation::part: {
      const Value& of = f[v.arguments[0]];
      return of.operation == Operation::access ? agreed(loaded(of, v.kind), v.kind) : unknown(v.kind);
    }
    default: return unknown(v.kind);
  }
}

}  // namespace morgana::device::lift
