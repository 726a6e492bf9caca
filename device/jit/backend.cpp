#include "device/jit/backend.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Analysis/RuntimeLibcallInfo.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/CodeGen/CodeGenTargetMachineImpl.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/options.h"
#include "device/interp/code.h"
#include "device/jit/hide_constants.h"
#include "device/jit/join_halves.h"
#include "device/jit/lane_values.h"
#include "device/jit/opaque_masks.h"
#include "device/jit/own_addresses.h"
#include "device/jit/sink_cold.h"
#include "device/jit/split_waves.h"

namespace morgana::device::jit {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

void optimise(llvm::Module& module, llvm::Function& kernel, llvm::TargetMachine& machine,
              const Specialisation& key) {
  const bool quick = key.quick;
  Mode mode;
  mode.bits = key.mode;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);

  llvm::FunctionPassManager f;
  f.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  f.addPass(HideConstantsPass(mode));
  f.addPass(llvm::EarlyCSEPass());
  if (!quick) {
    f.addPass(JoinRowsPass());
    f.addPass(llvm::InstCombinePass());
    f.addPass(llvm::SimplifyCFGPass());
    f.addPass(LaneValuesPass());
    f.addPass(llvm::EarlyCSEPass(true));
    f.addPass(llvm::InstCombinePass());
    f.addPass(ForgetPlacesPass());
    f.addPass(JoinHalvesPass());
    f.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    f.addPass(llvm::GVNPass());
    f.addPass(llvm::ADCEPass());
  } else {
    f.addPass(LaneValuesPass());  // nothing else makes code of kFirstLane
    f.addPass(ForgetPlacesPass());
  }
  f.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().hoistCommonInsts(true)));
  if (!quick) f.addPass(SinkColdPass());
  const HostLevel host = level().host;
  const unsigned parts = host == HostLevel::avx512 ? 4 : host == HostLevel::avx2 ? 8 : 16;
  f.addPass(SplitWavesPass(parts, parts * key.occupied / kLanes));
  if (key.occupied < kLanes) f.addPass(llvm::ADCEPass());  // what computes lanes that there are not
  f.addPass(HideConstantsPass(mode));
  f.addPass(OpaqueMasksPass(kLanes / parts));
  f.addPass(OwnAddressesPass());

  llvm::ModulePassManager m;
  m.addPass(llvm::AlwaysInlinerPass());
  m.addPass(llvm::GlobalDCEPass());
  m.run(module, modules);
  // What is left of the library beside the kernel has been optimised when the library was made.
  f.run(kernel, functions);
}

// As the library's bitcode names it.
const char* host_processor() {
  switch (level().host) {
    case HostLevel::avx512: return "x86-64-v4";
    case HostLevel::avx2: return "x86-64-v3";
    case HostLevel::base: break;
  }
  return "x86-64-v2";
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const llvm::Function& kernel, bool quick) {
  initialize_llvm();
  std::string problem;
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (target == nullptr) return nullptr;
  const llvm::StringRef cpu = kernel.getFnAttribute("target-cpu").getValueAsString();
  const llvm::StringRef features = kernel.getFnAttribute("target-features").getValueAsString();
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      quick ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default, true));
}

// A TargetMachine for one compilation, kept for others: what it finds out about the processor takes several
// milliseconds.
class Machine {
 public:
  Machine(const llvm::Function& kernel, bool quick) : kept_(kept(quick)) {
    {
      std::lock_guard lock(kept_.mutex);
      if (!kept_.machines.empty()) {
        machine_ = std::move(kept_.machines.back());
        kept_.machines.pop_back();
      }
    }
    if (machine_ == nullptr) machine_ = make_target_machine(kernel, quick);
  }
  ~Machine() {
    std::lock_guard lock(kept_.mutex);
    if (machine_ != nullptr) kept_.machines.push_back(std::move(machine_));
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  llvm::TargetMachine* get() const { return machine_.get(); }

 private:
  struct Kept {
    std::mutex mutex;
    std::vector<std::unique_ptr<llvm::TargetMachine>> machines;
  };
  // Never destroyed, as the linker.
  static Kept& kept(bool quick) {
    static Kept* const all = new Kept[2];
    return all[quick];
  }

  Kept& kept_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

// The back end's passes without two. Loop strength reduction sees no addressing modes in the integers that
// addresses are here, and gives the loops of single lanes more variables than they had. The move of
// operations into mask registers makes an extension of 8 or 16 bits a kmov of that size, which LLVM 22 takes
// for a copy of the whole register where that is spilled.
class BackEnd final : public llvm::legacy::PassManagerBase {
 public:
  void add(llvm::Pass* pass) override {
    if (pass->getPassID() == reduction_->getPassID() || pass->getPassName() == "X86 Domain Reassignment Pass")
      delete pass;
    else
      passes_.add(pass);
  }
  void run(llvm::Module& module) { passes_.run(module); }

 private:
  llvm::legacy::PassManager passes_;
  const std::unique_ptr<llvm::Pass> reduction_{llvm::createLoopStrengthReducePass()};
};

bool emit(llvm::Module& module, const llvm::Function& kernel, llvm::TargetMachine& machine,
          llvm::SmallVector<char, 0>& object) {
  llvm::raw_svector_ostream stream(object);
  BackEnd passes;
  auto& host = static_cast<llvm::CodeGenTargetMachineImpl&>(machine);
  llvm::TargetPassConfig* config = host.createPassConfig(passes);
  config->setDisableVerify(true);
  // Sinking would move what a later block uses into that block, and undo the order of the instructions.
  if (kernel.hasFnAttribute(kIsCut)) config->disablePass(&llvm::MachineSinkingLegacyID);
  auto* modules = new llvm::MachineModuleInfoWrapperPass(&machine);  // both are the pass manager's
  passes.add(config);
  passes.add(modules);
  // Without it LLVM knows of no memcpy, and moves what is larger than 64 bytes in loops, byte by byte.
  const llvm::TargetOptions& options = machine.Options;
  passes.add(new llvm::RuntimeLibraryInfoWrapper(machine.getTargetTriple(), options.ExceptionModel,
                                                 options.FloatABIType, options.EABIVersion,
                                                 options.MCOptions.ABIName, options.VecLib));
  if (config->addISelPasses()) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (host.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                         modules->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return true;
}

// MORGANA_JIT_DUMP. Empty: nothing is dumped.
const std::string& dump_folder() {
  static const std::string folder = output_folder("MORGANA_JIT_DUMP", options().jit_dump);
  return folder;
}

// Null: nothing is dumped there.
std::unique_ptr<llvm::raw_fd_ostream> dump_file(const std::string& name) {
  if (dump_folder().empty()) return nullptr;
  const std::string path = dump_folder() + "/" + name;
  std::error_code error;
  auto out = std::make_unique<llvm::raw_fd_ostream>(path, error);
  if (!error) return out;
  log(LogLevel::warn, "MORGANA_JIT_DUMP: {}: {}", path, error.message());
  out->clear_error();
  return nullptr;
}
void dump(const llvm::Module& module, uint64_t address, const char* stage) {
  if (auto out = dump_file(fmt::format("{:x}.{}.ll", address, stage))) module.print(*out, nullptr);
}
void dump(const llvm::SmallVector<char, 0>& object, uint64_t address) {
  if (auto out = dump_file(fmt::format("{:x}.o", address))) out->write(object.data(), object.size());
}

// What makes LLVM's statics: a vector that is no simple type, a call, constants of vectors, and one in a
// loop, of each level's width.
constexpr char kSample[] = R"(
define void @sample(ptr %p, i32 %n) {
  switch i32 %n, label %end [
    i32 0, label %row
    i32 7, label %call
  ]
row:
  %v = load <64 x i32>, ptr %p
  %w = mul <64 x i32> %v, %v
  store <64 x i32> %w, ptr %p
  br label %end
call:
  call void @other(ptr %p)
  br label %loop
loop:
  %i = phi i64 [ 0, %call ], [ %next, %loop ]
  %q = getelementptr <16 x float>, ptr %p, i64 %i
  %x = load <16 x float>, ptr %q
  %y = fmul <16 x float> %x, splat (float 3.0)
  store <16 x float> %y, ptr %q
  %x8 = load <8 x float>, ptr %q
  %y8 = fmul <8 x float> %x8, <float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0, float 7.0, float 9.0>
  store <8 x float> %y8, ptr %q
  %x4 = load <4 x float>, ptr %q
  %y4 = fmul <4 x float> %x4, <float 1.0, float 2.0, float 3.0, float 5.0>
  store <4 x float> %y4, ptr %q
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, 1000
  br i1 %again, label %loop, label %end
end:
  ret void
}
declare void @other(ptr)
)";

}  // namespace

std::optional<std::string> make_object(llvm::Module& module, llvm::Function& kernel,
                                       const Specialisation& key, uint64_t address,
                                       llvm::SmallVector<char, 0>& object, double& optimised) {
  dump(module, address, "raw");
  const Machine kept(kernel, key.quick);
  llvm::TargetMachine* const machine = kept.get();
  if (machine == nullptr) return "LLVM has no back end for this host";
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple());
  // LLVM's passes crash on what is not well-formed: the kernel is interpreted then.
  if (llvm::verifyFunction(kernel, dump_folder().empty() ? nullptr : &llvm::errs())) return "invalid code";
  optimise(module, kernel, *machine, key);
  dump(module, address, "opt");
  optimised = thread_milliseconds();
  if (!emit(module, kernel, *machine, object)) return "LLVM cannot emit objects";
  dump(object, address);
  return std::nullopt;
}

void make_statics() {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(kSample, problem, context);
  llvm::Function* const sample = module ? module->getFunction("sample") : nullptr;
  if (sample == nullptr) return log(LogLevel::error, "jit: {}", problem.getMessage().str());
  sample->addFnAttr("target-cpu", host_processor());
  const Machine kept(*sample, false);
  llvm::TargetMachine* const machine = kept.get();
  if (machine == nullptr) return;  // nor will any kernel be compiled
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  optimise(*module, *sample, *machine, {});
  llvm::SmallVector<char, 0> object;
  (void)emit(*module, *sample, *machine, object);
}

}  // namespace morgana::device::jit
