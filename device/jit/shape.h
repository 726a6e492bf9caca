// What is known of a value that differs from lane to lane, and what instructions make of it.
//
// Lane l holds U[l / group] + lane[l] (mod 2^32), where U is unknown and has `zeros` trailing zero bits.
//
// A pair's shape describes a 64-bit value in the same way as long as nothing wrapped on the way: around 2^32,
// or around a power of two above it where upper bits were cut off. Addresses are taken for neighbours only
// where they rise by less than 2^26 in a group, so that a wrap shifts all lanes behind one of them: code that
// relies on a shape compares the last lane of a group with the first, unless the shape says that nothing
// wraps.
#pragma once

#include <array>
#include <cstdint>

#include "device/isa/expression.h"
#include "device/limits.h"

namespace morgana::device::jit {

struct Shape {
  uint8_t group = 1;      // lanes, a power of two; 1: nothing is known
  uint8_t zeros = 0;      // 32: U is 0
  bool supposed = false;  // all this holds when what was supposed on the way holds
  // Of a pair: nothing wraps. Lane l holds lane 0's 64 bits + (lane[l] - lane[0] mod 2^32).
  bool exact = false;
  std::array<uint32_t, kLanes> lane{};

  bool is_known() const { return group > 1; }
  bool is_constant() const { return group == kLanes && zeros == 32; }
  bool operator==(const Shape&) const = default;
};

// Form of the addresses of lanes 16i to 16i + 15.
enum class ChunkForm : uint8_t { unknown, row, same, strided };

// Of one memory instruction's address.
struct AddressShape {
  uint8_t group = 1;  // 64, 32 or 16; 1: unknown
  ChunkForm form[4] = {};
  uint32_t delta[4] = {};  // of lane 16i to its group's first
  uint32_t last[4] = {};   // of a group's last lane to its first
  bool is_exact = false;   // of a pair: Shape::exact
  bool is_constant = false;
  uint32_t value[4] = {};               // of lanes 16i, when constant
  std::array<uint32_t, kLanes> lane{};  // of each lane to its group's first
  // Of all lanes to the ones before, if they are alike in one group; of each sixteen's lanes, where these are
  // strided.
  uint32_t stride = 0;

  // The chunk that lane 16i's group begins with.
  unsigned first_chunk(unsigned i) const { return 16 * i / group * group / 16; }
};

namespace shape {

// One number in all lanes, known or not.
Shape constant(uint32_t value);
Shape uniform(uint8_t zeros = 0);
// The same number in all lanes of a group.
Shape pointwise(uint8_t group);
Shape exactly(Shape pair);
// Of a pair that may wrap between two lanes: 32 bits extended by their sign, or with upper bits cut off.
Shape may_wrap(Shape pair);
// A pair of which no more is known than its halves.
Shape pair_of(const Shape& low, const Shape& high);

// What holds where either does.
Shape join(const Shape& a, const Shape& b);
// Sums of pairs.
Shape add_pairs(const Shape& a, const Shape& b);

// The largest groups in which the value is the same in all lanes.
uint8_t uniform_group(const Shape& s);
// The value if it is the same number in all lanes.
bool number(const Shape& s, uint32_t& value);
// Of lane `l` to the first.
uint32_t rise(const Shape& s, int l);
// Fits in 24 bits, as far as that is known.
bool is_small(const Shape& s);

// What a part of an instruction's rule gives: of 64 bits the lower half, and the pair; of operands the upper
// half, too.
struct Value {
  Shape low, pair;
  bool is_wide = false;
  Shape upper{};
};
Value value_of(isa::Fn fn, const Value* arguments);

// `wave`: its lanes.
AddressShape distances_of(const Shape& shape, uint32_t wave);
// The same where each lane of a sixteen lies as far from the one before it as all others do: at a stride.
AddressShape strided_of(const Shape& shape, uint32_t wave);
// Of addresses of records of `size` bytes.
AddressShape address_of(const Shape& shape, uint32_t size, uint32_t wave);

}  // namespace shape
}  // namespace morgana::device::jit
