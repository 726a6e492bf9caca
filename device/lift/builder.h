// Builder: values of a Function, block by block, and what each register holds on the way.
//
// A register that a block reads before writing it becomes a parameter of the block; which values its
// predecessors give it is found when all blocks are there (`finish`), and parameters that turn out to be one
// value are replaced by it. Registers that some instruction uses as a pair are one value of 64 bits as long
// as no half is written alone. One lifting's; no recursion, so that long kernels need no deep stack.
#pragma once

#include <array>
#include <bitset>
#include <map>

#include "device/lift/ir.h"

namespace morgana::device::lift {

using PairSet = std::bitset<kRegisters>;

class Builder {
 public:
  // `pairs`: the lower registers of pairs; none overlap.
  Builder(int width, const PairSet& pairs);

  // A block; entries find their registers as inputs.
  uint32_t add_block(uint32_t pc, bool is_entry);
  // Where values are added, and which instruction they come from.
  void set_block(uint32_t block) { block_ = block; }
  void set_pc(uint32_t pc) { pc_ = pc; }
  uint32_t pc() const { return pc_; }
  Block& block() { return function_.blocks[block_]; }

  ValueId add(Value value);
  ValueId constant(int64_t number, Kind kind);
  ValueId compute(isa::Fn fn, Kind kind, std::vector<ValueId> arguments);
  // One argument and what `operation` makes of it; constants and what undoes it are looked through.
  ValueId convert(Operation operation, Kind kind, ValueId value);
  ValueId part(ValueId of, int64_t number, Kind kind);
  Kind kind(ValueId id) const { return function_[id].kind; }
  // The number that a mask is in registers.
  Kind mask_number() const { return function_.width == 64 ? Kind::s64 : Kind::s32; }

  ValueId read(Register code, bool pair = false);
  void write(Register code, ValueId value, bool pair = false);
  ValueId read_mask(Register code) { return read(code, function_.width == 64); }
  void write_mask(Register code, ValueId number) { write(code, number, function_.width == 64); }

  // Fills in parameters, drops what nobody uses.
  Function finish();

 private:
  // What a register holds in a block: a value, or half of one.
  struct Slot {
    ValueId value = kNoValue;
    int8_t half = -1;  // 0, 1: of 64 bits
    bool operator==(const Slot&) const = default;
  };
  struct State {
    std::map<Register, Slot> slots;
    std::map<Register, ValueId> parameters;  // by the (lower) register
    bool is_entry = false;
  };

  bool is_upper(Register code) const { return code > 0 && pairs_.test(code - 1u); }
  // A value for what the block holds at its beginning.
  ValueId live_in(Register code, bool pair);
  ValueId half(const Slot& slot);
  void fill_parameters();
  void drop_copies();
  void drop_unused();

  Function function_;
  PairSet pairs_;
  std::vector<State> states_;
  std::vector<std::pair<uint32_t, Register>> pending_;  // parameters whose arguments are to be found
  uint32_t block_ = 0, pc_ = 0;
};

}  // namespace morgana::device::lift
