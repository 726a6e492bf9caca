// What every instruction does beside being encoded: its value as an expression, what it does to EXEC and SCC,
// what it accesses in memory, how it ends, and which state it touches that no operand names.
//
// One table for whoever has to know (device/jit, device/lift, device/dispatch). The rows are in rules.def;
// what follows from an instruction's format, types and flags is derived from its Row and not repeated there.
// effects_test.cpp compares it with what the interpreter does. Read-only; usable from any thread.
#pragma once

#include <cstdint>

#include "device/isa/expression.h"
#include "device/isa/inst.h"

namespace morgana::isa {

// What kind of thing an instruction is.
enum class Class : uint8_t {
  unknown,   // no instruction
  nothing,   // changes nothing that can be seen: waits, cache controls, performance counters
  scalar,    // scalar operands in, scalar operands and SCC out
  lanes,     // each active lane's result follows from that lane's operands, MODE and masks
  position,  // likewise, and from the lane's number
  cross,     // reads or writes other lanes than the active one
  access,    // moves data between registers and memory
  control,   // says what is executed next
  opaque,    // touches the wave's state in a way that only the interpreter knows
};

enum class Control : uint8_t {
  none,
  jump,     // to the immediate
  branch,   // likewise, if Effects::condition
  call,     // likewise; the way back goes to the destination
  set_pc,   // to the operand
  swap_pc,  // likewise; the way back goes to the destination
  end,
  barrier,
  sleep,
  leave,  // traps, halts, messages, forks: somebody else goes on
};

// What float instructions compute. Exceptions are judged by it (device/dispatch/float_exceptions.cpp).
enum class Float : uint8_t {
  none,
  add,
  subtract,
  subtract_reversed,
  multiply,
  multiply_legacy,  // 0 times anything is 0
  fused,            // a * b + c
  separate,         // a * b, then + c
  legacy_separate,
  divide_fmas,
  reciprocal,
  reciprocal_integer,  // raises integer division by zero only
  reciprocal_root,
  root,
  logarithm,
  power,
  circular,
  scale,   // ldexp
  select,  // min, max, med3, rounding to integers, frexp: signals NaNs only
  compare,
  compare_signaling,
  to_integer,
  from_integer,
  convert,
  to_halves,  // each operand to f16, in a rounding mode of the instruction's own
  to_bfloats,
  to_normalized,  // 1.0 becomes the largest integer
  to_byte,
  from_small,  // floats of 8 bits
  small,       // conversions to and from small floats that judge themselves
  divide_fixup,
};

enum class Space : uint8_t { none, constant, flat, global, scratch, lds, gds, buffer, image };
enum class Direction : uint8_t { none, load, store, atomic };

// Buffer, image and flat instructions, apart from LDS.
bool is_vector_memory(Format format);
// Those, scalar ones and those of LDS.
inline bool accesses_memory(Format format) {
  return is_vector_memory(format) || is_scalar_memory(format) || format == Format::DS;
}

// A memory instruction, as the row says; GLC, LDS and GDS bits of the encoding (Inst) may change direction
// and space.
struct MemoryAccess {
  Space space = Space::none;
  Direction direction = Direction::none;
  Type element = Type::none;  // of memory: 8, 16 or 32 bits wide; of atomics also 64
  uint8_t count = 0;          // elements that lie together, at each address
  uint8_t addresses = 1;      // 2: ds_read2 and its like
  bool returns = false;       // an atomic without GLC whose old value is returned
  bool half = false;          // half of a register takes part
  bool converts = false;      // by a format that resource or instruction name
  bool is_plain = false;  // whole values of one register each, or a run of dwords, at an address: no resource
  bool operator==(const MemoryAccess&) const = default;
};

// State that no operand names.
enum State : uint8_t {
  kStateScc = 1,
  kStateVcc = 2,
  kStateExec = 4,
  kStateM0 = 8,
  kStateMode = 16,   // MODE and what else s_getreg reads
  kStateFloat = 32,  // rounding and denormals of MODE
  kStateAny = 64,    // registers that are not named: relative moves, traps
};

struct Effects {
  Class kind = Class::unknown;
  Control control = Control::none;
  Float floats = Float::none;
  uint8_t reads = 0, writes = 0;  // State
  // Empty: a function that is not written down (of the class's operands), or there is no such result.
  Expression result;     // of dst[0]
  Expression second;     // of dst[1]: carries
  Expression scc;        // SCC afterwards
  Expression exec;       // EXEC afterwards
  Expression condition;  // of a branch
  MemoryAccess access;
};

const Effects& effects(Op op);

// A branch is taken when what it looks at (SCC, VCC or EXEC) is zero, or when it is not.
struct BranchTest {
  Fn of;
  bool nonzero;
  bool operator==(const BranchTest&) const = default;
};
inline BranchTest branch_test(Op op) {
  const Expression& condition = effects(op).condition;
  return {condition.terms[0].fn, condition.is(Fn::invert)};
}

// Loads a tile of a matrix and transposes it: lanes receive what others address.
bool transposes(Op op);
// Moves those registers of a block of 32 whose bit in M0 is set, each from its own place in memory.
bool moves_block(Op op);

// The elements' bytes at one address.
inline uint32_t access_bytes(const MemoryAccess& access) {
  return static_cast<uint32_t>(bytes(access.element)) * access.count;
}

// In a wave of 32 lanes `s_*_saveexec_b32` and `s_*_wrexec_b32` do to EXEC what the instructions of 64 bits
// do in a wave of 64: those. Others: themselves.
Op of_whole_mask(Op op);

// Where EXEC can have no lane that it had not, if `is_exec` says which sources of `e` are EXEC.
template <class IsExec>
bool narrows(const Expression& e, const IsExec& is_exec) {
  struct Subset {
    const IsExec& is_exec;
    bool leaf(const Term& term) const {
      return term.fn == Fn::exec || (term.fn == Fn::source && is_exec(term.value));
    }
    bool apply(Fn fn, const bool* v) const {
      if (fn == Fn::bit_and) return v[0] || v[1];
      if (fn == Fn::bit_or || fn == Fn::bit_xor) return v[0] && v[1];
      return fn == Fn::select && v[1] && v[2];
    }
  };
  return evaluate<bool>(e, Subset{is_exec});
}
// Likewise: all lanes, if EXEC has them; `is_full` says so of sources.
template <class IsFull>
bool fills(const Expression& e, bool exec_is_full, const IsFull& is_full) {
  struct Full {
    bool exec_is_full;
    const IsFull& is_full;
    bool leaf(const Term& term) const {
      return term.fn == Fn::exec ? exec_is_full : term.fn == Fn::source && is_full(term.value);
    }
    bool apply(Fn fn, const bool* v) const { return fn == Fn::bit_or && (v[0] || v[1]); }
  };
  return evaluate<bool>(e, Full{exec_is_full, is_full});
}

// Registers with ECC are written whole, so that D16 loads clear the half that they do not load. rocBLAS joins
// two of them by OR.
inline bool loads_halves_alone(Target target) {
  return info(target).generation == Generation::gfx9 && target != Target::gfx900;
}

}  // namespace morgana::isa
