#include "runtime/compiler/frontend.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <algorithm>

#include "base/target.h"
#include "runtime/compiler/added_builtins.h"
#include "runtime/compiler/array_bounds.h"
#include "runtime/compiler/embedded.h"
#include "runtime/compiler/group_size.h"

namespace morgana::runtime {
namespace {

// Where the embedded OpenCL base header appears to Clang.
constexpr const char* kResourceFolder = "/.morgana/clang";

FileStamp& stamp_of(std::vector<FileStamp>& stamps, const std::string& path) {
  for (FileStamp& stamp : stamps)
    if (stamp.path == path) return stamp;
  return stamps.emplace_back(FileStamp{path});
}

// A file whose content is hashed as Clang reads it.
class StampedFile : public llvm::vfs::File {
 public:
  StampedFile(std::unique_ptr<llvm::vfs::File> file, std::string path, std::vector<FileStamp>& stamps)
      : file_(std::move(file)), path_(std::move(path)), stamps_(stamps) {}
  llvm::ErrorOr<llvm::vfs::Status> status() override { return file_->status(); }
  llvm::ErrorOr<std::string> getName() override { return file_->getName(); }
  std::error_code close() override { return file_->close(); }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t size,
                                                               bool terminated, bool) override {
    // Always a copy: a mapped file could change under the hash.
    auto buffer = file_->getBuffer(name, size, terminated, /*IsVolatile=*/true);
    if (buffer) {
      FileStamp& stamp = stamp_of(stamps_, path_);
      stamp.state = FileStamp::State::content;
      stamp.digest = sha256((*buffer)->getBuffer());
    }
    return buffer;
  }

 private:
  std::unique_ptr<llvm::vfs::File> file_;
  std::string path_;
  std::vector<FileStamp>& stamps_;
};

// Records every path of the disk that a build asked about, found or not: what it built is what it would build
// again as long as all of them answer the same.
class RecordingFileSystem : public llvm::vfs::ProxyFileSystem {
 public:
  RecordingFileSystem(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> disk, std::vector<FileStamp>& stamps)
      : ProxyFileSystem(std::move(disk)), stamps_(stamps) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    auto result = ProxyFileSystem::status(path);
    note(path.str(), static_cast<bool>(result));
    return result;
  }
  bool exists(const llvm::Twine& path) override {
    bool result = ProxyFileSystem::exists(path);
    note(path.str(), result);
    return result;
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    auto result = ProxyFileSystem::openFileForRead(path);
    note(path.str(), static_cast<bool>(result));
    if (!result) return result;
    return std::make_unique<StampedFile>(std::move(*result), path.str(), stamps_);
  }

 private:
  void note(const std::string& path, bool found) {
    FileStamp& stamp = stamp_of(stamps_, path);
    if (found && stamp.state == FileStamp::State::missing) stamp.state = FileStamp::State::present;
  }

  std::vector<FileStamp>& stamps_;
};

class ModuleAction : public clang::ASTFrontendAction {
 public:
  // `casts`: of blocks, all that are known to be missing; `has_blocks`: the program may enqueue some;
  // `group_size`: of kernels that name none.
  ModuleAction(llvm::LLVMContext& context, const std::vector<BlockCast>& casts, bool has_blocks,
               unsigned group_size)
      : context_(context), casts_(casts), has_blocks_(has_blocks), group_size_(group_size) {}
  std::unique_ptr<llvm::Module> take() { return std::move(module_); }
  // After a failure: further casts that would help.
  const std::vector<BlockCast>& missing_casts() const { return missing_casts_; }

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& clang,
                                                        llvm::StringRef) override {
    auto generator = clang::CreateLLVMCodeGen(clang, kSourceName, context_);
    generator_ = generator.get();
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    if (has_blocks_) consumers.push_back(new_plain_blocks());
    if (group_size_ != kClangGroupSize) consumers.push_back(new_group_sizes(group_size_));
    if (consumers.empty()) return generator;
    consumers.push_back(std::move(generator));
    return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
  }
  void ExecuteAction() override {
    if (casts_.empty())
      ASTFrontendAction::ExecuteAction();
    else
      parse_with_casts(getCompilerInstance(), casts_);
  }
  void EndSourceFileAction() override {
    if (!getCompilerInstance().getDiagnostics().hasErrorOccurred())
      module_.reset(generator_->ReleaseModule().release());
    else if (has_blocks_ && getCompilerInstance().hasASTContext())
      missing_casts_ = refused_blocks(getCompilerInstance().getASTContext());
  }

 private:
  llvm::LLVMContext& context_;
  const std::vector<BlockCast>& casts_;
  const bool has_blocks_;
  const unsigned group_size_;
  std::vector<BlockCast> missing_casts_;
  clang::CodeGenerator* generator_ = nullptr;
  std::unique_ptr<llvm::Module> module_;
};

// `source`, if any, is the file kSourceName.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> make_file_system(const CompileInput& input,
                                                                 const llvm::MemoryBuffer* source) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  memory->addFile(std::string(kResourceFolder) + "/include/opencl-c-base.h", 0,
                  llvm::MemoryBuffer::getMemBuffer(embedded_opencl_header(), "opencl-c-base.h", false));
  for (const AddedBuiltins& added : kAddedBuiltins)
    memory->addFile(added.path, 0, llvm::MemoryBuffer::getMemBuffer(added.text, added.path));
  for (const Header& header : input.headers)
    memory->addFile(std::string(kHeaderFolder) + "/" + header.name, 0,
                    llvm::MemoryBuffer::getMemBufferCopy(header.text, header.name));
  auto disk = llvm::vfs::getRealFileSystem();
  if (input.files != nullptr) disk = llvm::makeIntrusiveRefCnt<RecordingFileSystem>(disk, *input.files);
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(disk);
  overlay->pushOverlay(memory);  // where the current folder becomes that of the disk
  if (source != nullptr)
    memory->addFile(kSourceName, 0, llvm::MemoryBuffer::getMemBuffer(source->getMemBufferRef()));
  return overlay;
}

}  // namespace

std::string_view processor_of(std::string_view target_id) { return target_id.substr(0, target_id.find(':')); }

bool flushes_denormals(const BuildOptions& options, const TargetDescription& target) {
  if (options.denorms_are_zero) return true;
  auto table = find_target(processor_of(target.processor));
  return table.has_value() && info(*table).generation < Generation::gfx9;
}

bool has_two_wave_sizes(const TargetDescription& target) {
  auto table = find_target(processor_of(target.processor));
  return table.has_value() && has_wave32(*table);
}

int object_version(const TargetDescription& target) {
  const bool is_generic = processor_of(target.processor).ends_with("-generic");
  return is_generic ? std::max(target.code_object_version, 6) : target.code_object_version;
}

Frontend::Frontend(const BuildOptions& options, const TargetDescription& target, std::string& log)
    : options_(options), target_(target), log_(log), context_(std::make_unique<llvm::LLVMContext>()) {
  context_->setDiscardValueNames(true);
}

Frontend::~Frontend() = default;

// A header of declarations costs up to 1.5 ms, a tenth of a small build: only programs that may name one get
// it.
bool Frontend::may_name(std::string_view word) const {
  const auto has_it = [&](std::string_view text) { return text.find(word) != std::string_view::npos; };
  return has_it(input_->source) || input_->source.find("include") != std::string_view::npos ||
         std::any_of(options_.macros.begin(), options_.macros.end(), has_it);
}

bool Frontend::offers(std::string_view extension) const {
  return std::find(target_.extensions.begin(), target_.extensions.end(), extension) !=
         target_.extensions.end();
}

namespace {

// The number of a version of OpenCL C, as in __OPENCL_C_VERSION__; 0: C++ for OpenCL.
int version_of(std::string_view standard) {
  return standard[2] == 'C' ? 0 : (standard[2] - '0') * 100 + (standard[4] - '0') * 10;
}

}  // namespace

namespace {

// Clang 22 takes C++ for OpenCL, whose kernels have work-groups as those of OpenCL C 2.0, for a version
// before it (getOpenCLCompatibleVersion is not asked).
void allow_partial_groups(llvm::Module& module) {
  for (llvm::Function& function : module)
    if (function.hasFnAttribute("uniform-work-group-size"))
      function.addFnAttr("uniform-work-group-size", "false");
}

}  // namespace

// The cc1 command line that Clang's driver would make for amdgcn-amd-amdhsa, and the user's options. Pointers
// to other types are an error only since Clang 22; programs were written against warnings.
std::vector<std::string> Frontend::arguments() const {
  const std::string_view processor = processor_of(target_.processor);
  const bool is_3_1 = options_.standard == "CL3.1";
  std::vector<std::string> result = {"-triple",
                                     "amdgcn-amd-amdhsa",
                                     "-target-cpu",
                                     std::string(processor),
                                     "-emit-llvm-only",
                                     "-main-file-name",
                                     kSourceName,
                                     "-Werror=atomic-alignment",
                                     "-Wno-error=incompatible-pointer-types",
                                     "-Wno-error=parentheses",  // a < b < c
                                     "-disable-llvm-verifier",
                                     "-discard-value-names",
                                     "-mrelocation-model",
                                     "pic",
                                     "-pic-level",
                                     "2",
                                     "-ffp-contract=on",
                                     "-fno-rounding-math",
                                     "-mconstructor-aliases",
                                     "-fvisibility=hidden",
                                     "-fapply-global-visibility-to-externs",
                                     "-debugger-tuning=gdb",
                                     "-fdebug-compilation-dir=",
                                     "-resource-dir",
                                     kResourceFolder,
                                     "-ferror-limit",
                                     "100",
                                     "-fgnuc-version=4.2.1",
                                     "-cl-kernel-arg-info",
                                     "-D__OPENCL_VERSION__=" + std::to_string(target_.opencl_version),
                                     "-cl-std=" + (is_3_1 ? std::string("CL3.0") : options_.standard),
                                     "-DCL_VERSION_3_1=310",
                                     "-mcode-object-version=" + std::to_string(object_version(target_)),
                                     "-O" + std::to_string(options_.optimization)};

  if (input_->has_builtins)
    result.insert(result.end(), {"-finclude-default-header", "-fdeclare-opencl-builtins"});
  // "gfx90a:sramecc+:xnack-" (AMDGPUUsage, "Target ID"): features follow the processor.
  for (std::string_view rest = target_.processor; rest.find(':') != std::string_view::npos;) {
    rest.remove_prefix(rest.find(':') + 1);
    std::string_view feature = rest.substr(0, rest.find(':'));
    if (feature.size() < 2) continue;
    result.insert(result.end(), {"-target-feature", std::string(1, feature.back()) +
                                                        std::string(feature.substr(0, feature.size() - 1))});
  }
  if (options_.wave64 && has_two_wave_sizes(target_))
    result.insert(result.end(), {"-target-feature", "+wavefrontsize64"});
  // What has two sizes of waves has two modes of work-groups.
  if (options_.cu_mode && has_two_wave_sizes(target_))
    result.insert(result.end(), {"-target-feature", "+cumode"});
  // Accesses that the program makes, not ones that the compiler makes of several at an odd address.
  if (options_.check_alignment) result.insert(result.end(), {"-target-feature", "-unaligned-access-mode"});
  std::string extensions = "-cl-ext=-all";
  // Not extensions of the platform, but latitude that Clang gives to every AMDGPU program.
  for (const char* name :
       {"__cl_clang_bitfields", "__cl_clang_function_pointers", "cl_clang_storage_class_specifiers"})
    extensions += std::string(",+") + name;
  for (const std::string& name : target_.extensions) extensions += ",+" + name;
  result.push_back(extensions);
  const int version = version_of(options_.standard);
  for (const AddedExtension& added : kAddedExtensions)
    if (offers(added.name) && (version == 0 || version >= added.from))
      result.push_back("-D" + std::string(added.name) + "=1");
  for (const AddedBuiltins& added : kAddedBuiltins)
    if (adds_builtins_ && may_name(added.word)) result.insert(result.end(), {"-include", added.path});
  if (target_.images) result.push_back("-D__IMAGE_SUPPORT__=1");
  if (flushes_denormals(options_, target_))
    result.push_back("-fdenormal-fp-math-f32=preserve-sign,preserve-sign");
  result.push_back(options_.optimization == 0 ? "-mframe-pointer=all" : "-mframe-pointer=none");
  if (options_.optimization >= 2) result.insert(result.end(), {"-vectorize-loops", "-vectorize-slp"});
  if (options_.debug_info)
    result.insert(result.end(), {"-debug-info-kind=constructor", "-dwarf-version=5", "-gembed-source"});

  // Clang 22 knows no OpenCL C 3.1: 3.0, under its own name and with functions that are extensions there.
  if (is_3_1) result.insert(result.end(), {"-U__OPENCL_C_VERSION__", "-D__OPENCL_C_VERSION__=310"});
  for (const std::string& macro : options_.macros)
    result.push_back(macro[0] == '!' ? "-U" + macro.substr(1) : "-D" + macro);
  if (!input_->headers.empty()) {
    const std::string folder = kHeaderFolder;
    result.insert(
        result.end(),
        {"-I" + folder, "-fmacro-prefix-map=" + folder + "/=", "-fdebug-prefix-map=" + folder + "/="});
  }
  for (const std::string& folder : options_.include_dirs) result.push_back("-I" + folder);
  // The current folder comes last: programs include what lies beside them and say so nowhere.
  result.push_back("-I.");
  // An array of one element at a struct's end may stand for any number.
  if (options_.check_memory)
    result.insert(result.end(),
                  {"-fsanitize=array-bounds", "-fsanitize-trap=array-bounds", "-fstrict-flex-arrays=1"});
  for (const std::string& flag : options_.clang_flags) result.push_back(flag);
  result.insert(result.end(), {"-x", "cl", kSourceName});
  return result;
}

Status Frontend::prepare(const CompileInput& input) {
  input_ = &input;
  // A buffer, not a path: no file of the host is read for the program itself. The copy ends in the NUL that
  // Clang's lexer needs; a NUL in the source ends it, as it does for clCreateProgramWithSource.
  source_ = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(input.source.data(), input.source.size()),
                                                 kSourceName);
  // Where a sanitizer is on, Clang 22 asks for the file of a kernel's stub, and ends where the program has
  // none (CodeGenModule::isInNoSanitizeList).
  const bool is_file = options_.check_memory;
  const auto files = make_file_system(input, is_file ? source_.get() : nullptr);
  std::vector<std::string> words = arguments();
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());

  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::DiagnosticOptions plain;
  clang::TextDiagnosticPrinter printer(log_, plain);
  auto diagnostics =
      clang::CompilerInstance::createDiagnostics(*files, plain, &printer, /*ShouldOwnClient=*/false);
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, *diagnostics))
    return make_error(ErrorCode::invalid_argument, "the compiler does not take the build options");

  auto& inputs = invocation->getFrontendOpts().Inputs;
  const clang::InputKind kind =
      inputs.empty() ? clang::InputKind(clang::Language::OpenCL) : inputs.front().getKind();
  inputs.assign(1, is_file ? clang::FrontendInputFile(kSourceName, kind)
                           : clang::FrontendInputFile(source_->getMemBufferRef(), kind));

  clang_ = std::make_unique<clang::CompilerInstance>(std::move(invocation));
  clang_->setVirtualFileSystem(files);
  clang_->createDiagnostics(new clang::TextDiagnosticPrinter(log_, clang_->getDiagnosticOpts()));
  clang_->setVerboseOutputStream(log_);
  if (options_.check_memory) clang_->getCodeGenOpts().PassBuilderCallbacks.push_back(tell_outside_once);
  return {};
}

std::unique_ptr<llvm::Module> Frontend::parse() {
  if (version_of(options_.standard) > target_.opencl_version) {
    log_ << "error: -cl-std=" << options_.standard << ": the device offers OpenCL C up to version "
         << target_.opencl_version / 100 << '.' << target_.opencl_version / 10 % 10 << '\n';
    return nullptr;
  }
  std::string& log = log_.str();
  const size_t log_before = log.size();
  ModuleAction action(*context_, casts_, may_name("_kernel"), options_.group_size);
  if (clang_->ExecuteAction(action)) {
    auto module = action.take();
    if (version_of(options_.standard) == 0 && !options_.uniform_work_group_size)
      allow_partial_groups(*module);
    return module;
  }
  if (!action.missing_casts().empty() && offers(kLocalArgumentTypes)) {
    log.resize(log_before);
    casts_.insert(casts_.end(), action.missing_casts().begin(), action.missing_casts().end());
    return prepare(*input_).ok() ? parse() : nullptr;
  }
  const bool has_added = std::any_of(std::begin(kAddedBuiltins), std::end(kAddedBuiltins),
                                     [&](const AddedBuiltins& added) { return may_name(added.word); });
  if (!adds_builtins_ || !has_added) return nullptr;
  // A program may have functions of its own under these names, which Clang's own built-in functions would
  // give way to.
  const std::string first_log = log.substr(log_before);
  log.resize(log_before);
  adds_builtins_ = false;
  casts_.clear();  // places move with the headers
  auto module = prepare(*input_).ok() ? parse() : nullptr;
  if (module == nullptr) log.replace(log_before, std::string::npos, first_log);
  return module;
}

}  // namespace morgana::runtime
