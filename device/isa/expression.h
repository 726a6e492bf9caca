// What an instruction computes, as data: a small expression over its operands, written in rules.def as C++
// would write it and kept as terms in postfix order.
//
// Of a vector instruction it is what one lane computes, a mask being one bit there; of a scalar one it is the
// whole register, a mask being a number of as many bits as a wave has lanes. Literal types, made at compile
// time; `evaluate` walks an expression with any algebra: numbers, known bits, shapes, values of another
// language. Usable from any thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace morgana::isa {

enum class Fn : uint8_t {
  // Leaves. `source`: operand `Term::value` of Inst::src; `constant`: Term::value, sign-extended.
  source,
  constant,
  signed_immediate,  // the 16 bits of SOPK
  unsigned_immediate,
  scc,     // one bit
  vcc,     // a mask, also of vector instructions
  exec,    // likewise
  result,  // what the instruction's first expression gives, in those that follow it
  old,     // what the destination held
  next_pc,
  // Of one value
  invert,
  bit_count,
  reverse,
  leading_zeros,   // the width for 0
  trailing_zeros,  // the width for 0
  to_64,           // zero-extended
  sign_to_64,
  to_32,  // the lower half, or one bit as a number
  upper,  // bits 32 to 63
  // Of two
  add,
  subtract,
  multiply,
  multiply_high,
  multiply_high_signed,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,  // the amount has 32 bits and counts modulo the width
  shift_right,
  shift_right_signed,
  least,
  least_signed,
  greatest,
  greatest_signed,
  equal,  // and the other comparisons: one bit
  less,
  less_signed,
  // Of three
  select,  // the second if the first, which is one bit, else the third
};

constexpr int arguments(Fn fn) { return fn < Fn::invert ? 0 : fn < Fn::add ? 1 : fn < Fn::select ? 2 : 3; }

struct Term {
  Fn fn = Fn::source;
  uint8_t wide = 0;   // of a constant: 64 bits
  int32_t value = 0;  // which source, or a constant
  constexpr bool operator==(const Term&) const = default;
};

struct Expression {
  static constexpr int kMost = 20;
  std::array<Term, kMost> terms{};
  uint8_t count = 0;  // 0: nothing is said

  constexpr bool empty() const { return count == 0; }
  // What is done last.
  constexpr Fn top() const { return terms[count - 1].fn; }
  constexpr bool is(Fn fn) const { return count != 0 && top() == fn; }
  constexpr bool has(Fn fn) const {
    for (int t = 0; t < count; t++)
      if (terms[t].fn == fn) return true;
    return false;
  }
  // Whether this is nothing but one leaf.
  constexpr bool is_leaf(Fn fn, int value = 0) const {
    return count == 1 && terms[0].fn == fn && terms[0].value == value;
  }
  constexpr bool operator==(const Expression&) const = default;
};

// --- Writing them ---

namespace rule {

constexpr Expression leaf(Fn fn, int32_t value = 0, bool wide = false) {
  Expression e;
  e.terms[0] = {fn, wide, value};
  e.count = 1;
  return e;
}
constexpr Expression append(Expression e, const Expression& more) {
  for (int t = 0; t < more.count; t++) e.terms[e.count++] = more.terms[t];
  return e;
}
constexpr Expression apply(Fn fn, const Expression& a) { return append(a, leaf(fn)); }
constexpr Expression apply(Fn fn, const Expression& a, const Expression& b) {
  return append(append(a, b), leaf(fn));
}
constexpr Expression select(const Expression& condition, const Expression& a, const Expression& b) {
  return append(append(append(condition, a), b), leaf(Fn::select));
}

inline constexpr Expression s0 = leaf(Fn::source, 0), s1 = leaf(Fn::source, 1), s2 = leaf(Fn::source, 2);
inline constexpr Expression simm = leaf(Fn::signed_immediate), uimm = leaf(Fn::unsigned_immediate);
inline constexpr Expression scc = leaf(Fn::scc), vcc = leaf(Fn::vcc), exec = leaf(Fn::exec);
inline constexpr Expression result = leaf(Fn::result), old = leaf(Fn::old), next_pc = leaf(Fn::next_pc);
constexpr Expression number(int32_t value) { return leaf(Fn::constant, value); }
constexpr Expression number64(int32_t value) { return leaf(Fn::constant, value, true); }

#define MORGANA_UNARY(name, fn) \
  constexpr Expression name(const Expression& a) { return apply(Fn::fn, a); }
#define MORGANA_BINARY(name, fn) \
  constexpr Expression name(const Expression& a, const Expression& b) { return apply(Fn::fn, a, b); }
MORGANA_UNARY(operator~, invert)
MORGANA_UNARY(bit_count, bit_count)
MORGANA_UNARY(reverse, reverse)
MORGANA_UNARY(leading_zeros, leading_zeros)
MORGANA_UNARY(trailing_zeros, trailing_zeros)
MORGANA_UNARY(to_64, to_64)
MORGANA_UNARY(sign_to_64, sign_to_64)
MORGANA_UNARY(to_32, to_32)
MORGANA_UNARY(upper, upper)
MORGANA_BINARY(operator+, add)
MORGANA_BINARY(operator-, subtract)
MORGANA_BINARY(operator*, multiply)
MORGANA_BINARY(multiply_high, multiply_high)
MORGANA_BINARY(multiply_high_signed, multiply_high_signed)
MORGANA_BINARY(operator&, bit_and)
MORGANA_BINARY(operator|, bit_or)
MORGANA_BINARY(operator^, bit_xor)
MORGANA_BINARY(operator<<, shift_left)
MORGANA_BINARY(operator>>, shift_right)
MORGANA_BINARY(shift_signed, shift_right_signed)
MORGANA_BINARY(least, least)
MORGANA_BINARY(least_signed, least_signed)
MORGANA_BINARY(greatest, greatest)
MORGANA_BINARY(greatest_signed, greatest_signed)
MORGANA_BINARY(equal, equal)
MORGANA_BINARY(less, less)
MORGANA_BINARY(less_signed, less_signed)
#undef MORGANA_UNARY
#undef MORGANA_BINARY

constexpr Expression differ(const Expression& a, const Expression& b) { return ~equal(a, b); }
constexpr Expression less_equal(const Expression& a, const Expression& b) { return ~less(b, a); }
constexpr Expression less_equal_signed(const Expression& a, const Expression& b) {
  return ~less_signed(b, a);
}
constexpr Expression median(const Expression& a, const Expression& b, const Expression& c) {
  return greatest(least(a, b), least(greatest(a, b), c));
}
constexpr Expression median_signed(const Expression& a, const Expression& b, const Expression& c) {
  return greatest_signed(least_signed(a, b), least_signed(greatest_signed(a, b), c));
}
// The lower 24 bits.
constexpr Expression low_24(const Expression& a) { return a & number(0xffffff); }
constexpr Expression low_24_signed(const Expression& a) { return shift_signed(a << number(8), number(8)); }

}  // namespace rule

// --- Reading them ---

// `algebra.leaf(term)`, `algebra.apply(fn, arguments)` give values of type Value, which can be made of
// nothing.
template <class Value, class Algebra>
constexpr Value evaluate(const Expression& e, Algebra&& algebra) {
  std::array<Value, Expression::kMost> stack{};
  int depth = 0;
  for (int t = 0; t < e.count; t++) {
    const Term& term = e.terms[static_cast<unsigned>(t)];
    const int n = arguments(term.fn);
    depth -= n;
    Value* const at = stack.data() + depth++;
    *at = n == 0 ? algebra.leaf(term) : algebra.apply(term.fn, static_cast<const Value*>(at));
  }
  return depth == 0 ? Value{} : stack[0];
}

// A number of `width` bits: 1, 32 or 64.
struct Number {
  uint64_t bits = 0;
  uint8_t width = 32;
  constexpr bool operator==(const Number&) const = default;
};

constexpr uint64_t ones(int width) { return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
constexpr Number number_of(uint64_t bits, int width) {
  return {bits & ones(width), static_cast<uint8_t>(width)};
}
// The constant that a term is.
constexpr Number constant_of(const Term& term) {
  return number_of(static_cast<uint64_t>(int64_t{term.value}), term.wide ? 64 : 32);
}

// The width of what `fn` makes of arguments as wide as `a` and `b` (the second of two or three).
constexpr int width_of(Fn fn, int a, int b) {
  switch (fn) {
    case Fn::to_64:
    case Fn::sign_to_64: return 64;
    case Fn::bit_count:
    case Fn::leading_zeros:
    case Fn::trailing_zeros:
    case Fn::to_32:
    case Fn::upper: return 32;
    case Fn::equal:
    case Fn::less:
    case Fn::less_signed: return 1;
    case Fn::select: return b;
    default: return a;
  }
}

constexpr uint64_t multiply_high(uint64_t a, uint64_t b, int width, bool is_signed) {
  __extension__ using Wide = __int128;
  const auto extend = [&](uint64_t v) {
    return is_signed ? Wide{static_cast<int64_t>(v << (64 - width)) >> (64 - width)} : Wide{v};
  };
  return static_cast<uint64_t>((extend(a) * extend(b)) >> width);
}

constexpr Number compute(Fn fn, const Number* v) {
  const int width = v[0].width, n = arguments(fn);
  const uint64_t a = v[0].bits, b = n > 1 ? v[1].bits : 0;
  const auto as_signed = [&](uint64_t bits) {
    return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  };
  const auto make = [&](uint64_t bits) {
    return number_of(bits, width_of(fn, width, n > 1 ? v[1].width : 0));
  };
  const auto amount = b & static_cast<uint64_t>(width - 1);
  switch (fn) {
    case Fn::invert: return make(~a);
    case Fn::bit_count: return make(static_cast<uint64_t>(std::popcount(a)));
    case Fn::reverse: {
      uint64_t r = 0;
      for (int i = 0; i < width; i++) r |= (a >> i & 1) << (width - 1 - i);
      return make(r);
    }
    case Fn::leading_zeros: return make(static_cast<uint64_t>(std::countl_zero(a) - (64 - width)));
    case Fn::trailing_zeros: return make(static_cast<uint64_t>(a == 0 ? width : std::countr_zero(a)));
    case Fn::to_64:
    case Fn::to_32: return make(a);
    case Fn::sign_to_64: return make(static_cast<uint64_t>(as_signed(a)));
    case Fn::upper: return make(a >> 32);
    case Fn::add: return make(a + b);
    case Fn::subtract: return make(a - b);
    case Fn::multiply: return make(a * b);
    case Fn::multiply_high: return make(multiply_high(a, b, width, false));
    case Fn::multiply_high_signed: return make(multiply_high(a, b, width, true));
    case Fn::bit_and: return make(a & b);
    case Fn::bit_or: return make(a | b);
    case Fn::bit_xor: return make(a ^ b);
    case Fn::shift_left: return make(a << amount);
    case Fn::shift_right: return make(a >> amount);
    case Fn::shift_right_signed: return make(static_cast<uint64_t>(as_signed(a) >> amount));
    case Fn::least: return make(a < b ? a : b);
    case Fn::least_signed: return make(as_signed(a) < as_signed(b) ? a : b);
    case Fn::greatest: return make(a < b ? b : a);
    case Fn::greatest_signed: return make(as_signed(a) < as_signed(b) ? b : a);
    case Fn::equal: return make(a == b);
    case Fn::less: return make(a < b);
    case Fn::less_signed: return make(as_signed(a) < as_signed(b));
    case Fn::select: return a ? v[1] : v[2];
    default: return {};
  }
}

}  // namespace morgana::isa
