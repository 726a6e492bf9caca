#include "runtime/compiler/compiler.h"

#include <clang/Basic/Version.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <mutex>

#include "base/options.h"
#include "base/trace.h"
#include "codeobj/link.h"
#include "runtime/compiler/array_bounds.h"
#include "runtime/compiler/backend.h"
#include "runtime/compiler/containment.h"
#include "runtime/compiler/device_pack.h"
#include "runtime/compiler/frontend.h"
#include "runtime/compiler/merge_notes.h"
#include "runtime/compiler/spirv/translate.h"
#include "runtime/compiler/struct_padding.h"
#include "runtime/file_identity.h"

namespace morgana::runtime {
namespace {

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();  // inline assembly
  });
}

Error build_failed() { return make_error(ErrorCode::build_failed, "the build failed; see the build log"); }

// Replaces every `what` in the part of `text` that starts at `from`.
void replace_all(std::string& text, size_t from, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what, from); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// Runs a build step that fills `result`, contained.
template <typename T, typename Step>
Result<T> contained(std::string& log, Step step) {
  initialize();
  Result<T> result = build_failed();
  std::string reason;
  const size_t start = log.size();
  const bool completed = run_contained([&] { result = step(); }, reason);
  replace_all(log, start, std::string(kHeaderFolder) + "/", "");
  if (completed) return result;
  log += "fatal error: the compiler failed: " + reason + "\n";
  return build_failed();
}

std::string write_bitcode(const llvm::Module& module) {
  llvm::SmallVector<char, 0> buffer;
  llvm::BitcodeWriter writer(buffer);
  writer.writeModule(module);
  writer.writeStrtab();
  return std::string(buffer.begin(), buffer.end());
}

// Reads the objects into one module.
Result<std::unique_ptr<llvm::Module>> merge(Frontend& frontend,
                                            const std::vector<std::string_view>& objects) {
  auto program = std::make_unique<llvm::Module>(kSourceName, frontend.context());
  llvm::Linker linker(*program);
  for (std::string_view object : objects) {
    auto module = llvm::parseBitcodeFile(
        llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "program"), frontend.context());
    if (!module)
      return make_error(ErrorCode::malformed, "compiled object: {}", llvm::toString(module.takeError()));
    if (program->getTargetTriple().empty()) {
      program->setTargetTriple((*module)->getTargetTriple());
      program->setDataLayout((*module)->getDataLayout());
    }
    if (linker.linkInModule(std::move(*module))) return build_failed();
  }
  return program;
}

// gfx6 has no flat instructions: pointers of OpenCL C 2.0, which name no address space, get theirs from the
// optimizer, or LLVM cannot select their accesses.
BuildOptions feasible(BuildOptions options, const TargetDescription& target) {
  const bool names_no_space = options.standard == "CL2.0" || options.standard.starts_with("CLC++");
  if (names_no_space && target.processor.starts_with("gfx6"))
    options.optimization = std::max(options.optimization, 1);
  return options;
}

// The options that count for SPIR-V: what the specification says of preprocessor, language and floating-point
// arithmetic is for source text.
BuildOptions effective(BuildOptions options, const CompileInput& input, const TargetDescription& target) {
  if (input.language == Language::spirv) {
    options.macros.clear();
    options.include_dirs.clear();
    options.clang_flags.clear();
    options.standard = "CL2.0";  // generic pointers
    options.unsafe_math = options.finite_math = options.no_signed_zeros = false;
  }
  return feasible(std::move(options), target);
}

// Runs the front half of a build: source text or SPIR-V to a module; null when there were errors, which the
// log has.
std::unique_ptr<llvm::Module> parse(Frontend& frontend, const CompileInput& input,
                                    const BuildOptions& options, const TargetDescription& target) {
  auto module = frontend.parse();
  if (module == nullptr) return nullptr;
  if (input.language == Language::spirv) {
    const Status status = translate_spirv(input.source, input.is_valid, input.specialization,
                                          spirv_support(target.extensions, target.images), *module);
    if (!status.ok()) {
      frontend.log() << "error: " << status.error().message << '\n';
      return nullptr;
    }
  }
  record_options(*module, options);
  if (options.check_memory) tell_outside_arrays(*module);
  if (options.check_values) store_padding(*module);
  return module;
}

// What Clang gets to read.
CompileInput clang_input(const CompileInput& input) {
  if (input.language != Language::spirv) return input;
  CompileInput models;
  models.source = kSpirvModels;
  models.has_builtins = false;
  return models;
}

using Objects = std::vector<Object>;

// LLD's turn. Its messages go to the log, where every object is the program.
Result<std::string> link_elf(const Result<Objects>& objects, std::string& log) {
  if (!objects.ok()) return objects.error();
  std::vector<Bytes> bytes;
  for (const Object& object : *objects) bytes.emplace_back(object.data(), object.size());
  auto elf = codeobj::link(bytes);
  if (elf.ok()) {
    std::string result(elf->begin(), elf->end());
    if (bytes.size() > 1) MORGANA_CHECK(merge_notes(result));
    return result;
  }
  std::string_view messages = elf.error().message;
  constexpr std::string_view kPrefix = "linking failed: ";
  if (messages.starts_with(kPrefix)) messages.remove_prefix(kPrefix.size());
  const size_t start = log.size();
  log.append(messages).append("\n");
  for (size_t i = bytes.size(); i-- > 0;) replace_all(log, start, fmt::format("object {}", i), "program");
  return build_failed();
}

}  // namespace

Result<std::string> compile_source(const CompileInput& input, const BuildOptions& given,
                                   const TargetDescription& target, std::string& log) {
  const TraceSpan span("compile", "compile");
  const BuildOptions options = effective(given, input, target);
  const CompileInput read = clang_input(input);
  return contained<std::string>(log, [&]() -> Result<std::string> {
    Frontend frontend(options, target, log);
    MORGANA_CHECK(frontend.prepare(read));
    auto module = parse(frontend, input, options, target);
    if (module == nullptr) return build_failed();
    return write_bitcode(*module);
  });
}

Result<std::string> build_source(const CompileInput& input, const BuildOptions& given,
                                 const TargetDescription& target, std::string& log) {
  const TraceSpan span("compile", "build");
  const BuildOptions options = effective(given, input, target);
  const CompileInput read = clang_input(input);
  return link_elf(contained<Objects>(log,
                                     [&]() -> Result<Objects> {
                                       Frontend frontend(options, target, log);
                                       MORGANA_CHECK(frontend.prepare(read));
                                       auto module = parse(frontend, input, options, target);
                                       if (module == nullptr) return build_failed();
                                       return emit_objects(frontend, options, target, *module);
                                     }),
                  log);
}

Result<std::string> link_objects(const std::vector<std::string_view>& objects, const BuildOptions& options,
                                 const TargetDescription& target, std::string& log) {
  if (objects.empty()) return make_error(ErrorCode::invalid_argument, "nothing to link");
  for (std::string_view object : objects)
    if (!is_bitcode(object))
      return make_error(ErrorCode::malformed, "a program to link is not a compiled object");

  const CompileInput nothing;
  if (options.create_library)
    return contained<std::string>(log, [&]() -> Result<std::string> {
      Frontend frontend(options, target, log);
      MORGANA_CHECK(frontend.prepare(nothing));
      bool failed = false;
      route_diagnostics(frontend, failed);
      MORGANA_TRY(std::unique_ptr<llvm::Module> program, merge(frontend, objects));
      return write_bitcode(*program);
    });
  return link_elf(contained<Objects>(log,
                                     [&]() -> Result<Objects> {
                                       Frontend frontend(options, target, log);
                                       MORGANA_CHECK(frontend.prepare(nothing));
                                       if (!frontend.clang().createTarget()) return build_failed();
                                       bool failed = false;
                                       route_diagnostics(frontend, failed);
                                       MORGANA_TRY(std::unique_ptr<llvm::Module> program,
                                                   merge(frontend, objects));
                                       return emit_objects(frontend, options, target, *program);
                                     }),
                  log);
}

Result<SpirvFacts> inspect_spirv(std::string_view bytes) {
  std::string log;
  auto facts = contained<SpirvFacts>(log, [&] { return spirv_facts(bytes); });
  if (!log.empty()) return make_error(ErrorCode::malformed, "invalid SPIR-V: {}", log);
  return facts;
}

bool is_bitcode(std::string_view bytes) {
  auto* start = reinterpret_cast<const unsigned char*>(bytes.data());
  return llvm::isBitcode(start, start + bytes.size());
}

const std::string& compiler_identity() {
  static const std::string identity = [] {
    std::string text = clang::getClangFullVersion();
    text += '\n' + program_identity();  // and with it the embedded device libraries
    if (!options().device_libs.empty())
      for (const std::string& file : device_library_files(options().device_libs))
        text += '\n' + file_identity(file);
    return text;
  }();
  return identity;
}

}  // namespace morgana::runtime
