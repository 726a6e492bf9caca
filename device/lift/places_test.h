// Tests of what is found at places of a few instructions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "device/lift/code.h"
#include "device/testing/wave_rig.h"

namespace morgana::device::lift {

class FewInstructions : public testing::Test {
 public:
  FewInstructions& operator<<(uint32_t dword) {
    dwords_.push_back(dword);
    return *this;
  }
  FewInstructions& operator<<(uint64_t two) {
    return *this << static_cast<uint32_t>(two) << static_cast<uint32_t>(two >> 32);
  }

 protected:
  // With the end of the program behind them.
  Result<Code> code(Target target) {
    *this << end_of_program(target);
    return read_code(target, default_wave(target), Bytes(dwords_.data(), dwords_.size() * 4), 0);
  }

  std::vector<uint32_t> dwords_;
};

// `Find` gives bytes from the beginning of the code.
template <auto Find>
class PlacesOf : public FewInstructions {
 public:
  // In dwords.
  std::vector<uint32_t> found(Target target = Target::gfx950) {
    const auto code = this->code(target);
    if (!code.ok()) {
      ADD_FAILURE() << code.error().message;
      return {};
    }
    std::vector<uint32_t> places = Find(*code);
    for (uint32_t& place : places) place /= 4;
    return places;
  }
};
using Places = std::vector<uint32_t>;

}  // namespace morgana::device::lift
