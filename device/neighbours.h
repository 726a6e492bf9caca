// Neighbours: what compiled code asks the Observer of a launch about an access, before it shows it with all
// its registers (Observer::passes).
#pragma once

#include <cstdint>

#include "device/isa/inst.h"

namespace morgana::device {

// Whether it goes past the caches that not all waves share: of these nothing is asked. gfx12: of the device's
// scope, or the system's.
inline bool is_coherent(const isa::Inst& inst) { return inst.glc || inst.sc0 || inst.sc1 || inst.scope >= 2; }

// What compiled code knows of an instruction that it may not have to show, as one number.
struct PlainUse {
  uint32_t bytes = 0;    // of each lane
  bool is_wide = false;  // the lanes' addresses have 64 bits
  bool is_lds = false, is_scalar = false, writes = false;
  bool has_two = false;  // ds_read2 and its like: two places, ...
  uint32_t apart = 0;    // ... from the first to the second

  constexpr uint64_t packed() const {
    return bytes | uint64_t{is_wide} << 8 | uint64_t{is_lds} << 9 | uint64_t{is_scalar} << 10 |
           uint64_t{writes} << 11 | uint64_t{has_two} << 12 | uint64_t{apart} << 32;
  }
  static constexpr PlainUse of(uint64_t packed) {
    const auto bit = [packed](int at) { return (packed >> at & 1) != 0; };
    return {static_cast<uint32_t>(packed & 0xff), bit(8), bit(9), bit(10), bit(11), bit(12),
            static_cast<uint32_t>(packed >> 32)};
  }
};

// Which lanes of such an instruction are neighbours.
struct Neighbours {
  PlainUse use;
  uint64_t base = 0;
  const uint32_t *low = nullptr, *high = nullptr;  // of each lane; no `high`: they are 0
  uint64_t lanes = 0;                              // that access memory
  uint64_t lowest = 0, highest = 0;                // of their addresses
  // Bit l: lanes l and l + 1 do, ...
  uint64_t rises = 0;  // ... the latter use.bytes behind the former
  uint64_t same = 0;   // ... at one place

  bool are_one_run() const {
    const uint64_t begins = lanes & ~((rises | same) << 1);
    return (begins & (begins - 1)) == 0;
  }
  // LDS has 32 bits of it.
  uint64_t address(uint32_t lane) const {
    const uint64_t all = base + low[lane] + (high != nullptr ? uint64_t{high[lane]} << 32 : 0);
    return use.is_lds ? static_cast<uint32_t>(all) : all;
  }
};

}  // namespace morgana::device
