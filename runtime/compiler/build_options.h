// Options of an OpenCL program build, parsed from the text that clBuildProgram, clCompileProgram and
// clLinkProgram take (OpenCL 3.0 API specification, "Compiler Options" and "Linker Options").
//
// Plain data; free of LLVM.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace morgana::runtime {

enum class BuildStage { build, compile, link };

struct BuildOptions {
  std::vector<std::string> macros;        // "NAME" or "NAME=VALUE" of -D; "!NAME" of -U
  std::vector<std::string> include_dirs;  // of -I, in order
  std::vector<std::string> clang_flags;   // cc1 flags passed on as they are (-W..., -cl-..., some -f...)
  std::string standard = "CL1.2";         // of -cl-std; OpenCL C 1.2 is the specified default
  int optimization = 2;                   // 0..3
  bool debug_info = false;
  bool denorms_are_zero = false;
  bool unsafe_math = false;
  bool finite_math = false;
  bool no_signed_zeros = false;
  bool correctly_rounded_divide_sqrt = false;
  bool uniform_work_group_size = false;
  bool wave64 = false;   // waves, and so sub-groups, of 64 where the target has both sizes
  bool cu_mode = false;  // work-groups on one compute unit instead of a pair, gfx10 and later
  bool create_library = false;
  bool enable_link_options = false;
  // Of no option but of the context (cl_khr_initialize_memory).
  bool zero_local_memory = false;
  bool zero_private_memory = false;
  // Of no option but of the process (MORGANA_GROUP_SIZE): of kernels that name no size.
  unsigned group_size = 256;
  // Of no option but of the process (MORGANA_CHECK).
  bool check_memory = false;
  bool check_races = false;
  bool check_values = false;     // init
  bool check_alignment = false;  // memory:aligned
};

// invalid_argument names the first option that is unknown, malformed or not of this stage;
// unsupported one that Morgana lacks (-x spir).
Result<BuildOptions> parse_build_options(std::string_view text, BuildStage stage);

}  // namespace morgana::runtime
