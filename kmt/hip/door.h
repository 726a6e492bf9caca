// What the library that stands before HIP's functions asks of the check behind it. Plain C: the first is
// loaded into every child process and has no C++ runtime.
#pragma once

#include <cstdint>

namespace morgana::kmt::hip {

enum class Call : unsigned {
#define CALL(name, role) name,
#include "kmt/hip/calls.def"
  count
};

// One call of the program's: the address that it returns to, and its arguments as words.
struct Made {
  Call call;
  const void* from;
  const uint64_t* words;
};

// Any thread.
struct Door {
  void (*begins)(const Made& made);
  void (*ended)(const Made& made, uint32_t error);
  void (*exits)();  // behind all destructors
};

// The check's one function; null: the check is not wanted. `real` finds a function of HIP.
using Real = void* (*)(const char* name);
using Entry = const Door* (*)(Real real);
inline constexpr char kEntry[] = "morgana_hip_check";

}  // namespace morgana::kmt::hip
