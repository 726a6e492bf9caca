// From a kernel's code to one that is linked: what the store has, or what the translator and LLVM make.
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "device/jit/backend.h"
#include "device/jit/gain.h"
#include "device/jit/kernel.h"
#include "device/jit/llvm_guard.h"
#include "device/jit/occupied.h"
#include "device/jit/translator.h"
#include "device/object_store.h"

namespace morgana::device::jit {
namespace {

// What LLVM may take, in seconds of processor time.
constexpr double kLimit = 30, kLimitPerInstruction = 0.02;

Error failed(std::string why) { return Error{ErrorCode::unsupported, std::move(why)}; }
Error failed(llvm::Error error) { return failed(llvm::toString(std::move(error))); }

void fell_through(Wave&, const Step*) {}

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

// --- Objects on disk ---

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
  for (const bool flag :
       {key.one_wave, key.full_wave, key.observe_everything, key.quick, key.checks_memory, key.shows_accesses,
        key.bounds_lds, key.checks_loads, key.checks_barriers, key.counts, key.private_memory})
    append(text, flag);
  for (const uint32_t field :
       {key.mode, key.lds_size, key.acc_base, key.sgprs, key.vgprs, key.agprs, key.local[0], key.local[1],
        key.local[2], uint32_t{key.lanes}, uint32_t{key.occupied}, uint32_t{key.dimensions}, key.most_looped,
        uint32_t{key.kernarg}, uint32_t{key.group_id}, uint32_t{key.private_buffer},
        static_cast<uint32_t>(program.target()), flow.entry_block})
    append(text, field);
  if (flow.written != nullptr)
    for (const WrittenRegisters::Reader& reader : flow.written->unproven) {
      append(text, reader.dword);
      for (const uint16_t place : reader.registers) append(text, place);
    }
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
  if (count != 0) std::memcpy(stored.singles.data(), bytes.data() + sizeof count, uint64_t{count} * 4);
  std::unordered_set<uint32_t> places;
  for (const Instruction& i : flow.instructions) places.insert(i.at);
  for (const uint32_t at : stored.singles)
    if (!places.contains(at)) return false;
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

// --- One compilation ---

struct Compilation::Parts {
  Program& program;
  const uint64_t address;
  const Library& library;
  Specialisation key;
  Flow flow;
  std::string identity;  // in the store
  std::string label;     // for the log
  Stored stored;
  CountedCode counted;
  // Of what counters mean nothing is kept.
  ObjectStore* const store = key.counts ? nullptr : object_store.load(std::memory_order_acquire);

  // Under which the store counts how often this was interrupted.
  std::string note() const { return "interrupted " + identity; }
};

Compilation::Compilation(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Compilation::~Compilation() = default;

Result<std::unique_ptr<Compilation>> Compilation::begin(Program& program, const Step* entry,
                                                        const Specialisation& key) {
  const Library* library = Library::get();
  if (library == nullptr) return failed("no bitcode library");
  Mode mode;
  mode.bits = key.mode;
  // LLVM folds constants by rounding to nearest even.
  if (mode.round32() != 0 || mode.round16_64() != 0)
    return failed("a rounding mode other than to nearest even");
  if (mode.bits >> 27 & 3) return failed("GPR indexing or VSKIP from the beginning");
  FlowOptions options;
  options.acc_base = key.acc_base;
  options.one_wave = key.one_wave;
  options.private_buffer = key.private_buffer;
  options.lanes = key.lanes;
  options.mode = mode;
  options.have = {key.sgprs, key.vgprs, key.agprs};
  options.observe_everything = key.observe_everything;
  std::unique_ptr<Parts> parts(new Parts{program, program.pc(entry), *library, key, {}, {}, {}, {}, {}});
  parts->label = fmt::format("kernel at {:#x}", parts->address);
  if (!analyse(program, entry, *library, options, parts->flow)) return failed("too many instructions");
  if (key.occupied < key.lanes && !keeps_to_occupied(parts->flow)) parts->key.forget_occupied();
  parts->flow.occupied = parts->key.occupied;
  if (key.checks_loads) parts->flow.written = program.known_written(entry);
  if (parts->store != nullptr) parts->identity = identity(program, parts->flow, parts->key);
  return std::unique_ptr<Compilation>(new Compilation(std::move(parts)));
}

uint32_t Compilation::instructions() const { return static_cast<uint32_t>(parts_->flow.instructions.size()); }

double Compilation::gain() const { return jit::gain(parts_->flow); }

void Compilation::set_name(std::string name) { parts_->label = std::move(name); }

bool Compilation::find() {
  // What comes from the store cannot be dumped.
  if (parts_->store == nullptr || !options().jit_dump.empty()) return false;
  const auto kept = parts_->store->load(parts_->identity);
  return kept && unpack(*kept, parts_->flow, parts_->stored);
}

uint32_t Compilation::interruptions() const {
  const auto note = parts_->store ? parts_->store->load(parts_->note()) : std::nullopt;
  uint32_t count = 0;
  if (note && note->size() == sizeof count) std::memcpy(&count, note->data(), sizeof count);
  return count;
}

void Compilation::note_interruption() {
  if (parts_->store == nullptr) return;
  std::string note;
  append(note, interruptions() + 1);
  parts_->store->store(parts_->note(), std::move(note));
}

namespace {

// What the translator and LLVM make of a kernel.
struct Made {
  std::optional<std::string> problem;
  std::vector<const Step*> singles;
  llvm::SmallVector<char, 0> object;
  CountedCode counted;
  double translate = 0, optimise = 0, emit = 0;  // milliseconds
};

void make(const Library& library, const Flow& flow, Target target, const Specialisation& key,
          uint64_t address, Made& made) {
  const double begin = thread_milliseconds();
  llvm::LLVMContext context;
  const auto module = library.load(context);
  if (module == nullptr) return void(made.problem = "the bitcode library cannot be read");
  Translator translator(*module, flow, target, key);
  llvm::Function* function = translator.translate();
  if (function == nullptr) return void(made.problem = "the bitcode library lacks a function");
  strip(*module, function);
  made.singles = translator.singles();
  made.counted = translator.counted();
  const double translated = thread_milliseconds();
  double optimised = translated;
  made.problem = make_object(*module, *function, key, address, made.object, optimised);
  made.translate = translated - begin;
  made.optimise = optimised - translated;
  made.emit = thread_milliseconds() - optimised;
}

// The instructions that handlers execute, the most frequent first: " (ds_permute_b32 3, buffer_load_dword
// 1)".
std::string by_handlers(const Flow& flow) {
  std::map<std::string_view, int> counts;
  for (const Instruction& i : flow.instructions)
    if (i.how == How::call || i.how == How::call_all) counts[i.step->inst->row->mnemonic]++;
  std::vector<std::pair<int, std::string_view>> all;
  for (const auto& [mnemonic, count] : counts) all.emplace_back(-count, mnemonic);
  std::sort(all.begin(), all.end());
  constexpr size_t kNamed = 6;
  std::string text;
  for (size_t k = 0; k < std::min(all.size(), kNamed); k++)
    text += fmt::format("{}{} {}", k == 0 ? " (" : ", ", all[k].second, -all[k].first);
  if (all.size() > kNamed) text += ", ...";
  return text.empty() ? text : text + ")";
}

}  // namespace

Status Compilation::generate() {
  const Flow& flow = parts_->flow;
  std::unique_ptr<Made> made;
  const double limit = kLimit + kLimitPerInstruction * static_cast<double>(flow.instructions.size());
  const auto why = within_limits(limit, [&] {
    made = std::make_unique<Made>();
    make(parts_->library, flow, parts_->program.target(), parts_->key, parts_->address, *made);
  });
  if (why) {
    [[maybe_unused]] const Made* const left = made.release();  // LLVM was left in the middle of it
    if (is_llvm_closed()) note_interruption();
    return make_error(ErrorCode::build_failed, "LLVM: {}", *why);
  }
  if (made->problem) return failed(*made->problem);

  std::unordered_map<const Step*, uint32_t> places;
  for (const Instruction& i : flow.instructions) places.emplace(i.step, i.at);
  for (const Step* single : made->singles) parts_->stored.singles.push_back(places.at(single));
  parts_->stored.object = std::move(made->object);
  parts_->counted = std::move(made->counted);
  parts_->counted.code = &parts_->program;
  parts_->counted.target = parts_->program.target();
  if (parts_->store) parts_->store->store(parts_->identity, pack(parts_->stored));
  log(LogLevel::info,
      "jit: {}: compiled{}: {} instructions, {} by handlers{}; translate {:.1f} ms, optimise {:.1f}, "
      "emit {:.1f}",
      parts_->label, parts_->key.quick ? " quickly" : "", flow.instructions.size(),
      parts_->stored.singles.size(), by_handlers(flow), made->translate, made->optimise, made->emit);
  return {};
}

Result<std::shared_ptr<const Kernel>> Compilation::link() {
  const Program& program = parts_->program;
  const Flow& flow = parts_->flow;
  Stored& stored = parts_->stored;
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
  kernel->key_ = parts_->key;
  kernel->loops_over_waves_ = loops_over_waves(flow, parts_->key);
  kernel->reads_first_ = reads_first(flow);
  kernel->computes_wide_ = flow.computes_wide;
  kernel->is_closed_ = is_closed(flow);
  if (kernel->is_closed_) kernel->renewed_ = renewed(flow);
  kernel->shares_.instructions = static_cast<uint32_t>(flow.instructions.size());
  for (const Instruction& i : flow.instructions) {
    kernel->shares_.by_handlers += i.how == How::call || i.how == How::call_all;
    kernel->shares_.leaves += i.how == How::leave;
  }
  kernel->counted_ = std::move(parts_->counted);
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
  log(LogLevel::debug, "jit: {}: linked at {}", parts_->label, reinterpret_cast<const void*>(kernel->entry_));
  return std::shared_ptr<const Kernel>(std::move(kernel));
}

Result<std::shared_ptr<const Kernel>> compile(Program& program, const Step* entry,
                                              const Specialisation& key) {
  MORGANA_TRY(const auto compilation, Compilation::begin(program, entry, key));
  if (!compilation->find()) MORGANA_CHECK(compilation->generate());
  return compilation->link();
}

void warm_up() {
  static std::once_flag once;
  std::call_once(once, [] {
    const double begin = thread_milliseconds();
    make_statics();
    (void)linker();
    log(LogLevel::debug, "jit: LLVM is ready after {:.1f} ms", thread_milliseconds() - begin);
  });
}

}  // namespace morgana::device::jit

namespace morgana::device {

void set_object_store(ObjectStore* store) { jit::object_store.store(store, std::memory_order_release); }

}  // namespace morgana::device
