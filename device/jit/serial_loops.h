// Loops that are better run lane by lane: they mostly access one address a lane, so that whole-wave code
// would do 64 accesses an instruction anyway, and wait for the lane that takes longest.
//
// Such a loop holds no other, and ends for a lane when that leaves EXEC. The lanes know nothing of each
// other: masks are only combined bit by bit (lane_paths.h), and registers for the whole wave do not change.
// Lanes may write to memory if some have left the loop before others: then no barrier can be in it, of which
// nothing is left in code for a group of one wave, and what one lane stores where another one of its wave
// loads in the same loop is a race whatever their order. Atomics come in some order.
//
// Or it is one block that the whole wave goes round as often (a strip loop): then each lane goes round it
// some times before the next one does. That pays where the lanes' addresses lie so far apart, by such powers
// of two, that the host's first cache holds few of their lines. Of a sub-group's barrier nothing is left in
// code: lanes may hand data to each other in such a loop. One that stores therefore looks first, strip by
// strip, whether they do (strip_addresses.h). Owned by one compilation.
#pragma once

#include <vector>

#include "device/jit/analysis.h"
#include "device/jit/lane_paths.h"
#include "device/jit/shapes.h"
#include "device/jit/strip_addresses.h"

namespace morgana::device::jit {

struct SerialLoop {
  Loop loop;
  uint32_t behind = 0;  // the block that it leads to
  LanePaths paths;
  VectorSet reads, writes;
  ScalarSet masks;                        // where masks begin that hold one bit a lane, without EXEC
  ScalarSet set_masks;                    // those of them that the loop writes
  uint32_t instructions = 0, others = 0;  // others: vector instructions that touch no memory
  std::vector<uint32_t> accesses;         // numbers of the instructions that do
  uint32_t gathers = 0;                   // that an iteration must have made for the next to go lane by lane
  bool writes_memory = false;
  bool is_indirect = false;  // a load has its address from another load of the same iteration
  bool is_strip = false;
  ScalarSet numbers;         // of a strip loop: scalars for the whole wave that it writes
  StripAddresses addresses;  // of a strip loop that stores

  uint32_t head() const { return loop.head(); }
};

// Loops that may run so, ...
std::vector<SerialLoop> serial_loops(const Flow& flow, Generation generation);
// ... and whether that pays for the shapes that addresses have.
bool gathers(const SerialLoop& loop, const Flow& flow, const Shapes& shapes);

// The operation of a memory atomic that such a loop may hold, and whether it is of 64 bits.
enum class SerialAtomic : uint8_t {
  none,
  exchange,
  compare_exchange,
  add,
  subtract,
  min_signed,
  min,
  max_signed,
  max,
  bit_and,
  bit_or,
  bit_xor,
};
struct SerialAtomicForm {
  SerialAtomic operation = SerialAtomic::none;
  bool wide = false;
};
SerialAtomicForm serial_atomic(isa::Op op);

}  // namespace morgana::device::jit
