// Wave IR: guest code in SSA form, for a whole wave. docs/wave-ir.md explains it with an example.
//
// Plain data, owned by whoever lifts or parses it; one thread at a time. No LLVM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/isa/effects.h"

namespace morgana::device::lift {

// What a value is.
enum class Kind : uint8_t {
  none,
  bit,  // one for the wave: SCC, conditions
  s32,  // one number for the wave
  s64,
  lanes32,  // one number a lane
  lanes64,
  mask,    // one bit a lane
  memory,  // what memory holds; accesses and calls come in the order that it threads
  exit,    // where registers' values go
};

// A register of the guest: codes of scalar operands, SCC, memory, where a call goes, and the vector registers
// by their place behind Wave::v (AccVGPRs have places behind accum_offset or 256).
using Register = uint16_t;
inline constexpr Register kScc = isa::kRegisterEnd, kMemory = kScc + 1, kCallee = kScc + 2,
                          kVector = isa::kVgprBase, kRegisters = kVector + 256 + 256 + 32;
// Of what a call writes: this register and the next one, as one value.
inline constexpr Register kPair = 0x8000;

enum class Operation : uint8_t {
  input,      // what a register holds at the beginning: `number`
  parameter,  // of a block
  constant,   // `number`; a scalar
  compute,    // `fn` of the arguments, lane by lane or for the wave
  splat,      // a scalar in all lanes
  join,       // two halves, the lower first
  mask,       // a number of as many bits as the wave has lanes, as a mask
  bits,       // a mask as such a number
  merge,      // of (mask, new, old): new in the mask's lanes
  function,   // what instruction `op` at `pc`, with its modifiers, computes of its operands, lane by lane
  call,       // instruction `op` at `pc` on (memory, `registers` ...); gives memory and `writes`
  access,     // (memory, [mask,] address, data ...); gives memory and what was loaded
  part,       // result `number` of a function (1: its mask), a call or an access
  exit,       // `registers` and their values
};

struct AccessForm {
  isa::Space space = isa::Space::none;
  isa::Direction direction = isa::Direction::none;
  isa::Type element = isa::Type::none;
  uint8_t count = 0;               // elements at an address
  bool two = false;                // at `offset` and at `second`
  bool returns = false;            // an atomic
  int32_t offset = 0, second = 0;  // bytes
  bool operator==(const AccessForm&) const = default;
};

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = ~0u;

struct Value {
  Operation operation = Operation::constant;
  Kind kind = Kind::none;
  isa::Fn fn = isa::Fn::source;
  isa::Op op = isa::Op::invalid;
  uint32_t pc = 0;  // bytes from the beginning of the code
  int64_t number = 0;
  AccessForm access;
  std::vector<ValueId> arguments;
  std::vector<Register> registers;  // of the arguments of an exit, and of a call behind memory
  std::vector<Register> writes;     // the parts of a call; with kPair
};

// The way to a block, with its parameters' values.
struct Edge {
  uint32_t block = 0;
  std::vector<ValueId> arguments;
  bool operator==(const Edge&) const = default;
};

enum class Ending : uint8_t {
  jump,
  branch,   // to the first edge if `value` is set, else to the second
  barrier,  // and on to the edge
  call,     // of guest code; `value` says what registers hold, and `callee`; what it leaves are inputs of the
            // edge's block
  end,      // of the wave
  leave,    // the interpreter goes on at `pc`
};

struct Block {
  uint32_t pc = 0;  // of its first instruction
  std::vector<ValueId> parameters, values;
  Ending ending = Ending::end;
  uint32_t end_pc = 0;
  ValueId value = kNoValue;  // a condition, or an exit
  std::vector<Edge> edges;
};

struct Function {
  int width = 64;  // lanes of a wave
  std::vector<Value> values;
  std::vector<Block> blocks;  // the first is entered; it has no predecessors

  const Value& operator[](ValueId id) const { return values[id]; }
  Value& operator[](ValueId id) { return values[id]; }
};

// --- Names, and what follows from them ---

const char* name(Kind kind);
const char* name(Operation operation);
const char* name(Ending ending);
const char* name(isa::Fn fn);
const char* name(isa::Space space);
const char* name(isa::Direction direction);
const char* name(isa::Type type);
std::string name_of(Register code);

constexpr bool is_lanes(Kind kind) { return kind == Kind::lanes32 || kind == Kind::lanes64; }
constexpr bool has_lanes(Kind kind) { return is_lanes(kind) || kind == Kind::mask; }
constexpr int bits_of(Kind kind) {
  switch (kind) {
    case Kind::bit:
    case Kind::mask: return 1;
    case Kind::s32:
    case Kind::lanes32: return 32;
    case Kind::s64:
    case Kind::lanes64: return 64;
    default: return 0;
  }
}
// The kind of numbers of `bits` bits: one for the wave, or one a lane.
constexpr Kind kind_of(int bits, bool lanes) {
  if (bits == 1) return lanes ? Kind::mask : Kind::bit;
  if (bits == 32) return lanes ? Kind::lanes32 : Kind::s32;
  return lanes ? Kind::lanes64 : Kind::s64;
}
// What a register, or a pair of them, holds.
constexpr Kind kind_of_register(Register code, bool pair) {
  if (code == kScc) return Kind::bit;
  if (code == kMemory) return Kind::memory;
  if (code == kCallee) return Kind::s64;
  return kind_of(pair ? 64 : 32, code >= kVector);
}
// Of memory: accesses of each lane have a mask.
constexpr bool is_by_lane(isa::Space space) { return space != isa::Space::constant; }
// Kinds of values that stand for themselves, without effects.
constexpr bool is_pure(Operation operation) {
  return operation != Operation::call && operation != Operation::access;
}

}  // namespace morgana::device::lift
