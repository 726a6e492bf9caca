// What follows for a value from the facts of its arguments. facts.cpp's own.
#pragma once

#include "device/lift/facts.h"

namespace morgana::device::lift {

// What holds of either.
Fact join(const Fact& a, const Fact& b, Kind kind);
Fact join_halves(const Fact& lower, const Fact& upper, Kind kind);
Fact without_range(Fact fact, Kind kind);

// `arguments`: as in `value`; those of bits or lanes are reached.
Fact transfer(const Function& function, const Value& value, const std::vector<Fact>& arguments);

}  // namespace morgana::device::lift
