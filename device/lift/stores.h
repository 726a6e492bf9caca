// Where a kernel stores, as far as its code says: which of its arguments go into the addresses.
//
// What is loaded from memory as one dword counts as an index. So this is an expectation, which who relies on
// it tests as the kernel runs (device/observe/read_only.h). Pure; any thread.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "codeobj/kernel_descriptor.h"
#include "device/lift/ir.h"

namespace morgana::device::lift {

// Arguments by dword; those behind are one.
inline constexpr size_t kArgumentDwords = 512, kOtherArguments = kArgumentDwords;
using ArgumentSet = std::bitset<kArgumentDwords + 1>;

// How a kernel comes to its arguments.
struct ArgumentRegisters {
  int pointer = -1;                           // SGPR; -1: none
  uint32_t preloaded = 0, count = 0, at = 0;  // SGPR `preloaded` + n holds dword `at` + n
};

ArgumentRegisters argument_registers(const codeobj::KernelDescriptor& descriptor);

struct Stores {
  bool is_known = false;              // false: there are stores of which nothing can be said
  std::vector<ArgumentSet> followed;  // what one or several stores, or atomics, follow; different ones
};

Stores find_stores(const Function& function, const ArgumentRegisters& registers);

}  // namespace morgana::device::lift
