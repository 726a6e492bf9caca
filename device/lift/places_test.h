// Tests of what is found at places of a few instructions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "device/lift/code.h"
#include "device/testing/wave_rig.h"

namespace morgana::device::lift {

// `Find` gives bytes from the beginning of the code.
template <auto Find>
class PlacesOf : public testing::Test {
 public:
  PlacesOf& operator<<(uint32_t dword) {
    dwords_.push_back(dword);
    return *this;
  }
  PlacesOf& operator<<(uint64_t two) {
    return *this << static_cast<uint32_t>(two) << static_cast<uint32_t>(two >> 32);
  }
  // In dwords.
  std::vector<uint32_t> found(Target target = Target::gfx950) {
    *this << end_of_program(target);
    const auto code = read_code(target, default_wave(target), Bytes(dwords_.data(), dwords_.size() * 4), 0);
    if (!code.ok()) {
      ADD_FAILURE() << code.error().message;
      return {};
    }
    std::vector<uint32_t> places = Find(*code);
    for (uint32_t& place : places) place /= 4;
    return places;
  }

 private:
  std::vector<uint32_t> dwords_;
};
using Places = std::vector<uint32_t>;

}  // namespace morgana::device::lift
