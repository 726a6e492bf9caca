// KnownScalars: the SGPRs of a straight run whose values follow from the code alone, the way compilers
// compute the addresses of functions: s_getpc_b64 and additions of constants.
//
// A guess: execution may come into the middle of the run with other values, so what is built on it compares.
// Owned by one analysis.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "device/isa/effects.h"

namespace morgana::device::jit {

class KnownScalars {
 public:
  // After the instruction, behind which code goes on at `next`.
  void execute(const isa::Inst& inst, uint64_t next);

  // What the operand, a pair, holds.
  std::optional<uint64_t> pair(const isa::Operand& operand) const;

 private:
  std::optional<isa::Number> operand(const isa::Inst& inst, int s) const;

  std::array<std::optional<uint32_t>, isa::kRegisterEnd> value_;
  std::optional<bool> scc_;
};

}  // namespace morgana::device::jit
