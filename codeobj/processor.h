// Processors as code objects name them: EF_AMDGPU_MACH values, LLVM's names, and the
// target features and opcode table of each (LLVM AMDGPUUsage, "Processors" and "Header").
//
// Constant data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/target.h"

namespace morgana::codeobj {

struct Processor {
  uint8_t mach;                  // EF_AMDGPU_MACH_*
  const char* name;              // "gfx90a", "gfx9-generic"
  bool has_xnack;                // the xnack target feature exists
  bool has_sramecc;              // the sramecc target feature exists
  bool is_generic;               // a generic processor of code object V6
  std::optional<Target> target;  // the table of its instructions; nullopt: no more than a name
};

// nullptr for a machine that LLVM does not define.
const Processor* find_processor(uint8_t mach);

// By LLVM's name or alias ("gfx803", "fiji"); nullptr when unknown.
const Processor* find_processor(std::string_view name);

// By the version of an NT_AMD_HSA_ISA_VERSION note (code object V2); `xnack` receives the fixed setting.
const Processor* find_processor_v2(uint32_t major, uint32_t minor, uint32_t stepping, bool& xnack);

// Whether code for the generic processor `generic` runs on `processor`.
bool generic_covers(std::string_view generic, std::string_view processor);

}  // namespace morgana::codeobj
