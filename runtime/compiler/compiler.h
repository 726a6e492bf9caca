// The compiler: OpenCL C or SPIR-V to AMDGPU code objects, in process (Clang, LLVM, LLD).
//
// Every function may be called from any thread at any time; several builds run side by side. Nothing is
// written to standard output or standard error, and no input ends the process: what the compiler has to
// say is appended to `log`, and a failed build is Error{build_failed}. Device libraries are embedded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/cache.h"
#include "runtime/compiler/build_options.h"
#include "runtime/compiler/spirv/spirv.h"

namespace morgana::runtime {

// What a program is compiled for. `extensions` is the one list that device info and compiler share: the
// cl_khr_* extensions and __opencl_c_* features whose macros and built-ins exist; all others are off.
struct TargetDescription {
  std::string processor = "gfx950";  // or a target id, "gfx90a:sramecc+:xnack-"
  std::vector<std::string> extensions;
  bool images = false;          // __IMAGE_SUPPORT__
  int opencl_version = 300;     // __OPENCL_VERSION__; OpenCL C is known up to the same version
  int code_object_version = 5;  // 4, 5 or 6
};

// A header that clCompileProgram was given: #include finds it by `name`, before any directory.
struct Header {
  std::string name;
  std::string text;
};

enum class Language { opencl_c, spirv };

struct CompileInput {
  std::string_view source;  // text, or the bytes of a SPIR-V module
  std::vector<Header> headers;
  std::vector<FileStamp>* files = nullptr;  // receives what the build asked of the disk, when not null
  Language language = Language::opencl_c;
  std::vector<SpecValue> specialization;  // of SPIR-V
  bool is_valid = false;                  // SPIR-V that inspect_spirv has found valid as it stands
  bool has_builtins = true;               // whether the language's own types and functions are declared
};

// The name that diagnostics and DWARF give to a program's source text.
inline constexpr const char* kSourceName = "<source>";

// Source to LLVM bitcode, the content of a "compiled object".
Result<std::string> compile_source(const CompileInput& input, const BuildOptions& options,
                                   const TargetDescription& target, std::string& log);

// Compiled objects and libraries (bitcode) to an executable code object (ELF), or, with
// options.create_library, to a library (bitcode).
Result<std::string> link_objects(const std::vector<std::string_view>& objects, const BuildOptions& options,
                                 const TargetDescription& target, std::string& log);

// Source to an executable code object.
Result<std::string> build_source(const CompileInput& input, const BuildOptions& options,
                                 const TargetDescription& target, std::string& log);

// Validates a SPIR-V module; malformed, with what is wrong, when it is not valid.
Result<SpirvFacts> inspect_spirv(std::string_view bytes);

// Whether the bytes are bitcode that link_objects takes.
bool is_bitcode(std::string_view bytes);

// Names the compiler, the device libraries and this program: whatever besides a build's own input decides
// what it makes.
const std::string& compiler_identity();

}  // namespace morgana::runtime
