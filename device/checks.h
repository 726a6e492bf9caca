// Checks: what a launch may be looked at for, what was found, and what a checker asks
// of whoever knows the memory.
//
// The host of a launch's checks lives as long as `Device::run`. It is called on the thread that executes the
// launch; those of several launches may be called at once.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace morgana::device {

enum class Check : uint16_t {
  memory = 1,   // accesses outside of allocations, of LDS and of scratch
  race = 2,     // accesses to one place that nothing orders
  barrier = 4,  // barriers that not all work-items reach
  init = 8,     // values that nobody has written
  hazard = 16,  // waits that hardware demands of code
  // Never meant by "all":
  lanes = 32,    // with race: also those of work-items of one wave
  aligned = 64,  // with memory: accesses at addresses that are no multiples of their size
  strict = 128,  // with barrier: all work-items of a group come to each
};
using CheckBits = uint16_t;
inline constexpr CheckBits kAllChecks = 31;

// What global memory holds where nobody has written, in each aligned dword, while Check::init is wanted:
// whoever makes such memory fills it so. CheckHost says what of a dword somebody has written in part.
inline constexpr uint32_t kUnwritten = 0x8d5e'c3b7;

// Where in LDS a program reads, there or up to 4 KiB behind, when an index lies outside of its array, while
// Check::memory is wanted: its compiler has it do so. No work-group has so much LDS.
inline constexpr uint32_t kOutsideArray = 0xffff'a000, kOutsideArrayBytes = 4096;

enum class FindingKind : uint8_t {
  out_of_bounds,
  use_after_free,
  forbidden_access,
  array_out_of_bounds,
  lds_out_of_bounds,
  scratch_out_of_bounds,
  race,
  barrier_divergence,
  uninitialized,
  misaligned_access,
  missing_wait,
  missing_wait_states,
  stale_vccz,
  last = stale_vccz,
};
// "out-of-bounds"; what suppressions and reports call it.
const char* name(FindingKind kind);

enum class Space : uint8_t { global, lds, scratch };
const char* name(Space space);

// One of the instructions that a finding is about, and the work-item that executed it.
struct FindingSide {
  uint64_t pc = 0;
  std::string instruction;
  std::string what;  // "write of 4 bytes"
  bool writes = false;
  std::array<uint32_t, 3> work_group{};
  std::array<uint32_t, 3> work_item{};  // global id (without the global offset)
  uint32_t wave = 0, lane = 0;
};

struct Finding {
  FindingKind kind{};
  Space space = Space::global;
  bool has_address = false;
  uint64_t address = 0;            // in its space: of LDS and scratch an offset
  std::vector<FindingSide> sides;  // the later one first; never empty
  std::string detail;              // what else is to be said, as a sentence
};

// What is known of an address: everything in [begin, end) is alike.
struct KnownMemory {
  enum class State : uint8_t {
    known,    // an allocation
    foreign,  // nothing is known: the host program's own memory, as far as it exists
    outside,  // none may be here
    freed,
  };
  State state = State::foreign;
  uint64_t begin = 0, end = 0;
  // What the program has said of an allocation's use by kernels.
  bool may_read = true, may_write = true;
};

class CheckHost {
 public:
  virtual ~CheckHost() = default;
  virtual CheckBits checks() const = 0;  // Check bits
  virtual KnownMemory memory_at(uint64_t address) = 0;
  // True: the kernel is to end, as by a fault.
  virtual bool found(const Finding& finding) = 0;
  // Where a wave passes that comes to a barrier which orders accesses only to some memory, and to which: 1
  // LDS, 2 global memory. All other barriers order both.
  virtual const std::unordered_map<uint64_t, uint8_t>& barrier_marks() {
    static const std::unordered_map<uint64_t, uint8_t> none;
    return none;
  }
  // Whether the launch may read dwords of global memory of which the host has written a part, and nobody the
  // rest; which bytes of the one at `address`, which holds `value`, nobody has written, a bit each.
  virtual bool sees_unwritten_part() const { return false; }
  virtual uint8_t unwritten_part(uint64_t /*address*/, uint32_t /*value*/) const { return 0; }
  // Something of the launch could not be checked, and why.
  virtual void unchecked(const char* why) = 0;
};

}  // namespace morgana::device
