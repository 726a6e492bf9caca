// Built-in functions of OpenCL C that Clang 22's table lacks: texts of headers that a program includes which
// may name one of them. Immutable.
#pragma once

#include <string_view>

#include "runtime/compiler/enqueued_blocks.h"
#include "runtime/compiler/group_functions.h"
#include "runtime/compiler/media_ops.h"

namespace morgana::runtime {

struct AddedBuiltins {
  const char* path;  // as Clang sees it
  const char* text;
  std::string_view word;  // is part of all their names
};

inline constexpr AddedBuiltins kAddedBuiltins[] = {
    {"/.morgana/clang/include/media_ops.h", kMediaOpsHeader, "amd_"},
    {"/.morgana/clang/include/group_functions.h", kGroupFunctionsHeader, "work_group_"},
};

// Extensions whose macro Clang does not define.
struct AddedExtension {
  std::string_view name;
  int from;  // the version of OpenCL C
};

inline constexpr AddedExtension kAddedExtensions[] = {
    {"cl_khr_async_work_group_copy_fence", 100},
    {"cl_khr_extended_async_copies", 100},
    {"cl_khr_work_group_uniform_arithmetic", 200},
    {kLocalArgumentTypes, 200},
};

}  // namespace morgana::runtime
