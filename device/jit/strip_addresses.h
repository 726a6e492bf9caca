// What a strip loop's memory accesses take their addresses from (serial_loops.h). Of a loop that stores, a
// strip first executes that part of its iterations alone: lanes that hand data to each other go on together.
// Owned by one compilation.
#pragma once

#include <optional>
#include <vector>

#include "device/jit/analysis.h"
#include "device/jit/strip_ranges.h"

namespace morgana::device::jit {

struct SerialLoop;

struct StripAddresses {
  // Accesses whose addresses lie apart by constants, and the first of them, by number. How often the address
  // changes: `varies`, lane by lane in every iteration, or else by its scalar base, or never.
  struct Place {
    uint32_t at;
    bool varies, base_varies;
  };
  std::vector<Place> places;
  std::vector<StripAccess> accesses;  // of their ranges
  std::vector<uint32_t> slice;        // numbers of the vector instructions that addresses follow from
};

// nullopt: addresses follow from what the loop loads, or are too many.
std::optional<StripAddresses> strip_addresses(const Flow& flow, const SerialLoop& loop);

}  // namespace morgana::device::jit
