// Source lines: OpLine, and the lines of OpenCL.DebugInfo.100 and NonSemantic.Shader.DebugInfo.100, as
// locations of LLVM, so that what faults is named by its line.
#include "runtime/compiler/spirv/reader.h"

namespace morgana::runtime::spirv {
namespace {

constexpr unsigned kDwarfVersion = 5;
// Numbers of NonSemantic.Shader.DebugInfo.100.
constexpr uint32_t kDebugSource = 35;
constexpr uint32_t kDebugLine = 103;
constexpr uint32_t kDebugNoLine = 104;

}  // namespace

llvm::DIFile* Reader::file(std::string_view path) {
  auto [place, is_new] = files_.try_emplace(std::string(path));
  if (is_new) {
    const size_t slash = path.rfind('/');
    const std::string folder(slash == std::string_view::npos ? "" : path.substr(0, slash));
    const std::string name(slash == std::string_view::npos ? path : path.substr(slash + 1));
    place->second = debug_->createFile(name, folder);
  }
  return place->second;
}

void Reader::set_line(std::string_view path, unsigned line, unsigned column) {
  line_file_ = path;
  line_ = line;
  column_ = std::min(column, 0xffffu);
  set_location();
}

void Reader::set_location() {
  if (function_ == nullptr || prologue_ == nullptr) return;
  if (line_ == 0) {
    // Calls of what has a location must have one, too.
    build_.SetCurrentDebugLocation(subprogram_ == nullptr
                                       ? llvm::DebugLoc()
                                       : llvm::DebugLoc(llvm::DILocation::get(context(), 0, 0, subprogram_)));
    return;
  }
  if (debug_ == nullptr) {
    debug_ = std::make_unique<llvm::DIBuilder>(module_);
    debug_->createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_OpenCL), file(line_file_),
                              "SPIR-V", true, "", 0);
    module_.addModuleFlag(llvm::Module::Max, "Dwarf Version", kDwarfVersion);
    module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  }
  llvm::DIFile* const source = file(line_file_);
  if (subprogram_ == nullptr) {
    auto* const none = debug_->createSubroutineType(debug_->getOrCreateTypeArray({}));
    subprogram_ = debug_->createFunction(
        source, function_->getName(), "", source, line_, none, line_, llvm::DINode::FlagZero,
        llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
    function_->setSubprogram(subprogram_);
  }
  llvm::DIScope* scope = subprogram_;
  if (source != subprogram_->getFile()) scope = debug_->createLexicalBlockFile(subprogram_, source);
  build_.SetCurrentDebugLocation(llvm::DILocation::get(context(), line_, column_, scope));
}

void Reader::read_debug(const Instruction& in) {
  switch (in.op()) {
    case spv::OpLine: return set_line(binary_.definition(in.word(0)).text(0), in.word(1), in.word(2));
    case spv::OpNoLine:
    case spv::OpFunctionEnd: line_ = 0; return set_location();
    // A line reaches to the end of its block.
    case spv::OpLabel: line_ = 0; return;
    default: break;
  }
  if (in.op() != spv::OpExtInst || in.set() != SPV_EXT_INST_TYPE_NONSEMANTIC_SHADER_DEBUGINFO_100) return;
  const auto number = [&](size_t index) {
    return static_cast<unsigned>(integer(in.word(index)).value_or(0));
  };
  if (in.word(1) == kDebugNoLine) {
    line_ = 0;
    set_location();
  } else if (in.word(1) == kDebugLine) {
    // Source, first and last line, first and last column.
    const Instruction& source = binary_.definition(in.word(2));
    if (source.op() == spv::OpExtInst && source.word(1) == kDebugSource)
      set_line(binary_.definition(source.word(2)).text(0), number(3), number(5));
  }
}

}  // namespace morgana::runtime::spirv
