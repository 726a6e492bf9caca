#include "device/jit/shape.h"

#include <algorithm>
#include <bit>

namespace morgana::device::jit::shape {
namespace {

uint8_t zeros_of(uint32_t value) { return value == 0 ? 32 : static_cast<uint8_t>(std::countr_zero(value)); }

// Every group's lanes relative to its first, whose part goes to U.
Shape normalised(Shape s) {
  for (int l = 0; l < kLanes; l += s.group) {
    const uint32_t first = s.lane[l];
    s.zeros = std::min(s.zeros, zeros_of(first));
    for (int k = 0; k < s.group; k++) s.lane[l + k] -= first;
  }
  return s;
}

// The same with smaller groups.
Shape regrouped(Shape s, uint8_t group) {
  s.group = std::min(s.group, group);
  return s;
}

Shape add(const Shape& a, const Shape& b, uint32_t sign = 1) {
  Shape s;
  s.group = std::min(a.group, b.group);
  s.zeros = std::min(a.zeros, b.zeros);
  if (!s.is_known()) return Shape{};
  for (int l = 0; l < kLanes; l++) s.lane[l] = a.lane[l] + b.lane[l] * sign;
  return s;
}

// lane[] and U have no bit in common.
bool is_disjoint(const Shape& s) {
  if (s.zeros >= 32) return true;
  return std::all_of(s.lane.begin(), s.lane.end(), [&](uint32_t v) { return v >> s.zeros == 0; });
}

template <typename F>
Shape map(Shape s, const F& f) {
  for (uint32_t& v : s.lane) v = f(v);
  return s;
}

Shape shift_left(const Shape& a, const Shape& by) {
  uint32_t count;
  if (!number(by, count)) return pointwise(std::min(uniform_group(a), uniform_group(by)));
  count &= 31;
  Shape s = map(a, [&](uint32_t v) { return v << count; });
  s.zeros = static_cast<uint8_t>(std::min(32u, s.zeros + count));
  return s;
}

// Whether `s` holds `factor` times what `a` does, as far as lanes of a group differ: nothing is lost above.
bool scales(const Shape& a, const Shape& s, uint64_t factor) {
  for (int l = 0; l < kLanes; l++) {
    const int first = l / a.group * a.group;
    if (s.lane[l] - s.lane[first] != uint64_t{a.lane[l] - a.lane[first]} * factor) return false;
  }
  return true;
}

Shape shift_pair(const Shape& a, const Shape& by, uint32_t most) {
  uint32_t count;
  if (!number(by, count) || count > most) return Shape{};
  const Shape s = shift_left(a, by);
  return scales(a, s, uint64_t{1} << count) ? s : Shape{};
}

Shape shift_right(const Shape& a, const Shape& by) {
  uint32_t count;
  if (!number(by, count) || !is_disjoint(a)) return pointwise(std::min(uniform_group(a), uniform_group(by)));
  count &= 31;
  Shape s = map(a, [&](uint32_t v) { return v >> count; });
  if (s.zeros < 32) s.zeros = static_cast<uint8_t>(s.zeros > count ? s.zeros - count : 0);
  return s;
}

Shape bit_and(const Shape& a, const Shape& b) {
  uint32_t mask;
  const Shape* value = &a;
  if (!number(b, mask)) {
    if (!number(a, mask)) return pointwise(std::min(uniform_group(a), uniform_group(b)));
    value = &b;
  }
  if (!is_disjoint(*value)) return pointwise(uniform_group(*value));
  Shape s = map(*value, [&](uint32_t v) { return v & mask; });
  if (s.zeros >= 32 || (mask >> s.zeros) == 0) {
    s.zeros = 32;
    s.group = kLanes;
  }
  return s;
}

Shape bit_or(const Shape& a, const Shape& b) {
  // A sum when one is constant and fits under the other.
  for (const auto& [high, low] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    if (!low->is_constant() || !high->is_known()) continue;
    uint32_t bits = 0;
    for (const uint32_t v : low->lane) bits |= v;
    const uint32_t below = bits == 0 ? 0 : ~0u >> std::countl_zero(bits);
    const bool fits =
        (high->zeros >= 32 || (below >> high->zeros) == 0) &&
        std::all_of(high->lane.begin(), high->lane.end(), [&](uint32_t v) { return (v & below) == 0; });
    if (fits) return add(a, b);
  }
  // The lanes differ in bits that neither unknown part has.
  for (const auto& [high, low] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    const uint8_t zeros = std::min({high->zeros, low->zeros, uint8_t{31}});
    if (!high->is_known() || !low->is_known()) continue;
    const bool apart =
        std::all_of(low->lane.begin(), low->lane.end(), [&](uint32_t v) { return v >> zeros == 0; });
    if (apart && std::all_of(high->lane.begin(), high->lane.end(), [](uint32_t v) { return v == 0; }))
      return add(a, b);
  }
  return pointwise(std::min(uniform_group(a), uniform_group(b)));
}

Shape multiply(const Shape& a, const Shape& b) {
  for (const auto& [value, by] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    uint32_t factor;
    if (!number(*by, factor)) continue;
    Shape s = map(*value, [&](uint32_t v) { return v * factor; });
    s.zeros = static_cast<uint8_t>(std::min(32, s.zeros + zeros_of(factor)));
    return s;
  }
  Shape s = pointwise(std::min(uniform_group(a), uniform_group(b)));
  return s;
}

// Products of pairs that were extended from 32 bits.
Shape multiply_pairs(const Shape& a, const Shape& b) {
  Shape s = multiply(a, b);
  uint32_t factor;
  const bool by_second = number(b, factor);
  s.exact = uniform_group(s) == kLanes;
  if (!by_second && !number(a, factor)) return s;
  const Shape& other = by_second ? a : b;
  if (!scales(other, s, factor)) return Shape{};
  s.exact = other.exact;
  return s;
}

// An arithmetic shift of a pair whose lower half is 0: the upper half's sign extension, shifted left.
Shape shift_upper(const Shape& low, const Shape& high, const Shape& by) {
  uint32_t is_zero, count;
  if (!number(low, is_zero) || is_zero != 0 || !number(by, count) || count < 1 || count > 32) return Shape{};
  return shift_pair(may_wrap(high), constant(32 - count), 31);
}

}  // namespace

Shape constant(uint32_t value) {
  Shape s;
  s.group = kLanes;
  s.zeros = 32;
  s.lane.fill(value);
  return s;
}

Shape uniform(uint8_t zeros) {
  Shape s;
  s.group = kLanes;
  s.zeros = zeros;
  return s;
}

uint8_t uniform_group(const Shape& s) {
  for (int group = s.group; group > 1; group /= 2) {
    bool same = true;
    for (int l = 0; l < kLanes && same; l++) same = s.lane[l] == s.lane[l / group * group];
    if (same) return static_cast<uint8_t>(group);
  }
  return 1;
}

Shape pointwise(uint8_t group) {
  Shape s;
  s.group = group;
  return s;
}

Shape join(const Shape& a, const Shape& b) {
  if (a == b) return a;
  const uint8_t group = std::min(a.group, b.group);
  Shape x = normalised(regrouped(a, group)), y = normalised(regrouped(b, group));
  const uint8_t zeros = std::min(x.zeros, y.zeros);
  while (x.group > 1 && x.lane != y.lane) {
    x = normalised(regrouped(x, x.group / 2));
    y = normalised(regrouped(y, y.group / 2));
  }
  if (x.group == 1) return Shape{};
  x.supposed = a.supposed || b.supposed;
  x.exact = a.exact && b.exact;
  x.zeros = std::min({zeros, x.zeros, y.zeros});
  return x;
}

uint32_t rise(const Shape& s, int l) { return s.lane[l] - s.lane[0]; }

Shape exactly(Shape s) {
  s.exact = true;
  return s;
}

// Sums of pairs. Unless nothing wraps one must not vary: of two, one may wrap upwards in some lanes and the
// other downwards in others, which their ends do not tell.
Shape add_pairs(const Shape& a, const Shape& b) {
  Shape sum = add(a, b);
  sum.exact = a.exact && b.exact && sum.group == kLanes;
  for (int l = 0; l < kLanes; l++) sum.exact = sum.exact && rise(a, l) + rise(b, l) >= rise(a, l);
  if (sum.exact) return sum;
  sum = regrouped(sum, std::max(uniform_group(a), uniform_group(b)));
  return sum.is_known() ? sum : Shape{};
}

bool number(const Shape& s, uint32_t& value) {
  value = s.lane[0];
  return s.is_constant() && uniform_group(s) == kLanes;
}

Shape pair_of(const Shape& low, const Shape& high) {
  Shape pair = regrouped(low, uniform_group(high));
  pair.exact = uniform_group(pair) == kLanes || (pair.group == kLanes && is_disjoint(pair) &&
                                                 std::is_sorted(pair.lane.begin(), pair.lane.end()));
  return pair;
}

Shape may_wrap(Shape s) {
  s.exact = uniform_group(s) == kLanes;
  return s;
}

bool is_small(const Shape& s) {
  return s.is_constant() &&
         std::all_of(s.lane.begin(), s.lane.end(), [](uint32_t v) { return v < 1u << 23; });
}

Value value_of(isa::Fn fn, const Value* v) {
  const auto narrow = [](Shape low) { return Value{low, {}, false}; };
  const Shape &a = v[0].low, &b = v[1].low;
  const auto each = [&] {
    uint8_t group = uniform_group(a);
    for (int n = 1; n < isa::arguments(fn); n++) group = std::min(group, uniform_group(v[n].low));
    return pointwise(group);
  };
  if (fn == isa::Fn::to_64) return {a, pair_of(a, constant(0)), true};
  if (fn == isa::Fn::sign_to_64) return {a, may_wrap(a), true};
  if (v[0].is_wide) {
    switch (fn) {
      case isa::Fn::add: return {add(a, b), add_pairs(v[0].pair, v[1].pair), true};
      case isa::Fn::multiply: return {multiply(a, b), multiply_pairs(v[0].pair, v[1].pair), true};
      case isa::Fn::shift_left: {
        const Shape pair = shift_pair(v[0].pair, b, 31);
        return {pair.is_known() ? shift_left(a, b) : Shape{}, pair, true};
      }
      case isa::Fn::shift_right_signed: {
        const Shape pair = shift_upper(a, v[0].upper, b);
        return {pair, pair, true};
      }
      default: return {{}, {}, isa::width_of(fn, 64, 64) == 64};
    }
  }
  switch (fn) {
    case isa::Fn::add: return narrow(add(a, b));
    case isa::Fn::subtract: return narrow(add(a, b, ~0u));
    case isa::Fn::multiply: return narrow(multiply(a, b));
    case isa::Fn::bit_and: return narrow(bit_and(a, b));
    case isa::Fn::bit_or: return narrow(bit_or(a, b));
    case isa::Fn::shift_left: return narrow(shift_left(a, b));
    case isa::Fn::shift_right: return narrow(shift_right(a, b));
    default: return narrow(each());
  }
}

AddressShape distances_of(const Shape& shape, uint32_t wave) {
  AddressShape a;
  if (shape.group < 16) return a;
  // Lanes of a group must not go down: the check of the last lane stands for all.
  const auto rises = [&](uint32_t lanes) {
    for (uint32_t l = 1; l < kLanes; l++)
      if (l % lanes != 0 && shape.lane[l] - shape.lane[l - 1] > 1u << 20) return false;
    return true;
  };
  uint32_t lanes = shape.group;
  while (lanes > 16 && !rises(lanes)) lanes /= 2;
  if (!rises(lanes)) return a;
  for (uint32_t c = 0; c < 4; c++) {
    const uint32_t base = 16 * c / lanes * lanes;
    a.delta[c] = shape.lane[16 * c] - shape.lane[base];
    a.last[c] = shape.lane[base + lanes - 1] - shape.lane[base];
    a.value[c] = shape.lane[16 * c];
  }
  for (uint32_t l = 0; l < kLanes; l++) a.lane[l] = shape.lane[l] - shape.lane[l / lanes * lanes];
  a.stride = lanes == kLanes ? a.lane[1] : 0;
  for (uint32_t l = 0; l < wave; l++)
    if (a.lane[l] != l * a.stride) a.stride = 0;
  a.group = static_cast<uint8_t>(lanes);
  a.is_exact = shape.exact;
  a.is_constant = shape.is_constant();
  return a;
}

AddressShape strided_of(const Shape& shape, uint32_t wave) {
  AddressShape a = distances_of(shape, wave);
  if (a.group == 1) return a;
  a.stride = a.lane[1] - a.lane[0];
  for (uint32_t l = 0; l < wave; l++)
    if (a.lane[l] - a.lane[l / 16 * 16] != l % 16 * a.stride) return AddressShape{};
  if (a.stride == 0) return AddressShape{};
  std::ranges::fill(a.form, ChunkForm::strided);
  return a;
}

AddressShape address_of(const Shape& shape, uint32_t size, uint32_t wave) {
  AddressShape a = distances_of(shape, wave);
  if (a.group == 1) return a;
  for (uint32_t c = 0; c < 4; c++) {
    const uint32_t* lane = &a.lane[16 * c];
    bool row = true, same = true;
    for (uint32_t l = 0; l < 16; l++) {
      row = row && lane[l] == lane[0] + l * size;
      same = same && lane[l] == lane[0];
    }
    if (!row && !same) return AddressShape{};
    a.form[c] = row ? ChunkForm::row : ChunkForm::same;
  }
  return a;
}

}  // namespace morgana::device::jit::shape
