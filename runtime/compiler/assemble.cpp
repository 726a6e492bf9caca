#include "runtime/compiler/assemble.h"

#include <llvm-c/Target.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SourceMgr.h>

#include <cstring>
#include <memory>
#include <mutex>

namespace morgana::runtime {
namespace {

// Collects the bytes of instructions. What needs a relocation is none of its business.
class Collector final : public llvm::MCStreamer {
 public:
  Collector(llvm::MCContext& context, llvm::MCCodeEmitter& emitter)
      : MCStreamer(context), emitter_(emitter) {}

  void emitInstruction(const llvm::MCInst& inst, const llvm::MCSubtargetInfo& subtarget) override {
    llvm::SmallVector<llvm::MCFixup, 2> fixups;
    emitter_.encodeInstruction(inst, bytes, fixups, subtarget);
    has_fixups |= !fixups.empty();
  }
  bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return false; }
  void emitCommonSymbol(llvm::MCSymbol*, uint64_t, llvm::Align) override {}

  llvm::SmallVector<char, 64> bytes;
  bool has_fixups = false;

 private:
  llvm::MCCodeEmitter& emitter_;
};

void note_diagnostic(const llvm::SMDiagnostic& diagnostic, void* text) {
  auto& message = *static_cast<std::string*>(text);
  if (message.empty()) message = diagnostic.getMessage().str();
}

}  // namespace

Result<std::vector<uint32_t>> assemble(Target target, std::string_view text) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
  });
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string problem;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (llvm_target == nullptr) return make_error(ErrorCode::internal, "{}", problem);

  llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(llvm_target->createMCRegInfo(triple));
  const std::unique_ptr<llvm::MCAsmInfo> assembly(llvm_target->createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(llvm_target->createMCInstrInfo());
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      llvm_target->createMCSubtargetInfo(triple, info(target).name, ""));

  llvm::SourceMgr sources;
  sources.setDiagHandler(note_diagnostic, &problem);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text)), llvm::SMLoc());
  llvm::MCContext context(triple, assembly.get(), registers.get(), subtarget.get(), &sources, &options);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(
      llvm_target->createMCObjectFileInfo(context, /*PIC=*/false));
  context.setObjectFileInfo(sections.get());

  const std::unique_ptr<llvm::MCCodeEmitter> emitter(
      llvm_target->createMCCodeEmitter(*instructions, context));
  Collector collector(context, *emitter);
  llvm_target->createNullTargetStreamer(collector);
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, collector, *assembly));
  const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      llvm_target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*target_parser);
  const bool failed = parser->Run(/*NoInitialTextSection=*/false, /*NoFinalize=*/true);
  if (failed || !problem.empty() || collector.has_fixups)
    return make_error(ErrorCode::malformed, "'{}' for {}: {}", text, info(target).name,
                      problem.empty() ? "refers to a symbol" : problem);
  std::vector<uint32_t> dwords(collector.bytes.size() / 4);
  std::memcpy(dwords.data(), collector.bytes.data(), dwords.size() * 4);
  return dwords;
}

}  // namespace morgana::runtime
