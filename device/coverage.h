// Which instructions of a target the interpreter executes. One encoding of every form of every row is
// decoded, and the level is asked whether it has a handler for it.
//
// Callable from any thread.
#pragma once

#include <vector>

#include "device/isa/example.h"

namespace morgana::device {

enum class RowState : uint8_t {
  semantics,  // the interpreter chooses a handler
  graphics,   // decoded; executing it is a fault that says so
  missing,    // no semantics
};
const char* name(RowState state);

struct RowCoverage {
  const isa::Row* row;
  isa::Form form;
  int opcode;  // in the form's own opcode space
  RowState state;
};

// Every form of every row that `target` has, in the order of the rows.
std::vector<RowCoverage> coverage(Target target);

}  // namespace morgana::device
