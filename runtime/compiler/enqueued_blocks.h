// Blocks that kernels enqueue, where Clang 22 does not take what OpenCL C allows. Private to
// runtime/compiler.
//
// 1. cl_khr_device_enqueue_local_arg_types: Clang refuses a block whose parameters point to anything but void
//    in local memory. A cast of the block to such parameters is all that is missing. Calls that were refused
//    stand in the syntax tree with the types of their arguments; the program is parsed again with the casts
//    among its tokens, so that neither macros nor typedefs matter, and lines stay what they are.
// 2. Clang's code generation ends in a crash where a block stands in parentheses, as an argument or as the
//    value of a variable. They are taken out of the tree.
//
// Each goes when an LLVM that we build with does without it.
#pragma once

#include <clang/AST/ASTConsumer.h>
#include <clang/Frontend/CompilerInstance.h>

#include <memory>
#include <vector>

namespace morgana::runtime {

inline constexpr const char* kLocalArgumentTypes = "cl_khr_device_enqueue_local_arg_types";

// The first token of a block that was refused, and how many parameters it has.
struct BlockCast {
  clang::SourceLocation::UIntTy first;
  unsigned parameters;
};

// 1: what casts would have made of refused calls; after parsing, before the tree goes.
std::vector<BlockCast> refused_blocks(clang::ASTContext& tree);
// 1: in the place of clang::ParseAST.
void parse_with_casts(clang::CompilerInstance& clang, const std::vector<BlockCast>& casts);

// 2: goes before the consumer that generates code.
std::unique_ptr<clang::ASTConsumer> new_plain_blocks();

}  // namespace morgana::runtime
