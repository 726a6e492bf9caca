// A second, slow implementation of the memory instructions, to test the fast one against.
//
// It works from the assembly text, one lane and one byte at a time, and shares no code with device/interp. It
// knows the registers of device/interp/testdata/memory.txt only by what the text says.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/target.h"
#include "device/isa/codes.h"

namespace morgana::device {

// An instruction's text, taken apart.
struct MemoryText {
  std::string mnemonic;
  std::vector<std::string> operands;
  std::map<std::string, int64_t> modifiers;  // "offset" -> 24, "glc" -> 1

  bool has(const char* modifier) const { return modifiers.count(modifier) != 0; }
  int64_t value(const char* modifier) const { return has(modifier) ? modifiers.at(modifier) : 0; }
};
MemoryText parse_memory_text(const std::string& text);

// Everything that a memory instruction reads or writes.
struct MemoryState {
  Target target{};
  uint64_t exec = 0;
  uint32_t mode = 0;
  std::array<uint32_t, isa::kRegisterEnd> s{};
  std::vector<uint32_t> v, a;   // register n, lane l: [n * 64 + l]
  std::vector<uint8_t> memory;  // guest memory that starts at memory_base
  uint64_t memory_base = 0;
  std::vector<uint8_t> lds;
  std::vector<uint8_t> scratch;  // bytes of lane l: scratch[l * scratch_lane_bytes ...]
  uint32_t scratch_lane_bytes = 0;
  // Where the swizzled private buffer lies: its dwords are those of `scratch`, spread as
  // device/state/scratch.h says.
  bool unsupported = false;  // the model does not know the instruction
};

void model_memory(const MemoryText& text, MemoryState& state);

}  // namespace morgana::device
