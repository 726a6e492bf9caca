// What CL_PROGRAM_BINARIES gives and clCreateProgramWithBinary takes.
//
// An executable is the bare ELF code object, so that LLVM's tools read it. A compiled object or library is
// bitcode behind a small header that says which, and for which processor. Bytes are hostile. Pure functions;
// any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "icd/api.h"

namespace morgana::icd {

struct ProgramBinary {
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_NONE;
  std::string processor;     // of bitcode
  std::string_view payload;  // ELF or bitcode
};

// The stored form of bitcode; `type` is compiled object or library.
std::string pack_bitcode(cl_program_binary_type type, std::string_view processor, std::string_view bitcode);

// Takes stored bytes apart. Whatever is not Morgana's bitcode form counts as an executable, for the loader to
// judge.
Result<ProgramBinary> read_binary(Bytes bytes);

}  // namespace morgana::icd
