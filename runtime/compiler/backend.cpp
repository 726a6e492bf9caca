#include "runtime/compiler/backend.h"

#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/BackendUtil.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Internalize.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/options.h"
#include "base/processors.h"
#include "base/target.h"
#include "device/limits.h"
#include "runtime/compiler/async_copies.h"
#include "runtime/compiler/barrier_marks.h"
#include "runtime/compiler/codegen_repairs.h"
#include "runtime/compiler/containment.h"
#include "runtime/compiler/device_library.h"
#include "runtime/compiler/long_passes.h"
#include "runtime/compiler/parts.h"
#include "runtime/compiler/wave_size.h"
#include "runtime/compiler/zeroed_memory.h"
#include "runtime/kernel_notes.h"

namespace morgana::runtime {
namespace {

constexpr const char* kUnsafeMath = "morgana.unsafe_math";
constexpr const char* kFiniteMath = "morgana.finite_math";
constexpr const char* kDenormsAreZero = "morgana.denorms_are_zero";
constexpr const char* kCorrectlyRounded = "morgana.correctly_rounded";
constexpr const char* kEnqueueErrors = "morgana.enqueue_errors";

// Prints LLVM's diagnostics in the manner of Clang's.
class LogHandler : public llvm::DiagnosticHandler {
 public:
  LogHandler(Frontend& frontend, llvm::raw_ostream& log, bool& failed)
      : frontend_(frontend), log_(log), failed_(failed) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& diagnostic) override {
    const clang::DiagnosticsEngine& clang = frontend_.clang().getDiagnostics();
    bool is_error = diagnostic.getSeverity() == llvm::DS_Error;
    if (diagnostic.getSeverity() == llvm::DS_Warning) {
      if (clang.getIgnoreAllWarnings()) return true;
      is_error = clang.getWarningsAsErrors();
    } else if (!is_error) {
      return true;  // remarks and notes
    }
    failed_ |= is_error;
    const char* severity = is_error ? "error: " : "warning: ";
    if (auto* assembly = llvm::dyn_cast<llvm::DiagnosticInfoSrcMgr>(&diagnostic)) {
      log_ << source_location(assembly->getLocCookie()) << severity << assembly->getSMDiag().getMessage()
           << '\n'
           << text_of(diagnostic) << '\n';
    } else if (auto* constraint = llvm::dyn_cast<llvm::DiagnosticInfoInlineAsm>(&diagnostic)) {
      log_ << source_location(constraint->getLocCookie()) << severity << constraint->getMsgStr() << '\n';
    } else {
      llvm::StringRef text = text_of(diagnostic);
      text.consume_front("<unknown>:0:0: ");
      log_ << severity << text << '\n';
    }
    return true;
  }

 private:
  llvm::StringRef text_of(const llvm::DiagnosticInfo& diagnostic) {
    text_.clear();
    llvm::raw_string_ostream stream(text_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    diagnostic.print(printer);
    return llvm::StringRef(text_).rtrim('\n');
  }

  // Where an asm statement stands in the source, as long as the source is at hand: "<source>:3:5: ".
  std::string source_location(uint64_t cookie) const {
    clang::CompilerInstance& clang = frontend_.clang();
    if (cookie == 0 || !clang.hasSourceManager() || clang.getSourceManager().getMainFileID().isInvalid())
      return "";
    auto location = clang::SourceLocation::getFromRawEncoding(static_cast<unsigned>(cookie));
    clang::PresumedLoc presumed = clang.getSourceManager().getPresumedLoc(location);
    if (presumed.isInvalid()) return "";
    return fmt::format("{}:{}:{}: ", presumed.getFilename(), presumed.getLine(), presumed.getColumn());
  }

  Frontend& frontend_;
  llvm::raw_ostream& log_;
  bool& failed_;
  std::string text_;
};

bool is_kernel(const llvm::GlobalValue& value) {
  auto* function = llvm::dyn_cast<llvm::Function>(&value);
  return function != nullptr && llvm::CallingConv::AMDGPU_KERNEL == function->getCallingConv();
}

bool module_flag(const llvm::Module& module, const char* name) {
  auto* value = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag(name));
  return value != nullptr && !value->isZero();
}

DeviceSettings device_settings(const llvm::Module& module, const BuildOptions& options,
                               const TargetDescription& target) {
  DeviceSettings settings;
  settings.processor = std::string(processor_of(target.processor));
  settings.code_object_version = object_version(target);
  settings.wave64 = wave_size(module, target) == WaveSize::wave64;
  settings.unsafe_math = module_flag(module, kUnsafeMath);
  settings.finite_math = module_flag(module, kFiniteMath);
  settings.correctly_rounded_sqrt = module_flag(module, kCorrectlyRounded);
  settings.enqueue_errors = module_flag(module, kEnqueueErrors);
  settings.flush_denormals = flushes_denormals(options, target) || module_flag(module, kDenormsAreZero);
  return settings;
}

// Pass managers around a target machine of their own.
class Passes {
 public:
  explicit Passes(llvm::TargetMachine* machine) : builder_(machine) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
  }
  llvm::PassBuilder& builder() { return builder_; }
  void run(llvm::ModulePassManager passes, llvm::Module& module) { passes.run(module, modules_); }
  void run(llvm::FunctionPassManager& passes, llvm::Function& function) { passes.run(function, functions_); }

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
};

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const TargetDescription& target,
                                                          const llvm::Module& module) {
  std::string error;
  const llvm::Target* back_end = llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  if (back_end == nullptr) return make_error(ErrorCode::internal, "LLVM has no AMDGPU target: {}", error);
  return std::unique_ptr<llvm::TargetMachine>(back_end->createTargetMachine(
      module.getTargetTriple(), std::string(processor_of(target.processor)), "", {}, llvm::Reloc::PIC_));
}

// Runs passes of LLVM's by their names.
Status run_passes(const char* pipeline, const TargetDescription& target, llvm::Module& module) {
  MORGANA_TRY(std::unique_ptr<llvm::TargetMachine> machine, make_machine(target, module));
  Passes passes(machine.get());
  llvm::ModulePassManager manager;
  if (llvm::Error failure = passes.builder().parsePassPipeline(manager, pipeline))
    return make_error(ErrorCode::internal, "{}", llvm::toString(std::move(failure)));
  passes.run(std::move(manager), module);
  return {};
}

// LLVM lowers printf to the buffered form whose format strings lie in the metadata. The lowering calls
// __printf_alloc, so it must come before the device library is linked.
Status lower_printf(const TargetDescription& target, llvm::Module& module) {
  llvm::Function* printf = module.getFunction("printf");
  if (printf == nullptr || !printf->isDeclaration() || printf->use_empty()) return {};
  return run_passes("amdgpu-printf-runtime-binding", target, module);
}

// Without optimisation, and in functions that ask for none, LLVM 22 leaves unsigned divisions to instruction
// selection, which takes a negative number of few bits for a small one: `(uint)(char)i % 3` gives (char)i % 3
// and more. AMDGPUCodeGenPrepare expands them right.
Status expand_divisions(const TargetDescription& target, bool is_optimized, llvm::Module& module) {
  const auto needs_it = [&](const llvm::Function& function) {
    return !function.isDeclaration() && (!is_optimized || function.hasOptNone());
  };
  if (llvm::none_of(module, needs_it)) return {};
  MORGANA_TRY(std::unique_ptr<llvm::TargetMachine> machine, make_machine(target, module));
  Passes passes(machine.get());
  llvm::FunctionPassManager manager;
  if (llvm::Error failure = passes.builder().parsePassPipeline(manager, "amdgpu-codegenprepare"))
    return make_error(ErrorCode::internal, "{}", llvm::toString(std::move(failure)));
  for (llvm::Function& function : module)
    if (needs_it(function)) passes.run(manager, function);
  return {};
}

Status link_libraries(llvm::Module& module, const BuildOptions& options, const TargetDescription& target) {
  DeviceSettings settings = device_settings(module, options, target);
  if (options.optimization > 0) return link_device_library(module, settings);
  MORGANA_TRY(std::unique_ptr<llvm::TargetMachine> machine, make_machine(target, module));
  settings.optimize_separately = [&](llvm::Module& library) {
    Passes passes(machine.get());
    passes.run(passes.builder().buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2), library);
    // LLVM does not count atomics on generic pointers, of which code generation makes a test of the address
    // with what the queue says of its apertures (gfx7, gfx8).
    for (llvm::Function& function : library) function.removeFnAttr("amdgpu-no-queue-ptr");
  };
  return link_device_library(module, settings);
}

// Makes everything but the kernels, and the variables they use, private to the code object: copies of inlined
// functions vanish, and unused LDS users no longer count as reachable (what -amdgpu-internalize-symbols does,
// without LLVM's process-wide options).
void internalize(llvm::Module& module) {
  llvm::internalizeModule(module, [](const llvm::GlobalValue& value) {
    if (is_kernel(value)) return true;
    auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
    if (variable == nullptr) return false;
    variable->removeDeadConstantUsers();
    return !variable->use_empty();
  });
  llvm::ModuleAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  llvm::GlobalDCEPass().run(module, analyses);
}

// Lets `/` round correctly unless the program asked for less (fast flags on the instruction): a CPU's
// division does, and programs that compare with one expect it (docs/decisions/003-division-is-exact.md).
void make_division_exact(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (instruction.getOpcode() == llvm::Instruction::FDiv && !instruction.hasAllowReciprocal() &&
            !instruction.hasApproxFunc())
          instruction.setMetadata(llvm::LLVMContext::MD_fpmath, nullptr);
}

// All memory is the host's and takes every atomic operation, whoever shares it. LLVM, who fears memory behind
// PCI Express, would make loops of compare-and-swap of those that all devices may see. Of integers only: an
// addition of floats may round otherwise than the loop.
void let_atomics_be_native(llvm::Module& module) {
  llvm::MDNode* const yes = llvm::MDNode::get(module.getContext(), {});
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
            atomic && !atomic->isFloatingPointOperation()) {
          atomic->setMetadata("amdgpu.no.remote.memory", yes);
          atomic->setMetadata("amdgpu.no.fine.grained.memory", yes);
        }
}

bool is_gfx6(const TargetDescription& target) {
  const auto table = find_target(processor_of(target.processor));
  return table.has_value() && info(*table).generation == Generation::gfx6;
}

// gfx6 has no flat instructions. A pointer that names no address space gets one where its origin is seen, and
// so what takes or returns such a pointer becomes part of its callers, whatever the program says of inlining.
void inline_generic_pointers(llvm::Module& module) {
  const auto is_generic = [](const llvm::Type* type) {
    return type->isPointerTy() && type->getPointerAddressSpace() == 0;
  };
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || is_kernel(function)) continue;
    if (!is_generic(function.getReturnType()) &&
        std::none_of(function.arg_begin(), function.arg_end(),
                     [&](const llvm::Argument& argument) { return is_generic(argument.getType()); }))
      continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    for (llvm::User* user : function.users())
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) call->removeFnAttr(llvm::Attribute::NoInline);
  }
}

// gfx6 cannot round doubles to whole numbers, and LLVM's substitutes are not exact: calls of the device
// library (rounding.cl) in their place. Whether there were any.
bool round_by_library(llvm::Module& module) {
  struct Row {
    llvm::Intrinsic::ID intrinsic;
    const char* name;
  };
  static constexpr Row kRows[] = {{llvm::Intrinsic::floor, "__morgana_floor_f64"},
                                  {llvm::Intrinsic::ceil, "__morgana_ceil_f64"},
                                  {llvm::Intrinsic::rint, "__morgana_rint_f64"},
                                  {llvm::Intrinsic::nearbyint, "__morgana_rint_f64"},
                                  {llvm::Intrinsic::roundeven, "__morgana_rint_f64"}};
  llvm::Type* const number = llvm::Type::getDoubleTy(module.getContext());
  std::vector<std::pair<llvm::CallInst*, const char*>> calls;
  for (llvm::Function& function : module)
    for (const Row& row : kRows)
      if (function.getIntrinsicID() == row.intrinsic && function.getReturnType()->getScalarType() == number)
        for (llvm::User* user : function.users())
          if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) calls.emplace_back(call, row.name);
  for (auto [call, name] : calls) {
    llvm::IRBuilder<> build(call);
    const llvm::FunctionCallee callee = module.getOrInsertFunction(name, number, number);
    llvm::Value* result = nullptr;
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(call->getType())) {
      result = llvm::PoisonValue::get(vector);
      for (unsigned i = 0; i < vector->getNumElements(); ++i)
        result = build.CreateInsertElement(
            result, build.CreateCall(callee, build.CreateExtractElement(call->getArgOperand(0), i)), i);
    } else {
      result = build.CreateCall(callee, call->getArgOperand(0));
    }
    call->replaceAllUsesWith(result);
    call->eraseFromParent();
  }
  // LLVM knows OpenCL's functions by name, and would have the intrinsics back.
  for (llvm::Function& function : module)
    for (const char* name : {"_Z5floor", "_Z4ceil", "_Z4rint"})
      if (!function.isDeclaration() && function.getName().starts_with(name))
        function.setName("__morgana" + function.getName());
  return !calls.empty();
}

// A variable of the kernel's that the runtime reads (kernel_notes.h).
void write_note(llvm::Function& kernel, const char* ending, uint32_t value) {
  llvm::Module& module = *kernel.getParent();
  llvm::Type* const type = llvm::Type::getInt32Ty(module.getContext());
  auto* const variable = new llvm::GlobalVariable(
      module, type, true, llvm::GlobalValue::ExternalLinkage, llvm::ConstantInt::get(type, value),
      kernel.getName() + ending, nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  variable->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  llvm::appendToUsed(module, {variable});
}

// What kernels require of sub-groups, whose size is `lanes`.
Status write_notes(Frontend& frontend, llvm::Module& module, uint32_t lanes) {
  const auto number = [](const llvm::Function& kernel, const char* name) -> uint32_t {
    const llvm::MDNode* const node = kernel.getMetadata(name);
    if (node == nullptr || node->getNumOperands() == 0) return 0;
    const auto* const value = llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(0));
    return value == nullptr ? 0 : static_cast<uint32_t>(value->getZExtValue());
  };
  std::vector<llvm::Function*> kernels;
  for (llvm::Function& function : module)
    if (is_kernel(function) && !function.isDeclaration()) kernels.push_back(&function);
  for (llvm::Function* kernel : kernels) {
    if (const uint32_t count = number(*kernel, kSubGroupsNode)) {
      if (count > device::kMaxGroupItems / lanes) {
        frontend.log() << "error: kernel '" << kernel->getName() << "' requires " << count
                       << " sub-groups; a work-group has up to " << device::kMaxGroupItems / lanes << '\n';
        return make_error(ErrorCode::build_failed, "a number of sub-groups that no work-group has");
      }
      kernel->addFnAttr("amdgpu-flat-work-group-size",
                        fmt::format("{},{}", (count - 1) * lanes + 1, count * lanes));
      write_note(*kernel, kSubGroupsEnding, count);
    }
    if (const uint32_t size = number(*kernel, kSubGroupSizeNode))
      write_note(*kernel, kSubGroupSizeEnding, size);
  }
  return {};
}

// Clang's optimiser and code generator.
void emit(Frontend& frontend, llvm::Module& module, Object& object) {
  const CodegenRepairs repairs;
  const LongPasses passes(module);
  clang::CompilerInstance& clang = frontend.clang();
  clang::CodeGenOptions options = clang.getCodeGenOpts();
  clang::emitBackendOutput(clang, options, clang.getTarget().getDataLayoutString(), &module,
                           clang::Backend_EmitObj, clang.getVirtualFileSystemPtr(),
                           std::make_unique<llvm::raw_svector_ostream>(object));
}

// The threads that a build may use.
size_t available_threads() {
  return static_cast<size_t>(options().threads > 0 ? options().threads : available_processors());
}

// The same for each part, in an LLVMContext of its own. The heaviest are begun first.
Status emit_parts(Frontend& frontend, const std::vector<Part>& parts, const llvm::Module& module,
                  std::vector<Object>& objects, bool& failed) {
  struct Outcome {
    Status status = make_error(ErrorCode::internal, "not emitted");
    std::string log;
    bool failed = false;
  };
  Object bitcode;
  llvm::BitcodeWriter writer(bitcode);
  writer.writeModule(module);
  writer.writeStrtab();
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t one, size_t other) {
    return std::pair(parts[other].weight, one) < std::pair(parts[one].weight, other);
  });
  std::vector<Outcome> outcomes(parts.size());
  objects.assign(parts.size(), {});

  const auto emit_part = [&](size_t index) -> Status {
    llvm::LLVMContext context;
    context.setDiscardValueNames(true);
    llvm::raw_string_ostream log(outcomes[index].log);
    context.setDiagnosticHandler(std::make_unique<LogHandler>(frontend, log, outcomes[index].failed));
    MORGANA_TRY(const auto part,
                take_part(llvm::StringRef(bitcode.data(), bitcode.size()), parts[index], context));
    emit(frontend, *part, objects[index]);
    return {};
  };
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < order.size(); i = next++) outcomes[order[i]].status = emit_part(order[i]);
  };
  std::string reason;
  const bool completed = run_contained(work, reason, std::min(available_threads(), parts.size()));
  for (Outcome& outcome : outcomes) {
    frontend.log() << outcome.log;
    failed |= outcome.failed;
  }
  if (!completed) {
    frontend.log() << "fatal error: the compiler failed: " << reason << '\n';
    return make_error(ErrorCode::build_failed, "the compiler failed");
  }
  for (Outcome& outcome : outcomes) MORGANA_CHECK(outcome.status);
  return {};
}

}  // namespace

void record_options(llvm::Module& module, const BuildOptions& options) {
  module.addModuleFlag(llvm::Module::Min, kUnsafeMath, options.unsafe_math);
  module.addModuleFlag(llvm::Module::Min, kFiniteMath, options.finite_math);
  module.addModuleFlag(llvm::Module::Min, kDenormsAreZero, options.denorms_are_zero);
  module.addModuleFlag(llvm::Module::Max, kCorrectlyRounded, options.correctly_rounded_divide_sqrt);
  module.addModuleFlag(llvm::Module::Max, kEnqueueErrors, options.debug_info);
}

void route_diagnostics(Frontend& frontend, bool& failed) {
  frontend.context().setDiagnosticHandler(std::make_unique<LogHandler>(frontend, frontend.log(), failed));
}

Result<std::vector<Object>> emit_objects(Frontend& frontend, const BuildOptions& options,
                                         const TargetDescription& target, llvm::Module& module) {
  bool failed = false;
  route_diagnostics(frontend, failed);
  MORGANA_TRY(const WaveSize wave, settle_wave_size(module, target, frontend.log()));
  MORGANA_CHECK(write_notes(frontend, module, static_cast<uint32_t>(wave)));
  MORGANA_CHECK(lower_printf(target, module));
  make_division_exact(module);
  if (options.check_races) {
    turn_async_copies(module);
    mark_barriers(module);
  }
  MORGANA_CHECK(link_libraries(module, options, target));
  if (is_gfx6(target) && round_by_library(module)) MORGANA_CHECK(link_libraries(module, options, target));
  internalize(module);
  let_atomics_be_native(module);
  if (is_gfx6(target)) inline_generic_pointers(module);
  if (options.zero_private_memory) zero_private_memory(module);
  if (options.zero_local_memory) zero_local_memory(module);
  if (options.check_values) keep_local_memory(module);
  MORGANA_CHECK(expand_divisions(target, options.optimization > 0, module));
  std::vector<Object> objects(1);
  const std::vector<Part> parts = options.optimization > 0 ? cut(module) : std::vector<Part>();
  if (parts.empty())
    emit(frontend, module, objects.front());
  else
    MORGANA_CHECK(emit_parts(frontend, parts, module, objects, failed));
  if (failed || frontend.clang().getDiagnostics().hasErrorOccurred())
    return make_error(ErrorCode::build_failed, "code generation failed");
  return objects;
}

}  // namespace morgana::runtime
