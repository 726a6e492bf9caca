// SPIR-V modules as programs: what the OpenCL door asks of one before it is built. Building itself goes
// through compiler.h, whose CompileInput takes a module in the place of source text.
//
// Bytes are hostile: every function takes any. Pure functions; any thread. Free of LLVM and SPIRV-Tools.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace morgana::runtime {

// A specialization constant: its SpecId and what its value takes in memory (a boolean takes a byte).
struct SpecConstant {
  uint32_t id = 0;
  uint32_t bytes = 0;
};

// The value that clSetProgramSpecializationConstant gives to one, in its low bytes.
struct SpecValue {
  uint32_t id = 0;
  uint64_t bits = 0;
};

// Capabilities, extensions and extended instruction sets that a module for a device may name.
struct SpirvSupport {
  std::vector<uint32_t> capabilities;
  std::vector<const char*> extensions;  // constants
  std::vector<const char*> instruction_sets;
};

// The versions of SPIR-V that are read: 1.0 to 1.kNewestSpirvMinor.
inline constexpr unsigned kNewestSpirvMinor = 6;

// What a device that has `extensions` (TargetDescription::extensions) and perhaps images supports.
SpirvSupport spirv_support(const std::vector<std::string>& extensions, bool images);

struct SpirvFacts {
  std::vector<SpecConstant> constants;
  bool is_valid = false;  // as it stands (CompileInput::is_valid)
};

// Validates a module; malformed when it is not SPIR-V, with what is wrong. For compiler.h, which contains
// what hostile bytes may do to the validator.
Result<SpirvFacts> spirv_facts(std::string_view bytes);

// Whether bytes begin as a module does, of either byte order.
inline bool is_spirv(std::string_view bytes) {
  constexpr uint32_t kMagicNumber = 0x07230203;  // SPIR-V 1.6, 2.3
  uint32_t first = 0;
  if (bytes.size() < sizeof first) return false;
  std::memcpy(&first, bytes.data(), sizeof first);
  return first == kMagicNumber || first == __builtin_bswap32(kMagicNumber);
}

}  // namespace morgana::runtime
