// What producers of SPIR-V write that the validator refuses, though it is plain what is meant. Private to
// runtime/compiler/spirv.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

struct spv_context_t;

namespace morgana::runtime::spirv {

// The module as its producer meant it, for what LLVM 22, and the last two of Khronos's translator for LLVM
// 15, are known to write:
// - printf with a pointer to the array that its format is, where SPIRV-Tools 2023.1 wants one to the array's
//   bytes: the pointer is cast (OpBitcast);
// - OpAtomicCompareExchangeWeak, which SPIR-V 1.4 has no more: OpAtomicCompareExchange;
// - OpAny and OpAll of integers, of which OpenCL C's functions test the sign: of their signs;
// - OpConstantNull as the index of a structure's member, where a constant must be: OpConstant;
// - OpConstantNull of a vector with words behind its end: without them;
// - capability FPFastMathModeINTEL without its extension, which is named;
// - a block before one that dominates it: blocks in another order (block_order.h);
// - one merge block of two headers, and scopes of aliases outside of functions: both are hints, and are left
// out. Nothing where there is none of that, or the words cannot be parsed. The result is not yet validated.
std::optional<std::vector<uint32_t>> as_meant(const spv_context_t* context, std::span<const uint32_t> words);

}  // namespace morgana::runtime::spirv
