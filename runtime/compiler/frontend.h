// The front half of a build: OpenCL C to an unoptimised LLVM module, through Clang. Private to
// runtime/compiler.
//
// A Frontend serves one build on one thread and owns everything that Clang needs for it, including the LLVM
// context of the module; the back end borrows its CompilerInstance for diagnostics and code generation
// options.
#pragma once

#include <clang/Frontend/CompilerInstance.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>
#include <string_view>

#include "runtime/compiler/compiler.h"
#include "runtime/compiler/enqueued_blocks.h"

namespace morgana::runtime {

// Where the headers of clCompileProgram appear to Clang; logs leave it out.
inline constexpr const char* kHeaderFolder = "/.morgana/include";

class Frontend {
 public:
  // `log` receives the diagnostics and must outlive the Frontend.
  Frontend(const BuildOptions& options, const TargetDescription& target, std::string& log);
  ~Frontend();

  // Prepares Clang for `input`, which must outlive the Frontend; for linking, with an empty source.
  Status prepare(const CompileInput& input);
  // Source to module; null when there were errors.
  std::unique_ptr<llvm::Module> parse();

  llvm::LLVMContext& context() { return *context_; }
  clang::CompilerInstance& clang() { return *clang_; }
  llvm::raw_ostream& log() { return log_; }

 private:
  std::vector<std::string> arguments() const;
  bool may_name(std::string_view word) const;
  bool offers(std::string_view extension) const;

  const BuildOptions& options_;
  const TargetDescription& target_;
  const CompileInput* input_ = nullptr;
  bool adds_builtins_ = true;  // declares what added_builtins.h has
  std::vector<BlockCast> casts_;
  llvm::raw_string_ostream log_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::MemoryBuffer> source_;
  std::unique_ptr<clang::CompilerInstance> clang_;
};

// Whether single-precision denormals are flushed: by request, or by default where they are slow (gfx6 to
// gfx8), as Clang's driver decides.
bool flushes_denormals(const BuildOptions& options, const TargetDescription& target);

// Whether waves may have 32 or 64 lanes (gfx10 and later), and those of 32 are the rule.
bool has_two_wave_sizes(const TargetDescription& target);

// The version that code objects get: the target's, or 6 for generic processors, which came with it.
int object_version(const TargetDescription& target);

// "gfx90a" of the target id "gfx90a:sramecc+:xnack-".
std::string_view processor_of(std::string_view target_id);

}  // namespace morgana::runtime
