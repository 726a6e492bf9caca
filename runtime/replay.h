// Replay: executes the dispatch of a capsule again, in a process that has executed nothing else (`morgana
// replay`).
//
// The memory of the capsule is put to its addresses; it stays there. One replay a process, on one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/fault.h"
#include "runtime/capsule.h"
#include "runtime/report.h"

namespace morgana::runtime {

struct Replayed {
  device::Fault fault;
  std::string report;        // of the fault, in lines; empty: there was none
  bool ended_alike = false;  // the same kind of fault at the same place, or none
  std::vector<uint64_t>
      differs;  // addresses of pieces of memory that are other than recorded; none after a fault
};

// Puts the memory of the capsule where it was. io: this process has something else there; another one, whose
// memory lies elsewhere, may have room. Other errors: the capsule cannot be executed anywhere.
Status place_memory(const Capsule& capsule);

// Executes it, under the checks of this process (checking.h). After place_memory, once.
Result<Replayed> replay(const Capsule& capsule);

// Where the instruction at `pc` is, as far as its code object tells.
FaultPlace place_in(const Capsule& capsule, uint64_t pc);

// "buffer of 400 bytes, at offset 16", or only the address where the capsule knows no more.
std::string describe_address(const Capsule& capsule, uint64_t address);

}  // namespace morgana::runtime
