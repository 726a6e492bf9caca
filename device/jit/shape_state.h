// What is known of a wave's registers at a place of the kernel: the state of Shapes' dataflow. Owned by one
// compilation.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "device/jit/analysis.h"
#include "device/jit/shape.h"

namespace morgana::device::jit {

struct ShapeState {
  // VGPR `at` holds the upper half of a number whose lower half VGPR `low` has.
  struct Upper {
    unsigned at = 0, low = 0;
    Shape pair;
    bool operator==(const Upper&) const = default;
  };
  // The lower half of a 64-bit sum, whose carry lies in a mask until the upper half is added.
  struct HalfSum {
    unsigned to = 0, mask = 0;  // the lower half's VGPR; the carry's code
    // Of the two summands: their lower halves, and what may be their upper ones.
    Shape low[2];
    std::vector<Upper> uppers[2];
    bool may_be_supposed = false;  // compiled code knows of `to` whether what the summands suppose holds
  };
  explicit ShapeState(size_t registers = 0) : vector(registers), pair(registers) {}

  // Joins what holds on another way to the same place. True: less is known now.
  bool merge(const ShapeState& from);
  // At the end of a block.
  void forget_unmasked();
  // What was supposed is known to compiled code only as long as it runs.
  void forget_supposed();
  // What the interpreter may have changed, which executed an instruction on the whole state.
  void forget_all();
  // Forgets the sums whose lower half or carry `i` overwrites, and the summands whose upper half it does.
  void overwrite_sums(const Instruction& i, unsigned mask_dwords);
  // VGPRs that a vector instruction reads whose shape is supposed: that of its result is, too, whatever the
  // rules for shapes say.
  std::vector<uint16_t> supposed_sources(const Instruction& i) const;
  // Where upper halves of what VGPR `low` begins may be.
  std::vector<Upper> uppers_of(unsigned low) const;
  // The shape of what v_addc_co_u32 makes whole: that of `sum` with the upper halves `inst` reads, of which
  // `upper` gives the shapes.
  static Shape whole_sum(const HalfSum& sum, const isa::Inst& inst, const Shape (&upper)[2]);
  // What upper half `i` makes: the sign of a number of 32 bits, or another upper half with bits cut off, as
  // compilers do with an index that they know not to be negative.
  std::optional<Upper> made_upper(const Instruction& i) const;
  // What `i` writes to masks. True: EXEC is all ones afterwards; only said of instructions that write it.
  bool write_masks(const Instruction& i, bool exec_is_full, unsigned mask_dwords);
  // What `i` writes to SGPRs, as far as it follows from known numbers.
  void write_scalars(const Instruction& i);
  // The number that a scalar operand of 32 bits is, or the lower half of a wider one.
  std::optional<uint32_t> number_of(const isa::Inst& inst, const isa::Operand& operand) const;

  std::vector<Shape> vector, pair;  // pair: of registers r and r + 1
  std::vector<HalfSum> sums;        // within a block
  std::vector<Upper> uppers;        // not those in the VGPR behind `low`, which `pair` tells
  // Within a block: the shape is that of what was computed. The register keeps what lanes that do not execute
  // held before, and has no shape.
  VectorSet unmasked;
  ScalarSet full;                        // where masks that are all ones begin: an EXEC that was saved
  std::map<unsigned, uint32_t> scalars;  // SGPRs that hold known numbers
  bool is_reached = false;
};

}  // namespace morgana::device::jit
