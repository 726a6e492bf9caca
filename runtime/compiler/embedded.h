// Files of the tool chain that the compiler carries in its read-only data, so that a built program depends on
// no package at run time. Immutable, usable from any thread.
#pragma once

#include <string_view>

namespace morgana::runtime {

// Clang's opencl-c-base.h: types and macros of OpenCL C; functions are declared by the parser itself.
std::string_view embedded_opencl_header();

// Morgana's and AMD's device libraries as a pack (device_pack.h).
std::string_view embedded_device_pack();

}  // namespace morgana::runtime
