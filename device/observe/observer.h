// Observer: who is told what a launch does while it does it: each instruction before it is executed, with the
// memory that it is about to touch, barriers, the begin and the end of groups and waves.
//
// A launch with an Observer is executed by one thread, which calls it. Whoever executes waves calls it, the
// interpreter from its steps; launches without one never come here. What compiled code does for it, `wants`
// says.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "device/checks.h"
#include "device/counted_code.h"
#include "device/isa/inst.h"
#include "device/neighbours.h"
#include "device/seen_ranges.h"
#include "device/state/wave.h"

namespace morgana::device {

struct KernelAccesses;
struct WrittenRegisters;

// One access of some lanes.
struct Access {
  Space space = Space::global;
  bool reads = false, writes = false;
  bool is_atomic = false;  // the device does it in one
  bool is_coherent =
      false;           // past the caches that not all waves share: what volatile and atomic accesses are
  uint32_t bytes = 0;  // of each lane
  uint64_t lanes = 0;  // scalar accesses: lane 0
  int data = -1;       // stores: which source holds the value
  uint32_t first = 0;  // which dword of the operand moves first
  // Of lanes in `lanes`. LDS: in the group's; scratch: in the work-item's.
  alignas(64) std::array<uint64_t, kLanes> address;
};

// An instruction that a wave is about to execute.
struct Moment {
  const Wave& wave;
  const isa::Inst& inst;
  uint64_t pc;
  std::span<const Access> accesses;
  bool is_compiled = false;  // the wave holds of its registers but what the instruction names
};

class Observer {
 public:
  // What is to be told, and so which code may execute the launch.
  enum class Wants : uint8_t {
    all,       // each instruction, which the interpreter does
    unseen,    // accesses that `seen` does not have: `allows` is asked, `before` is shown what is not allowed
    accesses,  // `before` is shown instructions that access memory or wait for it, if they do not pass
    counts,    // by `counters`
    nothing,   // but what looks_at_loads and looks_at_barriers say
  };

  virtual ~Observer() = default;
  virtual Wants wants() const { return Wants::all; }
  // Before all others, where `wants_code`: what the kernel's code says of its accesses.
  virtual bool wants_code() const { return false; }
  virtual void knows(const std::shared_ptr<KernelAccesses>&) {}
  // Likewise: which of its registers are known to have been written.
  virtual bool wants_written() const { return false; }
  virtual void knows(const std::shared_ptr<const WrittenRegisters>&) {}
  // Whether accesses to LDS that pass are to lie in SeenRanges::group_bytes.
  virtual bool bounds_lds() const { return false; }
  // Whether a wave is to leave compiled code where it reads what nobody has written: by WrittenRegisters, and
  // of memory by its value.
  virtual bool looks_at_loads() const { return false; }
  // Whether `before` is shown the group's barriers, and a wave is to leave where some lanes pass one by.
  virtual bool looks_at_barriers() const { return false; }
  // A wave that has left compiled code does not come back: `before` is shown all that it does.
  bool keeps_waves() const { return looks_at_loads() || looks_at_barriers(); }
  // In which lanes those of WrittenRegisters::followed have been written, by number: what compiled code notes
  // of a wave.
  virtual uint64_t* followed(const Wave&) { return nullptr; }
  // Whether the accesses of an instruction that is about to be executed read what nobody has written.
  virtual bool reads_unwritten(const Wave&, std::span<const Access>) { return false; }
  // The instruction, which compiled code has executed, has. The wave goes on behind it in the interpreter.
  virtual void loaded_unwritten(const Wave&, const isa::Inst&) {}
  virtual void group_begins(const Group& group, Wave* waves) = 0;
  // False: the wave is to end with a Fault.
  virtual bool before(const Moment& moment) = 0;
  // What a wave that has ended with a fault comes to next, and does not execute.
  virtual void before_end(const Moment&) {}
  // Whether `before` would find nothing, and has been done: it need not be called. Compiled code asks it.
  virtual bool passes(const Wave&, const isa::Inst&, uint64_t /*pc*/, const Neighbours&) { return false; }
  // All waves that have not ended wait at barriers, and go on now.
  virtual void barrier(const Group& group) = 0;
  virtual void group_ends(const Group& group) = 0;
  // Where compiled code looks first.
  virtual SeenRanges* seen() { return nullptr; }
  // What compiled code adds to for it, as many as the kernel wants, where `before` would count, ...
  virtual uint64_t* counters(const CountedCode&) { return nullptr; }
  // ... but for what this instruction is about to access.
  virtual void accesses(const Moment&) {}
  // Whether `before` would find nothing in these accesses of one instruction. Notes in a slot of SeenRanges
  // where they lie.
  virtual bool allows(const isa::Inst&, std::span<const Access>, uint32_t /*slot*/) { return false; }
};

}  // namespace morgana::device
