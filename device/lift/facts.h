// What is known of every value of a Function: one forward analysis over the SSA, which everything else asks.
//
// A fact holds for all lanes of the wave, active or not. Facts start from nothing known to be false and only
// get weaker, so that loops find what holds on every turn; ranges that go on growing become the whole one.
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "device/lift/ir.h"

namespace morgana::device::lift {

// How a value varies over the lanes.
enum class Shape : uint8_t {
  unreached,
  affine,  // lane l is lane 0 + l * stride, modulo the width; stride 0: uniform
  any,
};

struct Fact {
  Shape shape = Shape::unreached;
  uint64_t stride = 0;
  // Bits that are 0, and 1, in every lane; the least and the greatest number, unsigned.
  uint64_t zeros = 0, ones = 0, least = 0, greatest = 0;
  ValueId subset_of = kNoValue;  // of a mask: it has no lane that this one has not

  bool is_reached() const { return shape != Shape::unreached; }
  bool is_uniform() const { return shape == Shape::affine && stride == 0; }
  bool is_constant() const { return is_uniform() && least == greatest; }
  // Of masks: all lanes, none.
  bool is_full() const { return is_uniform() && least == 1; }
  bool is_empty() const { return is_uniform() && greatest == 0; }
  bool operator==(const Fact&) const = default;
};

// Of a register at the beginning, or of a pair as one number: nothing is known of others.
struct InitialFact {
  Register code;
  Kind kind;
  Fact fact;
};

Fact unknown(Kind kind);
Fact constant_fact(uint64_t number, Kind kind);
// Numbers of `bits` bits whose lanes are `stride` apart, from `least` to `greatest`.
Fact affine_fact(uint64_t stride, uint64_t least, uint64_t greatest, Kind kind);

// By value.
std::vector<Fact> find_facts(const Function& function, const std::vector<InitialFact>& initial = {});

// "uniform, 4 to 60, ends in 00"; empty when nothing is known.
std::string describe(const Fact& fact, Kind kind);

}  // namespace morgana::device::lift
