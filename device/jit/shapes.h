// Shapes: what is known of how a VGPR's value varies over the lanes.
//
// A forward dataflow over the Flow finds the shape of every address before its memory instruction; writes
// that keep inactive lanes' old values lose it, so that a shape always holds for all 64 lanes. A wave of 32
// counts as one of 64 whose upper lanes all hold what lane 31 does.
//
// Beyond that shapes can be supposed: that of an index as if it had not been clamped. What was supposed is
// tested where the clamp is executed, and the outcome goes along with the registers (Supposition).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "device/jit/analysis.h"
#include "device/jit/shape.h"
#include "device/jit/shape_state.h"

namespace morgana::device::jit {

// What an instruction's result has its shape from, when that is supposed.
struct Supposition {
  std::vector<uint16_t> from;  // VGPRs that are read and whose shapes are supposed
  // A clamp that does nothing: source `value` lies between the sources `low` and `high` (-1: no such limit).
  // Its least and its greatest lane are known. With both, either may be the greater one.
  int8_t value = -1, low = -1, high = -1;
  bool is_signed = false;
  uint8_t least = 0, greatest = 0;
  // A choice (v_cndmask_b32) that takes source `value` in all lanes.
  bool is_choice = false;
};

// A comparison of 64-bit numbers, one of which is the same in all lanes while the other rises: when nothing
// wraps between its first and its last lane, these two tell all.
struct RisingComparison {
  enum class Relation : uint8_t { less, less_or_equal, greater, greater_or_equal } relation;
  bool is_signed = false;
  uint8_t source = 0;     // which of the two rises
  uint32_t distance = 0;  // of its last lane to its first, unless something wraps
};

// A VGPR, or two, that a loop changes, though all lanes follow from the first one wherever an iteration
// begins.
struct Carried {
  unsigned place = 0;
  bool pair = false;
  std::array<uint32_t, kLanes> lane{};  // to the first lane
};

// A VGPR whose lanes rise by known numbers.
struct Rising {
  unsigned place = 0;
  Shape shape;
};

class Shapes {
 public:
  // `local`: the work-group's size; zeros: not known. `masked`: blocks that have no version for a full EXEC.
  Shapes(const Flow& flow, const std::array<uint32_t, 3>& local, bool packed, int dimensions, bool full_wave,
         std::set<uint32_t> masked = {});

  // Of the address of instruction number `i` of the Flow in a block's version `version`, for records of
  // `size` bytes. `pair`: 64 bits.
  AddressShape address(uint32_t i, unsigned version, uint32_t size, bool pair) const;
  // The same of an address whose shape is supposed, or not.
  AddressShape supposed_address(uint32_t i, unsigned version, uint32_t size, bool pair) const;
  // Of what instruction number `i` writes; nullptr: nothing is supposed.
  const Supposition* supposition(uint32_t i, unsigned version) const {
    const auto found = suppositions_.find(2 * i + version);
    return found == suppositions_.end() ? nullptr : &found->second;
  }
  // Of instruction number `i`; nullptr: it is none.
  const RisingComparison* rising_comparison(uint32_t i, unsigned version) const {
    const auto found = rising_.find(2 * i + version);
    return found == rising_.end() ? nullptr : &found->second;
  }
  // VGPRs whose shape is supposed somewhere.
  const VectorSet& supposed_registers() const { return supposed_registers_; }
  // Of a VGPR whose 32 bits instruction number `i` takes for the lower half of a number of 64 bits, or whose
  // sign it makes the upper half; nullptr: of none it is known how the lanes rise.
  const Rising* rising(uint32_t i, unsigned version) const {
    const auto found = rising_registers_.find(2 * i + version);
    return found == rising_registers_.end() ? nullptr : &found->second;
  }
  // The same where the lanes lie in no ChunkForm, though at known distances.
  AddressShape distances(uint32_t i, unsigned version, bool pair) const;
  AddressShape strided(uint32_t i, unsigned version, bool pair) const;
  // Whether the VGPR that instruction number `i` reads as source 0 is the same in all lanes.
  bool is_uniform(uint32_t i, unsigned version) const;
  // Whether VGPR `r` holds one known number in all lanes wherever block number `b` begins.
  bool number_at(uint32_t b, unsigned r, uint32_t& number) const;
  // Of loop header number `b`, for an EXEC of all ones.
  const std::vector<Carried>& carried(uint32_t b) const;
  // Whether version `version` of block number `b` can be reached.
  bool is_reached(uint32_t b, unsigned version) const { return reached_[2 * b + version]; }
  // The version of block number `b` that a jump from version `version` of another leads to.
  unsigned version_of(uint32_t b, unsigned version) const { return masked_.contains(b) ? 0 : version; }
  // The versions of its successors that version `version` of block number `b` may lead to: bit 0 and bit 1.
  unsigned next_versions(uint32_t b, unsigned version) const { return next_versions_[2 * b + version]; }
  // Of VGPR `r` at the beginning of the kernel.
  const Shape& initial(unsigned r) const { return initial_[r]; }

 private:
  void enter(const std::array<uint32_t, 3>& local, bool packed, int dimensions, bool full_wave);
  void step(const Instruction& i, bool is_full, ShapeState& state);
  void suppose(const Instruction& i, bool is_full, const ShapeState& state, Shape& result, Shape& result_pair,
               bool ends_supposed_sum);
  void note_carried(uint32_t b, const ShapeState& state);
  void note_rising(const Instruction& i, bool is_full, const ShapeState& state);
  void compare(const Instruction& i, bool is_full, const ShapeState& state);
  bool loads_one_place(const Instruction& i, bool is_full, const ShapeState& state) const;
  uint32_t key_of(const Instruction& i, bool is_full) const {
    return 2 * static_cast<uint32_t>(&i - flow_.instructions.data()) + is_full;
  }
  const Shape& before(uint32_t i, unsigned version, bool pair) const {
    return (pair ? before_pair_ : before_)[2 * i + version];
  }
  std::array<Shape, 3> initial_;
  std::vector<Shape> before_;  // by instruction and version: of the address (or source 0)
  std::vector<Shape> before_pair_;
  std::map<uint32_t, Supposition> suppositions_;  // by instruction and version
  std::map<uint32_t, RisingComparison> rising_;   // likewise
  std::map<uint32_t, Rising> rising_registers_;   // likewise
  VectorSet supposed_registers_;
  const Flow& flow_;
  const std::set<uint32_t> masked_;
  std::map<std::pair<uint32_t, unsigned>, uint32_t> numbers_;  // by loop header and VGPR
  std::map<uint32_t, std::vector<Carried>> carried_;           // by loop header
  std::vector<bool> reached_;                                  // by block and version
  std::vector<uint8_t> next_versions_;
};

}  // namespace morgana::device::jit
