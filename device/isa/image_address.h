// How many registers address a texel on gfx10 and later, where the instruction names the dimension. Pure
// functions; only for files of this folder.
#pragma once

#include <array>

#include "device/isa/inst.h"

namespace morgana::isa {

// Instructions that intersect a ray with a tree: their rows alone are graphics.
inline bool intersects_ray(const Row& row) { return (row.flags & kGraphics) != 0; }

// The registers of the address in their order, as groups that follow each other: `size[i]` registers from the
// i-th number that the encoding has.
struct AddressGroups {
  std::array<uint8_t, 13> size{};
  int count = 0;
};

// The groups of `inst`, whose row, format, dimension and A16 are set, when its encoding has `numbers`
// register numbers. One number: all registers follow it. No groups: the encoding has too few numbers.
AddressGroups address_groups(const Inst& inst, Generation generation, int numbers);

}  // namespace morgana::isa
