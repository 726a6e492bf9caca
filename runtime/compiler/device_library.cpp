#include "runtime/compiler/device_library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <map>
#include <set>

#include "base/log.h"
#include "base/options.h"
#include "base/target.h"
#include "runtime/compiler/device_pack.h"
#include "runtime/compiler/embedded.h"

namespace morgana::runtime {
namespace {

Result<DevicePack> make_pack() {
  const std::string& folder = options().device_libs;
  if (folder.empty()) return DevicePack(Bytes(embedded_device_pack()));
  static Result<std::string> bytes = make_device_pack(device_library_files(options().device_libs));
  if (!bytes.ok()) return bytes.error().in("MORGANA_DEVICE_LIBS");
  return DevicePack(Bytes(*bytes));
}

const Result<DevicePack>& pack() {
  static const Result<DevicePack> result = make_pack();
  return result;
}

// The number in __oclc_ISA_version: the processor's digits, the last two of which are hexadecimal, as
// major * 1000 + minor * 100 + stepping (ROCm-Device-Libs, oclc_isa_version_*). A generic processor has that
// of the first of its family.
uint32_t isa_version(std::string_view processor) {
  if (processor.ends_with("-generic")) {
    const auto family = find_target(processor);
    return family ? isa_version(info(*family).name) : 0;
  }
  if (processor.size() < 6) return 0;
  auto hex = [](char c) -> uint32_t { return c <= '9' ? c - '0' : c - 'a' + 10; };
  uint32_t major = 0;
  for (char c : processor.substr(3, processor.size() - 5)) major = major * 10 + (c - '0');
  return major * 1000 + hex(processor[processor.size() - 2]) * 100 + hex(processor.back());
}

void define_control(llvm::GlobalVariable& variable, const DeviceSettings& settings) {
  const llvm::StringRef name = variable.getName();
  uint64_t value = 0;
  if (name == "__oclc_ISA_version")
    value = isa_version(settings.processor);
  else if (name == "__oclc_ABI_version")
    value = settings.code_object_version * 100;
  else if (name == "__oclc_wavefrontsize64")
    value = settings.wave64;
  else if (name == "__oclc_unsafe_math_opt")
    value = settings.unsafe_math;
  else if (name == "__oclc_finite_only_opt")
    value = settings.finite_math;
  else if (name == "__oclc_daz_opt")
    value = settings.flush_denormals;
  else if (name == "__oclc_correctly_rounded_sqrt32")
    value = settings.correctly_rounded_sqrt;
  else if (name == "__morgana_enqueue_errors")
    value = settings.enqueue_errors;
  else
    return;
  variable.setInitializer(llvm::ConstantInt::get(variable.getValueType(), value));
  variable.setConstant(true);
  variable.setLinkage(llvm::GlobalValue::InternalLinkage);
}

// Library functions take the caller's target and floating-point environment, as -mlink-builtin-bitcode does.
constexpr const char* kInheritedAttributes[] = {"target-cpu",       "target-features",
                                                "denormal-fp-math", "denormal-fp-math-f32",
                                                "no-trapping-math", "frame-pointer"};

const llvm::Function* any_definition(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (!function.isDeclaration()) return &function;
  return nullptr;
}

// gfx940 and later of gfx9 have no image instructions.
bool has_image_instructions(const DeviceSettings& settings) {
  const auto target = find_target(settings.processor);
  return target && !info(*target).is_gfx940;
}

// Puts Morgana's function without image instructions (image_software.cl) in the place of AMD's.
void rename_image_function(llvm::GlobalValue& value, const DevicePack& library) {
  llvm::StringRef name = value.getName();
  if (!name.consume_front("__ockl_image_")) return;
  const std::string own = "__morgana_image_" + name.str();
  if (library.find(own)) value.setName(own);
}

// Links, until nothing more is found, the units that define what `module` declares.
Status link_units(llvm::Module& module, const DevicePack& library, const DeviceSettings& settings) {
  llvm::Linker linker(module);
  std::set<std::string> tried;
  for (;;) {
    std::set<uint32_t> units;
    for (llvm::GlobalValue& value : module.global_values()) {
      if (!value.isDeclaration() || value.getName().starts_with("llvm.")) continue;
      if (!has_image_instructions(settings)) rename_image_function(value, library);
      if (!tried.insert(value.getName().str()).second) continue;
      if (auto unit = library.find(value.getName())) units.insert(*unit);
    }
    if (units.empty()) return {};
    for (uint32_t index : units) {
      Bytes bitcode = library.unit(index);
      auto unit = llvm::getLazyBitcodeModule(
          llvm::MemoryBufferRef({reinterpret_cast<const char*>(bitcode.data()), bitcode.size()},
                                "device library"),
          module.getContext(), /*ShouldLazyLoadMetadata=*/true);
      if (!unit)
        return make_error(ErrorCode::internal, "device library: {}", llvm::toString(unit.takeError()));
      if (linker.linkInModule(std::move(*unit), llvm::Linker::LinkOnlyNeeded))
        return make_error(ErrorCode::build_failed, "a declaration conflicts with the device library");
    }
  }
}

// OpenCL's image functions, which call those, are to be inlined as well: a record must stay in scalar
// registers.
void inline_image_functions(llvm::Module& module, const std::set<const llvm::Function*>& own) {
  for (llvm::Function& function : module) {
    if (!function.getName().starts_with("__morgana_image_")) continue;
    for (llvm::User* user : function.users()) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call != nullptr && !own.contains(call->getFunction()))
        call->getFunction()->addFnAttr(llvm::Attribute::AlwaysInline);
    }
  }
}

// Links the library into `module`, whose functions are all of the library's making but those in `own`.
Status link_into(llvm::Module& module, const DevicePack& library, const DeviceSettings& settings,
                 const llvm::Function& model, const std::set<const llvm::Function*>& own) {
  MORGANA_CHECK(link_units(module, library, settings));
  for (llvm::GlobalVariable& variable : module.globals())
    if (variable.isDeclaration()) define_control(variable, settings);
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || own.contains(&function)) continue;
    for (const char* name : kInheritedAttributes)
      if (model.hasFnAttribute(name)) function.addFnAttr(model.getFnAttribute(name));
  }
  inline_image_functions(module, own);
  return {};
}

// A module that declares what `module` declares, to receive library functions.
std::unique_ptr<llvm::Module> make_declarations(const llvm::Module& module) {
  auto result = std::make_unique<llvm::Module>("device library", module.getContext());
  result->setTargetTriple(module.getTargetTriple());
  result->setDataLayout(module.getDataLayout());
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || function.isIntrinsic()) continue;
    auto* copy = llvm::Function::Create(function.getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                        function.getAddressSpace(), function.getName(), result.get());
    copy->copyAttributesFrom(&function);
  }
  return result;
}

}  // namespace

Status link_device_library(llvm::Module& module, const DeviceSettings& settings) {
  if (!pack().ok()) return pack().error();
  const DevicePack& library = *pack();
  const llvm::Function* model = any_definition(module);
  if (model == nullptr) return {};
  if (settings.optimize_separately == nullptr) {
    std::set<const llvm::Function*> own;
    for (const llvm::Function& function : module)
      if (!function.isDeclaration()) own.insert(&function);
    return link_into(module, library, settings, *model, own);
  }

  auto functions = make_declarations(module);
  std::set<std::string> exported;
  for (const llvm::Function& function : *functions) exported.insert(function.getName().str());
  MORGANA_CHECK(link_into(*functions, library, settings, *model, {}));
  llvm::internalizeModule(
      *functions, [&](const llvm::GlobalValue& value) { return exported.contains(value.getName().str()); });
  // linkonce_odr would let the optimiser drop what only the program calls.
  for (llvm::GlobalValue& value : functions->global_values())
    if (!value.isDeclaration() && !value.hasLocalLinkage())
      value.setLinkage(llvm::GlobalValue::ExternalLinkage);
  settings.optimize_separately(*functions);
  if (llvm::Linker::linkModules(module, std::move(functions), llvm::Linker::LinkOnlyNeeded))
    return make_error(ErrorCode::build_failed, "a declaration conflicts with the device library");
  return {};
}

}  // namespace morgana::runtime
