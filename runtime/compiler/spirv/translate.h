// From the bytes of a SPIR-V module to LLVM IR. Private to runtime/compiler; one build on one thread.
#pragma once

#include <llvm/IR/Module.h>

#include <span>
#include <string_view>

#include "runtime/compiler/spirv/spirv.h"

namespace morgana::runtime {

// OpenCL C whose two functions Clang gives the attributes that every function of a program has. A module for
// SPIR-V begins as what Clang makes of it.
inline constexpr std::string_view kSpirvModels = "kernel void morgana_kernel() {} void morgana_function() {}";

// Turns `module`, made of kSpirvModels, into the program that `bytes` are; is_valid: as spirv_facts has
// found. malformed: not valid SPIR-V; unsupported: not known to the reader, or not in `support`;
// build_failed: the device cannot do it.
Status translate_spirv(std::string_view bytes, bool is_valid, std::span<const SpecValue> specialization,
                       const SpirvSupport& support, llvm::Module& module);

}  // namespace morgana::runtime
