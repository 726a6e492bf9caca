// From a Flow to code in memory: the pass pipeline, the back end, the linker.
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/CodeGen/CodeGenTargetMachineImpl.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
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
#include <cstring>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "device/jit/hide_constants.h"
#include "device/jit/join_halves.h"
#include "device/jit/kernel.h"
#include "device/jit/lane_values.h"
#include "device/jit/llvm_guard.h"
#include "device/jit/opaque_masks.h"
#include "device/jit/sink_cold.h"
#include "device/jit/split_waves.h"
#include "device/jit/translator.h"
#include "device/object_store.h"

namespace morgana::device::jit {
namespace {

// What compiling takes, in microseconds: half of what was measured, because it runs beside the launches.
constexpr uint64_t kCostUs = 15'000, kCostPerInstructionUs = 700;
// What it may take, in seconds of processor time.
constexpr double kLimit = 30, kLimitPerInstruction = 0.02;

Error failed(std::string why) { return Error{ErrorCode::unsupported, std::move(why)}; }
Error failed(llvm::Error error) { return failed(llvm::toString(std::move(error))); }

double cpu_milliseconds() { return static_cast<double>(nanoseconds(CLOCK_THREAD_CPUTIME_ID)) * 1e-6; }

void fell_through(Wave&, const Step*) {}

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

// The process's linker, and the library with what kernels call by name. Never destroyed: kernels may outlive
// static destruction's order.
struct Linker {
  llvm::orc::LLJIT* jit = nullptr;
  llvm::orc::JITDylib* paths = nullptr;
};
llvm::Error make(Linker& linker) {
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return jit.takeError();
  auto library = (*jit)->createJITDylib("paths");
  if (!library) return library.takeError();
  llvm::orc::SymbolMap symbols;
  for (const auto* path = static_cast<const NamedPath*>(level().paths); path->name; path++)
    symbols[(*jit)->mangleAndIntern(path->name)] = {
        llvm::orc::ExecutorAddr::fromPtr(path->address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (auto error = library->define(llvm::orc::absoluteSymbols(std::move(symbols)))) return error;
  linker.paths = &*library;
  linker.jit = jit->release();
  return llvm::Error::success();
}
const Linker& linker() {
  static const Linker made = [] {
    Linker linker;
    if (auto error = make(linker)) log(LogLevel::error, "jit: {}", llvm::toString(std::move(error)));
    return linker;
  }();
  return made;
}

// Leaves of the library only what the kernel calls.
void strip(llvm::Module& module, const llvm::Function* kernel) {
  // What the kernel's functions call in turn.
  for (bool more = true; more;) {
    more = false;
    for (llvm::Function& f : module) {
      if (!f.isMaterializable()) continue;
      if (f.use_empty()) continue;
      if (auto error = f.materialize()) llvm::consumeError(std::move(error));
      more = true;
    }
  }
  for (llvm::Function& f : llvm::make_early_inc_range(module)) {
    if (&f == kernel) continue;
    f.setComdat(nullptr);
    if (f.isMaterializable()) f.deleteBody();
    if (f.isDeclaration() && f.use_empty()) {
      f.eraseFromParent();
    } else if (!f.isDeclaration()) {
      f.setLinkage(llvm::GlobalValue::InternalLinkage);
      f.removeFnAttr(llvm::Attribute::NoInline);  // calls say what is inlined
      f.removeFnAttr(llvm::Attribute::UWTable);
      f.removeFnAttr("min-legal-vector-width");  // LLVM makes a subtarget for each, in a millisecond
    }
  }
  for (llvm::GlobalVariable& global : llvm::make_early_inc_range(module.globals())) {
    if (global.use_empty())
      global.eraseFromParent();
    else if (!global.isDeclaration())
      global.setLinkage(llvm::GlobalValue::PrivateLinkage);
  }
}

void optimise(llvm::Module& module, llvm::Function& kernel, llvm::TargetMachine& machine, Mode mode,
              bool quick) {
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
  // Twice: the first pass finds the pointers to operands, after which the operands can be promoted too.
  f.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
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
    f.addPass(JoinHalvesPass());
    f.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    f.addPass(llvm::GVNPass());
    f.addPass(llvm::ADCEPass());
  }
  f.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().hoistCommonInsts(true)));
  if (!quick) f.addPass(SinkColdPass());
  const HostLevel host = level().host;
  const unsigned parts = host == HostLevel::avx512 ? 4 : host == HostLevel::avx2 ? 8 : 16;
  f.addPass(SplitWavesPass(parts));
  f.addPass(HideConstantsPass(mode));
  f.addPass(OpaqueMasksPass(kLanes / parts));

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

// For whoever works on the JIT.
void dump(const llvm::Module& module, uint64_t address, const char* stage) {
  const std::string& folder = options().jit_dump;
  if (folder.empty()) return;
  std::error_code error;
  llvm::raw_fd_ostream out(fmt::format("{}/{:x}.{}.ll", folder, address, stage), error);
  if (!error) module.print(out, nullptr);
}
void dump(const llvm::SmallVector<char, 0>& object, uint64_t address) {
  const std::string& folder = options().jit_dump;
  if (folder.empty()) return;
  std::error_code error;
  llvm::raw_fd_ostream out(fmt::format("{}/{:x}.o", folder, address), error);
  if (!error) out.write(object.data(), object.size());
}

}  // namespace

// --- Objects on disk ---

namespace {

uint64_t code_bytes(const llvm::SmallVector<char, 0>& bytes) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(bytes.data(), bytes.size()), "kernel");
  auto object = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!object) {
    llvm::consumeError(object.takeError());
    return 0;
  }
  uint64_t size = 0;
  for (const llvm::object::SectionRef& section : (*object)->sections())
    if (section.isText()) size += section.getSize();
  return size;
}

std::atomic<ObjectStore*> object_store{nullptr};

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// All that the code of a kernel follows from, beside this program.
std::string identity(const Program& program, const Flow& flow, const Specialisation& key) {
  std::string text = "LLVM " LLVM_VERSION_STRING " ";
  text += name(level().host);
  text += llvm::sys::getHostCPUName();
  for (const uint32_t field :
       {key.mode, key.lds_size, key.acc_base, key.sgprs, key.vgprs, key.agprs, key.local[0], key.local[1],
        key.local[2], uint32_t{key.dimensions}, uint32_t{key.one_wave}, uint32_t{key.full_wave},
        uint32_t{key.observe_everything}, uint32_t{key.quick}, key.most_looped, uint32_t{key.kernarg},
        uint32_t{key.group_id}, static_cast<uint32_t>(program.target()), flow.entry_block})
    append(text, field);
  for (const Instruction& i : flow.instructions) {
    append(text, i.at);
    append(text, i.how);
    if (i.at >= program.count) continue;
    const auto* words = reinterpret_cast<const char*>(program.address + uint64_t{i.at} * 4);
    const uint64_t left = program.count - i.at;
    text.append(words, 4 * std::min<uint64_t>(i.step->dwords, left));
  }
  return text;
}

// An object file and the steps that it runs by handlers, as dwords in the region.
struct Stored {
  std::vector<uint32_t> singles;
  llvm::SmallVector<char, 0> object;
};

std::string pack(const Stored& stored) {
  std::string bytes;
  append(bytes, static_cast<uint32_t>(stored.singles.size()));
  for (const uint32_t at : stored.singles) append(bytes, at);
  bytes.append(stored.object.data(), stored.object.size());
  return bytes;
}

bool unpack(const std::string& bytes, const Flow& flow, Stored& stored) {
  uint32_t count;
  if (bytes.size() < sizeof count) return false;
  std::memcpy(&count, bytes.data(), sizeof count);
  if (count > flow.instructions.size() * 2 || bytes.size() - sizeof count <= uint64_t{count} * 4)
    return false;
  stored.singles.resize(count);
  std::memcpy(stored.singles.data(), bytes.data() + sizeof count, uint64_t{count} * 4);
  for (const uint32_t at : stored.singles) {
    const auto same = [at](const Instruction& i) { return i.at == at; };
    if (std::none_of(flow.instructions.begin(), flow.instructions.end(), same)) return false;
  }
  const char* begin = bytes.data() + sizeof count + uint64_t{count} * 4;
  stored.object.assign(begin, bytes.data() + bytes.size());
  return true;
}

}  // namespace

struct Kernel::Linked {
  llvm::orc::JITDylib* library = nullptr;
};

Kernel::Kernel() : linked_(std::make_unique<Linked>()) {}
Kernel::~Kernel() {
  if (linked_->library == nullptr) return;
  if (auto error = linker().jit->getExecutionSession().removeJITDylib(*linked_->library))
    llvm::consumeError(std::move(error));
}

namespace {

// Compiles: the long way. An error says why not.
std::optional<Error> generate_unguarded(const Library& library, const Flow& flow, Target target,
                                        const Specialisation& key, uint64_t address, Stored& stored) {
  const double begin = cpu_milliseconds();
  llvm::LLVMContext context;
  const auto module = library.load(context);
  if (module == nullptr) return failed("the bitcode library cannot be read");
  Translator translator(*module, library, flow, target, key);
  llvm::Function* function = translator.translate();
  if (function == nullptr) return failed("the bitcode library lacks a function");
  strip(*module, function);
  dump(*module, address, "raw");
  const double translated = cpu_milliseconds();
  const Machine kept(*function, key.quick);
  llvm::TargetMachine* const machine = kept.get();
  if (machine == nullptr) return failed("LLVM has no back end for this host");
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  if (!options().jit_dump.empty() && llvm::verifyModule(*module, &llvm::errs()))
    return failed("invalid code");
  optimise(*module, *function, *machine, Mode{key.mode}, key.quick);
  dump(*module, address, "opt");
  const double optimised = cpu_milliseconds();

  if (!emit(*module, *function, *machine, stored.object)) return failed("LLVM cannot emit objects");
  dump(stored.object, address);

  for (const Step* single : translator.singles())
    for (const Instruction& i : flow.instructions)
      if (i.step == single) {
        stored.singles.push_back(i.at);
        break;
      }
  log(LogLevel::info,
      "jit: kernel at {:#x}: {} instructions, {} by handlers; translate {:.1f} ms, optimise {:.1f}, emit "
      "{:.1f}",
      address, flow.instructions.size(), stored.singles.size(), translated - begin, optimised - translated,
      cpu_milliseconds() - optimised);
  return std::nullopt;
}

std::optional<Error> generate(const Library& library, const Flow& flow, Target target,
                              const Specialisation& key, uint64_t address, Stored& stored) {
  struct Made {
    std::optional<Error> problem;
    Stored stored;
  };
  auto made = std::make_unique<Made>();
  const double limit = kLimit + kLimitPerInstruction * static_cast<double>(flow.instructions.size());
  const auto why = within_limits(
      limit, [&] { made->problem = generate_unguarded(library, flow, target, key, address, made->stored); });
  if (why) {
    [[maybe_unused]] const Made* left = made.release();  // LLVM is in the middle of it
    return make_error(ErrorCode::build_failed, "LLVM: {}", *why);
  }
  stored = std::move(made->stored);
  return std::move(made->problem);
}

}  // namespace

Result<std::shared_ptr<const Kernel>> compile(Program& program, const Step* entry, const Specialisation& key,
                                              uint64_t worth) {
  const double begin = cpu_milliseconds();
  const Library* library = Library::get();
  if (library == nullptr) return failed("no bitcode library");
  initialize_llvm();

  Mode mode;
  mode.bits = key.mode;
  // LLVM folds constants by rounding to nearest even.
  if (mode.round32() != 0 || mode.round16_64() != 0)
    return failed("a rounding mode other than to nearest even");
  if (mode.bits >> 27 & 3) return failed("GPR indexing or VSKIP from the beginning");
  FlowOptions options;
  options.acc_base = key.acc_base;
  options.one_wave = key.one_wave;
  options.mode = mode;
  options.have = {key.sgprs, key.vgprs, key.agprs};
  options.observe_everything = key.observe_everything;
  Flow flow;
  if (!analyse(program, entry, *library, options, flow)) return failed("too many instructions");

  const uint64_t address = program.pc(entry);
  Stored stored;
  ObjectStore* const store = object_store.load(std::memory_order_acquire);
  const std::string name = store ? identity(program, flow, key) : std::string();
  std::optional<std::string> kept = store ? store->load(name) : std::nullopt;
  if (!kept || !unpack(*kept, flow, stored)) {
    if (worth < ticks_of_us(kCostUs + kCostPerInstructionUs * flow.instructions.size()))
      return std::shared_ptr<const Kernel>();
    stored = {};
    if (auto problem = generate(*library, flow, program.target(), key, address, stored)) return *problem;
    if (store) store->store(name, pack(stored));
  }

  std::shared_ptr<Kernel> kernel(new Kernel);
  llvm::orc::LLJIT* const jit = linker().jit;
  if (jit == nullptr) return failed("no linker");
  static std::atomic<uint64_t> number{0};
  auto dylib = jit->createJITDylib(fmt::format("kernel{}", number++));
  if (!dylib) return failed(dylib.takeError());
  kernel->linked_->library = &*dylib;
  dylib->addToLinkOrder(*linker().paths);
  kernel->shares_.host_bytes = code_bytes(stored.object);
  if (auto error = jit->addObjectFile(
          *dylib, std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(stored.object), false)))
    return failed(std::move(error));
  auto symbol = jit->lookup(*dylib, "kernel");
  if (!symbol) return failed(symbol.takeError());
  kernel->entry_ = symbol->toPtr<Entry>();
  kernel->key_ = key;
  kernel->loops_over_waves_ = loops_over_waves(flow, key);
  kernel->reads_first_ = reads_first(flow);
  kernel->is_closed_ = is_closed(flow);
  kernel->shares_.instructions = static_cast<uint32_t>(flow.instructions.size());
  for (const Instruction& i : flow.instructions) {
    kernel->shares_.by_handlers += i.how == How::call || i.how == How::call_all;
    kernel->shares_.leaves += i.how == How::leave;
  }
  kernel->steps_ = program.steps;
  kernel->address_ = program.address;
  const auto& singles = stored.singles;
  kernel->singles_ = std::make_unique<SingleStep[]>(singles.size());
  for (size_t i = 0; i < singles.size(); i++) {
    const Step* const original = program.steps + singles[i];
    Step* const copy = kernel->singles_[i].step;
    std::memcpy(static_cast<void*>(copy), static_cast<const void*>(original), sizeof(Step));
    Step& behind = copy[original->dwords];
    behind.run.store(fell_through, std::memory_order_relaxed);
    behind.ordinal = copy->ordinal + 1;
  }
  log(LogLevel::debug, "jit: kernel at {:#x}: ready after {:.1f} ms at {}{}", address,
      cpu_milliseconds() - begin, reinterpret_cast<const void*>(kernel->entry_),
      kept ? ", from the cache" : "");
  return std::shared_ptr<const Kernel>(std::move(kernel));
}

// --- LLVM's statics ---

namespace {

// What makes them: a vector that is no simple type, a call, constants of vectors, and one in a loop, of each
// level's width.
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

void warm_up() {
  static std::once_flag once;
  std::call_once(once, [] {
    const double begin = cpu_milliseconds();
    initialize_llvm();
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
    optimise(*module, *sample, *machine, Mode{}, false);
    llvm::SmallVector<char, 0> object;
    (void)emit(*module, *sample, *machine, object);
    (void)linker();
    log(LogLevel::debug, "jit: LLVM is ready after {:.1f} ms", cpu_milliseconds() - begin);
  });
}

}  // namespace morgana::device::jit

namespace morgana::device {

void set_object_store(ObjectStore* store) { jit::object_store.store(store, std::memory_order_release); }

}  // namespace morgana::device
