// Names of the device library's functions, which are mangled as C++ (Itanium ABI) like all overloaded
// functions of OpenCL C. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace morgana::runtime::spirv {

// "sin" of {"Dv4_f"} is "_Z3sinDv4_f". A parameter's code is its mangled type without substitutions: "i",
// "Dv4_f", "PU3AS1KDv4_f" (pointer to constant float4 in global memory), "14ocl_image2d_ro".
std::string mangle(std::string_view name, const std::vector<std::string_view>& codes);

// A name that Clang mangled for SPIR-V as it mangles it for amdgcn, where address spaces have other numbers:
// generic 4 and private none become none and 5, constant 2 becomes 4. Names that it does not know stay as
// they are, as do those with substitutions, whose numbers may change.
std::string for_amdgcn(std::string_view mangled);

}  // namespace morgana::runtime::spirv
