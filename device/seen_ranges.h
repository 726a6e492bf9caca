// SeenRanges: global memory that a launch may access, as far as it has been seen. Compiled code asks here
// before it asks the Observer.
//
// Of one launch, whose thread alone reads and writes it.
#pragma once

#include <cstdint>

namespace morgana::device {

struct SeenRange {
  uint64_t begin = ~uint64_t{0}, end = 0;
};

struct SeenRanges {
  // Several instructions share a slot, but none that loads with one that stores.
  static constexpr uint32_t kSlots = 2048;
  static constexpr uint32_t slot(uint32_t dword, bool writes) {
    return dword % (kSlots / 2) + (writes ? kSlots / 2 : 0);
  }
  SeenRange range[kSlots];
  // What the slot's range begins with where no access of this instruction to LDS need be shown (the check of
  // races, lift/quiet.h): no address is as high.
  static constexpr uint64_t quiet(uint32_t dword) { return ~uint64_t{dword}; }
  // Where they leave marks (device/race_mark.h).
  static constexpr uint64_t loud(uint32_t dword) { return ~(uint64_t{dword} | uint64_t{1} << 32); }
  uint32_t group_bytes = 0, private_bytes = 0;  // of LDS and scratch that the launch asked for
};

}  // namespace morgana::device
