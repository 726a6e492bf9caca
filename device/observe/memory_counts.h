// How well the lanes of one access share what memory gives at once. Pure.
#pragma once

#include "device/observe/observer.h"

namespace morgana::device {

// Distinct lines of kLineBytes that the access touches.
uint32_t lines_touched(const Access& access);
// The fewest lines that hold as many bytes; not more than are touched.
uint32_t least_lines(const Access& access, uint32_t touched);

// LDS serves lanes in phases, in each of which a bank gives one dword, to any number of lanes. A phase has as
// many lanes as have room in all banks at once, consecutive ones; of reads of 16 bytes from 32 banks groups
// of four lanes that lie apart (rocm.docs.amd.com, CK-Tile "LDS bank conflicts"). Atomics have a bank for
// each lane.
struct LdsPhases {
  uint32_t taken = 0, least = 0;
};
LdsPhases lds_phases(const Access& access, uint32_t banks);

}  // namespace morgana::device
