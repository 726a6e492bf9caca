// How large the groups of kernels may be that name no size. Private to runtime/compiler.
//
// Clang compiles such a kernel of OpenCL for up to 256 work-items, and has no option for it.
#pragma once

#include <clang/AST/ASTConsumer.h>

#include <memory>

namespace morgana::runtime {

inline constexpr unsigned kClangGroupSize = 256;

// Goes before the consumer that generates code: gives kernels without an attribute the one for `items`.
std::unique_ptr<clang::ASTConsumer> new_group_sizes(unsigned items);

}  // namespace morgana::runtime
